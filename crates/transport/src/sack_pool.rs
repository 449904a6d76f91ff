//! What few segments carry, kept beside them: selective acknowledgements, and acknowledgements that ride on data.

use headway_fabric::Endpoint;

use crate::segment::{NO_EXTRA, Segment};

/// Up to four selective acknowledgement blocks, most recent first (RFC 2018 §3).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SackBlocks {
    pub count: u8,
    /// The first block reports what had arrived before (RFC 2883).
    pub duplicate: bool,
    pub blocks: [(u32, u32); 4],
}

/// An acknowledgement that rides on a data segment of the other direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piggyback {
    /// Number, data acknowledgement and window, as in a segment of its own.
    pub body: Segment,
    pub tag: u8,
}

/// Indices from here on are those of acknowledgements that ride on data.
const RIDING: u32 = 1 << 31;

/// Side storage for what few segments carry, so that it does not weigh on all.
#[derive(Debug, Default)]
pub(crate) struct SackPool {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
    riding: Vec<Piggyback>,
    free_riding: Vec<u32>,
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
        (index < RIDING).then(|| self.blocks[index as usize])
    }

    /// Keeps an acknowledgement for the data segment that carries it.
    pub fn put_riding(&mut self, ack: Piggyback) -> u32 {
        if let Some(index) = self.free_riding.pop() {
            self.riding[index as usize] = ack;
            RIDING | index
        } else {
            self.riding.push(ack);
            RIDING | (self.riding.len() - 1) as u32
        }
    }

    /// The acknowledgement that a data segment carries, which stays.
    pub fn peek_riding(&self, index: u32) -> Option<Piggyback> {
        (index != NO_EXTRA && index >= RIDING).then(|| self.riding[(index & !RIDING) as usize])
    }

    /// The acknowledgement that a data segment carries.
    pub fn take_riding(&mut self, index: u32) -> Option<Piggyback> {
        (index != NO_EXTRA).then(|| {
            let place = index & !RIDING;
            self.free_riding.push(place);
            self.riding[place as usize]
        })
    }

    /// Frees whatever a frame that is lost carried.
    pub fn discard(&mut self, index: u32) {
        if index < RIDING {
            self.take(index);
        } else {
            self.take_riding(index);
        }
    }

    pub fn set_echo(&mut self, to: Endpoint, bits: u8) {
        let to = to.0 as usize;
        if self.echoes.len() <= to {
            self.echoes.resize(to + 1, 0);
        }
        self.echoes[to] = bits;
    }

    #[inline]
    pub fn echo(&self, to: Endpoint) -> u8 {
        self.echoes.get(to.0 as usize).copied().unwrap_or(0)
    }

    /// Entries that belong to frames on their way.
    pub fn in_use(&self) -> usize {
        self.blocks.len() + self.riding.len() - self.free.len() - self.free_riding.len()
    }
}
