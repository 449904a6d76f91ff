//! Messages on standard error.

use std::io::{self, IsTerminal, Write};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::time::SystemTime;

use crate::args::{LogArgs, LogFormat, LogLevel};

/// Standard error, or nothing where that cannot be written to: on a full disk, or when nobody reads it any more, the daemon
/// goes on without messages.
struct Forgiving(io::Stderr);

impl Write for Forgiving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends messages from now on to standard error. The journal has time stamps of its own.
pub fn start(args: &LogArgs) {
    let format = args.log_format;
    let level = match args.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let base = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| Forgiving(io::stderr()))
        // it would be written to the same place, with a panic if it cannot be
        .log_internal_errors(false)
        .with_target(false)
        .with_ansi(colour && format == LogFormat::Text);
    // Each combination is a type of its own. Setting fails only if it was set before, which a test may have done.
    let _ = match (format, journal) {
        (LogFormat::Text, true) => base.without_time().try_init(),
        (LogFormat::Text, false) => base.with_timer(SystemTime).try_init(),
        (LogFormat::Json, true) => base.json().flatten_event(true).without_time().try_init(),
        (LogFormat::Json, false) => base.json().flatten_event(true).with_timer(SystemTime).try_init(),
    };
}
