//! What the kernel tells of interfaces and addresses that change.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

use super::{Address, DEL_ADDRESS, DEL_LINK, Link, NEW_ADDRESS, NEW_LINK};
use crate::netlink::codec::{Malformed, Message, messages};
use crate::netlink::{Error, Socket};

/// `RTNLGRP_LINK`, `RTNLGRP_IPV4_IFADDR`, `RTNLGRP_IPV6_IFADDR`.
const GROUPS: [u32; 3] = [1, 5, 9];
/// Room for what was not read yet, bytes.
const ROOM: usize = 1 << 20;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A link is new or is now like this.
    LinkChanged(Link),
    /// A link is gone.
    LinkRemoved {
        /// Its index, which may be given to another some time.
        index: u32,
        /// Its name.
        name: String,
    },
    /// An address is new, or is now like this: it comes again once it is usable.
    AddressAdded(Address),
    /// An address is gone.
    AddressRemoved(Address),
}

impl Change {
    /// Reads a message. `None`: it is of nothing that is told here.
    ///
    /// # Errors
    /// If bytes are missing, or what it is of no use without.
    pub fn parse(message: &Message<'_>) -> Result<Option<Self>, Malformed> {
        Ok(match message.kind {
            NEW_LINK => Link::parse(message.payload)?.map(Self::LinkChanged),
            DEL_LINK => {
                Link::parse(message.payload)?.map(|link| Self::LinkRemoved { index: link.index, name: link.name })
            }
            NEW_ADDRESS => Address::parse(message.payload)?.map(Self::AddressAdded),
            DEL_ADDRESS => Address::parse(message.payload)?.map(Self::AddressRemoved),
            _ => None,
        })
    }
}

/// A subscription to changes of links and addresses of the network namespace that it was opened in.
#[derive(Debug)]
pub struct Monitor {
    socket: Socket,
    read: VecDeque<Result<Change, Malformed>>,
}

impl AsFd for Monitor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Monitor {
    /// Subscribes in the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Call`] if the kernel gives no socket.
    pub fn open() -> Result<Self, Error> {
        let socket = Socket::open(netlink_sys::protocols::NETLINK_ROUTE)?;
        socket.room(ROOM)?;
        for group in GROUPS {
            socket.join(group)?;
        }
        Ok(Self { socket, read: VecDeque::new() })
    }

    /// The next change, `None` if there is none now. Never waits: `poll` the descriptor.
    ///
    /// # Errors
    /// [`Error::Overrun`] if changes were lost: list links and addresses anew.
    /// [`Error::Malformed`] for one that cannot be read; the following ones can.
    #[expect(clippy::should_implement_trait, reason = "an iterator that gives None would be over")]
    pub fn next(&mut self) -> Result<Option<Change>, Error> {
        loop {
            if let Some(change) = self.read.pop_front() {
                return Ok(Some(change?));
            }
            let Some(datagram) = self.socket.receive()? else { return Ok(None) };
            for message in messages(datagram) {
                self.read.extend(message.and_then(|m| Change::parse(&m)).transpose());
            }
        }
    }
}
