//! A receiver whose connection carries data the other way, too: its acknowledgements may ride on that, and its program
//! may read late.

use headway_units::Time;

use super::window::{Offer, RoundTrip};
use super::{Answer, Inflow, Receiver, first_window};
use crate::network::Network;
use crate::sack_pool::Piggyback;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, unwrap};
use crate::tcp::profile::Profile;

impl Receiver {
    /// It belongs to a two-way connection.
    pub fn make_two_way(&mut self) {
        self.two_way = true;
    }

    pub fn is_established(&self) -> bool {
        self.established
    }

    /// Whether nothing has come yet.
    pub fn is_untouched(&self) -> bool {
        self.next == 0
    }

    /// The acceptor's, which was asked: answers SYN.
    pub fn accept_syn(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        self.next = self.next.max(1);
        self.answer(now, Answer::SynAck, inflow, profile, net);
    }

    /// The opener's: SYN-ACK, which takes the first number, has come.
    pub fn establish(&mut self, now: Time, inflow: Inflow, profile: &Profile) {
        self.next = 1;
        self.established = true;
        // as the other end takes it to have been offered
        let offered = first_window(profile);
        self.edge = offered;
        if let Some(offer) = self.linux.as_mut().and_then(|linux| linux.offer.as_mut()) {
            offer.restore_edge(offered);
        }
        if let Some(linux) = &mut self.linux {
            linux.established(now, inflow, profile);
        }
    }

    /// Whether a segment without data asks after the window: it is of before what is expected
    /// (`net/ipv4/tcp_output.c: tcp_xmit_probe_skb`).
    pub(super) fn is_probe(&self, frame: &Frame) -> bool {
        unwrap(self.next, frame.body.number) < self.next
    }

    /// A window of fixed size, `buffer`, less what is not read. Its edge moves in steps (RFC 9293 §3.8.6.2.2).
    pub(super) fn fixed_window(&mut self, inflow: Inflow, buffer: u64, mss: u32) -> u64 {
        let open = inflow.read + buffer;
        if open - self.edge >= (buffer / 2).min(u64::from(mss)).max(1) {
            self.edge = open;
        }
        self.edge.saturating_sub(inflow.in_order)
    }

    /// The acknowledgement that data of the other direction may carry now. `None` where there are selective
    /// acknowledgements to be told, or nothing is established.
    pub fn ride(&mut self, now: Time, inflow: Inflow, profile: &Profile) -> Option<Ride> {
        let reports = self.linux.as_ref().is_some_and(|linux| linux.duplicate.is_some());
        if !self.established || reports || !self.ranges.is_empty() {
            return None;
        }
        let before = self.offered();
        let mut tag = flag::ACK | if self.ece { flag::ECE } else { 0 };
        let window = self.window(now, &mut tag, inflow, profile);
        let amount = window.min(u64::from(u32::MAX)) as u32;
        let body = Segment { number: self.next as u32, data_number: inflow.in_order as u32, amount, extra: NO_EXTRA };
        Some(Ride { ack: Piggyback { body, tag }, before })
    }

    /// The acknowledgement has left with data (`rode`), or nothing was sent and it has not been.
    pub fn end_ride(&mut self, ride: Ride, rode: bool) {
        if rode {
            return self.note_acknowledged();
        }
        let Offered { fixed, edge, round, quick_acks } = ride.before;
        self.edge = fixed;
        if let (Some(linux), Some(round)) = (&mut self.linux, round) {
            linux.rtt = round;
            linux.acks.quick_acks = quick_acks;
            if let Some(offer) = &mut linux.offer {
                offer.restore_edge(edge);
            }
        }
    }

    fn offered(&self) -> Offered {
        let linux = self.linux.as_ref();
        Offered {
            fixed: self.edge,
            edge: linux.and_then(|linux| linux.offer.as_ref()).map_or(0, Offer::edge),
            round: linux.map(|linux| linux.rtt.clone()),
            quick_acks: linux.map_or(0, |linux| linux.acks.quick_acks),
        }
    }

    /// Its program has read: the sender hears of the window if that is worth a segment. With a window of fixed size,
    /// as FreeBSD decides it (`tcp_output.c: tcp_default_output`).
    pub fn after_reading(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        if !self.established || self.finished() {
            return;
        }
        if self.linux.as_ref().is_some_and(|linux| linux.offer.is_some()) {
            return self.read(now, inflow, profile, net);
        }
        let (buffer, two) = (profile.receive_window.get(), 2 * u64::from(profile.mss));
        let (opens, open) =
            ((inflow.read + buffer).saturating_sub(self.edge), self.edge.saturating_sub(inflow.in_order));
        let much = opens >= buffer / 4 || open <= buffer / 8 || buffer <= 4 * two;
        if opens >= two && much || 2 * opens >= buffer {
            self.acknowledge(now, flag::ACK, inflow, profile, net);
        }
    }
}

/// An acknowledgement that may ride on data.
#[derive(Debug)]
pub(crate) struct Ride {
    pub ack: Piggyback,
    before: Offered,
}

/// What had been offered before it.
#[derive(Debug)]
struct Offered {
    fixed: u64,
    edge: u64,
    round: Option<RoundTrip>,
    quick_acks: u32,
}
