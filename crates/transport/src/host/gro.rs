//! Generic receive offload: segments that follow each other go up as one (`net/core/gro.c: dev_gro_receive`,
//! `net/ipv4/tcp_offload.c: tcp_gro_receive`).

use std::collections::VecDeque;

use super::carries_data;
use super::pool::{Chain, Pool};
use crate::segment::{Frame, flag};

/// A merged packet is smaller than this (`gro_max_size`).
const MOST: u32 = 65_536;
/// Buckets that flows are held in, by hash, and flows of one bucket.
const BUCKETS: u32 = 8;
const MAX_FLOWS: usize = 8;
/// Ethernet's header and checksum: not part of the packet.
const ETHERNET: u32 = 18;

/// A segment that others may be added to.
#[derive(Debug)]
struct Held {
    chain: Chain,
    /// What the next segment must look like.
    next: u32,
    next_data: u32,
    tag: u8,
    tos: u8,
    /// Payload of the first segment, which is that of all but the last.
    mss: u32,
    /// Bytes of the merged packet, headers included.
    size: u32,
    bucket: u32,
}

impl Held {
    /// Whether `frame` continues it, with the same header but for what tells it apart.
    fn continues(&self, frame: &Frame) -> bool {
        let body = &frame.body;
        let differs = (frame.tag ^ self.tag) & !(flag::FIN | flag::CWR);
        frame.tag & flag::CWR == 0
            && differs == 0
            && frame.tos == self.tos
            && body.amount <= self.mss
            && body.number == self.next
            && body.data_number == self.next_data // options are alike: MPTCP's mapping goes on
            && self.size + body.amount < MOST
    }
}

/// What is held during a poll.
#[derive(Debug, Default)]
pub(super) struct Gro {
    held: Vec<Held>,
}

impl Gro {
    /// Takes in a frame with the given `hash` of its flow. What need not wait any longer goes to `ready`.
    pub fn receive(&mut self, end: u32, frame: Frame, hash: u32, pool: &mut Pool, ready: &mut VecDeque<Chain>) {
        let data = carries_data(end, &frame);
        let last = frame.tag & (flag::FIN | flag::SYN) != 0;
        if let Some(at) = self.held.iter().position(|held| held.chain.end == end) {
            let held = &mut self.held[at];
            if data && held.continues(&frame) {
                let amount = frame.body.amount;
                pool.append(&mut held.chain, frame);
                held.next = held.next.wrapping_add(amount);
                held.next_data = held.next_data.wrapping_add(amount);
                held.size += amount;
                if last || amount < held.mss {
                    ready.push_back(self.held.remove(at).chain);
                }
                return;
            }
            ready.push_back(self.held.remove(at).chain);
        }
        let chain = pool.chain(end, frame);
        if !data || last {
            ready.push_back(chain);
            return;
        }
        let bucket = hash % BUCKETS;
        if self.held.iter().filter(|held| held.bucket == bucket).count() >= MAX_FLOWS {
            let oldest = self.held.iter().position(|held| held.bucket == bucket).expect("there are several");
            ready.push_back(self.held.remove(oldest).chain);
        }
        let body = &frame.body;
        self.held.push(Held {
            chain,
            next: body.number.wrapping_add(body.amount),
            next_data: body.data_number.wrapping_add(body.amount),
            tag: frame.tag,
            tos: frame.tos,
            mss: body.amount,
            size: u32::from(frame.size) - ETHERNET,
            bucket,
        });
    }

    /// Gives up all that is held, the oldest first.
    pub fn flush(&mut self, ready: &mut VecDeque<Chain>) {
        ready.extend(self.held.drain(..).map(|held| held.chain));
    }
}
