//! Messages of `sock_diag` in bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use super::{Mptcp, Query, SubflowInfo, Tcp};
use crate::netlink::codec::{Attributes, Malformed, Writer, attributes, u8_at, u16_at, u32_at, u64_at};
use crate::{FourTuple, Token};

/// `AF_INET`, `AF_INET6`.
pub(super) const INET: u8 = 2;
pub(super) const INET6: u8 = 10;
/// `IPPROTO_TCP`, `IPPROTO_MPTCP`.
pub(super) const TCP: u8 = 6;
pub(super) const MPTCP: u32 = 262;

/// `INET_DIAG_REQ_PROTOCOL`: for protocols whose number is more than a byte.
const REQ_PROTOCOL: u16 = 3;
/// `INET_DIAG_INFO`, `INET_DIAG_ULP_INFO`, `INET_DIAG_CGROUP_ID`.
const INFO: u16 = 2;
const ULP_INFO: u16 = 19;
const CGROUP_ID: u16 = 21;
/// `INET_ULP_INFO_MPTCP`.
const ULP_MPTCP: u16 = 3;
/// `struct inet_diag_msg`, bytes.
const MESSAGE: usize = 72;

// MPTCP_SUBFLOW_ATTR_…
const SUB_TOKEN_LOC: u16 = 2;
const SUB_FLAGS: u16 = 8;
const SUB_ID_REM: u16 = 9;
const SUB_ID_LOC: u16 = 10;

// MPTCP_SUBFLOW_FLAG_…
const JOIN_REM: u32 = 1 << 2;
const JOIN_LOC: u32 = 1 << 3;
const MCAP_LOC: u32 = 1 << 1;
const BKUP_REM: u32 = 1 << 4;
const BKUP_LOC: u32 = 1 << 5;
const FULLY_ESTABLISHED: u32 = 1 << 6;

/// `MPTCP_INFO_FLAG_FALLBACK`.
const FALLBACK: u32 = 1;

/// `struct inet_diag_req_v2`. `cookie`: -1 twice for any socket.
fn request(w: &mut Writer, family: u8, protocol: u8, states: u32, id: &[u8; 36], cookie: [u32; 2]) {
    w.raw(&[family, protocol, 1 << (INFO - 1), 0]);
    w.raw(&states.to_ne_bytes());
    w.raw(id);
    w.raw(&u32::to_ne_bytes(0));
    w.raw(&cookie[0].to_ne_bytes());
    w.raw(&cookie[1].to_ne_bytes());
}

/// Any cookie (`INET_DIAG_NOCOOKIE`).
const ANY: [u32; 2] = [u32::MAX; 2];

/// Asks for a TCP socket by its ends.
pub(super) fn write_tcp(w: &mut Writer, query: &Query) {
    let FourTuple { local, remote } = query.pair;
    let (family, source, destination) = match (local.ip(), remote.ip()) {
        (IpAddr::V4(l), IpAddr::V4(r)) => {
            let (mut source, mut destination) = ([0; 16], [0; 16]);
            source[..4].copy_from_slice(&l.octets());
            destination[..4].copy_from_slice(&r.octets());
            (INET, source, destination)
        }
        // No socket has ends of both kinds: as IPv6 addresses they are asked for in vain.
        (l, r) => (INET6, six(l).octets(), six(r).octets()),
    };
    w.raw(&[family, TCP, 1 << (INFO - 1), 0]);
    w.raw(&u32::MAX.to_ne_bytes());
    w.raw(&local.port().to_be_bytes());
    w.raw(&remote.port().to_be_bytes());
    w.raw(&source);
    w.raw(&destination);
    w.raw(&query.interface.to_ne_bytes());
    w.raw(&ANY[0].to_ne_bytes());
    w.raw(&ANY[1].to_ne_bytes());
}

fn six(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

/// Asks for an MPTCP connection by its token, which the kernel takes from the place of the cookie (`mptcp_diag_dump_one`).
pub(super) fn write_mptcp(w: &mut Writer, token: Token) {
    request(w, INET, TCP, u32::MAX, &[0; 36], [token.0, 0]);
    w.attribute(REQ_PROTOCOL, &MPTCP.to_ne_bytes());
}

/// Asks for all sockets of a family, of TCP or of MPTCP.
pub(super) fn write_dump(w: &mut Writer, family: u8, protocol: u32, states: u32) {
    request(w, family, TCP, states, &[0; 36], ANY);
    if protocol != u32::from(TCP) {
        w.attribute(REQ_PROTOCOL, &protocol.to_ne_bytes());
    }
}

/// What `struct inet_diag_msg` says, and the attributes behind it.
struct Head<'a> {
    pair: FourTuple,
    state: u8,
    interface: u32,
    uid: u32,
    attributes: Attributes<'a>,
}

fn head(payload: &[u8]) -> Result<Head<'_>, Malformed> {
    let short = Malformed::Short { what: "an inet_diag_msg", need: MESSAGE, have: payload.len() };
    let (fixed, rest) = payload.split_at_checked(MESSAGE).ok_or(short)?;
    let ip = |at: usize| -> Result<IpAddr, Malformed> {
        let bytes: [u8; 16] = fixed[at..at + 16].try_into().expect("16 bytes");
        match fixed[0] {
            INET => Ok(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into()),
            INET6 => Ok(Ipv6Addr::from(bytes).to_canonical()),
            family => Err(Malformed::Family { what: "an inet_diag_msg", family: family.into() }),
        }
    };
    let port = |at| u16_at(fixed, at).map_or(0, u16::from_be);
    Ok(Head {
        pair: FourTuple { local: SocketAddr::new(ip(8)?, port(4)), remote: SocketAddr::new(ip(24)?, port(6)) },
        state: fixed[1],
        interface: u32_at(fixed, 40).unwrap_or(0),
        uid: u32_at(fixed, 64).unwrap_or(0),
        attributes: attributes(rest),
    })
}

impl Tcp {
    /// Reads an answer: `struct inet_diag_msg` and its attributes. Fields that an older kernel's `struct tcp_info` ends
    /// before are zero or `None`.
    ///
    /// # Errors
    /// If bytes are missing or an attribute has another length than its type.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let head = head(payload)?;
        let (mut info, mut cgroup, mut subflow): (&[u8], _, _) = (&[], None, None);
        for attribute in head.attributes {
            let attribute = attribute?;
            match attribute.kind {
                INFO => info = attribute.value,
                CGROUP_ID => cgroup = Some(attribute.u64()?),
                ULP_INFO => {
                    for part in attribute.nested() {
                        let part = part?;
                        if part.kind == ULP_MPTCP {
                            subflow = SubflowInfo::parse(part.nested())?;
                        }
                    }
                }
                _ => {}
            }
        }
        // Offsets in `struct tcp_info`.
        let number = |at| u32_at(info, at).unwrap_or(0);
        let long = |at| u64_at(info, at).unwrap_or(0);
        let micros = |at| Duration::from_micros(number(at).into());
        let millis = |at| Duration::from_millis(number(at).into());
        Ok(Self {
            pair: head.pair,
            state: head.state,
            interface: head.interface,
            uid: head.uid,
            cgroup,
            srtt: micros(68),
            min_rtt: u32_at(info, 148)
                .filter(|us| *us != 0 && *us != u32::MAX)
                .map(|us| Duration::from_micros(us.into())),
            last_ack: millis(56),
            last_sent: millis(44),
            timeouts: u8_at(info, 2).unwrap_or(0),
            unacked: number(24),
            cwnd: number(80),
            mss: number(16),
            acked: long(120),
            sent: long(200),
            unsent: number(144),
            delivery_rate: long(160),
            subflow,
        })
    }
}

impl SubflowInfo {
    /// Reads `INET_ULP_INFO_MPTCP`. `None` where the kernel has not filled it in: the subflow is being torn down.
    fn parse(attributes: Attributes<'_>) -> Result<Option<Self>, Malformed> {
        let (mut token, mut flags, mut local_id, mut remote_id) = (None, 0, 0, 0);
        for attribute in attributes {
            let attribute = attribute?;
            match attribute.kind {
                SUB_TOKEN_LOC => token = Some(Token(attribute.u32()?)),
                SUB_FLAGS => flags = attribute.u32()?,
                SUB_ID_LOC => local_id = attribute.u8()?,
                SUB_ID_REM => remote_id = attribute.u8()?,
                _ => {}
            }
        }
        Ok(token.map(|token| Self {
            token,
            local_id,
            remote_id,
            backup_local: flags & BKUP_LOC != 0,
            backup_remote: flags & BKUP_REM != 0,
            join: flags & (JOIN_LOC | JOIN_REM) != 0,
            initiator: flags & (MCAP_LOC | JOIN_LOC) != 0,
            fully_established: flags & FULLY_ESTABLISHED != 0,
        }))
    }
}

impl Mptcp {
    /// Reads an answer: `struct inet_diag_msg` and its attributes. What an older kernel's `struct mptcp_info` ends before
    /// is `None`.
    ///
    /// # Errors
    /// If bytes are missing, an attribute has another length than its type, or the token is not there.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let head = head(payload)?;
        let (mut info, mut cgroup): (&[u8], _) = (&[], None);
        for attribute in head.attributes {
            let attribute = attribute?;
            match attribute.kind {
                INFO => info = attribute.value,
                CGROUP_ID => cgroup = Some(attribute.u64()?),
                _ => {}
            }
        }
        // Offsets in `struct mptcp_info`; up to 40 it is that of Linux 5.9.
        let short = Malformed::Short { what: "mptcp_info", need: 40, have: info.len() };
        let (Some(token), Some(snd_una)) = (u32_at(info, 12), u64_at(info, 24)) else { return Err(short) };
        Ok(Self {
            token: Token(token),
            pair: head.pair,
            state: head.state,
            uid: head.uid,
            cgroup,
            fallback: u32_at(info, 8).unwrap_or(0) & FALLBACK != 0,
            write_seq: u64_at(info, 16).unwrap_or(0),
            snd_una,
            sent: u64_at(info, 56),
            acked: u64_at(info, 72),
            received: u64_at(info, 64),
            subflows: info[0],
        })
    }
}
