//! Receivers beyond the letter of RFC 5681 and RFC 2018: Linux' way through a segment
//! (`net/ipv4/tcp_input.c: tcp_rcv_established`, `tcp_data_queue` of Linux 6.12).

use headway_units::{Span, Time};

use super::adaptive::{Adaptive, Wait};
use super::window::{Offer, RoundTrip};
use super::{Inflow, Place, Receiver, first_window};
use crate::network::Network;
use crate::segment::{Frame, flag, unwrap};
use crate::tcp::profile::{Profile, RtoRule};
use crate::tcp::rtt::expiry;

/// State that receivers need for Linux' acknowledgements, window, timestamps or reports of duplicates.
#[derive(Debug)]
pub(super) struct LinuxReceiver {
    pub acks: Adaptive,
    pub offer: Option<Offer>,
    pub rtt: RoundTrip,
    /// `TS.Recent` (RFC 7323 §4.3), as far as it is modelled.
    pub recent: u8,
    /// `Last.ACK.sent`, Linux' `rcv_wup`.
    pub last_ack_sent: u64,
    /// The duplicate that the next acknowledgement reports (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// The last segment brought data in order, which was read.
    pub delivered: bool,
    /// Our own FIN was sent, with the acknowledgement of the other one.
    pub closed: bool,
    /// SYN-ACKs sent, and when the last left.
    pub handshake: (u32, Time),
}

impl LinuxReceiver {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<LinuxReceiver>> {
        let needed = profile.delayed_ack.adaptive
            || profile.autotuning.is_some()
            || profile.timestamps
            || profile.has_linux_receiver();
        needed.then(|| {
            Box::new(LinuxReceiver {
                acks: Adaptive::new(profile, first_window(profile)),
                offer: Offer::new(profile),
                rtt: RoundTrip::default(),
                recent: 0,
                last_ack_sent: 0,
                duplicate: None,
                delivered: false,
                closed: false,
                handshake: (0, Time::ZERO),
            })
        })
    }

    /// The handshake is over.
    #[cold]
    pub fn established(&mut self, now: Time, inflow: Inflow, profile: &Profile) {
        if let (1, sent) = self.handshake {
            self.acks.established(now.since(sent), profile);
        }
        if let Some(offer) = &mut self.offer {
            offer.established(now, inflow);
        }
    }

    /// The window still open.
    pub fn open(&self, inflow: Inflow, profile: &Profile) -> u64 {
        self.offer.as_ref().map_or(profile.receive_window.get(), |offer| offer.open(inflow.in_order))
    }
}

impl Receiver {
    /// Linux' part in a segment of data, before it is put in its place. `span` is where it begins and ends.
    pub(super) fn take_linux(
        &mut self,
        now: Time,
        frame: &Frame,
        span: (u64, u64, Place),
        before: Inflow,
        profile: &Profile,
        net: &mut Network,
    ) {
        let (seq, end, place) = span;
        let len = frame.body.amount;
        let Some(linux) = &mut self.linux else { return };
        let window = linux.open(before, profile);
        // a segment outside the window is none that is looked at further (`tcp_sequence`)
        let acceptable = end >= linux.last_ack_sent;
        if acceptable && profile.timestamps {
            if seq <= linux.last_ack_sent {
                linux.recent = frame.tag & flag::EPOCH; // RFC 7323 §4.3
            }
            linux.rtt.echoed(now, frame.tag, len >= linux.acks.rcv_mss);
        }
        linux.duplicate = None;
        linux.delivered = place == Place::Next;
        if profile.reports_duplicates() {
            let known = self.ranges.overlap(seq.max(self.next), end);
            linux.duplicate = if seq < self.next { Some((seq, end.min(self.next))) } else { known };
        }
        if place == Place::Old {
            linux.acks.enter_quick_fully(window);
            // `tcp_send_dupack` sends without having scheduled
            self.unacknowledged -= u32::from(!acceptable);
            return;
        }
        let position = unwrap(before.in_order, frame.body.data_number) + u64::from(len);
        let last = profile.multipath.is_some() && position == before.total;
        let push = frame.tag & (flag::FIN | flag::PUSH) != 0 || last || len < profile.mss;
        if len > 0 {
            linux.acks.measure(len, push, profile);
        }
        if place == Place::Next && len > 0 {
            linux.rtt.measure(now, end, window);
            linux.acks.arrived(now, window);
        }
        // `tcp_event_data_recv`, `tcp_data_queue_ofo`
        if let Some(offer) = &mut linux.offer
            && (place == Place::Beyond || len >= 128)
            && offer.grow(len, before.held, profile)
        {
            linux.acks.window_grew();
        }
        // A compressed acknowledgement leaves before its report is pushed out of the first two blocks
        // (`tcp_sack_new_ofo_skb`). That was this segment's acknowledgement, too, though it says nothing of it.
        if place == Place::Beyond && linux.acks.compressed > 0 && self.ranges.place(seq, end) >= 2 {
            self.acknowledge(now, flag::ACK, before, profile, net);
        }
    }

    /// `__tcp_ack_snd_check`. That its rule of every second segment looks at the window does not matter: receivers read
    /// at once, and reading acknowledges without looking.
    pub(super) fn answer_adaptively(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        let Some(linux) = &mut self.linux else { return };
        let limit = u64::from(linux.acks.rcv_mss) * u64::from(profile.delayed_ack.packets.saturating_sub(1));
        let wait = if self.unacknowledged == 0 {
            Wait::AsSet // it has just been acknowledged
        } else if self.next - linux.last_ack_sent > limit || linux.acks.quick_acks > 0 {
            Wait::Over
        } else if self.ranges.is_empty() {
            linux.acks.delay(now)
        } else if !(profile.delayed_ack.compression && profile.recovery.uses_sack()) {
            Wait::Over
        } else {
            linux.acks.compress(self.next, linux.rtt.estimate)
        };
        let source = self.timer_source();
        match wait {
            Wait::Over => self.acknowledge(now, flag::ACK, inflow, profile, net),
            Wait::AsSet => {}
            Wait::Ticks(ms) => {
                let deadline = expiry(now, Span::from_millis(u64::from(ms)), RtoRule::Linux);
                self.timer.set(deadline, &mut net.queue, source);
            }
            Wait::For(span) => self.timer.set(now + span, &mut net.queue, source),
        }
    }

    /// The receiver has read what came in order (`tcp_rcv_space_adjust`, `__tcp_cleanup_rbuf`).
    pub(super) fn read(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        let closed = self.finished();
        let Some(linux) = &mut self.linux else { return };
        linux.delivered = false;
        let mut at_once =
            profile.delayed_ack.adaptive && self.unacknowledged > 0 && linux.acks.pushed && inflow.held == 0;
        if let Some(offer) = &mut linux.offer {
            offer.adjust(now, inflow.read, linux.rtt.estimate, profile);
            at_once |= !closed && offer.is_worth_an_update(inflow, linux.acks.rcv_mss);
        }
        if at_once {
            self.acknowledge(now, flag::ACK, inflow, profile, net);
        }
    }
}
