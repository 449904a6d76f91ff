//! Frames that wait, in chains.

use crate::segment::Frame;

/// No further frame.
const END: u32 = u32::MAX;

/// Frames to one endpoint, in order: a segment, merged if there are several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    /// The endpoint.
    pub end: u32,
    /// How many frames.
    pub frames: u32,
    head: u32,
    tail: u32,
}

/// Memory for frames; places are reused.
#[derive(Debug, Default)]
pub(super) struct Pool {
    slots: Vec<(Frame, u32)>,
    free: Vec<u32>,
}

impl Pool {
    fn put(&mut self, frame: Frame) -> u32 {
        if let Some(at) = self.free.pop() {
            self.slots[at as usize] = (frame, END);
            at
        } else {
            self.slots.push((frame, END));
            (self.slots.len() - 1) as u32
        }
    }

    /// A chain of one frame.
    pub fn chain(&mut self, end: u32, frame: Frame) -> Chain {
        let at = self.put(frame);
        Chain { end, frames: 1, head: at, tail: at }
    }

    /// Adds a frame to the end of a chain.
    pub fn append(&mut self, chain: &mut Chain, frame: Frame) {
        let at = self.put(frame);
        self.slots[chain.tail as usize].1 = at;
        chain.tail = at;
        chain.frames += 1;
    }

    /// Takes the first frame of a chain.
    pub fn take(&mut self, chain: &mut Chain) -> Option<Frame> {
        if chain.frames == 0 {
            return None;
        }
        let (frame, next) = self.slots[chain.head as usize];
        self.free.push(chain.head);
        chain.head = next;
        chain.frames -= 1;
        Some(frame)
    }
}
