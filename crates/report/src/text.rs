//! Text in lines of bounded width.

use textwrap::{Options, WordSplitter, wrap};

use crate::{Layout, harmless};

/// Behind other columns less room than this makes text unreadable.
const LEAST_ROOM: usize = 30;

/// `text` in lines of at most `width` characters, broken between words where that is possible; all but the first begin
/// with `indent` blanks.
pub fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    // At least one character must fit beside the blanks.
    let indent = " ".repeat(indent.min(width.saturating_sub(1)));
    let options = Options::new(width.max(1)).subsequent_indent(&indent).word_splitter(WordSplitter::NoHyphenation);
    // Blanks in front are the indent of the first line, which textwrap would take for a word of their own.
    let front = text.len() - text.trim_start_matches(' ').len();
    let options = options.initial_indent(&text[..front.min(width.saturating_sub(1))]);
    let text = intervals_kept(text.trim_start_matches(' '));
    wrap(&text, options).into_iter().map(|line| line.trim_end().replace(KEEP, " ")).collect()
}

/// Stands for a blank at which no line is broken.
const KEEP: char = '\u{a0}';

/// `text` with no place to break inside of intervals, `20.6 ms [18.3 ms, 23.1 ms]` or `5.99 ± 0.03`. Brackets around
/// anything longer are left alone.
fn intervals_kept(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (before, bracket) = rest.split_at(open);
        let length = bracket.find(']').filter(|&end| end <= LONGEST).unwrap_or(0);
        kept.push_str(before);
        kept.push_str(&bracket[..length].replace(' ', "\u{a0}"));
        kept.push_str(&bracket[length..=length]);
        rest = &bracket[length + 1..];
    }
    kept.push_str(rest);
    kept.replace(" ± ", "\u{a0}±\u{a0}")
}

/// A name in lines of at most `width` characters, broken behind hyphens where that is possible.
pub(crate) fn narrow(name: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1)).word_splitter(WordSplitter::HyphenSplitter);
    wrap(name, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// Rows of words with a text behind them each: columns, the last of which is wrapped. Where the others leave too little
/// room for it, it stands below them. A row without a text is its words alone; `headers` may be empty.
///
/// Words are never cut: a line is longer than the layout if they are.
pub fn listing(headers: &[&str], rows: &[(Vec<String>, String)], layout: Layout) -> String {
    let words = |words: &[String]| words.iter().map(|word| harmless(word)).collect::<Vec<_>>();
    let head: Vec<String> = headers.iter().map(|head| (*head).to_owned()).collect();
    let all: Vec<Vec<String>> = rows.iter().map(|(own, _)| words(own)).collect();
    let columns = all.iter().map(Vec::len).max().unwrap_or(0);
    let widest =
        |at: usize| all.iter().chain([&head]).filter_map(move |row| row.get(at)).map(|word| word.chars().count());
    let widths: Vec<usize> = (0..columns).map(|at| widest(at).max().unwrap_or(0)).collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let line = |row: &[String]| {
        let cells = row.iter().zip(&widths).map(|(word, width)| format!("{word:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let below = taken + LEAST_ROOM > layout.width;
    let mut text = String::new();
    let mut put = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    if let [front @ .., last] = &head[..] {
        let behind = if below || front.len() < columns { String::new() } else { last.clone() };
        put(&layout.dim(format!("{:taken$}{behind}", line(&head[..columns.min(head.len())])).trim_end()));
    }
    for (row, (_, behind)) in all.iter().zip(rows) {
        let (front, behind) = (line(row), harmless(behind));
        if below {
            put(&front);
            let blanks = 2 + widths.first().copied().unwrap_or(0).min(8);
            let lines = wrapped(&format!("{}{behind}", " ".repeat(blanks)), layout.width, blanks);
            lines.iter().filter(|line| !line.trim().is_empty()).for_each(|line| put(line));
            continue;
        }
        let lines = wrapped(&behind, layout.width - taken, 0);
        for (place, line) in lines.iter().enumerate() {
            put(&format!("{:taken$}{line}", if place == 0 { front.as_str() } else { "" }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn width(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn lines_are_broken_between_words_and_long_words_inside() {
        assert_eq!(wrapped("one two three", 8, 2), ["one two", "  three"]);
        assert_eq!(wrapped("  one two three", 8, 4), ["  one", "    two", "    thre", "    e"]);
        assert_eq!(wrapped("", 8, 2), [""]);
        assert!(wrapped("no room at all", 0, 9).iter().all(|line| line.chars().count() <= 1));
    }

    #[test]
    fn lines_are_not_broken_inside_of_intervals() {
        let text = "mean = 20.6 ms [18.3 ms, 23.1 ms] and 5.99 ± 0.03 s [not closed";
        assert_eq!(wrapped(text, 22, 0), ["mean = 20.6 ms", "[18.3 ms, 23.1 ms] and", "5.99 ± 0.03 s [not", "closed"]);
        let long = format!("[{}]", "word ".repeat(10));
        assert_eq!(wrapped(&long, 12, 0).first().map(String::as_str), Some("[word word"));
    }

    #[test]
    fn the_last_column_is_wrapped_or_goes_below() {
        let row = |name: &str| (vec![name.to_owned(), "12".to_owned()], "what it is about ".repeat(5));
        let rows = [row("a"), row("longer-name")];
        let beside = listing(&["name", "n", "about"], &rows, Layout { width: 60, colour: false });
        assert!(beside.starts_with("name         n   about\na            12  what it is about what"), "\n{beside}");
        assert!(width(&beside) <= 60, "\n{beside}");
        let below = listing(&["name", "n", "about"], &rows, Layout { width: 40, colour: false });
        assert!(below.starts_with("name         n\na            12\n          what it is about"), "\n{below}");
        assert!(width(&below) <= 40, "\n{below}");
        assert_eq!(beside.matches("about").count(), below.matches("about").count() + 1);
    }
}
