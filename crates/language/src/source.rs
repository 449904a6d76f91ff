//! Places in the texts that are read: the file and the `--set` overrides.

use std::fmt;
use std::ops::Range;

use headway_input::picture;

/// One text with the name it is shown under.
pub struct Source {
    /// The name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.text.len())
    }
}

/// All texts that belong together: the file first, then one per override.
#[derive(Debug)]
pub struct Sources(pub Vec<Source>);

/// A place: bytes `start..end` of one source. Empty means the source as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The number of the text.
    pub source: usize,
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl At {
    /// The whole of `source`: there is no better place to point at.
    pub const fn whole(source: usize) -> At {
        At { source, start: 0, end: 0 }
    }

    /// Whether it is the source as a whole.
    pub const fn is_whole(self) -> bool {
        self.start == self.end
    }
}

/// One line of a source, made ready to be shown.
pub struct Excerpt {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line, or the part of a very long line around the place.
    pub text: String,
    /// The place within `text`.
    pub marked: Range<usize>,
}

impl Sources {
    /// The place `range` of `source`, moved to character boundaries, cut at the end of its first
    /// line and never empty unless the source is: what a parser reports may be none of these.
    pub fn place(&self, source: usize, range: &Range<usize>) -> At {
        let text = &self.0[source].text;
        let floor = |index: usize| (0..=index.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
        let mut start = floor(range.start);
        let mut end = floor(range.end).max(start);
        if let Some(length) = text[start..end].find('\n')
            && length > 0
        {
            end = start + length;
        }
        if start == end {
            match text[start..].chars().next() {
                Some(next) if next != '\n' && next != '\r' => end = start + next.len_utf8(),
                _ => start = floor(start.saturating_sub(1)),
            }
        }
        At { source, start, end }
    }

    /// The line that `at` starts on.
    pub fn excerpt(&self, at: At) -> Excerpt {
        // Lines past this many bytes are cut to a window around the place.
        const LONGEST: usize = 400;
        let text = &self.0[at.source].text;
        let from = text[..at.start].rfind('\n').map_or(0, |newline| newline + 1);
        let to = text[at.start..].find('\n').map_or(text.len(), |newline| at.start + newline).max(from);
        let line = text[..from].matches('\n').count() + 1;
        let column = text[from..at.start].chars().count() + 1;
        let (mut first, mut last) = (from, to);
        if to - from > LONGEST {
            first = from.max(at.start.saturating_sub(LONGEST / 4));
            last = to.min(at.start + LONGEST / 2);
            while !text.is_char_boundary(first) {
                first -= 1;
            }
            while !text.is_char_boundary(last) {
                last -= 1;
            }
        }
        let last = last.max(at.start);
        let end = at.end.clamp(at.start, last);
        // The end of a line as Windows writes it is no character of the text; others would act on a terminal.
        let shown = |c: char| if c == '\r' { ' ' } else { picture(c) };
        // Pictures have other lengths: measure what precedes anew.
        let width = |upto: usize| text[first..upto].chars().map(|c| shown(c).len_utf8()).sum::<usize>();
        let marked = width(at.start)..width(end);
        Excerpt { line, column, marked, text: text[first..last].chars().map(shown).collect() }
    }
}
