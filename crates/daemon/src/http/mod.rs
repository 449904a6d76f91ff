//! Status, events and metrics over HTTP/1.1, without threads: the event loop polls [`Server::interests`] and calls
//! [`Server::serve`].
//!
//! Whoever is at the other end may be slow, wrong or hostile. So there are at most [`MAX_CONNECTIONS`] and [`MAX_TCP`], and
//! the ones take no place of the others; requests are at most [`MAX_REQUEST`] bytes and one per connection; who takes longer than [`PATIENCE`], or does not read events as
//! fast as they come, is dropped. Nothing can be changed through it.
//!
//! Sources: RFC 9112 (HTTP/1.1).

pub mod client;
mod connection;
mod pages;
mod socket;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::{Failures, Operations, Refusal, refusal};
use connection::{Connection, Progress, Stream};
pub use pages::answer;
use socket::UnixSocket;

/// Open connections at the unix socket at a time; a further one takes the place of the oldest.
pub const MAX_CONNECTIONS: usize = 16;
/// Open connections over TCP at a time, likewise.
pub const MAX_TCP: usize = 8;
/// Of them, those that follow events, so that there is always one to drop.
pub const MAX_FOLLOWERS: usize = 8;
/// A request and its headers.
pub const MAX_REQUEST: usize = 8192;
/// From the opening of a connection until the answer is read.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// Events that wait for one who follows them.
pub const MAX_BACKLOG: usize = 256 * 1024;

/// Why there is no server.
#[derive(Debug, Error)]
pub enum BindError {
    /// Another daemon has the socket.
    #[error("another daemon serves {}", .0.display())]
    Served(PathBuf),
    /// There is something else in the socket's place.
    #[error("{} is there and is not a socket", .0.display())]
    Occupied(PathBuf),
    /// The socket cannot be made.
    #[error("{}: {error}", path.display())]
    Unix {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The TCP port cannot be had.
    #[error("metrics on {address}: {error}")]
    Tcp {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The path, without what stands behind `?`.
    pub path: String,
    /// Whether it came over TCP, from any user of the host.
    pub tcp: bool,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The media type.
    pub kind: &'static str,
    /// The content.
    pub body: Vec<u8>,
}

impl Response {
    /// `body` as plain text.
    pub fn text(status: u16, body: impl Into<String>) -> Response {
        Response { status, kind: "text/plain; charset=utf-8", body: body.into().into_bytes() }
    }
}

/// What a file descriptor waits for.
#[derive(Debug, Clone, Copy)]
pub struct Interest<'a> {
    /// The file descriptor.
    pub fd: BorrowedFd<'a>,
    /// Something to read.
    pub read: bool,
    /// Room to write.
    pub write: bool,
}

/// The server.
#[derive(Debug)]
pub struct Server {
    unix: UnixSocket,
    metrics: Option<SocketAddr>,
    /// `None` although there is an address: it failed, and is opened anew.
    tcp: Option<TcpListener>,
    /// In the order of their opening.
    connections: Vec<Connection>,
    accepting: Failures,
    failures: u64,
}

fn listen(address: SocketAddr) -> Result<TcpListener, BindError> {
    let bound = TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    bound.map_err(|error| BindError::Tcp { address, error })
}

impl Server {
    /// Listens where `operations` says. The socket file of a daemon that is gone is replaced.
    ///
    /// # Errors
    /// If another daemon runs there, or a socket cannot be made.
    pub fn bind(operations: &Operations) -> Result<Server, BindError> {
        let unix = UnixSocket::bind(&operations.socket)?;
        let metrics = operations.metrics;
        let tcp = metrics.map(listen).transpose()?;
        Ok(Server { unix, metrics, tcp, connections: Vec::new(), accepting: Failures::default(), failures: 0 })
    }

    /// Listens where `operations` says from now on. What stays as it is is not touched.
    ///
    /// # Errors
    /// As [`Server::bind`]; then nothing changes.
    pub fn rebind(&mut self, operations: &Operations) -> Result<(), BindError> {
        let changed = operations.metrics != self.metrics;
        let tcp = operations.metrics.filter(|_| changed).map(listen).transpose()?;
        if operations.socket != self.unix.path() {
            self.unix = UnixSocket::bind(&operations.socket)?;
        }
        if changed {
            (self.tcp, self.metrics) = (tcp, operations.metrics);
        }
        Ok(())
    }

    /// What to poll for at `now`.
    pub fn interests(&self, now: Duration) -> impl Iterator<Item = Interest<'_>> {
        let listener = |fd| Interest { fd, read: true, write: false };
        let rest = self.accepting.due(now).is_some();
        let listeners = [Some(self.unix.as_fd()), self.tcp.as_ref().map(AsFd::as_fd)];
        let listeners = listeners.into_iter().flatten().filter(move |_| !rest).map(listener);
        listeners.chain(self.connections.iter().map(Connection::interest))
    }

    /// How long from `now` on until [`Server::serve`] must be called although nothing happens; `None`: for ever.
    pub fn timeout(&self, now: Duration) -> Option<Duration> {
        let lost = (self.metrics.is_some() && self.tcp.is_none()).then_some(now);
        let accepting = self.accepting.due(now).or(lost);
        let deadlines = self.connections.iter().filter_map(Connection::deadline).chain(accepting);
        deadlines.min().map(|deadline| deadline.saturating_sub(now))
    }

    /// How often since the last call nothing could be accepted.
    pub fn failures(&mut self) -> u64 {
        std::mem::take(&mut self.failures)
    }

    /// Whether anyone follows events, so that making them is worth it.
    pub fn has_followers(&self) -> bool {
        self.connections.iter().any(Connection::follows)
    }

    /// Does what can be done without waiting. `now` is a time since anything that does not go back. `answer` is called for
    /// each request but those for events.
    pub fn serve(&mut self, now: Duration, mut answer: impl FnMut(&Request) -> Response) {
        self.accept(now);
        let mut followers = self.connections.iter().filter(|one| one.follows()).count();
        self.connections.retain_mut(|connection| {
            if connection.deadline().is_some_and(|deadline| now >= deadline) {
                return false;
            }
            match connection.go_on() {
                Progress::Gone => false,
                Progress::Waits => true,
                Progress::Asks(Ok(request)) if request.path == "/events" && !request.tcp => {
                    if followers < MAX_FOLLOWERS {
                        followers += 1;
                        connection.follow();
                    } else {
                        connection.answer(&Response::text(503, "too many follow events already\n"));
                    }
                    connection.go_on() != Progress::Gone
                }
                Progress::Asks(request) => {
                    connection.answer(&request.map_or_else(|refusal| refusal, |request| answer(&request)));
                    connection.go_on() != Progress::Gone
                }
            }
        });
    }

    /// Sends `event` as a line of JSON to all who follow events. Who has too many of them before it is dropped.
    pub fn publish(&mut self, event: &impl Serialize) {
        if !self.has_followers() {
            return;
        }
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        self.connections.retain_mut(|connection| {
            !connection.follows() || (connection.publish(&line) && connection.go_on() != Progress::Gone)
        });
    }

    fn accept(&mut self, now: Duration) {
        if self.accepting.due(now).is_some() {
            return;
        }
        let mut failed = None;
        if let (None, Some(address)) = (&self.tcp, self.metrics) {
            self.tcp = listen(address).map_err(|error| failed = Some(error.to_string())).ok();
        }
        for tcp in [false, true] {
            // As many as there may be, so that one who connects without end does not keep the event loop here.
            for _ in 0..MAX_CONNECTIONS {
                let accepted = match (tcp, &self.tcp) {
                    (false, _) => self.unix.accept().map(Stream::Unix),
                    (true, Some(listener)) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
                    (true, None) => break,
                };
                match accepted {
                    Ok(stream) => self.admit(stream, now),
                    Err(error) => match refusal(&error) {
                        Refusal::Connection => {}
                        Refusal::Nothing => break,
                        reason @ (Refusal::Room | Refusal::Socket) => {
                            if tcp && reason == Refusal::Socket {
                                self.tcp = None;
                            }
                            failed = Some(error.to_string());
                            break;
                        }
                    },
                }
            }
        }
        if let Some(error) = failed {
            self.failures += 1;
            if self.accepting.add(now) {
                tracing::warn!(%error, "no connection for status or metrics can be accepted now");
            }
        } else if let Some(failures) = self.accepting.works(now) {
            tracing::info!(failures, "connections for status and metrics can be accepted again");
        }
    }

    fn admit(&mut self, stream: Stream, now: Duration) {
        // any user can connect over TCP, and must not drive away those who may use the unix socket
        let tcp = stream.is_tcp();
        let most = if tcp { MAX_TCP } else { MAX_CONNECTIONS };
        let same = self.connections.iter().filter(|one| one.is_tcp() == tcp).count();
        let oldest = self.connections.iter().position(|one| one.is_tcp() == tcp && !one.follows());
        if let Some(oldest) = oldest.filter(|_| same >= most) {
            self.connections.remove(oldest);
        }
        self.connections.extend(Connection::new(stream, now + PATIENCE));
    }
}
