//! Problems: what is wrong, where, and what would be right.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};

use headway_input::visible;

use super::point::SweepPoint;
use super::source::{At, Source, Sources};

/// At most this many problems are printed; the rest is counted.
const MAX_PRINTED: usize = 20;

/// One mistake in a text and the place of it.
#[derive(Debug, Clone)]
pub struct Problem {
    /// The texts that the place is in.
    pub sources: Arc<Sources>,
    /// The place.
    pub at: At,
    /// What is wrong, in one sentence. It may hold text of the file, as may label, help and point: for a terminal it is
    /// made safe by [`Problems::render`] alone.
    pub message: String,
    /// What is printed under the place; may be empty.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The point of the sweep where it appears.
    pub point: Option<String>,
}

impl Problem {
    /// What is wrong, in one sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The name of the text with the mistake: the file's, or `--set`.
    pub fn file(&self) -> &str {
        &self.sources.0[self.at.source].name
    }

    /// The bytes of the text with the mistake; empty if it concerns the text as a whole.
    pub fn bytes(&self) -> std::ops::Range<usize> {
        self.at.start..self.at.end
    }

    /// Line and column, both counted from 1; `None` if the problem concerns the text as a whole.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        (!self.at.is_whole()).then(|| {
            let excerpt = self.sources.excerpt(self.at);
            (excerpt.line, excerpt.column)
        })
    }

    /// The same problem, mentioning that it appears at `point` of the sweep.
    pub fn at_point(mut self, point: &SweepPoint) -> Problem {
        self.point = (!point.values().is_empty()).then(|| point.to_string());
        self
    }

    fn render(&self, renderer: &Renderer) -> String {
        // Keys and values of the file stand in all of these.
        let title = Level::ERROR.primary_title(visible(&self.message));
        let file = visible(self.file());
        let mut group = if self.at.is_whole() {
            // The text as a whole begins at its first character.
            title.element(Origin::path(file).line(1).char_column(1))
        } else {
            let excerpt = self.sources.excerpt(self.at);
            let mark = AnnotationKind::Primary.span(excerpt.marked);
            let mark = if self.label.is_empty() { mark } else { mark.label(visible(&self.label)) };
            title.element(Snippet::source(excerpt.text).line_start(excerpt.line).path(file).annotation(mark))
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(visible(help)));
        }
        if let Some(point) = &self.point {
            group = group.element(Level::NOTE.message(format!("with {}", visible(point))));
        }
        renderer.render(&[group])
    }
}

/// Everything that is wrong with a text, in the order of the file. Never empty when it is an error.
#[derive(Debug, Clone, Default)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Sorts by place and drops repetitions.
    pub fn new(mut problems: Vec<Problem>) -> Problems {
        // Stable: keys that are missing in one place stay in the order of their record.
        problems.sort_by_key(|problem| problem.at);
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert((problem.at, problem.message.clone())));
        Problems(problems)
    }

    /// The problems one by one.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether all is well.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The problems as text for a person, with or without the colours of a terminal.
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let mut text = String::new();
        for problem in self.0.iter().take(MAX_PRINTED) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&problem.render(&renderer));
        }
        if self.0.len() > MAX_PRINTED {
            let _ = write!(text, "\n\nerror: and {} more", self.0.len() - MAX_PRINTED);
        }
        text
    }
}

/// The text that `bytes` are, shown as `name` in problems.
///
/// # Errors
/// If they are not UTF-8.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Problems> {
    String::from_utf8(bytes).map_err(|error| {
        let start = error.utf8_error().valid_up_to();
        let found = error.as_bytes().get(start).copied().unwrap_or_default();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let sources = Arc::new(Sources(vec![Source { name: name.to_owned(), text }]));
        let at = sources.place(0, &(start..start + char::REPLACEMENT_CHARACTER.len_utf8()));
        let (message, label) =
            ("this is not UTF-8 text".to_owned(), format!("there is no character of the byte 0x{found:02x}"));
        let help = Some("save it with the encoding UTF-8".to_owned());
        Problems::from(Problem { sources, at, message, label, help, point: None })
    })
}

/// That the text called `name`, which was not read, is wrong as a whole.
pub fn unread(name: &str, message: impl Into<String>) -> Problems {
    let source = Source { name: name.to_owned(), text: String::new() };
    let (sources, at) = (Arc::new(Sources(vec![source])), At::whole(0));
    Problems::from(Problem { sources, at, message: message.into(), label: String::new(), help: None, point: None })
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

impl FromIterator<Problem> for Problems {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Problems {
        Problems::new(problems.into_iter().collect())
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Problems {}

/// Problems of many sweep points, each kept once with the first point that shows it.
#[derive(Default)]
pub struct PointProblems {
    found: Vec<Found>,
    index: BTreeMap<(At, String), usize>,
    /// Points that were looked at, and those of them that got as far as being checked.
    read: usize,
    checked: usize,
}

struct Found {
    problem: Problem,
    /// Found by a check of values that were all read, not while reading.
    by_check: bool,
    count: usize,
}

impl PointProblems {
    /// Once this many different problems are known, looking at more points is of no use.
    const ENOUGH: usize = 100;

    /// Adds the problems of one more point.
    pub fn add(&mut self, problems: Vec<Problem>, by_check: bool) {
        self.read += 1;
        self.checked += usize::from(by_check);
        for problem in problems {
            // Values of the sweep differ in the message (`3` has no unit) or in the label (this is 3).
            let keys = [problem.message.clone(), problem.label.clone()].map(|text| (problem.at, text));
            let known = keys.iter().filter(|(_, text)| !text.is_empty()).find_map(|key| self.index.get(key).copied());
            let index = known.unwrap_or(self.found.len());
            for key in keys {
                self.index.entry(key).or_insert(index);
            }
            if known.is_none() {
                self.found.push(Found { problem, by_check, count: 0 });
            }
            self.found[index].count += 1;
        }
    }

    /// Whether so many are known that further points need no looking at.
    pub fn enough(&self) -> bool {
        self.found.len() >= Self::ENOUGH
    }

    /// What was found. A problem of every point is not one of the sweep, so it does not mention the point.
    pub fn finish(self) -> Problems {
        let each = |found: Found| {
            let mut problem = found.problem;
            let all = if found.by_check { self.checked } else { self.read };
            if found.count == all {
                problem.point = None;
            } else if let Some(point) = problem.point.as_mut()
                && found.count > 1
            {
                let s = if found.count == 2 { "" } else { "s" };
                let _ = write!(point, " (and {} more sweep point{s})", found.count - 1);
            }
            problem
        };
        self.found.into_iter().map(each).collect()
    }
}
