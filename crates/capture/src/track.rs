//! From segments to connections.
//!
//! A connection is what two ends of the same addresses and ports say to each other, from a SYN (or what is first seen)
//! to both FINs, an RST, silence for the idle time-out, or another SYN with other numbers. VLANs do not tell
//! connections apart. Bytes are counted by sequence numbers, so what was cut short or dropped by the capture is
//! counted and what was sent twice is not; see [`Side`].

mod connection;
mod group;
mod holes;
mod recent;
mod table;

pub use connection::{Begin, Connection, End, Side};
pub(crate) use group::{Group, Groups};
pub(crate) use table::{Key, NONE, Table};

use connection::{Heard, Rtts};

use crate::histogram::Histogram;
use crate::packet::{ACK, FIN, RST, SYN, Segment};
use holes::HoleSets;
use recent::Recent;

/// How long what is still under way of an ended connection is taken for it, in nanoseconds.
const LINGER: u64 = 5_000_000_000;

/// What happened to connections with a segment.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// The first data of a direction whose beginning was seen.
    Started {
        /// Place in the table, and the connection's number, by which it is known that it is still there.
        place: u32,
        number: u64,
        /// 0 from the lower end, 1 from the higher.
        side: usize,
    },
    /// A connection is over.
    Ended(Box<Connection>),
}

/// All connections that are open, and those that have just ended.
#[derive(Debug)]
pub(crate) struct Tracker {
    pub table: Table,
    pub groups: Groups,
    holes: HoleSets,
    recent: Recent,
    /// Round-trip times of data, in nanoseconds.
    pub rtt: Histogram,
    /// Round-trip times that begin and end at the same instant of the capture's clock.
    pub rtt_unresolved: u64,
    idle: u64,
    most: usize,
    opened: u64,
    /// Segments of no connection that is known and that begin none.
    pub strays: u64,
}

impl Tracker {
    /// With an idle time-out in nanoseconds and room for `most` connections.
    pub fn new(idle: u64, most: usize) -> Tracker {
        Tracker {
            table: Table::default(),
            groups: Groups::default(),
            holes: HoleSets::default(),
            recent: Recent::default(),
            rtt: Histogram::default(),
            rtt_unresolved: 0,
            idle,
            most: most.max(1),
            opened: 0,
            strays: 0,
        }
    }

    /// How many connections there were.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Takes a segment that was captured at `now`.
    pub fn segment(&mut self, now: u64, segment: &Segment<'_>, events: &mut Vec<Event>) {
        self.expire(now, events);
        let (key, side) = Key::new(segment);
        let hash = self.table.hash(&key);
        let mut place = self.table.find(hash, &key);
        if let Some(old) = place
            && segment.has(SYN)
            && self.table.get(old).is_another(side, segment)
        {
            self.end(old, End::Reused, events);
            place = None;
        }
        let place = if let Some(place) = place {
            place
        } else {
            // What comes late, after an end, begins nothing.
            if segment.has(RST) || (segment.has(FIN) && segment.payload == 0 && !segment.has(SYN)) {
                self.strays += 1;
                return;
            }
            self.make_room(events);
            self.opened += 1;
            self.table.insert(hash, Connection::new(key, self.opened, now, side, segment))
        };
        let connection = self.table.get_mut(place);
        let was_ended = connection.is_ended();
        // Others may be the same without being copies: acknowledgements that are repeated.
        let counts = segment.payload > 0 || segment.has(SYN | FIN);
        let before = if counts { self.recent.again(now, segment) } else { None };
        if before.is_some_and(|before| connection.is_copy(now.saturating_sub(before))) {
            connection.copy(now, side);
            return;
        }
        let mut rtt = Rtts { known: &mut self.rtt, unresolved: &mut self.rtt_unresolved };
        let heard = connection.hear(now, side, segment, &mut self.holes, &mut rtt);
        let number = connection.number;
        if segment.has(SYN) || connection.group != NONE || heard.contains(Heard::THIRD) {
            self.groups.options(connection, side, segment);
        }
        if heard.contains(Heard::STARTED) {
            events.push(Event::Started { place, number, side });
        }
        if connection.is_ended() {
            if !was_ended {
                self.table.retire(place);
            }
        } else {
            self.table.touch(place);
        }
    }

    /// Ends what has been silent for too long.
    #[inline]
    fn expire(&mut self, now: u64, events: &mut Vec<Event>) {
        while let Some(place) = self.table.oldest_ended()
            && now.saturating_sub(self.table.get(place).last) > LINGER.min(self.idle)
        {
            let how = self.table.get(place).how_ended();
            self.end(place, how, events);
        }
        while let Some(place) = self.table.oldest_open()
            && now.saturating_sub(self.table.get(place).last) > self.idle
        {
            self.end(place, End::Idle, events);
        }
    }

    fn make_room(&mut self, events: &mut Vec<Event>) {
        if self.table.len() < self.most {
            return;
        }
        if let Some(place) = self.table.oldest_ended() {
            let how = self.table.get(place).how_ended();
            self.end(place, how, events);
        } else if let Some(place) = self.table.oldest_open() {
            self.end(place, End::Evicted, events);
        }
    }

    fn end(&mut self, place: u32, how: End, events: &mut Vec<Event>) {
        let mut connection = self.table.remove(place);
        self.holes.free(&mut connection.holes);
        if !connection.is_ended() {
            connection.end = how;
        }
        events.push(Event::Ended(Box::new(connection)));
    }

    /// Ends one of the connections that are left, the longest silent first; `None` if there is none.
    pub fn end_next(&mut self) -> Option<Event> {
        let place = self.table.oldest_ended().or_else(|| self.table.oldest_open())?;
        let mut events = Vec::with_capacity(1);
        self.end(place, End::Open, &mut events);
        events.pop()
    }
}

/// Whether `flags` answer a SYN.
fn is_answer(segment: &Segment<'_>) -> bool {
    segment.has(SYN) && segment.has(ACK)
}

#[cfg(test)]
mod tests;
