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
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::NoAnswer);
            }
            let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.inner, PollFlags::IN)], Some(&left)) {
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
    /// its answer, or the errno that it was refused with.
    ///
    /// # Errors
    /// What `answer` says, and [`Error::Overrun`] if there is no room for a single answer.
    pub fn batch(
        &mut self,
        kind: u16,
        count: usize,
        mut body: impl FnMut(usize, &mut Writer),
        mut answer: impl FnMut(usize, Result<&Message<'_>, Errno>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut size = BATCH;
        let mut done = 0;
        while done < count {
            let first = self.sequence.wrapping_add(1);
            let these = size.min(count - done);
            self.writer.clear();
            for i in 0..these {
                self.sequence = self.sequence.wrapping_add(1);
                self.writer.message(kind, REQUEST, self.sequence, |w| body(done + i, w));
            }
            self.send()?;
            let deadline = Instant::now() + PATIENCE;
            let mut answered = 0;
            while answered < these {
                let length = match self.wait(deadline) {
                    Err(Error::Overrun) if size > 1 => {
                        self.drain()?;
                        size /= 2;
                        break;
                    }
                    other => other?,
                };
                for message in messages(&self.buffer[..length]) {
                    let message = message?;
                    // The kernel answers in order: others are late answers to what was given up.
                    if message.sequence != first.wrapping_add(answered as u32) {
                        continue;
                    }
                    let place = done + answered;
                    answered += 1;
                    if message.kind == ERROR {
                        let (errno, _) = message.outcome()?;
                        answer(place, Err(errno_of(errno)))?;
                    } else {
                        answer(place, Ok(&message))?;
                    }
                }
            }
            done += answered;
        }
        Ok(())
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
