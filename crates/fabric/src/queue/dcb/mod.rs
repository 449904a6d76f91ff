//! A port of data-centre bridging: a queue for each of eight priorities, in classes that share the line (IEEE 802.1Qaz),
//! each paused by itself (802.1Qbb) or all together (802.3 annex 31B).
//!
//! Pause frames go before all else, wait only for the frame that is being transmitted, and are not paused. The port makes
//! them itself, of what it was last asked to tell its peer. A pause has its effect a response time after the frame came,
//! on frames that have not begun.
//! Frames that may be lost have one limit at the port; those of lossless priorities are limited where they came in.
//! A class that has ECN marks marks what comes, by the bytes of the class that wait.
//!
//! Leaves out: preemption (802.1Qbu), credit-based shaping (802.1Qav), the exchange of settings between neighbours (DCBX).

mod classes;
mod pauses;
mod spec;
mod watchdog;

use std::sync::Arc;

use headway_engine::Stream;
use headway_units::{Bytes, Span, Time};

use super::discipline::{Chosen, PortParameters, Scheduler, Waiting};
use super::fifo::{Backlog, Fifo};
use super::limit::Limit;
use crate::counters::Tally;
use crate::graph::LinkId;
use crate::packet::Packet;
use crate::pool::{FrameHandle, Pool};
use classes::Classes;
use pauses::{Asks, Paused, stopped};
use watchdog::Guard;

pub use spec::{
    ClassSpec, IngressBuffer, LosslessSpec, Marks, PRIORITIES, PauseKind, Thresholds, Watchdog, WatchdogAction,
};

/// A data frame that is being transmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leaving {
    /// Its position on its route, until [`came`](Self::came) has been looked up. Its route may be gone by when it has left.
    hop: Option<u32>,
    /// The link that it came over, if it came over one.
    pub came: Option<LinkId>,
    pub priority: u8,
    pub size: u16,
}

/// What a port has done about pauses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PauseCounters {
    /// Frames sent that ask the peer to pause.
    pub pauses: u64,
    /// Frames sent that let it go on.
    pub resumes: u64,
    /// For how long each priority has been paused by the peer.
    pub paused: [Span; PRIORITIES],
    /// How often the watchdog has found a priority stuck.
    pub stuck: u64,
    /// Frames that the watchdog has dropped.
    pub watchdog_drops: Tally,
}

/// The queues of a port.
#[derive(Debug)]
pub(crate) struct DcbPort {
    spec: Arc<LosslessSpec>,
    classes: Classes,
    queues: [Fifo; PRIORITIES],
    /// Bytes queued so far, by priority.
    entered: [u64; PRIORITIES],
    /// Bytes that wait, by class.
    held: Vec<u64>,
    paused: Paused,
    asks: Asks,
    guards: [Guard; PRIORITIES],
    stuck: u64,
    watchdog_drops: Tally,
    leaving: Option<Leaving>,
    limit_bytes: u64,
    limit_frames: u32,
    /// Frames that may be lost.
    lossy: Backlog,
    stream: Stream,
    /// Of classes without marks of their own.
    default_marks: Option<Marks>,
    /// Frames marked since they were last counted.
    marked: u64,
    /// The end of the route of its pause frames.
    route: u32,
}

impl DcbPort {
    /// The queues of `port`, with the limit of frames that may be lost and the marks of classes without their own; `peer` is
    /// the rate of the link back, and pause frames end their route at `route`.
    pub fn new(
        spec: &Arc<LosslessSpec>,
        port: &PortParameters,
        peer: headway_units::Rate,
        (limit, marks): (Option<Limit>, Option<Limit>),
        route: u32,
    ) -> DcbPort {
        let (limit_bytes, limit_frames) = Limit::split(limit);
        let default_marks = marks.map(|mark| match mark {
            Limit::Bytes(bytes) => Marks::Step(bytes),
            Limit::Packets(packets) => Marks::Step(Bytes::new(u64::from(packets) * u64::from(spec.largest))),
        });
        let quanta = Bytes::new(64 * u64::from(spec.quanta));
        let half = peer.transmission(quanta).picos() / 2;
        DcbPort {
            classes: Classes::new(spec),
            queues: [Fifo::EMPTY; PRIORITIES],
            entered: [0; PRIORITIES],
            held: vec![0; spec.classes.len()],
            paused: Paused::new(port.rate.transmission(quanta), spec.response),
            asks: Asks::new(Span::from_picos(half)),
            guards: [Guard::WATCHING; PRIORITIES],
            stuck: 0,
            watchdog_drops: Tally::default(),
            leaving: None,
            limit_bytes,
            limit_frames,
            lossy: Backlog::default(),
            stream: port.stream(),
            default_marks,
            marked: 0,
            route,
            spec: Arc::clone(spec),
        }
    }

    /// A pause frame has arrived from the peer.
    pub fn hear(&mut self, now: Time, about: u8, pauses: u8) {
        self.paused.hear(now, about, pauses);
    }

    /// The peer is to pause what is in `account`, or may go on.
    pub fn ask(&mut self, account: u8, pause: bool) {
        self.asks.ask(account, pause);
    }

    /// The accounts that the peer is to pause.
    pub fn asks_for(&self) -> u8 {
        self.asks.wanted
    }

    /// The pause frame that leaves now, if one is due: the end of its route, the priorities that it is about, and those
    /// that it pauses.
    pub fn take_pause_frame(&mut self, now: Time) -> Option<(u32, u8, u8)> {
        let (about, pauses) = self.asks.take(now)?;
        Some((self.route, stopped(&self.spec, about), stopped(&self.spec, pauses)))
    }

    /// Whether frames at this place of their route are its pause frames.
    pub fn is_pause_route(&self, hop: u32) -> bool {
        self.route == hop
    }

    /// Whether a pause was asked for again since the last call: if so, the time from one frame to the next.
    pub fn take_repeated(&mut self) -> Option<Span> {
        self.asks.take_repeated()
    }

    /// Whether frames of a priority wait that a pause keeps back.
    pub fn is_stopped(&self, priority: u8) -> bool {
        let at = usize::from(priority);
        !self.queues[at].is_empty() && self.is_held_back(at)
    }

    /// Notes where the frame that has just begun to leave came from.
    pub fn note_came(&mut self, came_over: impl FnOnce(u32) -> Option<LinkId>) {
        if let Some(leaving) = &mut self.leaving
            && let Some(hop) = leaving.hop.take()
        {
            leaving.came = came_over(hop);
        }
    }

    /// The data frame that has been transmitted, once.
    pub fn take_leaving(&mut self) -> Option<Leaving> {
        assert!(self.leaving.is_none_or(|leaving| leaving.hop.is_none()), "where it came from was noted when it began");
        self.leaving.take()
    }

    /// The data frame that is being transmitted.
    pub fn leaving(&self) -> Option<Leaving> {
        self.leaving
    }

    /// The frames that wait.
    pub fn packets<'a, B: Copy>(&'a self, pool: &'a Pool<B>) -> impl Iterator<Item = &'a Packet<B>> {
        self.queues.iter().flat_map(|queue| queue.iter(pool))
    }

    /// Frames marked since the last call.
    pub fn take_marked(&mut self) -> u64 {
        std::mem::take(&mut self.marked)
    }

    /// Bytes of a priority that wait.
    pub fn waits(&self, priority: u8) -> u64 {
        self.queues[usize::from(priority)].bytes
    }

    /// Frames that the watchdog has dropped.
    pub fn watchdog_drops(&self) -> Tally {
        self.watchdog_drops
    }

    /// What it has done until `now`.
    pub fn counters(&self, now: Time) -> PauseCounters {
        PauseCounters {
            pauses: self.asks.pauses,
            resumes: self.asks.resumes,
            paused: self.paused.times(now),
            stuck: self.stuck,
            watchdog_drops: self.watchdog_drops,
        }
    }

    /// Whether frames of a priority are kept back by a pause.
    fn is_held_back(&self, priority: usize) -> bool {
        self.paused.is(priority) && !self.guards[priority].is_stuck()
    }

    /// Pauses take effect and end, and the watchdog looks at them.
    fn settle<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        self.paused.settle(waiting.now);
        let Some(watchdog) = self.spec.watchdog else { return };
        for at in 0..PRIORITIES {
            let paused = (self.paused.is(at), self.paused.until(at));
            let stuck = self.guards[at].look(waiting.now, &watchdog, paused, !self.queues[at].is_empty());
            self.stuck += u64::from(stuck);
            if stuck && self.guards[at].drops(&watchdog) {
                self.drop_all(at, waiting);
            }
        }
    }

    /// The watchdog drops what waits of a priority.
    fn drop_all<B: Copy>(&mut self, at: usize, waiting: &mut Waiting<'_, B>) {
        while let Some(taken) = waiting.pop(&mut self.queues[at]) {
            self.note_gone(at as u8, taken.size);
            self.watchdog_drops.count(taken.size);
            waiting.dropped.push(taken.frame);
        }
    }

    /// A frame does not wait any more.
    fn note_gone(&mut self, priority: u8, size: u64) {
        self.held[usize::from(self.spec.class_of[usize::from(priority)])] -= size;
        if !self.spec.is_lossless(priority) {
            self.lossy.remove(size);
        }
    }

    /// Whether a frame that finds `held` bytes of its class is marked.
    fn marks(&mut self, class: usize, size: u64) -> bool {
        let held = self.held[class];
        match self.spec.classes[class].marks.or(self.default_marks) {
            None => false,
            Some(Marks::Step(threshold)) => held + size > threshold.get(),
            Some(Marks::Ramp { min, max, probability }) => {
                if held <= min.get() {
                    false
                } else if held > max.get() {
                    true
                } else {
                    let part = (held - min.get()) as f64 / (max.get() - min.get()) as f64;
                    self.stream.chance(part * probability)
                }
            }
        }
    }
}

impl Scheduler for DcbPort {
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        self.settle(waiting);
        let packet = waiting.pool.slot(&frame).packet;
        let (priority, size) = (packet.tos >> 5, u64::from(packet.size));
        let at = usize::from(priority);
        if self.spec.watchdog.is_some_and(|watchdog| self.guards[at].drops(&watchdog)) {
            self.watchdog_drops.count(size);
            return Err(frame);
        }
        if !self.spec.is_lossless(priority) {
            if self.lossy.bytes + size > self.limit_bytes || self.lossy.frames >= self.limit_frames {
                return Err(frame);
            }
            self.lossy.add(size);
        }
        let class = usize::from(self.spec.class_of[at]);
        if self.marks(class, size) {
            self.marked += u64::from(waiting.pool.slot(&frame).packet.mark_ce());
        }
        self.held[class] += size;
        self.entered[at] += size;
        waiting.push(&mut self.queues[at], frame);
        // the watchdog counts from the first frame that waits
        self.settle(waiting);
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        self.settle(waiting);
        let mut may = 0;
        let mut first = [(0, 0); PRIORITIES];
        for (at, own) in first.iter_mut().enumerate() {
            if let Some(slot) = self.queues[at].first(waiting.pool)
                && !self.is_held_back(at)
            {
                may |= 1 << at;
                *own = (slot.arrival.picos(), u64::from(slot.packet.size));
            }
        }
        let priority = self.classes.choose(may, &first)?;
        let taken = waiting.pop(&mut self.queues[usize::from(priority)]).expect("it has a first frame");
        self.note_gone(priority, taken.size);
        let packet = waiting.pool.slot(&taken.frame).packet;
        self.leaving = Some(Leaving { hop: Some(packet.hop), came: None, priority, size: packet.size });
        Some(Chosen { frame: taken.frame, size: taken.size, marked: false })
    }

    fn ready(&self, _backlog: &Backlog) -> Time {
        if self.leaving.is_some() {
            return Time::ZERO; // its account is freed when its last bit has left
        }
        let mut ready = self.asks.ready().min(self.paused.next());
        for at in (0..PRIORITIES).filter(|&at| !self.queues[at].is_empty()) {
            if !self.is_held_back(at) {
                return Time::ZERO;
            }
            ready = ready.min(self.paused.until(at));
            if let Some(watchdog) = &self.spec.watchdog {
                ready = ready.min(self.guards[at].next(watchdog));
            }
        }
        ready
    }

    fn waiting(&self, priority: u8) -> u64 {
        self.waits(priority)
    }

    fn entered(&self, priority: u8) -> Option<u64> {
        Some(self.entered[usize::from(priority)])
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        for queue in &mut self.queues {
            waiting.flush(queue);
        }
        self.held.fill(0);
        self.lossy = Backlog::default();
        self.classes.reset();
        self.paused.forget(waiting.now);
        self.asks.forget();
        self.guards = [Guard::WATCHING; PRIORITIES];
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.queues.iter().map(|queue| queue.count(pool)).sum()
    }
}
