//! What the path manager tells: multicast group `mptcp_pm_events`.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use super::{Connection, Event, FAMILY, Subflow};
use crate::netlink::codec::{Attribute, Malformed, attributes, messages};
use crate::netlink::generic::{Family, split};
use crate::netlink::{Error, Socket};
use crate::{FourTuple, Token};

/// The group.
const GROUP: &str = "mptcp_pm_events";
/// Room for events that were not read yet. An event takes about 900 bytes of it: 8 MB hold some 9,000.
const ROOM: usize = 8 << 20;

// enum mptcp_event_type
const CREATED: u8 = 1;
const ESTABLISHED: u8 = 2;
const CLOSED: u8 = 3;
const ANNOUNCED: u8 = 6;
const REMOVED: u8 = 7;
const SUB_ESTABLISHED: u8 = 10;
const SUB_CLOSED: u8 = 11;
const SUB_PRIORITY: u8 = 13;
const LISTENER_CREATED: u8 = 15;
const LISTENER_CLOSED: u8 = 16;

// enum mptcp_event_attr
const TOKEN: u16 = 1;
const LOC_ID: u16 = 3;
const REM_ID: u16 = 4;
const SADDR4: u16 = 5;
const SADDR6: u16 = 6;
const DADDR4: u16 = 7;
const DADDR6: u16 = 8;
const SPORT: u16 = 9;
const DPORT: u16 = 10;
const BACKUP: u16 = 11;
const ERROR: u16 = 12;
const FLAGS: u16 = 13;
const IF_IDX: u16 = 15;
const RESET_REASON: u16 = 16;
const SERVER_SIDE: u16 = 18;

/// `MPTCP_PM_EV_FLAG_DENY_JOIN_ID0`.
const FLAG_DENY_JOIN_ID0: u16 = 1;
/// `MPTCP_PM_EV_FLAG_SERVER_SIDE` (Linux 6.18, beside the attribute).
const FLAG_SERVER_SIDE: u16 = 2;

/// An event's attributes.
#[derive(Debug, Default)]
struct Fields {
    token: Option<Token>,
    local_id: Option<u8>,
    remote_id: Option<u8>,
    local: Option<IpAddr>,
    remote: Option<IpAddr>,
    local_port: Option<u16>,
    remote_port: Option<u16>,
    backup: bool,
    error: Option<u8>,
    flags: u16,
    interface: u32,
    reset_reason: Option<u32>,
    server_side: bool,
}

impl Fields {
    fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Self::default();
        for attribute in attributes(bytes) {
            fields.set(attribute?)?;
        }
        Ok(fields)
    }

    fn set(&mut self, a: Attribute<'_>) -> Result<(), Malformed> {
        match a.kind {
            TOKEN => self.token = Some(Token(a.u32()?)),
            LOC_ID => self.local_id = Some(a.u8()?),
            REM_ID => self.remote_id = Some(a.u8()?),
            SADDR4 => self.local = Some(a.ipv4()?),
            SADDR6 => self.local = Some(a.ipv6()?),
            DADDR4 => self.remote = Some(a.ipv4()?),
            DADDR6 => self.remote = Some(a.ipv6()?),
            SPORT => self.local_port = Some(a.be16()?),
            DPORT => self.remote_port = Some(a.be16()?),
            BACKUP => self.backup = a.u8()? != 0,
            ERROR => self.error = Some(a.u8()?),
            FLAGS => self.flags = a.u16()?,
            IF_IDX => self.interface = a.u32()?,
            RESET_REASON => self.reset_reason = Some(a.u32()?),
            SERVER_SIDE => self.server_side = a.u8()? != 0,
            _ => {}
        }
        Ok(())
    }

    fn token(&self, message: &'static str) -> Result<Token, Malformed> {
        self.token.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_TOKEN" })
    }

    fn remote_id(&self, message: &'static str) -> Result<u8, Malformed> {
        self.remote_id.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_REM_ID" })
    }

    fn local(&self, message: &'static str) -> Result<SocketAddr, Malformed> {
        let ip = self.local.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_SADDR4 or …6" })?;
        let port = self.local_port.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_SPORT" })?;
        Ok(SocketAddr::new(ip, port))
    }

    fn pair(&self, message: &'static str) -> Result<FourTuple, Malformed> {
        let ip = self.remote.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_DADDR4 or …6" })?;
        let port = self.remote_port.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_DPORT" })?;
        Ok(FourTuple { local: self.local(message)?, remote: SocketAddr::new(ip, port) })
    }

    fn connection(&self, message: &'static str) -> Result<Connection, Malformed> {
        Ok(Connection {
            token: self.token(message)?,
            pair: self.pair(message)?,
            server_side: self.server_side || self.flags & FLAG_SERVER_SIDE != 0,
            deny_join_initial: self.flags & FLAG_DENY_JOIN_ID0 != 0,
        })
    }

    fn subflow(&self, message: &'static str) -> Result<Subflow, Malformed> {
        Ok(Subflow {
            token: self.token(message)?,
            pair: self.pair(message)?,
            local_id: self.local_id.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_LOC_ID" })?,
            remote_id: self.remote_id(message)?,
            backup: self.backup,
            interface: self.interface,
            error: self.error,
            reset_reason: self.reset_reason,
        })
    }
}

impl Event {
    /// Reads an event's payload, its generic netlink header included. `None`: an event that is not known here.
    ///
    /// # Errors
    /// If bytes are missing, or an attribute that the event is of no use without.
    pub fn parse(payload: &[u8]) -> Result<Option<Self>, Malformed> {
        let (kind, rest) = split(payload)?;
        let fields = Fields::read(rest)?;
        Ok(Some(match kind {
            CREATED => Self::Created(fields.connection("MPTCP_EVENT_CREATED")?),
            ESTABLISHED => Self::Established(fields.connection("MPTCP_EVENT_ESTABLISHED")?),
            CLOSED => Self::Closed(fields.token("MPTCP_EVENT_CLOSED")?),
            ANNOUNCED => {
                let message = "MPTCP_EVENT_ANNOUNCED";
                Self::Announced {
                    token: fields.token(message)?,
                    id: fields.remote_id(message)?,
                    ip: fields.remote.ok_or(Malformed::Missing { message, attribute: "MPTCP_ATTR_DADDR4 or …6" })?,
                    port: fields.remote_port.filter(|p| *p != 0),
                }
            }
            REMOVED => {
                let message = "MPTCP_EVENT_REMOVED";
                Self::Removed { token: fields.token(message)?, id: fields.remote_id(message)? }
            }
            SUB_ESTABLISHED => Self::SubflowEstablished(fields.subflow("MPTCP_EVENT_SUB_ESTABLISHED")?),
            SUB_CLOSED => Self::SubflowClosed(fields.subflow("MPTCP_EVENT_SUB_CLOSED")?),
            SUB_PRIORITY => Self::SubflowPriority(fields.subflow("MPTCP_EVENT_SUB_PRIORITY")?),
            LISTENER_CREATED => Self::ListenerCreated(fields.local("MPTCP_EVENT_LISTENER_CREATED")?),
            LISTENER_CLOSED => Self::ListenerClosed(fields.local("MPTCP_EVENT_LISTENER_CLOSED")?),
            _ => return Ok(None),
        }))
    }
}

/// A subscription to the events of the network namespace that it was opened in. While one is open, connections whose
/// path manager is userspace accept joins.
#[derive(Debug)]
pub struct Events {
    socket: Socket,
    family: u16,
    read: VecDeque<Result<Event, Malformed>>,
}

impl AsFd for Events {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Events {
    /// Subscribes in the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::NoFamily`] if the kernel has no MPTCP.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC)?;
        let family = Family::find(&mut socket, FAMILY)?;
        let group = family.groups.iter().find(|(name, _)| name == GROUP).ok_or(Error::NoFamily { name: GROUP })?.1;
        socket.room(ROOM)?;
        socket.join(group)?;
        Ok(Self { socket, family: family.id, read: VecDeque::new() })
    }

    /// The next event, `None` if there is none now. Never waits: `poll` the descriptor.
    ///
    /// # Errors
    /// [`Error::Overrun`] if events were lost: what there is has to be asked for with [`crate::diag`].
    /// [`Error::Malformed`] for one that cannot be read; the following ones can.
    #[expect(clippy::should_implement_trait, reason = "an iterator that gives None would be over")]
    pub fn next(&mut self) -> Result<Option<Event>, Error> {
        loop {
            if let Some(event) = self.read.pop_front() {
                return Ok(Some(event?));
            }
            let Some(datagram) = self.socket.receive()? else { return Ok(None) };
            for message in messages(datagram) {
                match message {
                    Ok(message) if message.kind == self.family => {
                        self.read.extend(Event::parse(message.payload).transpose());
                    }
                    Ok(_) => {}
                    Err(malformed) => self.read.push_back(Err(malformed)),
                }
            }
        }
    }
}
