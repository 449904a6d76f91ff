//! One buffer for all output ports of a switch, divided by dynamic thresholds.
//!
//! Choudhury & Hahne, "Dynamic queue length thresholds for shared-memory packet switches", IEEE/ACM Transactions on
//! Networking 6(2), 1998, doi:10.1109/90.664262: a port that holds Q_i is refused what arrives while Q_i ≥ T, and
//! T(t) = α (B − Q(t)) follows what is free of the buffer. N ports that are refused hold α B / (1 + α N) each and leave
//! B / (1 + α N) free for others. Every port may have a reserve of its own, as switches do; B, Q and Q_i are then what
//! is shared: beyond the reserves.
//! The frame being transmitted counts until its last bit has left.
//! Leaves out: buffer cells, thresholds by priority or for ingress, headroom for PFC.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headway_units::{Bytes, Time};

/// A buffer that all output ports of a switch share (Choudhury & Hahne 1998).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedBufferSpec {
    /// Bytes in it.
    pub size: Bytes,
    /// A port may hold up to α times what is free, beyond its reserve; more than 0.
    pub alpha: f64,
    /// Bytes of it that are every port's own. All ports' together are less than `size`.
    pub reserve: Bytes,
}

/// A port's place in a shared buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BufferSlot {
    /// Which buffer.
    pub buffer: u32,
    /// Which of its ports.
    pub port: u32,
}

/// A frame that leaves: when, from which port, and its bytes.
type Leaving = Reverse<(Time, u32, u16)>;

/// The buffer of one switch.
#[derive(Debug)]
pub(crate) struct SharedBuffer {
    /// What is shared: the buffer without the reserves.
    shared: u64,
    alpha: f64,
    reserve: u64,
    /// Bytes each port holds.
    held: Vec<u64>,
    /// Bytes that ports hold beyond their reserves.
    used: u64,
    /// Frames that have begun to leave or whose time to leave is known.
    leaving: BinaryHeap<Leaving>,
}

impl SharedBuffer {
    /// A buffer for `ports` ports.
    ///
    /// # Panics
    /// If the reserves leave nothing to share.
    pub fn new(spec: &SharedBufferSpec, ports: usize) -> SharedBuffer {
        let reserve = spec.reserve.get();
        let shared = reserve.checked_mul(ports as u64).and_then(|all| spec.size.get().checked_sub(all));
        let shared = shared.filter(|&shared| shared > 0).expect("the reserves are less than the buffer");
        SharedBuffer { shared, alpha: spec.alpha, reserve, held: vec![0; ports], used: 0, leaving: BinaryHeap::new() }
    }

    /// Whether a frame of `size` finds room at `port`. It has to be [`take`](Self::take)n if it is queued.
    pub fn admits(&mut self, now: Time, port: u32, size: u64) -> bool {
        self.settle(now);
        let held = self.held[port as usize];
        if held + size <= self.reserve {
            return true;
        }
        let beyond = held.saturating_sub(self.reserve);
        let added = held + size - self.reserve - beyond;
        let free = self.shared - self.used;
        added <= free && (beyond as f64) < self.alpha * free as f64
    }

    /// A frame is queued at `port`.
    pub fn take(&mut self, port: u32, size: u64) {
        let held = &mut self.held[port as usize];
        let before = held.saturating_sub(self.reserve);
        *held += size;
        self.used += held.saturating_sub(self.reserve) - before;
    }

    /// A frame that was queued at `port` was dropped.
    pub fn give(&mut self, port: u32, size: u64) {
        let held = &mut self.held[port as usize];
        let before = held.saturating_sub(self.reserve);
        *held -= size;
        self.used -= before - held.saturating_sub(self.reserve);
    }

    /// The last bit of a frame that was queued at `port` leaves at `time`.
    pub fn leaves(&mut self, time: Time, port: u32, size: u16) {
        self.leaving.push(Reverse((time, port, size)));
    }

    /// What was to leave `port` later than `free` was dropped.
    pub fn drop_after(&mut self, port: u32, free: Time) {
        let mut dropped = Vec::new();
        self.leaving.retain(|&Reverse((time, of, size))| {
            let stays = of != port || time <= free;
            if !stays {
                dropped.push(size);
            }
            stays
        });
        for size in dropped {
            self.give(port, u64::from(size));
        }
    }

    /// Frees what has left by `now`.
    fn settle(&mut self, now: Time) {
        while let Some(&Reverse((time, port, size))) = self.leaving.peek()
            && time <= now
        {
            self.leaving.pop();
            self.give(port, u64::from(size));
        }
    }

    /// What the accounting must satisfy: ports hold what waits for its turn, `waiting` by port, and what leaves.
    pub fn assert_conserved(&self, waiting: &[u64]) {
        let mut held = waiting.to_vec();
        for Reverse((_, port, size)) in &self.leaving {
            held[*port as usize] += u64::from(*size);
        }
        assert_eq!(held, self.held, "a port holds what is queued there");
        let used: u64 = held.iter().map(|held| held.saturating_sub(self.reserve)).sum();
        assert_eq!(used, self.used, "the buffer is used by its ports");
        assert!(used <= self.shared, "no more than there is");
    }

    /// Ports that share it.
    pub fn ports(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(size: u64, alpha: f64, reserve: u64, ports: usize) -> SharedBuffer {
        SharedBuffer::new(&SharedBufferSpec { size: Bytes::new(size), alpha, reserve: Bytes::new(reserve) }, ports)
    }

    /// Fills `ports` ports in turns with frames of one byte until none gets any more.
    fn fill(buffer: &mut SharedBuffer, ports: u32) {
        let mut more = true;
        while more {
            more = false;
            for port in 0..ports {
                if buffer.admits(Time::ZERO, port, 1) {
                    buffer.take(port, 1);
                    more = true;
                }
            }
        }
    }

    /// Choudhury & Hahne 1998, steady state: N ports hold α B / (1 + α N) each, B / (1 + α N) stays free. Bytes are
    /// whole, so each port may be over by the one that filled it.
    #[test]
    fn ports_that_want_more_get_equal_shares_and_leave_some() {
        for (alpha, ports) in [(1.0, 1), (1.0, 2), (1.0, 7), (0.5, 4), (2.0, 3), (8.0, 12), (0.125, 5)] {
            let size = 1_000_000;
            let mut buffer = buffer(size, alpha, 0, 32);
            fill(&mut buffer, ports);
            let share = alpha * size as f64 / (1.0 + alpha * f64::from(ports));
            for &held in &buffer.held[..ports as usize] {
                assert!((held as f64 - share).abs() <= 1.0 + alpha, "α {alpha}, {ports} ports: {held} of {share}");
            }
            let free = (buffer.shared - buffer.used) as f64;
            let expected = size as f64 / (1.0 + alpha * f64::from(ports));
            assert!((free - expected).abs() <= f64::from(ports), "α {alpha}, {ports} ports: {free} of {expected} free");
        }
    }

    /// Adaptation: one port alone holds half of the buffer at α = 1; when a second one comes it
    /// finds room at once, and as the first drains below the new threshold both end at a third.
    #[test]
    fn a_newcomer_finds_room() {
        let mut buffer = buffer(900_000, 1.0, 0, 2);
        fill(&mut buffer, 1);
        assert_eq!(buffer.held, [450_000, 0]);
        // Both send and receive as fast as they are let.
        for _ in 0..400_000 {
            for port in [0, 1] {
                if buffer.held[port as usize] > 0 {
                    buffer.give(port, 1);
                }
                for _ in 0..2 {
                    if buffer.admits(Time::ZERO, port, 1) {
                        buffer.take(port, 1);
                    }
                }
            }
        }
        for held in &buffer.held {
            assert!(held.abs_diff(300_000) <= 2, "{:?}", buffer.held);
        }
    }

    /// With reserves R of N ports the shared part is B − N R, and what the formula divides.
    #[test]
    fn a_reserve_is_a_ports_own() {
        let mut buffer = buffer(1_000_000, 1.0, 50_000, 4);
        fill(&mut buffer, 3);
        for &held in &buffer.held[..3] {
            assert!(held.abs_diff(50_000 + 200_000) <= 2, "{:?}", buffer.held); // 800,000 / (1 + 3)
        }
        // An idle port has its reserve, whole, whatever the others do.
        assert!(buffer.admits(Time::ZERO, 3, 50_000));
    }

    #[test]
    fn what_leaves_is_free_from_that_time_on() {
        let mut buffer = buffer(3000, 100.0, 0, 2);
        for time in [10, 20] {
            assert!(buffer.admits(Time::ZERO, 0, 1500));
            buffer.take(0, 1500);
            buffer.leaves(Time::from_picos(time), 0, 1500);
        }
        assert!(!buffer.admits(Time::from_picos(9), 1, 1500));
        assert!(buffer.admits(Time::from_picos(10), 1, 1500));
        buffer.assert_conserved(&[0, 0]);
        assert!(buffer.admits(Time::from_picos(20), 1, 3000));
        assert_eq!(buffer.used, 0);
    }
}
