//! Connections of MPTCP: subflows that belong together, found by their tokens.
//!
//! A connection's answer to a SYN (and the third segment) carries keys; a further subflow's SYN carries the token of the
//! key of whom it goes to. So a subflow is joined if the keys of the first were captured. If they were not, subflows of
//! the same token are still one connection, only the first is missing from it and counts by itself.
//!
//! Two connections of different hosts may have the same token (2⁻³² for each pair); the later one has it then.

use hashbrown::HashMap;

use super::{Connection, NONE, is_answer};
use crate::flow::Flow;
use crate::packet::{Mptcp, Segment, Version, expected_data_number, find, token};

/// What one side of a connection of MPTCP sent, by data sequence numbers.
#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    /// The number of the first byte, if it is known.
    start: Option<u64>,
    /// One beyond the last byte that was seen.
    next: Option<u64>,
}

/// Further away than this, data sequence numbers are of something else.
const FAR: u64 = 1 << 40;

impl Stream {
    fn mapping(&mut self, number: u64, wide: bool, length: u16) {
        // Where 32 bits are sent, the upper ones are as near to what is known as they can be.
        let number = match self.next.or(self.start) {
            Some(known) if !wide => {
                known.wrapping_add_signed(i64::from((number as u32).wrapping_sub(known as u32).cast_signed()))
            }
            _ => number,
        };
        let end = number.wrapping_add(u64::from(length));
        match self.next {
            Some(next) if end.wrapping_sub(next) > FAR => {}
            _ => self.next = Some(end),
        }
        match self.start {
            // The first subflow's first byte is known from its key; otherwise it is the least that was seen.
            Some(start) if start.wrapping_sub(number) > FAR || start == number => {}
            _ => self.start = Some(number),
        }
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.next?.wrapping_sub(self.start?)).filter(|&bytes| bytes <= FAR)
    }
}

/// A connection of MPTCP. Side 0 opened it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// The number of the first of its subflows that was captured.
    pub number: u64,
    /// Subflows, and those of them that are open.
    pub subflows: u32,
    open: u32,
    tokens: [Option<u32>; 2],
    streams: [Stream; 2],
    /// Whether its first subflow was captured.
    pub complete: bool,
    /// From when to when it was there, in nanoseconds since 1970.
    pub first: u64,
    pub last: u64,
    /// What its subflows that have ended sent.
    pub flows: [Option<Flow>; 2],
}

impl Group {
    /// Data of a side, each byte once, if its mappings were captured.
    pub fn bytes(&self, side: usize) -> Option<u64> {
        self.streams[side].bytes()
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    all: Vec<Group>,
    free: Vec<u32>,
    tokens: HashMap<u32, u32, foldhash::fast::RandomState>,
    /// How many connections there were.
    pub made: u64,
    /// Subflows that were joined to a connection.
    pub joined: u64,
    /// Subflows whose connection's first was not captured.
    pub orphans: u64,
}

impl Groups {
    fn make(&mut self, connection: &mut Connection, complete: bool) -> u32 {
        let group =
            Group { number: connection.number, complete, open: 1, subflows: 1, first: u64::MAX, ..Group::default() };
        let place = if let Some(place) = self.free.pop() {
            self.all[place as usize] = group;
            place
        } else {
            self.all.push(group);
            self.all.len() as u32 - 1
        };
        self.made += 1;
        connection.group = place;
        place
    }

    fn key(&mut self, place: u32, side: usize, version: Version, key: u64) {
        let group = &mut self.all[place as usize];
        if group.tokens[side].is_some() {
            return;
        }
        let token = token(version, key);
        group.tokens[side] = Some(token);
        group.streams[side].start = Some(expected_data_number(version, key));
        self.tokens.insert(token, place);
    }

    /// Looks for MPTCP's options in a segment of `side`.
    pub fn options(&mut self, connection: &mut Connection, side: usize, segment: &Segment<'_>) {
        let Some(option) = find(segment.options) else { return };
        let from_initiator = side == usize::from(connection.initiator);
        match option {
            Mptcp::Capable { version, sender, receiver, length } => {
                let first = segment.has(crate::packet::SYN) && !is_answer(segment);
                // A SYN alone only asks.
                if first || sender.is_none() {
                    return;
                }
                let complete = connection.group == NONE;
                let place = if complete { self.make(connection, true) } else { connection.group };
                let own = usize::from(!from_initiator);
                if let Some(key) = sender {
                    self.key(place, own, version, key);
                }
                if let Some(key) = receiver {
                    self.key(place, 1 - own, version, key);
                }
                // With the first data no mapping is sent: it begins at the beginning.
                let stream = &mut self.all[place as usize].streams[own];
                if let Some(start) = stream.start.filter(|_| length > 0) {
                    stream.mapping(start, true, length);
                }
            }
            Mptcp::Join { token: Some(token) } if connection.group == NONE => {
                if let Some(&place) = self.tokens.get(&token) {
                    let group = &mut self.all[place as usize];
                    group.subflows += 1;
                    group.open += 1;
                    self.joined += u64::from(group.complete);
                    self.orphans += u64::from(!group.complete);
                    connection.group = place;
                    // The token is of whom the SYN goes to.
                    if group.tokens[0] == Some(token) {
                        connection.set_swapped();
                    }
                } else {
                    let place = self.make(connection, false);
                    self.all[place as usize].tokens[1] = Some(token);
                    self.tokens.insert(token, place);
                    self.orphans += 1;
                }
            }
            Mptcp::Data { number, wide, length } if connection.group != NONE => {
                let side = usize::from(from_initiator == connection.is_swapped());
                self.all[connection.group as usize].streams[side].mapping(number, wide, length);
            }
            Mptcp::Join { .. } | Mptcp::Data { .. } => {}
        }
    }

    /// A subflow's connection.
    pub fn get_mut(&mut self, place: u32) -> &mut Group {
        &mut self.all[place as usize]
    }

    /// A subflow has ended: its connection, if it was the last that was open.
    pub fn leave(&mut self, place: u32) -> Option<Group> {
        let group = &mut self.all[place as usize];
        group.open -= 1;
        if group.open > 0 {
            return None;
        }
        let group = std::mem::take(group);
        for token in group.tokens.iter().flatten() {
            if self.tokens.get(token) == Some(&place) {
                self.tokens.remove(token);
            }
        }
        self.free.push(place);
        Some(group)
    }
}
