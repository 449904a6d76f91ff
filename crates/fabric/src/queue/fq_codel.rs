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

use headway_units::Bytes;

use super::codel::{Codel, CodelLaw};
use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Waiting};
use super::fifo::{Backlog, Fifo};
use super::flows::Flows;
use super::limit::Limit;
use crate::pool::{FrameHandle, Pool};

/// Fair queueing with CoDel on each queue (RFC 8290).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCodelSpec {
    /// What all queues hold at most. `None`: as much as `memory`.
    pub limit: Option<Limit>,
    /// Bytes held at most, over all queues.
    pub memory: Bytes,
    /// Queues that flows are spread over, more than 0.
    pub queues: u32,
    /// Bytes that a queue may send per round, more than 0.
    pub quantum: u32,
    /// Frames that are dropped at most at a time when the limit is reached, more than 0.
    pub batch: u32,
    /// The control of each queue.
    pub law: CodelLaw,
}

impl Spec for FqCodelSpec {
    type Discipline = FqCodel;
    const NAME: &'static str = "FQ-CoDel";

    fn discipline(&self, port: &PortParameters) -> FqCodel {
        FqCodel::new(self, port.stream().next_u64())
    }

    fn limit(&self) -> Option<Limit> {
        match self.limit {
            Some(Limit::Bytes(limit)) => Some(Limit::Bytes(limit.min(self.memory))),
            _ => Some(Limit::Bytes(self.memory)),
        }
    }
}

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

    /// Drops at the head of the fattest queue.
    fn relieve<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        let fattest = self.flows.fattest(|flow| flow.fifo.bytes).expect("a frame was just queued");
        let flow = self.flows.get(fattest);
        let enough = flow.fifo.bytes / 2;
        let (mut frames, mut bytes) = (0, 0);
        while let Some(taken) = waiting.pop(&mut flow.fifo) {
            waiting.dropped.push(taken.frame);
            bytes += taken.size;
            frames += 1;
            if frames >= self.spec.batch || bytes >= enough {
                break;
            }
        }
        flow.control.count = flow.control.count.saturating_add(frames);
    }
}

impl Scheduler for FqCodel {
    /// Drops others or even this frame if that is too much; it is given back then.
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        let hop = waiting.pool.slot(&frame).packet.hop;
        let size = waiting.size(&frame);
        let number = self.flows.of(hop, || Flow::NEW);
        let flow = self.flows.get(number);
        let place = waiting.push(&mut flow.fifo, frame);
        self.largest = self.largest.max(size);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = i64::from(self.spec.quantum);
            self.new.push_back(number);
        }
        if waiting.backlog.frames <= self.limit_frames && waiting.backlog.bytes <= self.limit_bytes {
            return Ok(());
        }
        self.relieve(waiting);
        match waiting.dropped.pop_if(|last| last.is_at(place)) {
            Some(frame) => Err(frame),
            None => Ok(()),
        }
    }

    /// RFC 8290 §4.2.
    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
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
            if let Some(chosen) = flow.control.dequeue(&self.spec.law, self.largest, &mut flow.fifo, waiting) {
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

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        for flow in self.flows.iter_mut() {
            waiting.flush(&mut flow.fifo);
            *flow = Flow::NEW;
        }
        self.new.clear();
        self.old.clear();
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.flows.iter().map(|flow| flow.fifo.count(pool)).sum()
    }
}
