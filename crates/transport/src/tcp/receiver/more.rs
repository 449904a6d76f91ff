//! What receivers do beyond the letter of RFC 5681 and RFC 2018: Linux' way through a segment
//! (`net/ipv4/tcp_input.c: tcp_rcv_established`, `tcp_data_queue` of Linux 6.12).

use headway_units::{Span, Time};

use super::adaptive::{Adaptive, Wait};
use super::window::{Offer, RoundTrip};
use super::{Inflow, Place, Receiver, first_window};
use crate::network::Network;
use crate::segment::{Frame, flag, unwrap};
use crate::tcp::profile::{Profile, Recovery, RtoRule};
use crate::tcp::rtt::expiry;

/// What only some stacks have.
#[derive(Debug)]
pub(super) struct More {
    pub acks: Adaptive,
    pub offer: Option<Offer>,
    pub round: RoundTrip,
    /// `TS.Recent` (RFC 7323 §4.3), as far as it is modelled.
    pub recent: u8,
    /// `Last.ACK.sent`, Linux' `rcv_wup`.
    pub acked: u64,
    /// What the next acknowledgement reports to have come twice (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// The last segment brought data in order, which was read.
    pub delivered: bool,
    /// Our own FIN was sent, with the acknowledgement of the other one.
    pub closed: bool,
    /// SYN-ACKs sent, and when the last left.
    pub handshake: (u32, Time),
}

impl More {
    /// The state for `profile`, if it needs any.
    pub fn new(profile: &Profile) -> Option<Box<More>> {
        let needed = profile.delayed_ack.adaptive
            || profile.autotuning.is_some()
            || profile.timestamps
            || profile.modern.is_some();
        needed.then(|| {
            Box::new(More {
                acks: Adaptive::new(profile, first_window(profile)),
                offer: Offer::new(profile),
                round: RoundTrip::default(),
                recent: 0,
                acked: 0,
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
    /// What stacks with more do with a segment of data before it is put in its place. `span` is where it begins and ends.
    pub(super) fn take_more(
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
        let Some(more) = &mut self.more else { return };
        let window = more.open(before, profile);
        // a segment outside the window is none that is looked at further (`tcp_sequence`)
        let acceptable = end >= more.acked;
        if acceptable && profile.timestamps {
            if seq <= more.acked {
                more.recent = frame.tag & flag::EPOCH; // RFC 7323 §4.3
            }
            more.round.echoed(now, frame.tag, len >= more.acks.full);
        }
        more.duplicate = None;
        more.delivered = place == Place::Next;
        if profile.modern.is_some() {
            let known = self.ranges.overlap(seq.max(self.next), end);
            more.duplicate = if seq < self.next { Some((seq, end.min(self.next))) } else { known };
        }
        if place == Place::Old {
            more.acks.enter_quick_fully(window);
            // `tcp_send_dupack` sends without having scheduled
            self.pending -= u32::from(!acceptable);
            return;
        }
        let position = unwrap(before.in_order, frame.body.data_number) + u64::from(len);
        let last = profile.multipath.is_some() && position == before.total;
        let push = frame.tag & (flag::FIN | flag::PUSH) != 0 || last || len < profile.mss;
        if len > 0 {
            more.acks.measure(len, push, profile);
        }
        if place == Place::Next && len > 0 {
            more.round.measure(now, end, window);
            more.acks.arrived(now, window);
        }
        // `tcp_event_data_recv`, `tcp_data_queue_ofo`
        if let Some(offer) = &mut more.offer
            && (place == Place::Beyond || len >= 128)
            && offer.grow(len, before.held, profile)
        {
            more.acks.window_grew();
        }
        // What is held back leaves before its news is pushed out of the first two blocks (`tcp_sack_new_ofo_skb`). That
        // was this segment's acknowledgement, too, though it says nothing of it.
        if place == Place::Beyond && more.acks.compressed > 0 && self.ranges.place(seq, end) >= 2 {
            self.acknowledge(now, flag::ACK, before, profile, net);
        }
    }

    /// `__tcp_ack_snd_check`. That its rule of every second segment looks at the window does not matter: receivers read
    /// at once, and reading acknowledges without looking.
    pub(super) fn answer_adaptively(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        let Some(more) = &mut self.more else { return };
        let full = u64::from(more.acks.full) * u64::from(profile.delayed_ack.packets.saturating_sub(1));
        let wait = if self.pending == 0 {
            Wait::AsSet // it has just been acknowledged
        } else if self.next - more.acked > full || more.acks.quick > 0 {
            Wait::Over
        } else if self.ranges.is_empty() {
            more.acks.delay(now)
        } else if profile.recovery == Recovery::NewReno {
            Wait::Over
        } else {
            more.acks.compress(self.next, more.round.estimate)
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
        let Some(more) = &mut self.more else { return };
        more.delivered = false;
        let mut at_once = profile.delayed_ack.adaptive && self.pending > 0 && more.acks.pushed && inflow.held == 0;
        if let Some(offer) = &mut more.offer {
            offer.adjust(now, inflow.read, more.round.estimate, profile);
            at_once |= !closed && offer.has_news(inflow, more.acks.full);
        }
        if at_once {
            self.acknowledge(now, flag::ACK, inflow, profile, net);
        }
    }
}
