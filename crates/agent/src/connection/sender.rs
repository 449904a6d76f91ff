//! A connection of a flow: connects, sends, says that this was all, and waits until the other end has it.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use headway_agent::protocol::{Flow, Report, is_long};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SendFlags, Shutdown, SocketFlags, SocketType, ipproto, sockopt};

use super::info::{Addresses, Subflows};
use super::mover::Mover;
use crate::report::reason;
use crate::sys;

/// Bytes per call. Never written to, so all of its pages are the kernel's one page of zeros.
pub const CHUNK: usize = 1 << 20;
/// Calls per event: in loopback connections the other end, which is served by the same process, must have its turn.
const CALLS: usize = 16;

/// Where a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Connecting,
    Sending,
    /// All is written, and the end of the other direction, which says that all has arrived, is not here.
    Closing,
}

/// What an event came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Wait for the same.
    Wait,
    /// Wait for this instead.
    WaitFor(EventFlags),
    /// Give it to a thread by [`Sender::hand_over`], and wait for that.
    HandOver,
    /// All has arrived.
    Done,
    /// It will not work, and why.
    Failed(String),
}

/// A connection.
pub struct Sender {
    /// It.
    pub socket: OwnedFd,
    flow: u64,
    connection: u32,
    mptcp: bool,
    sampled: bool,
    local: SocketAddr,
    remote: SocketAddr,
    /// Bytes to write; without end if there is no number.
    left: Option<u64>,
    phase: Phase,
    subflows: Subflows,
    mover: Option<Mover>,
}

impl Sender {
    /// Begins to connect, or tells why it cannot.
    pub fn open(flow: &Flow, connection: u32, (local, remote): (SocketAddr, SocketAddr)) -> Result<Self, String> {
        let socket = connect(flow, local, remote).map_err(|(what, error)| format!("{what}: {}", reason(error)))?;
        // A port that was left open was chosen by connecting.
        let own = (local.port() == 0).then(|| net::getsockname(&socket).map(SocketAddr::try_from));
        let local = if let Some(Ok(Ok(own))) = own { own } else { local };
        Ok(Self {
            socket,
            flow: flow.id,
            connection,
            mptcp: flow.mptcp,
            sampled: flow.sampled,
            local,
            remote,
            left: flow.size,
            phase: Phase::Connecting,
            subflows: Subflows::default(),
            mover: None,
        })
    }

    /// What a new connection waits for.
    pub const WAITS_FOR: EventFlags = EventFlags::OUT;

    /// Goes on after these events. `zeros` is what is sent.
    pub fn event(&mut self, events: EventFlags, zeros: &[u8], addresses: &Addresses) -> Step {
        let broken = events.intersects(EventFlags::ERR | EventFlags::HUP);
        let step = match self.phase {
            Phase::Connecting => self.connected(broken, zeros, addresses),
            Phase::Sending => self.send(broken, zeros, addresses),
            Phase::Closing => self.close(broken),
        };
        if matches!(step, Step::Done | Step::Failed(_)) {
            self.look(addresses);
        }
        step
    }

    fn connected(&mut self, broken: bool, zeros: &[u8], addresses: &Addresses) -> Step {
        if broken {
            let error = sockopt::socket_error(&self.socket).and_then(|error| error).err();
            return failed("cannot connect", error.unwrap_or(Errno::CONNABORTED));
        }
        self.phase = Phase::Sending;
        if is_long(self.left) {
            return Step::HandOver;
        }
        self.send(broken, zeros, addresses)
    }

    /// Lets a thread send all that is left. Gives what becomes readable when it is done.
    pub fn hand_over(&mut self, zeros: Arc<Vec<u8>>) -> io::Result<&OwnedFd> {
        let mover = Mover::send(self.socket.as_fd(), self.left, zeros)?;
        Ok(&self.mover.insert(mover).done)
    }

    /// Whether a thread has it, and its event is that thread's.
    pub fn is_handed_over(&self) -> bool {
        self.mover.is_some()
    }

    /// The thread is done.
    pub fn handed_back(&mut self, addresses: &Addresses) -> Step {
        let outcome = self.mover.take().map_or(Ok(()), |mut mover| mover.outcome());
        let step = match outcome.and_then(|()| sys::set_blocking(self.socket.as_fd(), false)) {
            Ok(()) => {
                self.left = Some(0);
                self.send(false, &[], addresses)
            }
            Err(error) => Step::Failed(format!("broken off: {}", reason(error))),
        };
        if matches!(step, Step::Failed(_)) {
            self.look(addresses);
        }
        step
    }

    fn send(&mut self, broken: bool, zeros: &[u8], addresses: &Addresses) -> Step {
        for _ in 0..CALLS {
            let size =
                self.left.map_or(zeros.len(), |left| zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
            if size == 0 {
                // The subflows' end may come before the other end's answer does: this may be the last that is seen.
                if self.mptcp {
                    self.look(addresses);
                }
                self.phase = Phase::Closing;
                return match net::shutdown(&self.socket, Shutdown::Write) {
                    Ok(()) => Step::WaitFor(EventFlags::IN | EventFlags::RDHUP),
                    Err(error) => failed("cannot close", error),
                };
            }
            match net::send(&self.socket, &zeros[..size], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => {
                    self.left = self.left.map(|left| left - sent as u64);
                    // The send buffer is full; to ask again would only say so.
                    if sent < size {
                        return Step::Wait;
                    }
                }
                Err(Errno::INTR) => {}
                // To wait on a broken connection would be to be told again at once.
                Err(Errno::AGAIN) if !broken => return Step::Wait,
                Err(error) => return failed("broken off", error),
            }
        }
        Step::Wait
    }

    fn close(&self, broken: bool) -> Step {
        loop {
            match sys::discard(self.socket.as_fd()) {
                Ok(0) => return Step::Done,
                Ok(_) => {}
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::INTR) => {}
                    Some(Errno::AGAIN) if !broken => return Step::Wait,
                    _ => return Step::Failed(format!("broken off: {}", reason(error))),
                },
            }
        }
    }

    fn look(&mut self, addresses: &Addresses) {
        self.subflows.look(self.socket.as_fd(), self.mptcp, self.local, self.remote, addresses);
    }

    /// Samples of its subflows, if it is sampled.
    pub fn sample(&mut self, at_ns: u64, addresses: &Addresses) -> impl Iterator<Item = Report> {
        if self.sampled {
            self.look(addresses);
        }
        let (flow, connection) = (self.flow, self.connection);
        self.subflows.open().filter(|_| self.sampled).map(move |(subflow, info)| Report::Sample {
            at_ns,
            flow,
            connection,
            subflow,
            cwnd_bytes: info.cwnd_bytes,
            srtt_ns: info.srtt_ns,
        })
    }

    /// The report of a connection that the end of the run finds unfinished.
    pub fn unfinished(&mut self, addresses: &Addresses) -> Report {
        self.look(addresses);
        self.over(None)
    }

    /// The report at the end.
    pub fn over(&self, error: Option<String>) -> Report {
        Report::Sent { flow: self.flow, connection: self.connection, error, subflows: self.subflows.all() }
    }
}

fn failed(what: &str, error: Errno) -> Step {
    Step::Failed(format!("{what}: {}", reason(error)))
}

fn connect(flow: &Flow, local: SocketAddr, remote: SocketAddr) -> Result<OwnedFd, (&'static str, Errno)> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let protocol = if flow.mptcp { ipproto::MPTCP } else { ipproto::TCP };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(family, SocketType::STREAM, flags, Some(protocol))
        .map_err(|error| (if flow.mptcp { "no MPTCP socket" } else { "no TCP socket" }, error))?;
    sockopt::set_socket_reuseaddr(&socket, true).map_err(|error| ("cannot share the address", error))?;
    if let Some(control) = &flow.control {
        sockopt::set_tcp_congestion(&socket, control).map_err(|error| ("no such congestion control", error))?;
    }
    if let Some(rate) = flow.max_pacing_rate {
        sys::set_max_pacing_rate(socket.as_fd(), rate)
            .map_err(|error| ("cannot be paced", Errno::from_io_error(&error).unwrap_or(Errno::INVAL)))?;
    }
    if local.port() == 0 {
        // To choose a port when it is known for which connection takes one look, otherwise as many as there are
        // connections. An older kernel does without.
        _ = sys::bind_address_only(socket.as_fd());
    }
    net::bind(&socket, &local).map_err(|error| ("cannot bind", error))?;
    match net::connect(&socket, &remote) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(("cannot connect", error)),
    }
}
