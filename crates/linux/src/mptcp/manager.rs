//! What the path manager is told: commands for one connection (userspace path manager), and the endpoints and limits of
//! a namespace (in-kernel path manager).

use std::net::{IpAddr, SocketAddr};

use rustix::io::Errno;

use super::{Command, FAMILY};
use crate::Token;
use crate::netlink::codec::{Malformed, Writer, attributes};
use crate::netlink::generic::{Family, header, split};
use crate::netlink::{Error, Socket};

/// `MPTCP_PM_VER`.
const VERSION: u8 = 1;

// MPTCP_PM_CMD_…
const ADD_ADDR: u8 = 1;
const DEL_ADDR: u8 = 2;
const GET_ADDR: u8 = 3;
const SET_LIMITS: u8 = 5;
const GET_LIMITS: u8 = 6;
const SET_FLAGS: u8 = 7;
const ANNOUNCE: u8 = 8;
const REMOVE: u8 = 9;
const SUBFLOW_CREATE: u8 = 10;
const SUBFLOW_DESTROY: u8 = 11;

// MPTCP_PM_ATTR_…
const ADDR: u16 = 1;
const RCV_ADD_ADDRS: u16 = 2;
const SUBFLOWS: u16 = 3;
const TOKEN: u16 = 4;
const LOC_ID: u16 = 5;
const ADDR_REMOTE: u16 = 6;

// MPTCP_PM_ADDR_ATTR_…
const A_FAMILY: u16 = 1;
const A_ID: u16 = 2;
const A_ADDR4: u16 = 3;
const A_ADDR6: u16 = 4;
const A_PORT: u16 = 5;
const A_FLAGS: u16 = 6;
const A_IF_IDX: u16 = 7;

// MPTCP_PM_ADDR_FLAG_…
const SIGNAL: u32 = 1;
const SUBFLOW: u32 = 2;
const BACKUP: u32 = 4;
const FULLMESH: u32 = 8;
const IMPLICIT: u32 = 16;

/// An address, as `MPTCP_PM_ATTR_ADDR…` has it. What is `None` is left out.
#[derive(Debug, Clone, Copy)]
struct Address {
    flags: Option<u32>,
    id: Option<u8>,
    ip: IpAddr,
    /// Host byte order in these attributes.
    port: Option<u16>,
    interface: Option<u32>,
}

impl Address {
    fn of(address: SocketAddr) -> Self {
        Self { flags: None, id: None, ip: address.ip(), port: Some(address.port()), interface: None }
    }

    /// In the order that `ip mptcp` writes them.
    fn write(self, w: &mut Writer, kind: u16) {
        w.nest(kind, |w| {
            if let Some(id) = self.id {
                w.attribute(A_ID, &[id]);
            }
            if let Some(flags) = self.flags {
                w.attribute(A_FLAGS, &flags.to_ne_bytes());
            }
            if let Some(interface) = self.interface {
                w.attribute(A_IF_IDX, &interface.to_ne_bytes());
            }
            if let Some(port) = self.port {
                w.attribute(A_PORT, &port.to_ne_bytes());
            }
            let family = if self.ip.is_ipv4() { AF_INET } else { AF_INET6 };
            w.attribute(A_FAMILY, &family.to_ne_bytes());
            w.ip(if self.ip.is_ipv4() { A_ADDR4 } else { A_ADDR6 }, self.ip);
        });
    }
}

/// Address families (`include/linux/socket.h`).
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;

/// An IPv4 address mapped into IPv6.
fn mapped(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

impl Command {
    /// Writes the generic netlink header and the attributes.
    pub fn write(&self, w: &mut Writer) {
        let token = |w: &mut Writer, token: Token| w.attribute(TOKEN, &token.0.to_ne_bytes());
        match *self {
            Self::Create { token: t, local, local_id, remote, interface, backup } => {
                header(w, SUBFLOW_CREATE, VERSION);
                token(w, t);
                let flags = backup.then_some(BACKUP);
                let interface = (interface != 0).then_some(interface);
                Address { flags, id: Some(local_id), ip: local, port: None, interface }.write(w, ADDR);
                Address::of(remote).write(w, ADDR_REMOTE);
            }
            Self::Destroy { token: t, pair } => {
                header(w, SUBFLOW_DESTROY, VERSION);
                token(w, t);
                Address::of(pair.local).write(w, ADDR);
                Address::of(pair.remote).write(w, ADDR_REMOTE);
            }
            Self::SetBackup { token: t, pair, backup } => {
                header(w, SET_FLAGS, VERSION);
                token(w, t);
                let flags = Some(if backup { BACKUP } else { 0 });
                Address { flags, ..Address::of(pair.local) }.write(w, ADDR);
                Address::of(pair.remote).write(w, ADDR_REMOTE);
            }
            Self::Announce { token: t, ip, id, port } => {
                header(w, ANNOUNCE, VERSION);
                token(w, t);
                Address { flags: Some(SIGNAL), id: Some(id), ip, port, interface: None }.write(w, ADDR);
            }
            Self::Withdraw { token: t, id } => {
                header(w, REMOVE, VERSION);
                token(w, t);
                w.attribute(LOC_ID, &[id]);
            }
        }
    }
}

/// An address that the in-kernel path manager works with, for all connections of the namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the kernel's independent flags")]
pub struct Endpoint {
    /// Its identifier; 0 has the kernel choose one.
    pub id: u8,
    /// The address.
    pub ip: IpAddr,
    /// A port of its own, to be announced; the kernel then listens on it.
    pub port: Option<u16>,
    /// Index of the interface that subflows are bound to; 0: none.
    pub interface: u32,
    /// Announced to the other end.
    pub signal: bool,
    /// Subflows are opened from it.
    pub subflow: bool,
    /// … as backups.
    pub backup: bool,
    /// … to every address of the other end.
    pub fullmesh: bool,
    /// Made by the kernel itself.
    pub implicit: bool,
}

impl Endpoint {
    fn flags(&self) -> u32 {
        [
            (self.signal, SIGNAL),
            (self.subflow, SUBFLOW),
            (self.backup, BACKUP),
            (self.fullmesh, FULLMESH),
            (self.implicit, IMPLICIT),
        ]
        .iter()
        .filter_map(|(set, flag)| set.then_some(flag))
        .sum()
    }

    /// Writes the request that adds it, generic netlink header included.
    pub fn write_add(&self, w: &mut Writer) {
        header(w, ADD_ADDR, VERSION);
        let address = Address {
            flags: Some(self.flags()).filter(|f| *f != 0),
            id: Some(self.id).filter(|id| *id != 0),
            ip: self.ip,
            port: self.port,
            interface: Some(self.interface).filter(|i| *i != 0),
        };
        address.write(w, ADDR);
    }

    /// Reads an answer to `MPTCP_PM_CMD_GET_ADDR`, its generic netlink header included.
    ///
    /// # Errors
    /// If bytes or the address are missing.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (_, rest) = split(payload)?;
        let (mut id, mut ip, mut port, mut flags, mut interface) = (0, None, None, 0, 0);
        for attribute in attributes(rest) {
            let attribute = attribute?;
            if attribute.kind != ADDR {
                continue;
            }
            for part in attribute.nested() {
                let part = part?;
                match part.kind {
                    A_ID => id = part.u8()?,
                    A_ADDR4 => ip = Some(part.ipv4()?),
                    A_ADDR6 => ip = Some(part.ipv6()?),
                    A_PORT => port = Some(part.u16()?).filter(|p| *p != 0),
                    A_FLAGS => flags = part.u32()?,
                    A_IF_IDX => interface = part.u32()?,
                    _ => {}
                }
            }
        }
        let ip =
            ip.ok_or(Malformed::Missing { message: "an endpoint", attribute: "MPTCP_PM_ADDR_ATTR_ADDR4 or …6" })?;
        Ok(Self {
            id,
            ip,
            port,
            interface,
            signal: flags & SIGNAL != 0,
            subflow: flags & SUBFLOW != 0,
            backup: flags & BACKUP != 0,
            fullmesh: flags & FULLMESH != 0,
            implicit: flags & IMPLICIT != 0,
        })
    }
}

/// Limits of the in-kernel path manager, for each connection. The kernel allows up to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Subflows besides the first.
    pub subflows: u32,
    /// Announced addresses that are acted on.
    pub add_addr_accepted: u32,
}

impl Limits {
    /// Writes the request that sets them, generic netlink header included.
    pub fn write_set(&self, w: &mut Writer) {
        header(w, SET_LIMITS, VERSION);
        w.attribute(RCV_ADD_ADDRS, &self.add_addr_accepted.to_ne_bytes());
        w.attribute(SUBFLOWS, &self.subflows.to_ne_bytes());
    }

    /// Reads an answer to `MPTCP_PM_CMD_GET_LIMITS`, its generic netlink header included.
    ///
    /// # Errors
    /// If bytes or one of them are missing.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let message = "the limits";
        let (_, rest) = split(payload)?;
        let (mut subflows, mut accepted) = (None, None);
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                RCV_ADD_ADDRS => accepted = Some(attribute.u32()?),
                SUBFLOWS => subflows = Some(attribute.u32()?),
                _ => {}
            }
        }
        Ok(Self {
            subflows: subflows.ok_or(Malformed::Missing { message, attribute: "MPTCP_PM_ATTR_SUBFLOWS" })?,
            add_addr_accepted: accepted
                .ok_or(Malformed::Missing { message, attribute: "MPTCP_PM_ATTR_RCV_ADD_ADDRS" })?,
        })
    }
}

/// The way to give commands, in the network namespace that it was opened in.
#[derive(Debug)]
pub struct PathManager {
    socket: Socket,
    family: u16,
}

impl PathManager {
    /// In the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error::NoFamily`] if the kernel has no MPTCP.
    pub fn open() -> Result<Self, Error> {
        let mut socket = Socket::open(netlink_sys::protocols::NETLINK_GENERIC)?;
        let family = Family::find(&mut socket, FAMILY)?.id;
        Ok(Self { socket, family })
    }

    /// Has a command done, and waits until the kernel says so. See [`Command`] for what each may be refused with.
    ///
    /// # Errors
    /// [`Error::Kernel`] with the kernel's reason; [`unknown_token`] tells whether the connection is over.
    pub fn run(&mut self, command: &Command) -> Result<(), Error> {
        let result = self.socket.request(self.family, 0, |w| command.write(w), |_| Ok(()));
        match (*command, result) {
            // The first subflow of an IPv6 socket that speaks IPv4 is only found by its mapped addresses
            // (mptcp_nl_find_ssk compares families).
            (Command::Destroy { token, mut pair }, Err(error))
                if pair.local.is_ipv4() && error.errno() == Some(Errno::SRCH) =>
            {
                pair.local = mapped(pair.local);
                pair.remote = mapped(pair.remote);
                let again = Command::Destroy { token, pair };
                match self.socket.request(self.family, 0, |w| again.write(w), |_| Ok(())) {
                    // Words about mapped addresses would lead astray.
                    Err(Error::Kernel { .. }) => Err(error),
                    result => result,
                }
            }
            (_, result) => result,
        }
    }

    /// Adds an endpoint of the in-kernel path manager.
    ///
    /// # Errors
    /// [`Error::Kernel`]: EEXIST if the address is there already, EBUSY if the identifier is taken.
    pub fn add_endpoint(&mut self, endpoint: &Endpoint) -> Result<(), Error> {
        self.socket.request(self.family, 0, |w| endpoint.write_add(w), |_| Ok(()))
    }

    /// Removes the endpoint with an identifier.
    ///
    /// # Errors
    /// [`Error::Kernel`]: EINVAL if there is none.
    pub fn remove_endpoint(&mut self, id: u8) -> Result<(), Error> {
        let body = |w: &mut Writer| {
            header(w, DEL_ADDR, VERSION);
            w.nest(ADDR, |w| w.attribute(A_ID, &[id]));
        };
        self.socket.request(self.family, 0, body, |_| Ok(()))
    }

    /// The endpoints of the in-kernel path manager.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn endpoints(&mut self) -> Result<Vec<Endpoint>, Error> {
        let mut list = Vec::new();
        let body = |w: &mut Writer| header(w, GET_ADDR, VERSION);
        self.socket.dump(self.family, body, &mut list, |message| Ok(Some(Endpoint::parse(message.payload)?)))?;
        Ok(list)
    }

    /// The limits of the in-kernel path manager.
    ///
    /// # Errors
    /// As the kernel says.
    pub fn limits(&mut self) -> Result<Limits, Error> {
        let mut limits = None;
        let body = |w: &mut Writer| header(w, GET_LIMITS, VERSION);
        self.socket.request(self.family, 0, body, |message| {
            limits = Some(Limits::parse(message.payload)?);
            Ok(())
        })?;
        limits.ok_or(Error::NoAnswer)
    }

    /// Sets the limits of the in-kernel path manager.
    ///
    /// # Errors
    /// [`Error::Kernel`]: EINVAL if one is beyond what the kernel allows.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), Error> {
        self.socket.request(self.family, 0, |w| limits.write_set(w), |_| Ok(()))
    }
}

/// Whether a command was refused because the connection is not known (any more). The kernel says EINVAL to this and to
/// much else; its words tell them apart.
pub fn unknown_token(error: &Error) -> bool {
    matches!(error, Error::Kernel { errno: Errno::INVAL, message: Some(m) } if m == "invalid token")
}
