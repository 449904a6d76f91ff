//! What `status` and `monitor` ask a running daemon.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

/// A daemon answers at once, or something is wrong.
const PATIENCE: Duration = Duration::from_secs(5);
/// Status is at most this long.
const LONGEST: u64 = 64 * 1024 * 1024;
/// An event, and the head of an answer, are at most this long.
const MAX_LINE: u64 = 1024 * 1024;

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum ClientError {
    /// No daemon listens there.
    #[error("no daemon listens on {}: {error}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The connection broke.
    #[error("the daemon does not answer: {0}")]
    Io(#[from] io::Error),
    /// It is no daemon of ours, or says no.
    #[error("the daemon answers `{0}`")]
    Refused(String),
}

/// The answer to a request for `path`, from the daemon that listens on `socket`.
///
/// # Errors
/// If there is none.
pub fn get(socket: &Path, path: &str) -> Result<String, ClientError> {
    let answer = ask(socket, path)?;
    let mut body = String::new();
    answer.take(LONGEST).read_to_string(&mut body)?;
    Ok(body)
}

/// Calls `each` with every line of events until the daemon ends, or `each` returns false.
///
/// # Errors
/// If there are none, or the connection breaks.
pub fn follow(socket: &Path, mut each: impl FnMut(&str) -> bool) -> Result<(), ClientError> {
    let mut answer = ask(socket, "/events")?;
    answer.get_ref().set_read_timeout(None)?;
    while let Some(line) = line(&mut answer)? {
        if !each(line.trim_end()) {
            break;
        }
    }
    Ok(())
}

/// Sends the request and reads the head of the answer.
fn ask(socket: &Path, path: &str) -> Result<BufReader<UnixStream>, ClientError> {
    let stream =
        UnixStream::connect(socket).map_err(|error| ClientError::Connect { path: socket.to_owned(), error })?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(&stream, "GET {path} HTTP/1.1\r\nHost: headway\r\n\r\n")?;
    let mut answer = BufReader::new(stream);
    let first = line(&mut answer)?.unwrap_or_default();
    if !first.starts_with("HTTP/1.1 200 ") {
        let shown: String = first.trim().chars().take(80).filter(|c| !c.is_control()).collect();
        return Err(ClientError::Refused(shown));
    }
    while let Some(header) = line(&mut answer)? {
        if header.trim().is_empty() {
            return Ok(answer);
        }
    }
    Err(ClientError::Refused(String::new()))
}

/// The next line; `None` at the end.
fn line(from: &mut BufReader<UnixStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = from.take(MAX_LINE).read_line(&mut line)?;
    if read as u64 == MAX_LINE {
        return Err(io::Error::other("a line is too long"));
    }
    Ok((read > 0).then_some(line))
}
