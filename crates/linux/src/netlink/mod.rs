//! A netlink socket: requests that are answered, dumps, and what the kernel tells by itself.
//!
//! Everything is sent to and heard from the kernel only: a datagram of another sender (processes with `CAP_NET_ADMIN`
//! can send some) is dropped.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{RecvFlags, SendFlags, recvfrom, send, sockopt};

pub mod codec;
pub mod generic;

pub use codec::Malformed;
use codec::{ACK, DONE, DUMP, ERROR, INTERRUPTED, Message, REQUEST, Writer, messages};

/// How long the kernel may take for an answer. It answers before `send` returns; this bounds what should not happen.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often a dump is begun anew that was interrupted or overran.
const ATTEMPTS: u32 = 5;
/// The kernel makes datagrams of dumps of at most 32 kB (`netlink_dump`).
const BUFFER: usize = 64 * 1024;

/// What asking Linux may end with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel says no.
    #[error("{errno}{}", words(message.as_deref()))]
    Kernel {
        /// Why.
        errno: Errno,
        /// In its own words, if it has some (extended acknowledgement).
        message: Option<String>,
    },
    /// A system call failed.
    #[error("{call}: {source}")]
    Call {
        /// Which.
        call: &'static str,
        /// How.
        source: io::Error,
    },
    /// A generic netlink family that the kernel does not have: it was built without the feature.
    #[error("this kernel has no generic netlink family `{name}`")]
    NoFamily {
        /// The family.
        name: &'static str,
    },
    /// Messages were lost because nobody read them in time (ENOBUFS): what they told has to be asked for.
    #[error("messages of the kernel were lost, as they were not read in time")]
    Overrun,
    /// What is dumped changed again and again while it was.
    #[error("a list of the kernel changed while it was read, {ATTEMPTS} times in a row")]
    Interrupted,
    /// The kernel did not answer.
    #[error("the kernel did not answer within {PATIENCE:?}")]
    NoAnswer,
    /// What came is not what it should be. What follows it can still be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

fn words(message: Option<&str>) -> String {
    message.map(|m| format!(" ({m})")).unwrap_or_default()
}

impl Error {
    /// The errno, if the kernel said no.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Kernel { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

/// Gives a failed system call its name.
pub(crate) fn call<E: Into<io::Error>>(call: &'static str) -> impl FnOnce(E) -> Error {
    move |error| Error::Call { call, source: error.into() }
}

/// A socket in the calling thread's network namespace, closed on exec.
pub struct Socket {
    inner: netlink_sys::Socket,
    sequence: u32,
    buffer: Box<[u8]>,
    writer: Writer,
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl Socket {
    /// A socket of a netlink protocol (`netlink_sys::protocols`).
    ///
    /// # Errors
    /// [`Error::Call`] if the kernel gives none.
    pub fn open(protocol: isize) -> Result<Self, Error> {
        let mut inner = netlink_sys::Socket::new(protocol).map_err(call("socket(AF_NETLINK)"))?;
        inner.bind_auto().map_err(call("bind(AF_NETLINK)"))?;
        // Words and short errors: the kernel has both since 4.12. Without, only the words are missing.
        let _ = inner.set_ext_ack(true);
        let _ = inner.set_cap_ack(true);
        Ok(Self { inner, sequence: 0, buffer: vec![0; BUFFER].into_boxed_slice(), writer: Writer::default() })
    }

    /// Hear what the kernel tells a multicast group.
    pub(crate) fn join(&self, group: u32) -> Result<(), Error> {
        self.inner.add_membership(group).map_err(call("setsockopt(NETLINK_ADD_MEMBERSHIP)"))
    }

    /// Have the kernel check requests strictly and filter dumps (Linux 4.20); older ones ignore the wish.
    pub(crate) fn strict(&self) {
        let _ = self.inner.set_netlink_get_strict_chk(true);
    }

    /// Room for what has not been read yet, bytes: beyond the system's limit with `CAP_NET_ADMIN`, else up to it.
    pub(crate) fn room(&self, bytes: usize) -> Result<(), Error> {
        sockopt::set_socket_recv_buffer_size_force(&self.inner, bytes)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&self.inner, bytes))
            .map_err(call("setsockopt(SO_RCVBUF)"))
    }

    /// The next datagram, if there is one. `None`: nothing is there.
    pub(crate) fn receive(&mut self) -> Result<Option<&[u8]>, Error> {
        Ok(self.receive_length()?.map(|length| &self.buffer[..length]))
    }

    fn receive_length(&mut self) -> Result<Option<usize>, Error> {
        loop {
            match recvfrom(&self.inner, &mut self.buffer[..], RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                Ok((_, length, from)) => {
                    let kernel = from.is_none_or(|a| SocketAddrNetlink::try_from(a).is_ok_and(|a| a.pid() == 0));
                    if !kernel {
                        continue;
                    }
                    if length > self.buffer.len() {
                        return Err(Malformed::Message { said: length, have: self.buffer.len() }.into());
                    }
                    return Ok(Some(length));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => return Err(Error::Overrun),
                Err(error) => return Err(call("recvfrom(AF_NETLINK)")(error)),
            }
        }
    }

    /// The next datagram, waited for until `deadline`.
    fn wait(&mut self, deadline: Instant) -> Result<usize, Error> {
        loop {
            if let Some(length) = self.receive_length()? {
                return Ok(length);
            }
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return Err(Error::NoAnswer);
            }
            let remaining = Timespec { tv_sec: remaining.as_secs() as _, tv_nsec: remaining.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.inner, PollFlags::IN)], Some(&remaining)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(call("poll")(error)),
            }
        }
    }

    fn send(&self) -> Result<(), Error> {
        loop {
            match send(&self.inner, self.writer.bytes(), SendFlags::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(call("send(AF_NETLINK)")(error)),
            }
        }
    }

    /// Reads away what is there, and an overrun that was noted.
    fn drain(&mut self) -> Result<(), Error> {
        loop {
            match self.receive_length() {
                Ok(None) => return Ok(()),
                Ok(Some(_)) | Err(Error::Overrun | Error::Malformed(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// One request, acknowledged. `answer` gets what comes besides the acknowledgement.
    ///
    /// # Errors
    /// [`Error::Kernel`] if it is refused.
    pub fn request(
        &mut self,
        kind: u16,
        flags: u16,
        body: impl FnOnce(&mut Writer),
        mut answer: impl FnMut(&Message<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        self.writer.clear();
        self.writer.message(kind, REQUEST | ACK | flags, self.sequence, body);
        self.send()?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let length = self.wait(deadline)?;
            for message in messages(&self.buffer[..length]) {
                let message = message?;
                if message.sequence != self.sequence {
                    continue;
                }
                if message.kind != ERROR {
                    answer(&message)?;
                    continue;
                }
                return finish(&message);
            }
        }
    }

    /// A dump: all there is of something, each as `read` makes it (`None`: not wanted), behind what `list` has already.
    /// Begun anew a few times if what is dumped changed meanwhile.
    ///
    /// # Errors
    /// [`Error::Kernel`] if it is refused, [`Error::Interrupted`] or [`Error::Overrun`] if it did not succeed.
    pub fn dump<T>(
        &mut self,
        kind: u16,
        body: impl Fn(&mut Writer),
        list: &mut Vec<T>,
        mut read: impl FnMut(&Message<'_>) -> Result<Option<T>, Error>,
    ) -> Result<(), Error> {
        let before = list.len();
        let mut result = Ok(());
        for _ in 0..ATTEMPTS {
            list.truncate(before);
            result = self.dump_once(kind, &body, list, &mut read);
            match result {
                Err(Error::Interrupted | Error::Overrun) => self.drain()?,
                _ => break,
            }
        }
        if result.is_err() {
            list.truncate(before);
        }
        result
    }

    fn dump_once<T>(
        &mut self,
        kind: u16,
        body: &impl Fn(&mut Writer),
        list: &mut Vec<T>,
        read: &mut impl FnMut(&Message<'_>) -> Result<Option<T>, Error>,
    ) -> Result<(), Error> {
        self.sequence = self.sequence.wrapping_add(1);
        self.writer.clear();
        self.writer.message(kind, REQUEST | DUMP, self.sequence, body);
        self.send()?;
        let mut interrupted = false;
        let mut failed = None;
        loop {
            // Each datagram has its own time: dumps may be long.
            let length = self.wait(Instant::now() + PATIENCE)?;
            for message in messages(&self.buffer[..length]) {
                let message = message?;
                if message.sequence != self.sequence {
                    continue;
                }
                interrupted |= message.flags & INTERRUPTED != 0;
                if message.kind == ERROR || message.kind == DONE {
                    finish(&message)?;
                    return match failed {
                        Some(error) => Err(error),
                        None if interrupted => Err(Error::Interrupted),
                        None => Ok(()),
                    };
                }
                // The dump is read to its end anyway, so that the socket can be used again.
                match read(&message) {
                    Ok(item) => list.extend(item),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
        }
    }

    /// `count` requests that are each answered by one message, in few datagrams. `body` writes the `i`-th, `answer` gets
    /// its answer, or why there is none: the errno that it was refused with, or what is wrong with its answer. That of one
    /// says nothing of the others.
    ///
    /// # Errors
    /// If nothing can be asked or heard, and [`Error::Overrun`] if there is no room for a single answer.
    pub fn batch(
        &mut self,
        kind: u16,
        count: usize,
        mut body: impl FnMut(usize, &mut Writer),
        mut answer: impl FnMut(usize, Result<&Message<'_>, Error>),
    ) -> Result<(), Error> {
        let mut size = BATCH;
        let mut done = 0;
        while done < count {
            let mut waiting = Waiting::new(self.sequence.wrapping_add(1), size.min(count - done));
            self.writer.clear();
            for i in 0..waiting.count {
                self.sequence = self.sequence.wrapping_add(1);
                self.writer.message(kind, REQUEST, self.sequence, |w| body(done + i, w));
            }
            self.send()?;
            let deadline = Instant::now() + PATIENCE;
            while waiting.answered < waiting.count {
                let datagram = match self.wait(deadline) {
                    Err(Error::Overrun) if size > 1 => {
                        self.drain()?;
                        size /= 2;
                        break;
                    }
                    Err(Error::Malformed(malformed)) => Err(malformed),
                    other => Ok(other?),
                };
                let datagram = datagram.map(|length| &self.buffer[..length]);
                waiting.take(datagram, |place, message| answer(done + place, message));
            }
            done += waiting.answered;
        }
        Ok(())
    }
}

/// Requests that wait for their answers, which come in their order.
struct Waiting {
    /// The first one's sequence number.
    first: u32,
    count: usize,
    answered: usize,
}

impl Waiting {
    fn new(first: u32, count: usize) -> Self {
        Self { first, count, answered: 0 }
    }

    /// Takes in a datagram, which has one answer mostly. `answer` is called once for each request, in order.
    fn take(&mut self, datagram: Result<&[u8], Malformed>, mut answer: impl FnMut(usize, Result<&Message<'_>, Error>)) {
        let list = match datagram {
            Ok(datagram) => Some(messages(datagram)),
            Err(malformed) => return self.lose(malformed, &mut answer),
        };
        for message in list.into_iter().flatten() {
            let message = match message {
                Ok(message) => message,
                Err(malformed) => return self.lose(malformed, &mut answer),
            };
            let place = message.sequence.wrapping_sub(self.first) as usize;
            // late answers to what was given up
            if place < self.answered || place >= self.count {
                continue;
            }
            while self.answered < place {
                answer(self.answered, Err(Error::NoAnswer));
                self.answered += 1;
            }
            self.answered += 1;
            if message.kind == ERROR {
                let refused = message.outcome().map(|(errno, _)| errno_of(errno));
                let error = refused.map_or_else(Error::from, |errno| Error::Kernel { errno, message: None });
                answer(place, Err(error));
            } else {
                answer(place, Ok(&message));
            }
        }
    }

    /// An answer cannot be read at all: the next one's, as they come in order.
    fn lose(&mut self, malformed: Malformed, answer: &mut impl FnMut(usize, Result<&Message<'_>, Error>)) {
        if self.answered < self.count {
            self.answered += 1;
            answer(self.answered - 1, Err(malformed.into()));
        }
    }
}

/// Requests in a datagram. An answer takes up to 2.5 kB of the socket's buffer, which is 200 kB at least.
const BATCH: usize = 64;

/// What an acknowledgement or the end of a dump says.
fn finish(message: &Message<'_>) -> Result<(), Error> {
    let (errno, message) = message.outcome()?;
    if errno == 0 { Ok(()) } else { Err(Error::Kernel { errno: errno_of(errno), message }) }
}

/// An errno by its number. The kernel's are 1 … 4095.
fn errno_of(number: u16) -> Errno {
    if (1..4096).contains(&number) { Errno::from_raw_os_error(number.into()) } else { Errno::PROTO }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of four requests, numbered from 10 on, got of some datagrams.
    fn answers(datagrams: &[Result<&[u8], Malformed>]) -> (Vec<String>, usize) {
        let mut waiting = Waiting::new(10, 4);
        let mut all = Vec::new();
        for datagram in datagrams {
            waiting.take(datagram.clone(), |place, message| {
                assert_eq!(place, all.len(), "each once and in order");
                all.push(message.map_or_else(|error| error.to_string(), |m| String::from_utf8_lossy(m.payload).into()));
            });
        }
        (all, waiting.answered)
    }

    fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.message(kind, 0, sequence, |w| w.raw(payload));
        writer.bytes().to_vec()
    }

    #[test]
    fn an_answer_that_cannot_be_read_costs_no_other_one() {
        let good = |sequence| message(20, sequence, b"good");
        let refused = message(ERROR, 11, &(-1_i32).to_ne_bytes());
        let (text, answered) = answers(&[Ok(&good(9)), Ok(&good(10)), Ok(&refused), Ok(&good(12)), Ok(&good(13))]);
        assert_eq!((text.len(), answered, text[0].as_str(), text[2].as_str()), (4, 4, "good", "good"));
        assert_eq!(text[1], Error::Kernel { errno: Errno::PERM, message: None }.to_string());

        // its header says more than there is, and then one that is longer than any room
        let mut cut = good(11);
        cut.truncate(12);
        let long = Malformed::Message { said: 100_000, have: BUFFER };
        let (text, answered) = answers(&[Ok(&good(10)), Ok(&cut), Err(long), Ok(&good(13))]);
        assert_eq!((answered, text[0].as_str(), text[3].as_str()), (4, "good", "good"));
        assert!(text[1].contains("netlink message") && text[2].contains("100000 bytes"), "{text:?}");

        // one is not there at all; an acknowledgement without an errno
        let short = message(ERROR, 13, &[]);
        let (text, answered) = answers(&[Ok(&good(10)), Ok(&good(12)), Ok(&short)]);
        assert_eq!((answered, text[0].as_str(), text[2].as_str()), (4, "good", "good"));
        assert!(text[1].contains("did not answer") && text[3].contains("bytes"), "{text:?}");
    }

    #[test]
    fn more_answers_than_requests_are_left_alone() {
        let mut waiting = Waiting::new(u32::MAX, 2);
        let mut places = Vec::new();
        let all: Vec<u8> = [u32::MAX, 0, 0, 1, 2].iter().flat_map(|&sequence| message(20, sequence, b"")).collect();
        waiting.take(Ok(&all), |place, _| places.push(place));
        waiting.take(Err(Malformed::Message { said: 1, have: 0 }), |place, _| places.push(place));
        assert_eq!(places, [0, 1]);
    }
}
