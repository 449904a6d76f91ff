//! Taps: TCP segments as they are seen at interfaces of modelled hosts and on links, for captures.
//!
//! The frames of the fabric have what a run depends on; what a header has beside it is added here. The number of a pure
//! acknowledgement, and the acknowledgement of data that carries none, are the latest that were seen of that direction.
//! Without taps all this costs nothing: hosts are looked at where a frame leaves the fast path anyway, links where those
//! of external hosts are.
//!
//! Leaves out: frames of datagrams, of RoCE, of gaps, pauses and feedback.

use std::fmt;

use headway_fabric::{Endpoint, LinkId, ecn};
use headway_units::Time;

use crate::endpoint::{Side, side};
use crate::sack_pool::SackPool;
use crate::segment::{Frame, flag};
use crate::tcp::profile::Profile;

/// Is shown the segments that pass its places.
pub trait Tap: fmt::Debug {
    /// A segment is seen. Times never decrease.
    fn see(&mut self, segment: &TappedSegment<'_>);
}

/// Where a segment is seen. Interfaces are named by the links that leave them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TapPlace {
    /// TCP gives it to this interface, before it waits there for its turn.
    Sent(LinkId),
    /// Its last bit has arrived at this interface.
    Received(LinkId),
    /// Its last bit has arrived at the far end of this link.
    Passed(LinkId),
}

/// A connection of TCP, or a subflow of MPTCP: what its headers have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of TCP of its own")]
pub struct TappedSubflow {
    /// The number of the subflow among all of the run that were opened, from 0.
    pub serial: u32,
    /// The number of its connection's first subflow.
    pub first: u32,
    /// Its place among the subflows of its connection, in the order in which they were opened.
    pub nth: u16,
    /// The interface of the end that opened it, by the link that leaves it.
    pub opener: LinkId,
    /// The interface of the other end.
    pub acceptor: LinkId,
    /// Bytes of data in a full segment.
    pub mss: u32,
    /// Whether segments have timestamps.
    pub timestamps: bool,
    /// Whether acknowledgements are selective.
    pub selective: bool,
    /// Bits by which windows are shifted; `None` where they are not scaled.
    pub window_scale: Option<u8>,
    /// Whether both ends understand ECN.
    pub ecn: bool,
    /// Whether it is MPTCP.
    pub multipath: bool,
    /// Bytes of MPTCP's options in a segment with data; nothing in plain TCP.
    pub mapping: u32,
}

/// A segment that is seen. Numbers count from the SYN of their direction, which has 0.
#[derive(Debug, Clone, Copy)]
pub struct TappedSegment<'a> {
    /// When.
    pub time: Time,
    /// Where.
    pub place: TapPlace,
    /// Of which connection.
    pub subflow: &'a TappedSubflow,
    /// Whether the end that opened the connection sends it.
    pub from_opener: bool,
    /// As in a TCP header (RFC 9293 §3.1, RFC 3168 §6.1): FIN 1, SYN 2, RST 4, PSH 8, ACK 16, ECE 64, CWR 128.
    pub flags: u8,
    /// The number of its first byte.
    pub sequence: u32,
    /// The number that is expected next of the other direction.
    pub acknowledgement: u32,
    /// The window that is offered, in bytes.
    pub window: u32,
    /// Bytes of data.
    pub payload: u32,
    /// The bits of ECN (RFC 3168 §5).
    pub ecn: u8,
    /// Of MPTCP, the position of its data in the connection's, from 0; low 32 bits.
    pub data: Option<u32>,
    /// Of MPTCP, the connection's data that has arrived.
    pub data_acknowledgement: u32,
    /// Selective acknowledgements: first byte, byte behind the last.
    pub sack: &'a [(u32, u32)],
}

/// What has been seen of a direction of a connection.
#[derive(Debug, Clone, Copy)]
struct Direction {
    /// The number behind all that was sent.
    next: u32,
    /// What was acknowledged.
    acknowledged: u32,
    data_acknowledged: u32,
    window: u32,
}

/// A place of subflows, by whom it is taken.
#[derive(Debug, Clone, Copy)]
struct Owner {
    subflow: TappedSubflow,
    /// The place that has the directions: of the second half of a two-way connection, that of the first.
    state: u32,
    /// Its data goes to the end that opened the connection.
    reversed: bool,
}

/// The taps of a run.
#[derive(Debug)]
pub(crate) struct Taps {
    tap: Box<dyn Tap>,
    /// By link: the interface that it leaves is tapped.
    interfaces: Vec<bool>,
    owners: Vec<Option<Owner>>,
    /// By place: what the opener sends, and what the other end does.
    directions: Vec<[Direction; 2]>,
    opened: u32,
}

/// What opens at a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opened {
    pub place: u32,
    /// The place of the first subflow of the connection.
    pub first: u32,
    /// Its place in the connection.
    pub nth: usize,
    /// The two interfaces.
    pub ends: (LinkId, LinkId),
}

impl Taps {
    /// Taps `interfaces`, in a network of so many links.
    pub fn new(tap: Box<dyn Tap>, interfaces: &[LinkId], links: usize) -> Taps {
        let mut tapped = vec![false; links];
        for link in interfaces {
            tapped[link.index()] = true;
        }
        Taps { tap, interfaces: tapped, owners: Vec::new(), directions: Vec::new(), opened: 0 }
    }

    /// A subflow takes a place.
    pub fn open(&mut self, opened: Opened, profile: &Profile) {
        /// Ethernet's header and checksum, those of IPv4 and TCP.
        const PLAIN: u32 = 18 + 40;
        let timestamps = if profile.timestamps { 12 } else { 0 };
        let serial = self.opened;
        self.opened += 1;
        let first = match self.owners.get(opened.first as usize) {
            Some(Some(first)) if opened.nth > 0 => first.subflow.serial,
            _ => serial,
        };
        let (opener, acceptor) = opened.ends;
        let subflow = TappedSubflow {
            serial,
            first,
            nth: opened.nth as u16,
            opener,
            acceptor,
            mss: profile.mss,
            timestamps: profile.timestamps,
            selective: profile.recovery.uses_sack(),
            window_scale: profile.window_scaling.then(|| scale(profile.receive_window.get())),
            ecn: profile.ecn,
            multipath: profile.multipath.is_some(),
            mapping: profile.overhead.saturating_sub(PLAIN + timestamps),
        };
        let window = profile.receive_window.get().min(u64::from(u32::MAX)) as u32;
        let direction = Direction { next: 1, acknowledged: 1, data_acknowledged: 0, window };
        let at = self.room(opened.place);
        self.owners[at] = Some(Owner { subflow, state: opened.place, reversed: false });
        self.directions[at] = [direction; 2];
    }

    /// The second direction of the two-way connection at `first` takes `place`.
    pub fn open_back(&mut self, place: u32, first: u32) {
        let at = self.room(place);
        let forth = self.owners[first as usize];
        self.owners[at] = forth.map(|forth| Owner { state: first, reversed: true, ..forth });
    }

    fn room(&mut self, place: u32) -> usize {
        let at = place as usize;
        if self.owners.len() <= at {
            self.owners.resize(at + 1, None);
            let none = Direction { next: 1, acknowledged: 1, data_acknowledged: 0, window: 0 };
            self.directions.resize(at + 1, [none; 2]);
        }
        at
    }

    /// Whether the interface with the outgoing link `link` is tapped.
    pub fn has(&self, link: LinkId) -> bool {
        self.interfaces[link.index()]
    }

    /// A frame on its way to `to`, an endpoint of TCP, is seen.
    pub fn see(&mut self, time: Time, place: TapPlace, to: Endpoint, frame: &Frame, extras: &SackPool) {
        let (at, half) = side(to);
        let Some(Some(owner)) = self.owners.get(at as usize) else { return };
        let from_opener = (half == Side::Receiver) != owner.reversed;
        let subflow = owner.subflow;
        let own = &mut self.directions[owner.state as usize][usize::from(!from_opener)];
        let reset = frame.tag & flag::RST == flag::RST;
        let blocks = extras.peek(frame.body.extra).filter(|_| half == Side::Sender).unwrap_or_default();
        let mut flags = if reset { 4 } else { flags(frame.tag, half) };
        let (mut payload, mut data) = (0, None);
        let sequence = if reset {
            own.next
        } else if half == Side::Receiver {
            payload = frame.body.amount;
            if let Some(ride) = extras.peek_riding(frame.body.extra) {
                own.acknowledge(ride.body.number, ride.body.data_number, ride.body.amount);
                flags |= if ride.tag & flag::ECE != 0 { ECE } else { 0 };
            }
            data = (subflow.multipath && payload > 0).then_some(frame.body.data_number);
            frame.body.number
        } else {
            own.acknowledge(frame.body.number, frame.body.data_number, frame.body.amount);
            if flags & SYN != 0 { 0 } else { own.next }
        };
        if subflow.ecn && flags & SYN != 0 {
            // RFC 3168 §6.1.1
            flags |= if flags & ACK == 0 { ECE | CWR } else { ECE };
        }
        let taken = payload + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        let end = sequence.wrapping_add(taken);
        if !reset && end.wrapping_sub(own.next) < 1 << 31 {
            own.next = end;
        }
        let (acknowledgement, window) = if flags & ACK == 0 { (0, own.window) } else { (own.acknowledged, own.window) };
        let segment = TappedSegment {
            time,
            place,
            subflow: &subflow,
            from_opener,
            flags,
            sequence,
            acknowledgement,
            window,
            payload,
            ecn: frame.tos & ecn::MASK,
            data,
            data_acknowledgement: own.data_acknowledged,
            sack: &blocks.blocks[..usize::from(blocks.count)],
        };
        self.tap.see(&segment);
    }
}

impl Direction {
    /// An acknowledgement of this direction's sender.
    fn acknowledge(&mut self, number: u32, data: u32, window: u32) {
        (self.acknowledged, self.data_acknowledged, self.window) = (number, data, window);
    }
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;
const ECE: u8 = 64;
const CWR: u8 = 128;

/// The flags of TCP's header of a frame on its way to a half of a subflow. Of segments with data the bit of the echo says
/// that a burst ends.
fn flags(tag: u8, to: Side) -> u8 {
    let echo = if to == Side::Receiver { 8 } else { ECE };
    let all = [(flag::FIN, FIN), (flag::SYN, SYN), (flag::ACK, ACK), (flag::ECE, echo), (flag::CWR, CWR)];
    all.into_iter().filter(|(own, _)| tag & own != 0).map(|(_, bit)| bit).sum()
}

/// The least shift with which 16 bits hold `window`; at most 14 (RFC 7323 §2.3).
fn scale(window: u64) -> u8 {
    (0..14).find(|&shift| u16::try_from(window >> shift).is_ok()).unwrap_or(14)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_shifted_as_far_as_it_must_be() {
        for (window, shift) in [(0, 0), (65_535, 0), (65_536, 1), (6_000_000, 7), (u64::MAX, 14)] {
            assert_eq!(scale(window), shift, "{window}");
        }
    }

    #[test]
    fn flags_stand_where_tcp_has_them() {
        assert_eq!(flags(flag::SYN, Side::Receiver), 2);
        assert_eq!(flags(flag::SYN | flag::ACK, Side::Sender), 18);
        assert_eq!(flags(flag::ACK | flag::FIN | flag::PUSH, Side::Receiver), 16 | 8 | 1);
        assert_eq!(flags(flag::ACK | flag::ECE | flag::SPIN | flag::EPOCH, Side::Sender), 16 | 64);
        assert_eq!(flags(flag::ACK | flag::CWR, Side::Receiver), 16 | 128);
    }
}
