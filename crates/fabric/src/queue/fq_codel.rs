//! Fair queueing by flow with CoDel on each queue: FQ-CoDel (RFC 8290).
//!
//! Queues take turns by deficit round robin (DRR++): one that was empty comes first ("new"), once per activity, and a
//! queue that has used its quantum goes to the end of the old ones. When the limits are exceeded, up to half of the
//! fattest queue is dropped at its head, at most `batch` frames, and its CoDel is told
//! (`net/sched/sch_fq_codel.c: fq_codel_drop`). As there, CoDel's "maxpacket" is compared with the backlog of the whole
//! port, a queue with no credits left waits for its next turn (the RFC says negative credits), and a new queue that is
//! empty goes to the old ones only if there are any.
//! The memory limit is in bytes of frames, where Linux counts the memory behind them, about twice as much.
//! Leaves out: `ce_threshold` by DSCP, filters that classify otherwise.

use std::collections::VecDeque;

use headway_units::Time;

use super::codel::{Bench, Chosen, Codel};
use super::fifo::{Backlog, Fifo};
use super::flows::Flows;
use super::spec::{FqCodelSpec, Limit};
use crate::pool::{FrameHandle, Pool};

#[derive(Debug)]
struct Flow {
    fifo: Fifo,
    deficit: i64,
    control: Codel,
    /// In one of the two lists.
    listed: bool,
}

impl Flow {
    const NEW: Flow = Flow { fifo: Fifo::EMPTY, deficit: 0, control: Codel::NEW, listed: false };
}

/// The queues of a port.
#[derive(Debug)]
pub(crate) struct FqCodel {
    spec: FqCodelSpec,
    limit_bytes: u64,
    limit_frames: u32,
    flows: Flows<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    largest: u64,
}

impl FqCodel {
    pub fn new(spec: &FqCodelSpec, salt: u64) -> FqCodel {
        assert!(spec.quantum > 0 && spec.batch > 0, "queues need a turn");
        let (limit_bytes, limit_frames) = Limit::split(spec.limit);
        FqCodel {
            spec: *spec,
            limit_bytes: limit_bytes.min(spec.memory.get()),
            limit_frames,
            flows: Flows::new(spec.queues, salt),
            new: VecDeque::new(),
            old: VecDeque::new(),
            largest: 0,
        }
    }

    /// Queues a frame, and drops others or even this one if that is too much; it is given back then.
    pub fn enqueue<B: Copy>(
        &mut self,
        now: Time,
        frame: FrameHandle,
        size: u64,
        backlog: &mut Backlog,
        pool: &mut Pool<B>,
        dropped: &mut Vec<FrameHandle>,
    ) -> Result<(), FrameHandle> {
        let hop = pool.slot(&frame).packet.hop;
        let number = self.flows.of(hop, || Flow::NEW);
        let flow = self.flows.get(number);
        let place = flow.fifo.push(now, frame, pool);
        backlog.add(size);
        self.largest = self.largest.max(size);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.spec.quantum);
            self.new.push_back(number);
        }
        if backlog.frames <= self.limit_frames && backlog.bytes <= self.limit_bytes {
            return Ok(());
        }
        self.relieve(now, backlog, pool, dropped);
        match dropped.pop_if(|last| last.is_at(place)) {
            Some(frame) => Err(frame),
            None => Ok(()),
        }
    }

    /// Drops at the head of the fattest queue.
    fn relieve<B: Copy>(
        &mut self,
        now: Time,
        backlog: &mut Backlog,
        pool: &mut Pool<B>,
        dropped: &mut Vec<FrameHandle>,
    ) {
        let fattest = self.flows.fattest(|flow| flow.fifo.bytes).expect("a frame was just queued");
        let flow = self.flows.get(fattest);
        let enough = flow.fifo.bytes / 2;
        let (mut frames, mut bytes) = (0, 0);
        while let Some(taken) = flow.fifo.pop(now, pool) {
            backlog.remove(taken.size);
            dropped.push(taken.frame);
            bytes += taken.size;
            frames += 1;
            if frames >= self.spec.batch || bytes >= enough {
                break;
            }
        }
        flow.control.count = flow.control.count.saturating_add(frames);
    }

    /// The frame to be sent (RFC 8290 §4.2).
    pub fn dequeue<B: Copy>(
        &mut self,
        now: Time,
        backlog: &mut Backlog,
        pool: &mut Pool<B>,
        dropped: &mut Vec<FrameHandle>,
    ) -> Option<Chosen> {
        loop {
            let (number, is_new) = match self.new.front() {
                Some(&number) => (number, true),
                None => (*self.old.front()?, false),
            };
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = self.flows.get(number);
            if flow.deficit <= 0 {
                flow.deficit += i64::from(self.spec.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let mut bench = Bench { fifo: &mut flow.fifo, backlog, pool, dropped };
            if let Some(chosen) = flow.control.dequeue(&self.spec.law, now, self.largest, &mut bench) {
                flow.deficit -= chosen.size as i64;
                return Some(chosen);
            }
            list.pop_front();
            // RFC 8290 §4.2: "crucial to prevent starvation" by a flow that stays new by sending little often.
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else {
                flow.listed = false;
            }
        }
    }

    /// Takes out all.
    pub fn flush<B: Copy>(&mut self, now: Time, pool: &mut Pool<B>, out: &mut Vec<FrameHandle>) {
        for flow in self.flows.iter_mut() {
            flow.fifo.flush(now, pool, out);
            *flow = Flow::NEW;
        }
        self.new.clear();
        self.old.clear();
    }

    pub fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        sum(self.flows.iter().map(|flow| flow.fifo.count(pool)))
    }
}

/// The sum over queues.
pub(super) fn sum(queues: impl Iterator<Item = Backlog>) -> Backlog {
    queues
        .fold(Backlog::default(), |sum, own| Backlog { frames: sum.frames + own.frames, bytes: sum.bytes + own.bytes })
}
