//! A list of frames that wait for their turn, with the bytes in them and the time each came.

use std::iter::Sum;

use headway_units::{Span, Time};

use crate::packet::Packet;
use crate::pool::{Cursor, FrameHandle, List, Pool, Slot};

/// Frames of one queue. While a frame waits, its slot's `arrival` is when it came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fifo {
    list: List,
    pub bytes: u64,
}

/// A frame taken from a queue.
#[derive(Debug)]
pub(crate) struct Taken {
    pub frame: FrameHandle,
    pub size: u64,
    /// How long it has waited.
    pub sojourn: Span,
}

impl Fifo {
    pub const EMPTY: Fifo = Fifo { list: List::EMPTY, bytes: 0 };

    pub fn is_empty(&self) -> bool {
        self.list.len == 0
    }

    pub fn push<B: Copy>(&mut self, now: Time, frame: FrameHandle, pool: &mut Pool<B>) -> Cursor {
        let slot = pool.slot(&frame);
        slot.arrival = now;
        self.bytes += u64::from(slot.packet.size);
        pool.push(&mut self.list, frame)
    }

    /// The first frame.
    pub fn first<'a, B: Copy>(&self, pool: &'a Pool<B>) -> Option<&'a Slot<B>> {
        pool.iter(&self.list).next()
    }

    /// All of them, oldest first.
    pub fn iter<'a, B: Copy>(&'a self, pool: &'a Pool<B>) -> impl Iterator<Item = &'a Packet<B>> {
        pool.iter(&self.list).map(|slot| &slot.packet)
    }

    /// Bytes of the first frame.
    pub fn first_size<B: Copy>(&self, pool: &Pool<B>) -> Option<u64> {
        pool.iter(&self.list).next().map(|slot| u64::from(slot.packet.size))
    }

    pub fn pop<B: Copy>(&mut self, now: Time, pool: &mut Pool<B>) -> Option<Taken> {
        if self.is_empty() {
            return None;
        }
        let (frame, _) = pool.pop(&mut self.list);
        let slot = pool.slot(&frame);
        let (size, sojourn) = (u64::from(slot.packet.size), now.since(slot.arrival));
        self.bytes -= size;
        Some(Taken { frame, size, sojourn })
    }

    /// Frames and bytes, counted.
    pub fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        pool.iter(&self.list).fold(Backlog::default(), |mut sum, slot| {
            sum.add(u64::from(slot.packet.size));
            sum
        })
    }
}

/// What waits for its turn at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Backlog {
    pub frames: u32,
    pub bytes: u64,
}

impl Backlog {
    pub fn add(&mut self, size: u64) {
        self.frames += 1;
        self.bytes += size;
    }

    pub fn remove(&mut self, size: u64) {
        self.frames -= 1;
        self.bytes -= size;
    }
}

impl Sum for Backlog {
    fn sum<I: Iterator<Item = Backlog>>(queues: I) -> Backlog {
        queues.fold(Backlog::default(), |sum, own| Backlog {
            frames: sum.frames + own.frames,
            bytes: sum.bytes + own.bytes,
        })
    }
}
