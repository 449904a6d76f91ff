//! The kernel of one network namespace, as managers ask it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use headway_daemon::{Failures, Place, ReconnectingSocket, Refusal, refusal};
use headway_linux::diag::{Diag, Mptcp, Query, States, Tcp};
use headway_linux::mptcp::{Command, PathManager};
use headway_linux::{Error, FourTuple, Token, mptcp_socket};
use rustix::io::Errno;

use super::cgroups::Cgroups;
use crate::manager::{Answer, Kernel, Unreadable};

/// Sockets that listen for joins.
const MAX_LISTENERS: usize = 256;
/// New connections that arrive where only joins are wanted, at one time.
const BACKLOG: u16 = 16;

/// The kernel.
pub(super) struct LinuxKernel {
    place: Place,
    commands: ReconnectingSocket<PathManager>,
    diag: ReconnectingSocket<Diag>,
    /// Since the daemon's start, as of this turn of the event loop.
    pub uptime: Duration,
    /// Interfaces that subflows from an address are bound to.
    pub interfaces: BTreeMap<IpAddr, u32>,
    listeners: BTreeMap<SocketAddr, TcpListener>,
    /// Of listeners to accept.
    accepting: Failures,
    /// Addresses that cannot be listened at, so that it is told once.
    refused: BTreeSet<SocketAddr>,
    cgroups: Cgroups,
}

impl LinuxKernel {
    /// In the namespace that the calling thread is in, which is `place`.
    pub fn open(place: Place) -> Result<LinuxKernel, Error> {
        Ok(LinuxKernel {
            commands: ReconnectingSocket::new("commands", place.clone().opens(PathManager::open))?,
            diag: ReconnectingSocket::new("sock_diag", place.clone().opens(Diag::open))?,
            place,
            uptime: Duration::ZERO,
            accepting: Failures::default(),
            interfaces: BTreeMap::new(),
            listeners: BTreeMap::new(),
            refused: BTreeSet::new(),
            cgroups: Cgroups::default(),
        })
    }

    /// What there is of MPTCP, and how many sockets cannot be read.
    pub fn all(&mut self) -> Result<(Vec<Mptcp>, Vec<Tcp>, usize), Error> {
        let (mut connections, mut subflows) = (Vec::new(), Vec::new());
        let diag = self.diag.get_mut().ok_or(Error::NoAnswer)?;
        let listed = diag.mptcp_all(States::OPEN, |connection| connections.push(connection)).and_then(|unreadable| {
            let each = |tcp: Tcp| {
                if tcp.subflow.is_some() {
                    subflows.push(tcp);
                }
            };
            Ok(unreadable + diag.tcp_all(States::OPEN, each)?)
        });
        let unreadable = listed.inspect_err(|error| _ = self.diag.failed(error, self.uptime))?;
        Ok((connections, subflows, unreadable))
    }

    /// What to poll for reading.
    pub fn listeners(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let rest = self.accepting.due(self.uptime).is_some();
        self.listeners.values().filter(move |_| !rest).map(AsFd::as_fd)
    }

    /// When [`LinuxKernel::mend`] is to be called although nothing happens.
    pub fn due(&self) -> Option<Duration> {
        let due = [self.commands.due(self.uptime), self.diag.due(self.uptime), self.accepting.due(self.uptime)];
        due.into_iter().flatten().min()
    }

    /// Opens anew what has failed, and returns how much has since the last call.
    pub fn mend(&mut self) -> u64 {
        self.commands.reopen(self.uptime);
        self.diag.reopen(self.uptime);
        self.commands.lost() + self.diag.lost()
    }

    /// Closes the sockets that listen elsewhere than `wanted` says, so that applications can have the addresses.
    pub fn listen_only(&mut self, wanted: impl Fn(&SocketAddr) -> bool) {
        self.listeners.retain(|at, _| {
            let keep = wanted(at);
            if !keep {
                tracing::info!(%at, "listening for joins no more");
            }
            keep
        });
    }

    /// Joins are the kernel's business; who opens a new connection where only they are wanted is told at once that nobody
    /// is there.
    pub fn refuse_connections(&mut self) {
        if self.accepting.due(self.uptime).is_some() {
            return;
        }
        let mut failed = None;
        let mut dead = Vec::new();
        for (at, listener) in &self.listeners {
            for _ in 0..BACKLOG {
                match listener.accept() {
                    // closes with a reset
                    Ok((stream, _)) => _ = rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)),
                    Err(error) => match refusal(&error) {
                        Refusal::Connection => {}
                        Refusal::Nothing => break,
                        Refusal::Room => {
                            failed = Some(error);
                            break;
                        }
                        Refusal::Socket => {
                            failed = Some(error);
                            dead.push(*at);
                            break;
                        }
                    },
                }
            }
        }
        for at in dead {
            self.listeners.remove(&at);
            let _ = self.listen(at);
        }
        if let Some(error) = failed
            && self.accepting.add(self.uptime)
        {
            tracing::warn!(%error, "sockets that listen for joins cannot be looked after");
        }
    }
}

fn readable<T>(state: Result<Option<T>, Error>) -> Answer<T> {
    state.map_err(|error| {
        tracing::debug!(%error, "a socket cannot be read");
        Unreadable
    })
}

impl LinuxKernel {
    fn asked(&mut self, asked: Result<(), Error>) {
        if let Err(error) = asked {
            tracing::debug!(%error, "sockets cannot be read now");
            self.diag.failed(&error, self.uptime);
        }
    }
}

impl Kernel for LinuxKernel {
    fn command(&mut self, command: &Command) -> Result<(), i32> {
        let commands = self.commands.get_mut().ok_or(Errno::IO.raw_os_error())?;
        commands.run(command).map_err(|error| {
            tracing::trace!(?command, %error, "refused");
            self.commands.failed(&error, self.uptime);
            error.errno().unwrap_or(Errno::IO).raw_os_error()
        })
    }

    fn connections(&mut self, tokens: &[Token]) -> Vec<Answer<Mptcp>> {
        let mut found = vec![Err(Unreadable); tokens.len()];
        if let Some(diag) = self.diag.get_mut() {
            let asked = diag.mptcp_many(tokens, |place, state| found[place] = readable(state));
            self.asked(asked);
        }
        found
    }

    fn subflows(&mut self, pairs: &[FourTuple]) -> Vec<Answer<Tcp>> {
        let interface = |pair: &FourTuple| self.interfaces.get(&pair.local.ip()).copied().unwrap_or(0);
        let queries: Vec<Query> = pairs.iter().map(|pair| Query { pair: *pair, interface: interface(pair) }).collect();
        let mut found = vec![Err(Unreadable); pairs.len()];
        if let Some(diag) = self.diag.get_mut() {
            let asked = diag.tcp_many(&queries, |place, state| found[place] = readable(state));
            self.asked(asked);
        }
        found
    }

    fn listen(&mut self, at: SocketAddr) -> Result<(), i32> {
        if self.listeners.contains_key(&at) || self.listeners.len() >= MAX_LISTENERS {
            return Ok(());
        }
        let listening = self.place.inside(|| {
            let listener = mptcp_socket::listen(at, BACKLOG)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match listening {
            Ok(listener) => {
                tracing::info!(%at, "listening for joins");
                self.listeners.insert(at, listener);
                Ok(())
            }
            Err(error) => {
                // in use: the application listens there itself, and all is well
                if error.kind() != std::io::ErrorKind::AddrInUse && self.refused.insert(at) {
                    tracing::warn!(%at, %error, "cannot listen for joins");
                }
                Err(error.raw_os_error().unwrap_or(5))
            }
        }
    }

    fn cgroup(&mut self, id: u64) -> Option<PathBuf> {
        self.cgroups.path(id, self.uptime)
    }
}
