//! One connection: a request, and an answer or a stream of events.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::{Interest, MAX_BACKLOG, MAX_REQUEST, Request, Response};

/// A request has at most this many headers.
const MAX_HEADERS: usize = 64;

/// So many reads throw away what follows a request; who sends more may be reset.
const MAX_DISCARDED: usize = 64;

/// Where bytes come from and go to.
#[derive(Debug)]
pub(super) enum Stream {
    /// The daemon's group.
    Unix(UnixStream),
    /// Any user of the host.
    Tcp(TcpStream),
}

impl Stream {
    pub(super) fn is_tcp(&self) -> bool {
        matches!(self, Stream::Tcp(_))
    }

    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_nonblocking(true),
            Stream::Tcp(stream) => stream.set_nonblocking(true),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The request is not whole yet.
    Asks,
    /// What is written is all there will be.
    Answers,
    /// More events may come.
    Follows,
}

/// How far a connection is.
#[derive(Debug, PartialEq)]
pub(super) enum Progress {
    /// It is over, or broken.
    Gone,
    /// Nothing more can be done now.
    Waits,
    /// It wants an answer: to a request, or this one because the request is wrong.
    Asks(Result<Request, Response>),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    state: State,
    deadline: Duration,
    input: Vec<u8>,
    output: Vec<u8>,
    /// So much of `output` is on its way.
    written: usize,
}

impl Connection {
    /// `None` if the stream is broken already.
    pub(super) fn new(stream: Stream, deadline: Duration) -> Option<Connection> {
        stream.set_nonblocking().ok()?;
        Some(Connection { stream, state: State::Asks, deadline, input: Vec::new(), output: Vec::new(), written: 0 })
    }

    pub(super) fn interest(&self) -> Interest<'_> {
        // Who follows events says nothing more, but may leave.
        let read = self.state != State::Answers;
        Interest { fd: self.stream.as_fd(), read, write: self.written < self.output.len() }
    }

    /// When it is dropped; `None` for one who follows events.
    pub(super) fn deadline(&self) -> Option<Duration> {
        (self.state != State::Follows).then_some(self.deadline)
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.stream.is_tcp()
    }

    pub(super) fn follows(&self) -> bool {
        self.state == State::Follows
    }

    /// Reads and writes what it can.
    pub(super) fn go_on(&mut self) -> Progress {
        match self.state {
            State::Asks => self.read(),
            State::Answers => self.write(),
            State::Follows => {
                if self.departed() {
                    return Progress::Gone;
                }
                self.write()
            }
        }
    }

    /// Answers the request, and closes when that is written.
    pub(super) fn answer(&mut self, response: &Response) {
        let Response { status, kind, body } = response;
        let reason = match status {
            200 => "OK",
            400 => "Bad Request",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        self.output = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\n\r\n",
            body.len()
        )
        .into_bytes();
        self.output.extend_from_slice(body);
        self.written = 0;
        self.state = State::Answers;
    }

    /// From now on it gets events, until it leaves.
    pub(super) fn follow(&mut self) {
        const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\
            Cache-Control: no-store\r\n\r\n";
        self.output = HEAD.to_vec();
        self.written = 0;
        self.state = State::Follows;
    }

    /// Adds an event; false if too many wait already.
    pub(super) fn publish(&mut self, line: &[u8]) -> bool {
        if self.output.len() - self.written + line.len() > MAX_BACKLOG {
            return false;
        }
        self.output.drain(..self.written);
        self.written = 0;
        self.output.extend_from_slice(line);
        true
    }

    fn read(&mut self) -> Progress {
        let mut buffer = [0; 2048];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Progress::Gone,
                Ok(read) => {
                    self.input.extend_from_slice(&buffer[..read]);
                    match request(&self.input, self.is_tcp()) {
                        Some(asked) => return Progress::Asks(asked),
                        None if self.input.len() >= MAX_REQUEST => {
                            return Progress::Asks(Err(Response::text(431, "this request is too long\n")));
                        }
                        None => {}
                    }
                }
                Err(error) => return after(&error),
            }
        }
    }

    fn write(&mut self) -> Progress {
        while self.written < self.output.len() {
            match self.stream.write(&self.output[self.written..]) {
                Ok(0) => return Progress::Gone,
                Ok(written) => self.written += written,
                Err(error) => return after(&error),
            }
        }
        if self.state == State::Follows {
            return Progress::Waits;
        }
        self.discard();
        Progress::Gone
    }

    /// Reads what was not asked for: a connection that is closed with unread input is reset, and the answer may be lost.
    fn discard(&mut self) {
        let mut buffer = [0; 2048];
        for _ in 0..MAX_DISCARDED {
            match self.stream.read(&mut buffer) {
                Ok(1..) => {}
                _ => return,
            }
        }
    }

    /// Whether the other end has closed. What it says is thrown away, some of it per call.
    fn departed(&mut self) -> bool {
        let mut buffer = [0; 2048];
        match self.stream.read(&mut buffer) {
            Ok(read) => read == 0,
            Err(error) => after(&error) == Progress::Gone,
        }
    }
}

fn after(error: &io::Error) -> Progress {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Progress::Waits,
        _ => Progress::Gone,
    }
}

/// The request in `bytes`, or what to answer to a wrong one; `None` if it is not whole.
fn request(bytes: &[u8], tcp: bool) -> Option<Result<Request, Response>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Err(Response::text(431, "too many headers\n"))),
        Err(_) => return Some(Err(Response::text(400, "this is not HTTP/1.1\n"))),
    }
    let (Some(method), Some(path)) = (parsed.method, parsed.path) else {
        return Some(Err(Response::text(400, "this is not HTTP/1.1\n")));
    };
    if method != "GET" {
        return Some(Err(Response::text(405, "only GET is known\n")));
    }
    let path = path.split('?').next().unwrap_or_default().to_owned();
    Some(Ok(Request { path, tcp }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_request_a_refusal_or_not_whole(
            mut head in prop::sample::select(vec!["", "GET /status HTTP/1.1\r\n", "GET  ", "GET /\u{1}"]).prop_map(|text| text.as_bytes().to_vec()),
            rest in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            head.extend(rest);
            if let Some(Err(refusal)) = request(&head, false) {
                prop_assert!(matches!(refusal.status, 400 | 405 | 431));
            }
        }
    }

    #[test]
    fn what_stands_behind_a_question_mark_is_left_out() {
        let asked = request(b"GET /metrics?name[]=a HTTP/1.1\r\n\r\n", true);
        assert_eq!(asked, Some(Ok(Request { path: "/metrics".to_owned(), tcp: true })));
        assert_eq!(request(b"GET /metrics HTTP/1.1\r\n", true), None);
    }
}
