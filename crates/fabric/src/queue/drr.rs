//! Fair queueing by flow: deficit round robin (Shreedhar & Varghese, IEEE/ACM Transactions on Networking 4(3), 1996,
//! doi:10.1109/90.502236).
//!
//! Queues with frames take turns; each turn adds a quantum to what a queue may send, and what is left of it stays for
//! the next turn while the queue has frames. Over any time in which two queues have frames, what they send differs by
//! no more than a quantum and two of the largest frames: turns differ by one, and each keeps less than a frame.
//! When the buffer is full, the longest queue loses the frame at its head until the new one fits: the paper's buffer
//! stealing, from the front as in Suter et al., "Design considerations for supporting TCP with per-flow
//! queueing" (INFOCOM 1998), where it tells senders sooner.
//! Leaves out: weights, ECN.

use std::collections::VecDeque;

use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Waiting};
use super::fifo::{Backlog, Fifo};
use super::flows::Flows;
use super::limit::Limit;
use crate::pool::{FrameHandle, Pool};

/// Deficit round robin (Shreedhar & Varghese 1996).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrrSpec {
    /// What all queues hold at most. `None`: never drops.
    pub limit: Option<Limit>,
    /// Queues that flows are spread over, more than 0.
    pub queues: u32,
    /// Bytes that a queue may send per round, more than 0.
    pub quantum: u32,
}

impl Spec for DrrSpec {
    type Discipline = Drr;
    const NAME: &'static str = "DRR";

    fn discipline(&self, port: &PortParameters) -> Drr {
        Drr::new(self, port.stream().next_u64())
    }

    fn limit(&self) -> Option<Limit> {
        self.limit
    }
}

#[derive(Debug)]
struct Flow {
    fifo: Fifo,
    deficit: u64,
    /// In the list of queues that take turns.
    active: bool,
}

/// The queues of a port.
#[derive(Debug)]
pub(crate) struct Drr {
    limit_bytes: u64,
    limit_frames: u32,
    quantum: u64,
    flows: Flows<Flow>,
    /// Queues that take turns; the first one's is now.
    turns: VecDeque<u32>,
}

impl Drr {
    pub fn new(spec: &DrrSpec, salt: u64) -> Drr {
        assert!(spec.quantum > 0, "queues need a turn");
        let (limit_bytes, limit_frames) = Limit::split(spec.limit);
        Drr {
            limit_bytes,
            limit_frames,
            quantum: u64::from(spec.quantum),
            flows: Flows::new(spec.queues, salt),
            turns: VecDeque::new(),
        }
    }
}

impl Scheduler for Drr {
    /// If the buffer is full this is at the cost of the longest queue; if that is the frame's own, it is given back.
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        let hop = waiting.pool.slot(&frame).packet.hop;
        let number = self.flows.of(hop, || Flow { fifo: Fifo::EMPTY, deficit: 0, active: false });
        let flow = self.flows.get(number);
        let place = waiting.push(&mut flow.fifo, frame);
        if !flow.active {
            flow.active = true;
            flow.deficit = self.quantum;
            self.turns.push_back(number);
        }
        while waiting.backlog.bytes > self.limit_bytes || waiting.backlog.frames > self.limit_frames {
            let longest = self.flows.fattest(|flow| flow.fifo.bytes).expect("a frame was just queued");
            let taken = waiting.pop(&mut self.flows.get(longest).fifo).expect("the longest has a frame");
            if taken.frame.is_at(place) {
                return Err(taken.frame);
            }
            waiting.dropped.push(taken.frame);
        }
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        loop {
            let &number = self.turns.front()?;
            let flow = self.flows.get(number);
            match flow.fifo.first_size(waiting.pool) {
                Some(size) if size <= flow.deficit => {
                    let taken = waiting.pop(&mut flow.fifo).expect("it has a first frame");
                    flow.deficit -= size;
                    if flow.fifo.is_empty() {
                        flow.active = false;
                        self.turns.pop_front();
                    }
                    return Some(Chosen { frame: taken.frame, size, marked: false });
                }
                Some(_) => {
                    flow.deficit += self.quantum;
                    self.turns.rotate_left(1);
                }
                // all it had was dropped
                None => {
                    flow.active = false;
                    self.turns.pop_front();
                }
            }
        }
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        for flow in self.flows.iter_mut() {
            waiting.flush(&mut flow.fifo);
            (flow.deficit, flow.active) = (0, false);
        }
        self.turns.clear();
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.flows.iter().map(|flow| flow.fifo.count(pool)).sum()
    }
}
