//! Writing: data to stdout, everything else to stderr, colours where they are welcome.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};

use headway_input::{picture, visible};
use headway_report::Layout;
use terminal_size::{Width, terminal_size_of};

use crate::failure::Failure;

/// As wide are files and pipes: they are read on terminals, in mails and beside code.
const NARROW: usize = 80;

/// Writes data to stdout. A reader that has seen enough (`| head`) is no failure.
pub fn data(text: &str) -> Result<(), Failure> {
    let text = safe(text, colour(&io::stdout()));
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::environment(format!("cannot write to the standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to stderr; if even that is closed, there is nobody left to tell.
pub fn say(line: &str) {
    let line = safe(line, colour(&io::stderr()));
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// `text` without characters that act on a terminal, other than our own colours if there are any. Names of files, and
/// text of results and captures that others made, come here as they are.
fn safe(text: &str, colours: bool) -> Cow<'_, str> {
    if !colours {
        return visible(text);
    }
    let mut parts = text.split('\x1b');
    let mut safe = visible(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let digits =
            part.strip_prefix('[').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
        // `ESC [ 1 ; 31 m` chooses a colour, and does nothing else.
        safe.push(if digits.is_some_and(|rest| rest.starts_with('m')) { '\x1b' } else { picture('\x1b') });
        safe.push_str(&visible(part));
    }
    Cow::Owned(safe)
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    let word = if colour(&io::stderr()) { "\x1b[1;33mwarning:\x1b[0m" } else { "warning:" };
    say(&format!("{word} {text}"));
}

/// Whether `stream` wants colours: a terminal that can, and no `NO_COLOR` (no-color.org).
pub fn colour(stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !set("NO_COLOR") && !is_dumb()
}

/// Whether stderr can redraw a line.
pub fn can_redraw() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// The layout for stdout.
pub fn layout() -> Layout {
    let out = io::stdout();
    let width = terminal_size_of(&out).map_or(NARROW, |(Width(width), _)| usize::from(width));
    // Narrower than this, splitting makes it no more readable.
    Layout { width: width.max(40), colour: colour(&out) }
}

/// Writes a failure to stderr.
pub fn report(failure: &Failure) {
    say(failure.render(colour(&io::stderr())).trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_our_colours_reaches_a_terminal() {
        assert_eq!(safe("\x1b[1;31merror:\x1b[0m x", true), "\x1b[1;31merror:\x1b[0m x");
        assert_eq!(safe("\x1b[1;31mx\x1b[0m", false), "␛[1;31mx␛[0m");
        let hostile = "a\x1b]0;title\x07b\x1b[2Jc\x1b[1;31\r\u{9b}2J\x1b";
        assert_eq!(safe(hostile, true), "a␛]0;title␇b␛[2Jc␛[1;31␍�2J␛");
        assert_eq!(safe(hostile, false), safe(hostile, true));
    }
}
