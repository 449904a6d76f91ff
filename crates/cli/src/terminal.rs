//! Writing: data to stdout, everything else to stderr, colours where they are welcome.

use std::io::{self, ErrorKind, IsTerminal, Write};

use headway_report::Layout;
use terminal_size::{Width, terminal_size_of};

use crate::failure::Failure;

/// As wide are files and pipes: they are read on terminals, in mails and beside code.
const NARROW: usize = 80;

/// Writes data to stdout. A reader that has seen enough (`| head`) is no failure.
pub fn data(text: &str) -> Result<(), Failure> {
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
    let _ = writeln!(io::stderr().lock(), "{line}");
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
