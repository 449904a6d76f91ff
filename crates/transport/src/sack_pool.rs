//! What few segments carry, kept beside them.

use headway_fabric::Endpoint;

use crate::segment::NO_EXTRA;

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

    /// Blocks on their way.
    pub fn in_use(&self) -> usize {
        self.blocks.len() - self.free.len()
    }
}
