//! What the kernel tells of the subflows of a connection that sends.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use headway_agent::protocol::Subflow;

use crate::sys;

/// What is of interest in `struct tcp_info` (linux/tcp.h). What an older kernel does not have is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// `tcpi_snd_cwnd` times `tcpi_snd_mss`.
    pub cwnd_bytes: u64,
    /// `tcpi_rtt`.
    pub srtt_ns: u64,
    /// `tcpi_total_retrans`.
    pub retransmissions: u32,
    /// `tcpi_total_rto`, since Linux 6.7.
    pub timeouts: u32,
    /// `tcpi_delivered_ce`.
    pub marks: u32,
}

impl TcpInfo {
    /// From the bytes the kernel gave.
    pub fn new(bytes: &[u8]) -> Self {
        let word = |at: usize| bytes.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        let half = |at: usize| bytes.get(at..at + 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]));
        Self {
            cwnd_bytes: u64::from(word(80)) * u64::from(word(16)),
            srtt_ns: u64::from(word(68)) * 1000,
            retransmissions: word(100),
            timeouts: half(240).into(),
            marks: word(196),
        }
    }
}

/// The host's addresses, each with the name of its interface.
pub struct Addresses(Vec<(IpAddr, String)>);

impl Addresses {
    /// From addresses and names.
    pub fn new(addresses: Vec<(IpAddr, String)>) -> Self {
        Self(addresses)
    }

    /// What orders interfaces by name, numbers in names as numbers; what is not an address of the host comes last.
    fn order(&self, address: IpAddr) -> (bool, usize, &str) {
        let name = self.0.iter().find(|(known, _)| *known == address).map(|(_, name)| name.as_str());
        name.map_or((true, 0, ""), |name| (false, name.len(), name))
    }
}

/// A subflow as it was last seen.
#[derive(Debug, Clone)]
struct Seen {
    id: u32,
    local: SocketAddr,
    remote: SocketAddr,
    info: TcpInfo,
    open: bool,
}

/// The subflows that a connection has or had. A subflow is gone from the kernel's list once it is closed, so what was
/// last seen of each is kept.
#[derive(Debug, Default)]
pub struct Subflows(Vec<Seen>);

impl Subflows {
    /// Looks at the connection now. `local` and `remote` are its ends, of use where there is but one subflow.
    pub fn look(
        &mut self,
        socket: BorrowedFd,
        mptcp: bool,
        local: SocketAddr,
        remote: SocketAddr,
        addresses: &Addresses,
    ) {
        self.0.iter_mut().for_each(|seen| seen.open = false);
        // An MPTCP connection whose other end knows TCP only answers as a TCP connection.
        if mptcp && let Ok(subflows) = sys::mptcp_subflows(socket) {
            for subflow in subflows {
                let info = TcpInfo::new(&subflow.info);
                self.put(Seen { id: subflow.id, local: subflow.local, remote: subflow.remote, info, open: true });
            }
            self.0.sort_by(|a, b| {
                addresses.order(a.local.ip()).cmp(&addresses.order(b.local.ip())).then(a.id.cmp(&b.id))
            });
        } else if let Ok(info) = sys::tcp_info(socket) {
            self.put(Seen { id: 0, local, remote, info: TcpInfo::new(&info), open: true });
        }
    }

    fn put(&mut self, new: Seen) {
        match self.0.iter_mut().find(|seen| seen.local == new.local && seen.remote == new.remote) {
            Some(seen) => *seen = new,
            None => self.0.push(new),
        }
    }

    /// Those that were open at the last look, each with its place among all.
    pub fn open(&self) -> impl Iterator<Item = (u32, TcpInfo)> {
        self.0.iter().enumerate().filter(|(_, seen)| seen.open).map(|(place, seen)| (place as u32, seen.info))
    }

    /// All, for the report.
    pub fn all(&self) -> Vec<Subflow> {
        let subflow = |seen: &Seen| Subflow {
            local: seen.local,
            remote: seen.remote,
            retransmissions: seen.info.retransmissions,
            timeouts: seen.info.timeouts,
            marks: seen.info.marks,
        };
        self.0.iter().map(subflow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Offsets are of `struct tcp_info` in linux/tcp.h: 8 bytes, 24 words, then as written there.
    #[test]
    fn fields_are_where_the_header_has_them() {
        let mut bytes = [0_u8; 248];
        let mut put = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        put(16, 1448);
        put(68, 10_016);
        put(80, 10);
        put(100, 3);
        put(196, 5);
        put(240, 2);
        let info = TcpInfo { cwnd_bytes: 14_480, srtt_ns: 10_016_000, retransmissions: 3, timeouts: 2, marks: 5 };
        assert_eq!(TcpInfo::new(&bytes), info);
    }

    #[test]
    fn what_an_older_kernel_leaves_out_is_zero() {
        assert_eq!(TcpInfo::new(&[0xff; 104]).timeouts, 0);
        assert_eq!(TcpInfo::new(&[0xff; 104]).marks, 0);
        assert_eq!(TcpInfo::new(&[]), TcpInfo::default());
    }

    #[test]
    fn interfaces_are_ordered_by_number() {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let names = [(1, "eth10"), (2, "eth9"), (3, "eth0")].map(|(last, name)| (address(last), name.to_owned()));
        let addresses = Addresses::new(names.into());
        let mut all = [address(9), address(1), address(2), address(3)];
        all.sort_by_key(|address| addresses.order(*address));
        assert_eq!(all, [address(3), address(2), address(1), address(9)]);
    }

    #[test]
    fn a_subflow_that_is_gone_is_still_told_of() {
        let end = |last: u8| SocketAddr::from(([10, 0, 0, last], 1));
        let seen = |last: u8, open| Seen { id: 0, local: end(last), remote: end(9), info: TcpInfo::default(), open };
        let mut subflows = Subflows(vec![seen(1, false)]);
        subflows.put(seen(2, true));
        subflows.put(seen(2, true));
        assert_eq!(subflows.open().map(|(place, _)| place).collect::<Vec<_>>(), [1]);
        assert_eq!(subflows.all().len(), 2);
    }
}
