//! The receiving half of a subflow: reassembly, acknowledgements (RFC 5681 §4.2, RFC 2018), ECN echo (RFC 3168, RFC 8257).
//!
//! Linux' additions are in [`linux`], [`adaptive`] (when it acknowledges) and [`window`] (the window it offers), with
//! reports of duplicates (RFC 2883) and the substitute for timestamps (RFC 7323).
//!
//! Leaves out: segments beyond the window, which senders never send, and old duplicates that PAWS would drop, since the
//! frames of a path stay in order.

use headway_engine::{EventClass, Source};
use headway_fabric::ecn;
use headway_units::{Span, Time};

use crate::endpoint::{Side, endpoint};
use crate::network::Network;
use crate::ranges::Ranges;
use crate::sack_pool::SackBlocks;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, syn_options, unwrap};
use crate::tcp::profile::Profile;
use crate::timer::Timer;

mod adaptive;
mod linux;
#[cfg(test)]
mod tests;
mod two_way;
mod window;

use linux::LinuxReceiver;
pub(crate) use window::{Shared, first as first_window};

/// Data that a connection's receiver has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inflow {
    /// Bytes in order.
    pub in_order: u64,
    /// Bytes that its program has read: all in order, unless it reads late.
    pub read: u64,
    /// Bytes that its program has not read, and those beyond holes.
    pub held: u64,
    /// Bytes that there will be.
    pub total: u64,
}

/// A segment's meaning to its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// No payload.
    Control,
    /// Payload; in order or not, new or not.
    Data {
        /// How far the subflow is now contiguous: bytes of payload since its start.
        contiguous: u64,
        /// How many of the segment's bytes had not arrived before.
        new: u64,
    },
}

/// Where a segment lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Begins where what has arrived in order ends, or before.
    Next,
    /// Leaves a hole.
    Beyond,
    /// Has nothing new.
    Old,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they are no state machine")]
pub(crate) struct Receiver {
    /// The connection this belongs to.
    pub connection: u32,
    /// First position of the route back.
    pub route: u32,
    id: u32,
    /// The third packet of the handshake is acknowledged.
    acknowledges_join: bool,
    /// It belongs to a two-way connection.
    two_way: bool,
    /// Of a two-way connection, the right edge of a window of fixed size.
    edge: u64,
    next: u64,
    ranges: Ranges,
    fin: Option<u64>,
    established: bool,
    /// Segments since the last acknowledgement.
    unacknowledged: u32,
    /// Segments still to be acknowledged at once, by the letter of [`profile::DelayedAck`](crate::tcp::profile::DelayedAck).
    quick_acks: u32,
    /// Acknowledgements echo congestion; RFC 8257's DCTCP.CE.
    ece: bool,
    /// Marks are echoed one by one.
    counts_marks: bool,
    timer: Timer,
    syn_timeout: Span,
    linux: Option<Box<LinuxReceiver>>,
}

impl Receiver {
    pub fn new(
        id: u32,
        connection: u32,
        route: u32,
        acknowledges_join: bool,
        profile: &Profile,
        timer: Timer,
    ) -> Receiver {
        Receiver {
            connection,
            route,
            id,
            acknowledges_join,
            two_way: false,
            edge: 0,
            next: 0,
            ranges: Ranges::default(),
            fin: None,
            established: false,
            unacknowledged: 0,
            quick_acks: if profile.delayed_ack.adaptive { 0 } else { profile.delayed_ack.quick },
            ece: false,
            counts_marks: profile.ecn && profile.control.dctcp_ecn(),
            timer,
            syn_timeout: profile.initial_rto,
            linux: LinuxReceiver::new(profile),
        }
    }

    pub fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// Its estimate of the round trip; zero before the first.
    pub fn round_trip(&self) -> Span {
        self.linux.as_ref().map_or(Span::ZERO, |linux| linux.rtt.estimate)
    }

    /// The part of its window that the connection's other subflows share.
    pub fn share(&self) -> Option<Shared> {
        self.linux.as_ref()?.offer.as_ref().map(window::Offer::share)
    }

    /// Offers what the connection's other subflows do, of which `others` is the longest round trip.
    pub fn adopt(&mut self, shared: Option<Shared>, others: Span) {
        if let (Some(shared), Some(offer)) = (shared, self.linux.as_mut().and_then(|linux| linux.offer.as_mut())) {
            offer.adopt(shared, others);
        }
    }

    /// Whether everything, FIN included, has arrived.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Takes in a segment; `before` is what the connection has without it. Acknowledging is a second step
    /// ([`answer`](Self::answer)), because the connection must see the data first.
    #[expect(clippy::inline_always, reason = "as its caller, `Tcp::take_segment`")]
    #[inline(always)]
    pub fn take(
        &mut self,
        now: Time,
        frame: &Frame,
        before: Inflow,
        profile: &Profile,
        net: &mut Network,
    ) -> (Arrival, Answer) {
        let tag = frame.tag;
        if tag & flag::SYN != 0 {
            self.next = self.next.max(1);
            return (Arrival::Control, Answer::SynAck);
        }
        if !self.established {
            self.established = true;
            self.timer.cancel();
            if let Some(linux) = &mut self.linux {
                linux.established(now, before, profile);
            }
        }
        let len = u64::from(frame.body.amount);
        if len == 0 && tag & flag::FIN == 0 {
            // The third packet of a join is acknowledged (RFC 8684 §3.2), and a probe of the window.
            let now = self.acknowledges_join || self.two_way && self.is_probe(frame);
            return (Arrival::Control, if now { Answer::Now } else { Answer::None });
        }
        let seq = unwrap(self.next, frame.body.number);
        let end = seq + len;
        // FIN takes a number of the sequence and is reported like any other, but is no data.
        let fin = u64::from(tag & flag::FIN != 0);
        let congestion = frame.tos & ecn::MASK == ecn::CE || tag & flag::CWR != 0;
        let mut at_once =
            (congestion || self.ece || profile.ecn) && self.note_congestion(now, frame, before, profile, net);
        let place = if seq > self.next {
            Place::Beyond
        } else if end + fin > self.next {
            Place::Next
        } else {
            Place::Old
        };
        self.unacknowledged += 1;
        if self.linux.is_some() {
            self.take_linux(now, frame, (seq, end + fin, place), before, profile, net);
        }
        if fin > 0 {
            self.fin = Some(end);
        }
        at_once |= fin > 0 || self.quick_acks > 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        let mut new = 0;
        if place == Place::Beyond {
            at_once |= !profile.delayed_ack.adaptive; // RFC 5681 §4.2: out of order
            new = self.ranges.insert(seq, end + fin).min(len);
        } else if end > self.next {
            if self.ranges.is_empty() {
                new = end - self.next;
                self.next = end;
            } else {
                new = self.ranges.insert(self.next, end);
                self.next = self.ranges.absorb(end);
                // RFC 5681 §4.2: fills all or part of a gap; Linux: all.
                at_once |= !profile.delayed_ack.adaptive || self.ranges.is_empty();
            }
        } else if len > 0 {
            at_once = true; // nothing new: its sender must hear so
        }
        let contiguous = self.fin.map_or(self.next, |fin| fin.min(self.next)) - 1;
        if self.fin == Some(self.next) {
            self.next += 1;
        }
        (Arrival::Data { contiguous, new }, if at_once { Answer::Now } else { Answer::Delayed })
    }

    /// Congestion that a segment tells of, and its echo. Says whether the segment is to be acknowledged at once.
    fn note_congestion(
        &mut self,
        now: Time,
        frame: &Frame,
        before: Inflow,
        profile: &Profile,
        net: &mut Network,
    ) -> bool {
        let codepoint = frame.tos & ecn::MASK;
        let marked = codepoint == ecn::CE;
        // Linux: the sender's window may be so small now that it waits (`tcp_ecn_accept_cwr`).
        let reduced = frame.tag & flag::CWR != 0;
        let mut at_once = reduced && profile.delayed_ack.adaptive;
        if self.counts_marks {
            // RFC 8257 §3.2: every acknowledgement says of all that it acknowledges whether it was marked. So what waits
            // leaves with the old state first (`net/ipv4/tcp_dctcp.h: dctcp_ece_ack_update`).
            if codepoint != 0 && marked != self.ece {
                let waiting = match &self.linux {
                    Some(linux) if profile.delayed_ack.adaptive => linux.acks.is_waiting(),
                    _ => self.unacknowledged > 0,
                };
                if waiting {
                    self.emit(now, flag::ACK, before, profile, net);
                }
                self.ece = marked;
                at_once = true;
            }
            return at_once;
        }
        // RFC 3168 §6.1.3: echo until told that the window was reduced.
        let begins = marked && (!self.ece || reduced);
        self.ece = marked || self.ece && !reduced;
        if profile.ecn
            && profile.delayed_ack.adaptive
            && let Some(linux) = &mut self.linux
        {
            let window = linux.open(before, profile);
            linux.acks.see_codepoint(codepoint != 0, begins, window);
        }
        at_once
    }

    /// Acknowledges as `answer` says, now that the connection has what `inflow` says.
    #[expect(clippy::inline_always, reason = "half of all segments are only counted here")]
    #[inline(always)]
    pub fn answer(&mut self, now: Time, answer: Answer, inflow: Inflow, profile: &Profile, net: &mut Network) {
        match answer {
            Answer::None => {}
            Answer::SynAck => {
                if let Some(linux) = &mut self.linux {
                    linux.handshake = (linux.handshake.0 + 1, now);
                }
                self.acknowledge(now, flag::SYN | flag::ACK, inflow, profile, net);
                if !self.established {
                    self.timer.set(now + self.syn_timeout, &mut net.queue, self.timer_source());
                }
            }
            Answer::Delayed if profile.delayed_ack.adaptive => self.answer_adaptively(now, inflow, profile, net),
            Answer::Delayed if self.unacknowledged < profile.delayed_ack.packets => {
                if self.unacknowledged == 1 {
                    let deadline = now + profile.delayed_ack.timeout;
                    self.timer.set(deadline, &mut net.queue, self.timer_source());
                }
            }
            Answer::Delayed | Answer::Now => self.acknowledge(now, flag::ACK, inflow, profile, net),
        }
        // the program of a two-way connection reads by itself: `after_reading`
        if !self.two_way && self.linux.as_ref().is_some_and(|linux| linux.delivered) {
            self.read(now, inflow, profile, net);
        }
    }

    /// Handles the timer: a delayed or compressed acknowledgement is due, or SYN-ACK was not answered.
    pub fn on_timeout(&mut self, now: Time, inflow: Inflow, profile: &Profile, net: &mut Network) {
        if self.established {
            if self.unacknowledged > 0 {
                if let Some(linux) = self.linux.as_mut().filter(|linux| !linux.acks.compressing) {
                    linux.acks.timed_out();
                }
                self.acknowledge(now, flag::ACK, inflow, profile, net);
            }
        } else {
            self.syn_timeout = self.syn_timeout.saturating_mul(2).min(profile.max_rto);
            self.answer(now, Answer::SynAck, inflow, profile, net);
        }
    }

    /// Acknowledges everything that has come.
    #[inline]
    fn acknowledge(&mut self, now: Time, tag: u8, inflow: Inflow, profile: &Profile, net: &mut Network) {
        self.emit(now, tag, inflow, profile, net);
        self.note_acknowledged();
    }

    #[inline]
    fn note_acknowledged(&mut self) {
        if let Some(linux) = &mut self.linux {
            linux.acks.acknowledged(self.unacknowledged > 0);
            linux.last_ack_sent = self.next;
            linux.duplicate = None;
        }
        self.unacknowledged = 0;
        if self.established {
            self.timer.cancel();
        }
    }

    /// The window that an acknowledgement offers which leaves now with `tag`; adds the stand-in for timestamps to the tag.
    #[inline]
    fn window(&mut self, now: Time, tag: &mut u8, inflow: Inflow, profile: &Profile) -> u64 {
        let fixed = profile.receive_window.get();
        let mut window = if self.two_way { self.fixed_window(inflow, fixed, profile.mss) } else { fixed };
        if let Some(linux) = &mut self.linux {
            let syn = *tag & flag::SYN != 0;
            if profile.timestamps {
                *tag |= linux.recent | linux.rtt.bit(now, syn);
            }
            if let Some(offer) = &mut linux.offer {
                window = offer.offer(inflow, linux.acks.rcv_mss, syn);
                if offer.is_short(inflow.held) {
                    linux.acks.quick_acks = 0;
                }
            }
        }
        window
    }

    /// Sends an acknowledgement.
    #[inline]
    fn emit(&mut self, now: Time, mut tag: u8, inflow: Inflow, profile: &Profile, net: &mut Network) {
        let mut duplicate = None;
        let finished = self.finished();
        if let Some(linux) = &mut self.linux {
            // The application closes its side as soon as the other has; a lost FIN of this side is not retransmitted.
            let closes = finished && !linux.closed && !self.two_way;
            if closes && profile.recovery.is_linux() && profile.multipath.is_none() {
                linux.closed = true;
                tag |= flag::FIN;
            }
            duplicate = linux.duplicate;
        }
        let window = self.window(now, &mut tag, inflow, profile);
        let mut options = if tag & flag::SYN != 0 { syn_options(profile) } else { 0 };
        let nothing = self.ranges.is_empty() && duplicate.is_none();
        let extra = if nothing || !profile.recovery.uses_sack() {
            NO_EXTRA
        } else {
            let mut blocks = SackBlocks { duplicate: duplicate.is_some(), ..SackBlocks::default() };
            let reported = duplicate.iter().chain(self.ranges.recent());
            for (to, &(start, end)) in blocks.blocks.iter_mut().take(usize::from(profile.sack_blocks)).zip(reported) {
                *to = (start as u32, end as u32);
                blocks.count += 1;
            }
            options = 4 + 8 * u32::from(blocks.count); // kind, length and padding, then 8 bytes each
            net.extras.put(blocks)
        };
        let frame = Frame {
            hop: self.route,
            size: frame_size(options, profile.overhead),
            tos: 0,
            tag: tag | if self.ece { flag::ECE } else { 0 },
            body: Segment {
                number: self.next as u32,
                data_number: inflow.in_order as u32,
                amount: window.min(u64::from(u32::MAX)) as u32,
                extra,
            },
        };
        net.send(now, endpoint(self.id, Side::Sender), frame);
    }

    fn timer_source(&self) -> Source {
        Source::new(EventClass::ReceiverTimer, self.id)
    }
}

/// How a segment is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    None,
    SynAck,
    /// By the delayed-acknowledgement rules.
    Delayed,
    Now,
}
