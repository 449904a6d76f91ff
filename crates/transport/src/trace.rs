//! A record of the segments that pass senders, to be held against a capture of a kernel.
//!
//! What a sender sends is noted when it is given to the host's card, not when its first bit leaves; what a sender gets,
//! when its last bit has arrived. Receivers are not watched. It is switched off unless asked for, and then costs a
//! branch per frame.

use headway_fabric::{NodeId, ecn};
use headway_units::Time;

use crate::endpoint::{Side, side};
use crate::sack_pool::SackBlocks;
use crate::segment::{Frame, flag};

/// A segment at its flow's sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// When.
    pub time: Time,
    /// The host of the sender.
    pub host: NodeId,
    /// The subflow's number among those that the host has opened, from 0.
    pub subflow: u32,
    /// Whether it leaves; otherwise it arrives.
    pub out: bool,
    /// As in a TCP header (RFC 9293 §3.1, RFC 3168 §6.1): FIN 1, SYN 2, ACK 16, ECE 64, CWR 128.
    pub flags: u8,
    /// Of what leaves: the first byte, from 1 (SYN takes 0); of what arrives: the first byte that is missing. Low 32 bits.
    pub number: u32,
    /// Of what leaves: bytes of payload; of what arrives: the window in bytes.
    pub amount: u32,
    /// Selective acknowledgements of what arrives: first byte, byte behind the last.
    pub sack: Vec<(u32, u32)>,
    /// Congestion was experienced on the way of what arrives.
    pub marked: bool,
}

/// The record.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub rows: Vec<Traced>,
    /// Of every place of a subflow: the host, and the number there.
    owners: Vec<(NodeId, u32)>,
    /// Subflows opened by each host.
    opened: std::collections::BTreeMap<NodeId, u32>,
}

impl Trace {
    /// A subflow from `host` takes `place`.
    pub fn open(&mut self, place: u32, host: NodeId) {
        let number = self.opened.entry(host).or_default();
        let place = place as usize;
        self.owners.resize(self.owners.len().max(place + 1), (host, 0));
        self.owners[place] = (host, *number);
        *number += 1;
    }

    /// A frame for `to` is sent, if it is a sender's, or has reached `to`, if that is a sender.
    pub fn note(
        &mut self,
        now: Time,
        to: headway_fabric::Endpoint,
        out: bool,
        frame: &Frame,
        sack: Option<SackBlocks>,
    ) {
        let (place, half) = side(to);
        if out != (half == Side::Receiver) {
            return;
        }
        let (host, subflow) = self.owners[place as usize];
        let blocks = sack.unwrap_or_default();
        self.rows.push(Traced {
            time: now,
            host,
            subflow,
            out,
            flags: on_the_wire(frame.tag, out),
            number: frame.body.number,
            amount: frame.body.amount,
            sack: blocks.blocks[..usize::from(blocks.count)].to_vec(),
            marked: frame.tos & ecn::MASK == ecn::CE,
        });
    }
}

/// The end of a burst is not told, since card and kernel differ on which side of segmentation it is seen.
fn on_the_wire(tag: u8, data: bool) -> u8 {
    let tag = if data { tag & !flag::PUSH } else { tag };
    let all = [(flag::FIN, 1), (flag::SYN, 2), (flag::ACK, 16), (flag::ECE, 64), (flag::CWR, 128)];
    all.into_iter().filter(|(own, _)| tag & own != 0).map(|(_, bit)| bit).sum()
}
