//! What endpoints share: the fabric, the event queue, and the few things packets point to.

use headway_engine::{EventQueue, Source};
use headway_fabric::{Endpoint, Fabric};
use headway_units::Time;

use crate::host::{Hosts, arriving};
use crate::segment::{Frame, NO_EXTRA, Segment};
use crate::trace::Trace;

/// Classes of events, after the fabric's arrivals and before its departures.
pub(crate) mod class {
    pub const SENDER_TIMER: u8 = 1;
    pub const RECEIVER_TIMER: u8 = 2;
    pub const FLOW_START: u8 = 3;
    pub const SAMPLE: u8 = 4;
    /// Frames that leave external hosts; after these hosts have acted, which is after all that is above.
    pub const EXTERNAL: u8 = 5;
    /// A sender whose card or pace held it back may go on. (6 is the fabric's: departures from ports that choose.)
    pub const WAKE: u8 = 7;
    /// Cores and cards of hosts with a model; after all else of an instant.
    pub const HOST: u8 = 8;
    /// Links that fail or come back, routing that learns of it, carrier; what happens at the instant still happens.
    pub const CHANGE: u8 = 9;
}

/// Up to four selective acknowledgement blocks, most recent first (RFC 2018 §3).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SackBlocks {
    pub count: u8,
    /// The first block reports what had arrived before (RFC 2883).
    pub duplicate: bool,
    pub blocks: [(u32, u32); 4],
}

/// Side storage for what few segments carry, so that it does not weigh on all.
#[derive(Debug, Default)]
pub(crate) struct SackPool {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
    /// Bits that all frames to an endpoint echo (by endpoint).
    echoes: Vec<u8>,
}

impl SackPool {
    pub fn put(&mut self, blocks: SackBlocks) -> u32 {
        if let Some(index) = self.free.pop() {
            self.blocks[index as usize] = blocks;
            index
        } else {
            self.blocks.push(blocks);
            (self.blocks.len() - 1) as u32
        }
    }

    pub fn take(&mut self, index: u32) -> Option<SackBlocks> {
        (index != NO_EXTRA).then(|| {
            self.free.push(index);
            self.blocks[index as usize]
        })
    }

    /// The blocks at `index`, which stay.
    pub fn peek(&self, index: u32) -> Option<SackBlocks> {
        (index != NO_EXTRA).then(|| self.blocks[index as usize])
    }

    fn set_echo(&mut self, to: Endpoint, bits: u8) {
        let to = to.0 as usize;
        if self.echoes.len() <= to {
            self.echoes.resize(to + 1, 0);
        }
        self.echoes[to] = bits;
    }

    #[inline]
    fn echo(&self, to: Endpoint) -> u8 {
        self.echoes.get(to.0 as usize).copied().unwrap_or(0)
    }

    /// Blocks on their way.
    pub fn in_use(&self) -> usize {
        self.blocks.len() - self.free.len()
    }
}

/// Which half of a subflow an endpoint is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// The endpoint index of one half of subflow `subflow`.
pub(crate) fn endpoint(subflow: u32, side: Side) -> Endpoint {
    Endpoint(subflow * 2 + u32::from(side == Side::Receiver))
}

/// Subflow and half of an endpoint.
pub(crate) fn side(endpoint: Endpoint) -> (u32, Side) {
    (endpoint.0 / 2, if endpoint.0.is_multiple_of(2) { Side::Sender } else { Side::Receiver })
}

/// The network as endpoints use it.
#[derive(Debug)]
pub(crate) struct Network {
    pub fabric: Fabric<Segment>,
    pub queue: EventQueue,
    pub extras: SackPool,
    /// Hosts with a model.
    pub hosts: Hosts,
    /// Frames on their way to each endpoint; a closed subflow's place is reused when both its counts are zero.
    pub inbound: Vec<u32>,
    /// What controls' random choices follow from.
    pub seed: u64,
    /// Frames sent, those that wait for a core of their sender's included.
    pub sent: u64,
    /// Frames that reached an endpoint.
    pub delivered: u64,
    /// Frames dropped or damaged.
    pub discarded: u64,
    /// What passes senders, if that is asked for.
    pub trace: Option<Box<Trace>>,
    /// Frames may need more than the fabric: there are hosts with a model, echoes, or a trace.
    pub special: bool,
}

impl Network {
    /// From now on frames to `to` echo these bits, as any stack with timestamps echoes the last one it saw (RFC 7323
    /// §4.3).
    pub fn set_echo(&mut self, to: Endpoint, bits: u8) {
        self.special = true;
        self.extras.set_echo(to, bits);
    }

    /// Notes a frame that is sent to `to`, or has reached it, if that is wanted.
    #[inline]
    pub fn note(&mut self, now: Time, to: Endpoint, out: bool, frame: &Frame) {
        if self.trace.is_some() {
            self.note_traced(now, to, out, frame);
        }
    }

    #[cold]
    fn note_traced(&mut self, now: Time, to: Endpoint, out: bool, frame: &Frame) {
        if let Some(trace) = &mut self.trace {
            trace.note(now, to, out, frame, self.extras.peek(frame.body.extra));
        }
    }

    /// Sends a frame on its route.
    #[expect(clippy::inline_always, reason = "once for every packet: a call costs half as much as the work")]
    #[inline(always)]
    pub fn send(&mut self, now: Time, to: Endpoint, mut frame: Frame) {
        self.sent += 1;
        if self.special && self.prepare(now, to, &mut frame) {
            return;
        }
        match self.fabric.send(&mut self.queue, now, frame) {
            Ok(()) => self.inbound[to.0 as usize] += 1,
            Err((_, frame)) => {
                self.discarded += 1;
                self.extras.take(frame.body.extra);
            }
        }
    }

    /// Does with a frame that is sent what is not the fabric's; says whether its host's core sends it.
    #[inline(never)]
    fn prepare(&mut self, now: Time, to: Endpoint, frame: &mut Frame) -> bool {
        frame.tag |= self.extras.echo(to);
        self.note(now, to, true, frame);
        self.hosts.any() && self.hand_to_core(now, to, *frame)
    }

    /// Gives a frame to the core that sends it, if its host has a model; says whether it did.
    fn hand_to_core(&mut self, now: Time, to: Endpoint, frame: Frame) -> bool {
        let first = self.fabric.routes.ports(frame.hop).next().expect("a route has a link");
        let Some(interface) = self.hosts.interface(arriving(first)) else { return false };
        self.inbound[to.0 as usize] += 1;
        self.hosts.send(now, interface, to, frame, &mut self.queue);
        true
    }
}

/// A timer whose deadline moves often and fires rarely: the pending event is left where it is while the deadline
/// moves later, and set anew, with the next sequence number, when it moves earlier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    deadline: Time,
    /// When the valid pending event fires.
    armed: Time,
    sequence: u32,
}

/// What a timer event means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// Nothing: an outdated setting, or the deadline has moved.
    Early,
    /// The deadline is now.
    Due,
}

impl Timer {
    pub const OFF: Timer = Timer { deadline: Time::NEVER, armed: Time::NEVER, sequence: 0 };

    pub fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    pub fn set(&mut self, deadline: Time, queue: &mut EventQueue, source: Source) {
        self.deadline = deadline;
        if deadline < self.armed {
            self.armed = deadline;
            self.sequence = self.sequence.wrapping_add(1);
            queue.push(deadline, source, self.sequence);
        }
    }

    #[inline]
    pub fn cancel(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Handles the timer's event, which must be the earliest in `queue`.
    pub fn fire(&mut self, now: Time, sequence: u32, queue: &mut EventQueue) -> Fired {
        if sequence != self.sequence || self.armed != now || self.deadline == Time::NEVER {
            queue.pop();
            if sequence == self.sequence && self.armed == now {
                self.armed = Time::NEVER;
            }
            return Fired::Early;
        }
        if self.deadline > now {
            self.armed = self.deadline;
            queue.reschedule(self.deadline);
            return Fired::Early;
        }
        self.armed = Time::NEVER;
        self.deadline = Time::NEVER;
        queue.pop();
        Fired::Due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Time {
        Time::from_picos(ps)
    }

    /// Sets a timer as `settings` say, each at its time, and returns when it was due.
    fn run(settings: &[(u64, Option<u64>)]) -> Vec<u64> {
        let (source, mut queue, mut timer) = (Source::new(1, 0), EventQueue::new(), Timer::OFF);
        let mut due = Vec::new();
        let mut settings = settings.iter().peekable();
        loop {
            let event = queue.peek();
            match (settings.peek(), event) {
                (Some(&&(t, deadline)), next) if next.is_none_or(|(n, _, _)| t < n.picos()) => {
                    match deadline {
                        Some(deadline) => timer.set(at(deadline), &mut queue, source),
                        None => timer.cancel(),
                    }
                    settings.next();
                }
                (_, Some((now, _, sequence))) => {
                    if timer.fire(now, sequence, &mut queue) == Fired::Due {
                        due.push(now.picos());
                    }
                }
                (_, None) => return due,
            }
        }
    }

    #[test]
    fn a_timer_fires_at_its_last_deadline_only() {
        assert_eq!(run(&[(0, Some(10))]), [10]);
        assert_eq!(run(&[(0, Some(10)), (5, Some(20)), (15, Some(30))]), [30]);
        assert_eq!(run(&[(0, Some(100)), (1, Some(10))]), [10]); // earlier than armed
        assert_eq!(run(&[(0, Some(100)), (1, Some(10)), (11, Some(100))]), [10, 100]);
        assert_eq!(run(&[(0, Some(100)), (1, Some(50)), (2, Some(20)), (21, Some(100)), (30, Some(40))]), [20, 40]);
        assert_eq!(run(&[(0, Some(10)), (5, None)]), []);
        assert_eq!(run(&[(0, Some(10)), (5, None), (6, Some(10))]), [10]);
        assert_eq!(run(&[(0, Some(10)), (5, None), (12, Some(20))]), [20]);
    }
}
