//! The receiving half of a subflow: reassembly, acknowledgements (RFC 5681 §4.2, RFC 2018), ECN echo (RFC 3168).

use headway_engine::Source;
use headway_fabric::ecn;
use headway_units::{Span, Time};

use crate::network::{Network, SackBlocks, Side, Timer, class, endpoint};
use crate::profile::{Profile, Recovery};
use crate::ranges::Ranges;
use crate::segment::{Frame, NO_EXTRA, Segment, flag, frame_size, unwrap};

/// What a segment was to its receiver.
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

#[derive(Debug)]
pub(crate) struct Receiver {
    /// The connection this belongs to.
    pub connection: u32,
    /// First position of the route back.
    pub route: u32,
    id: u32,
    join: bool,
    next: u64,
    ranges: Ranges,
    fin: Option<u64>,
    established: bool,
    /// Segments since the last acknowledgement.
    pending: u32,
    /// Segments still to be acknowledged at once.
    quick: u32,
    echo: bool,
    timer: Timer,
    syn_timeout: Span,
}

impl Receiver {
    pub fn new(id: u32, connection: u32, route: u32, join: bool, profile: &Profile, timer: Timer) -> Receiver {
        Receiver {
            connection,
            route,
            id,
            join,
            next: 0,
            ranges: Ranges::default(),
            fin: None,
            established: false,
            pending: 0,
            quick: profile.delayed_ack.quick,
            echo: false,
            timer,
            syn_timeout: profile.initial_rto,
        }
    }

    pub fn timer_mut(&mut self) -> &mut Timer {
        &mut self.timer
    }

    /// Whether everything, FIN included, has arrived.
    pub fn finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Takes in a segment. Acknowledging is a second step ([`answer`](Self::answer)), because the connection must
    /// see the data first.
    #[inline]
    pub fn take(&mut self, frame: &Frame) -> (Arrival, Answer) {
        let tag = frame.tag;
        if tag & flag::SYN != 0 {
            self.next = self.next.max(1);
            return (Arrival::Control, Answer::SynAck);
        }
        if !self.established {
            self.established = true;
            self.timer.cancel();
        }
        let len = u64::from(frame.body.amount);
        if len == 0 && tag & flag::FIN == 0 {
            // The third packet of a join is acknowledged (RFC 8684 §3.2).
            return (Arrival::Control, if self.join { Answer::Now } else { Answer::None });
        }
        // RFC 3168 §6.1.3: echo until told that the window was reduced.
        if tag & flag::CWR != 0 {
            self.echo = false;
        }
        if frame.tos & ecn::MASK == ecn::CE {
            self.echo = true;
        }
        let seq = unwrap(self.next, frame.body.number);
        let end = seq + len;
        if tag & flag::FIN != 0 {
            self.fin = Some(end);
        }
        let mut now = tag & flag::FIN != 0 || self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let mut new = 0;
        if seq > self.next {
            now = true; // RFC 5681 §4.2: out of order
            // FIN takes a number of the sequence and is reported like any other, but is no data.
            new = self.ranges.insert(seq, end + u64::from(tag & flag::FIN != 0)).min(len);
        } else if end > self.next {
            if self.ranges.is_empty() {
                new = end - self.next;
                self.next = end;
            } else {
                now = true; // RFC 5681 §4.2: fills all or part of a gap
                new = self.ranges.insert(self.next, end);
                self.next = self.ranges.absorb(end);
            }
        } else if len > 0 {
            now = true; // nothing new: its sender must hear so
        }
        let contiguous = self.fin.map_or(self.next, |fin| fin.min(self.next)) - 1;
        if self.fin == Some(self.next) {
            self.next += 1;
        }
        self.pending += 1;
        (Arrival::Data { contiguous, new }, if now { Answer::Now } else { Answer::Delayed })
    }

    /// Acknowledges as `answer` says.
    #[inline]
    pub fn answer(&mut self, now: Time, answer: Answer, data_ack: u64, profile: &Profile, net: &mut Network) {
        match answer {
            Answer::None => {}
            Answer::SynAck => {
                self.acknowledge(now, flag::SYN | flag::ACK, data_ack, profile, net);
                if !self.established {
                    self.timer.set(now + self.syn_timeout, &mut net.queue, self.timer_source());
                }
            }
            Answer::Delayed if self.pending < profile.delayed_ack.packets => {
                if self.pending == 1 {
                    let deadline = now + profile.delayed_ack.timeout;
                    self.timer.set(deadline, &mut net.queue, self.timer_source());
                }
            }
            Answer::Delayed | Answer::Now => self.acknowledge(now, flag::ACK, data_ack, profile, net),
        }
    }

    /// Handles the timer: a delayed acknowledgement is due, or SYN-ACK was not answered.
    pub fn on_timeout(&mut self, now: Time, data_ack: u64, profile: &Profile, net: &mut Network) {
        if self.established {
            if self.pending > 0 {
                self.acknowledge(now, flag::ACK, data_ack, profile, net);
            }
        } else {
            self.syn_timeout = self.syn_timeout.saturating_mul(2).min(profile.max_rto);
            self.answer(now, Answer::SynAck, data_ack, profile, net);
        }
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, tag: u8, data_ack: u64, profile: &Profile, net: &mut Network) {
        self.pending = 0;
        if self.established {
            self.timer.cancel();
        }
        let mut options = 0;
        let extra = if self.ranges.is_empty() || profile.recovery == Recovery::NewReno {
            NO_EXTRA
        } else {
            let mut blocks = SackBlocks::default();
            for (to, &(start, end)) in
                blocks.blocks.iter_mut().take(usize::from(profile.sack_blocks)).zip(self.ranges.recent())
            {
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
            tag: tag | if self.echo { flag::ECE } else { 0 },
            body: Segment {
                number: self.next as u32,
                data_number: data_ack as u32,
                amount: profile.receive_window.get().min(u64::from(u32::MAX)) as u32,
                extra,
            },
        };
        net.send(now, endpoint(self.id, Side::Sender), frame);
    }

    fn timer_source(&self) -> Source {
        Source::new(class::RECEIVER_TIMER, self.id)
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
