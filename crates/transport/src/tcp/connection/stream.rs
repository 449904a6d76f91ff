//! One direction of a two-way connection: what its connection knows of the programs at its ends.

use headway_units::{Span, Time};

use super::Connection;
use crate::network::Network;
use crate::socket::{End, Owner};
use crate::tcp::profile::Profile;
use crate::tcp::receiver::Inflow;
use crate::tcp::sender::{Phase, Sender};

/// Who answers the SYN of a two-way connection, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SynAnswer {
    /// TCP, at once.
    AtOnce,
    /// The connection's owner is asked when SYN comes.
    Asks,
    /// It has been asked, and has not answered.
    Asked,
    /// A listening host, which has not seen SYN or had no place for it.
    Listens,
    /// A listening host has; the third part of the handshake is missing.
    HalfOpen,
    /// The same, but the host keeps nothing of it: it has answered by a SYN cookie.
    Cookie,
}

/// The programs' side of one direction: who writes at one end and reads at the other.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The connection that carries the other direction.
    pub twin: u32,
    /// The end that writes.
    pub writer: End,
    /// Who hears of what happens at the connection's ends.
    pub owner: Owner,
    /// Of the opener's direction: who answers SYN.
    pub answer: SynAnswer,
    /// Of the opener's direction: ends that know the connection no more, by [`End`]: reset, or lost in a crash.
    pub gone: [bool; 2],
    /// SYN-ACKs sent, and when the last was; in the direction of the opener.
    handshake: (u32, Time),
    /// How far the reading program has read.
    pub read: u64,
    /// The writing program had more than the send buffer took, and waits to hear of room.
    pub waits: bool,
    /// The reading program has been told of data that it has not read since.
    pub told: bool,
    /// It has been told that no more will come.
    pub ended: bool,
}

impl Stream {
    pub fn new(twin: u32, writer: End, owner: Owner) -> Stream {
        Stream {
            twin,
            writer,
            owner,
            answer: SynAnswer::AtOnce,
            gone: [false; 2],
            handshake: (0, Time::ZERO),
            read: 0,
            waits: false,
            told: false,
            ended: false,
        }
    }

    /// SYN-ACK leaves.
    pub fn note_syn_ack(&mut self, now: Time) {
        self.handshake = (self.handshake.0 + 1, now);
    }

    /// The round trip of the handshake that is over now, unless it is not known which SYN-ACK was answered.
    pub fn handshake_round_trip(&self, now: Time) -> Option<Span> {
        (self.handshake.0 == 1).then(|| now.since(self.handshake.1))
    }
}

impl Connection {
    /// What the programs at its ends do with it.
    pub fn stream(&self) -> &Stream {
        self.stream.as_ref().expect("a two-way connection has streams")
    }

    pub fn stream_mut(&mut self) -> &mut Stream {
        self.stream.as_mut().expect("a two-way connection has streams")
    }

    /// What its receiver has, with what its program has not read.
    pub fn two_way_inflow(&self) -> Inflow {
        let read = self.stream().read;
        Inflow { in_order: self.received, read, held: self.arrived - read, total: self.total }
    }

    /// Whether it is the acceptor's direction of a two-way connection.
    pub fn is_back(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.writer == End::Acceptor)
    }

    /// Lets it carry one direction of a two-way connection: its end is where its program closes it.
    pub fn make_two_way(&mut self, stream: Stream) {
        self.stream = Some(Box::new(stream));
        self.open = true;
        self.joined = true;
        self.writer = None; // programs write when they like, within the send buffer
    }

    /// Takes in an acknowledgement; says whether it opens the window.
    pub fn acknowledge_two_way(&mut self, ack: u64, window: u32) -> bool {
        let edge = self.edge;
        self.acknowledge(ack, window);
        self.edge > edge
    }

    /// Whether there is something to send that the receiver's window takes, or FIN.
    pub fn may_send(&self, sender: &Sender) -> bool {
        self.next < self.total.min(self.edge) || !self.open && !self.finishing || sender.is_repairing()
    }

    /// Data waits, nothing is outstanding, and the window is closed.
    pub fn is_shut_out(&self) -> bool {
        self.next < self.total && self.edge <= self.next && self.una == self.next
    }

    /// Whether its program may write more.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Its program has written so many bytes more.
    pub fn extend(&mut self, bytes: u64) {
        self.total += bytes;
    }

    /// Its program writes no more; says whether that is news.
    pub fn end_of_writing(&mut self) -> bool {
        self.stream_mut().waits = false;
        std::mem::take(&mut self.open)
    }

    /// Sends FIN by itself, if it did not go with the last byte.
    pub fn end_two_way(&mut self, now: Time, sender: &mut Sender, profile: &Profile, net: &mut Network) {
        if !self.open && !self.finishing && self.next == self.total && sender.phase == Phase::Established {
            self.finishing = true;
            sender.send_new(now, self.total, 0, true, profile, net);
        }
    }

    /// Bytes that its program may still write.
    pub fn space(&self, profile: &Profile) -> u64 {
        let held = self.total - self.una;
        profile.send_buffer.map_or(u64::MAX, |buffer| buffer.get().saturating_sub(held))
    }
}
