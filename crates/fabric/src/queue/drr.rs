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

use headway_units::Time;

use super::codel::Chosen;
use super::fifo::{Backlog, Fifo};
use super::flows::Flows;
use super::fq_codel::sum;
use super::spec::{DrrSpec, Limit};
use crate::pool::{FrameHandle, Pool};

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

    /// Queues a frame, at the cost of the longest queue if the buffer is full; gives it back if that is its own.
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
        let number = self.flows.of(hop, || Flow { fifo: Fifo::EMPTY, deficit: 0, active: false });
        let flow = self.flows.get(number);
        let place = flow.fifo.push(now, frame, pool);
        backlog.add(size);
        if !flow.active {
            flow.active = true;
            flow.deficit = self.quantum;
            self.turns.push_back(number);
        }
        while backlog.bytes > self.limit_bytes || backlog.frames > self.limit_frames {
            let longest = self.flows.fattest(|flow| flow.fifo.bytes).expect("a frame was just queued");
            let taken = self.flows.get(longest).fifo.pop(now, pool).expect("the longest has a frame");
            backlog.remove(taken.size);
            if taken.frame.is_at(place) {
                return Err(taken.frame);
            }
            dropped.push(taken.frame);
        }
        Ok(())
    }

    /// The frame to be sent.
    pub fn dequeue<B: Copy>(&mut self, now: Time, backlog: &mut Backlog, pool: &mut Pool<B>) -> Option<Chosen> {
        loop {
            let &number = self.turns.front()?;
            let flow = self.flows.get(number);
            match flow.fifo.first_size(pool) {
                Some(size) if size <= flow.deficit => {
                    let taken = flow.fifo.pop(now, pool).expect("it has a first frame");
                    flow.deficit -= size;
                    backlog.remove(size);
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

    /// Takes out all.
    pub fn flush<B: Copy>(&mut self, now: Time, pool: &mut Pool<B>, out: &mut Vec<FrameHandle>) {
        for flow in self.flows.iter_mut() {
            flow.fifo.flush(now, pool, out);
            (flow.deficit, flow.active) = (0, false);
        }
        self.turns.clear();
    }

    pub fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        sum(self.flows.iter().map(|flow| flow.fifo.count(pool)))
    }
}
