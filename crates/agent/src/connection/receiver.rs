//! A connection that was accepted: what arrives is counted and thrown away.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};

use headway_agent::protocol::Report;
use rustix::event::epoll::EventFlags;

use super::mover::Mover;
use crate::sys;

/// What a receiver waits for. With RDHUP it knows that what it reads is the last without a read that finds nothing.
pub const WAITS_FOR: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

/// An accepted connection.
pub struct Receiver {
    /// It.
    pub socket: OwnedFd,
    peer: SocketAddr,
    port: u16,
    bytes: u64,
    told: u64,
    last_ns: u64,
    mptcp: bool,
    mover: Option<Mover>,
}

/// What reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// There is more to come.
    Open,
    /// The other end has said that this is all.
    Ended,
    /// The connection was broken off.
    Broken,
}

impl Receiver {
    /// A connection from `peer` that arrived at `port`.
    pub fn new(socket: OwnedFd, peer: SocketAddr, port: u16, mptcp: bool) -> Self {
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        Self { socket, peer, port, bytes: 0, told: 0, last_ns: 0, mptcp, mover: None }
    }

    /// Where it comes from and at which port it arrived.
    pub fn ends(&self) -> (SocketAddr, u16) {
        (self.peer, self.port)
    }

    /// Lets a thread read it, `size` bytes if that is known. Gives what becomes readable when it is done.
    pub fn hand_over(&mut self, size: Option<u64>, now: fn() -> u64) -> io::Result<&OwnedFd> {
        let mover = Mover::receive(self.socket.as_fd(), size, now)?;
        Ok(&self.mover.insert(mover).done)
    }

    /// The thread that had it, if any, is done.
    pub fn handed_back(&mut self) -> Option<Read> {
        let mut mover = self.mover.take()?;
        (self.bytes, self.last_ns) = mover.read();
        Some(if mover.outcome().is_ok() { Read::Ended } else { Read::Broken })
    }

    /// What a thread has received so far, as far as the kernel tells.
    fn look(&mut self, at_ns: u64) {
        if let Some(mover) = &self.mover {
            let (read, last_ns) = mover.read();
            let received = sys::received(self.socket.as_fd(), self.mptcp).unwrap_or(read).max(read);
            if received > self.bytes {
                self.bytes = received;
                self.last_ns = if last_ns > 0 { last_ns } else { at_ns };
            }
        }
    }

    /// Reads what there is after these events; `now` is asked for the time if there was something.
    pub fn read(&mut self, events: EventFlags, now: impl FnOnce() -> u64) -> Read {
        let before = self.bytes;
        let broken = events.intersects(EventFlags::ERR | EventFlags::HUP);
        let outcome = loop {
            match sys::discard(self.socket.as_fd()) {
                Ok(0) => break Read::Ended,
                Ok(got) => self.bytes += got as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // To wait on a broken connection would be to be told again at once.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !broken => break Read::Open,
                Err(_) => break Read::Broken,
            }
            // One read takes all there is. What comes in the meantime makes a new event.
            if !broken && !events.contains(EventFlags::RDHUP) {
                break Read::Open;
            }
        };
        if self.bytes > before {
            self.last_ns = now();
        }
        outcome
    }

    /// The sample, if something has arrived since the last.
    pub fn sample(&mut self, at_ns: u64) -> Option<Report> {
        self.look(at_ns);
        let new = self.bytes > self.told;
        self.told = self.bytes;
        new.then_some(Report::Arrived { at_ns, peer: self.peer, port: self.port, bytes: self.bytes })
    }

    /// The report of a connection that the end of the run finds unfinished.
    pub fn unfinished(&mut self, at_ns: u64) -> Report {
        self.look(at_ns);
        self.over(false)
    }

    /// The report at the end.
    pub fn over(&self, ended: bool) -> Report {
        Report::Received { peer: self.peer, port: self.port, bytes: self.bytes, last_ns: self.last_ns, ended }
    }
}
