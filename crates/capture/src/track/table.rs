//! The connections in memory: found by addresses and ports, and in order of when they were last heard of.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::Connection;
use crate::packet::{Address, Segment};

/// No place.
pub(crate) const NONE: u32 = u32::MAX;

/// Connections that are allocated at a time; never moved, so growing costs no copies.
const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 10;

/// Two ends, the lower first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    pub addresses: [Address; 2],
    pub ports: [u16; 2],
}

impl Key {
    /// The key of a segment's connection, and which of its ends sent it.
    #[inline]
    pub fn new(segment: &Segment<'_>) -> (Key, usize) {
        let (from, to) = (segment.source, segment.destination);
        let (from_port, to_port) = (segment.source_port, segment.destination_port);
        if (from, from_port) <= (to, to_port) {
            (Key { addresses: [from, to], ports: [from_port, to_port] }, 0)
        } else {
            (Key { addresses: [to, from], ports: [to_port, from_port] }, 1)
        }
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        for address in &self.addresses {
            state.write_u128(u128::from_ne_bytes(address.0));
        }
        state.write_u32(u32::from(self.ports[0]) << 16 | u32::from(self.ports[1]));
    }
}

/// A list through the connections, the last heard of first.
#[derive(Debug, Clone, Copy)]
struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Table {
    // Seeded anew in each process, against captures made to collide; nothing is in the order of hashes.
    hasher: RandomState,
    places: HashTable<u32>,
    chunks: Vec<Vec<Connection>>,
    free: u32,
    open: List,
    ended: List,
}

fn get(chunks: &[Vec<Connection>], place: u32) -> &Connection {
    &chunks[(place >> CHUNK_BITS) as usize][place as usize & (CHUNK - 1)]
}

impl Table {
    #[inline]
    pub fn hash(&self, key: &Key) -> u64 {
        self.hasher.hash_one(key)
    }

    pub fn len(&self) -> usize {
        self.places.len()
    }

    #[inline]
    pub fn find(&self, hash: u64, key: &Key) -> Option<u32> {
        self.places.find(hash, |&place| get(&self.chunks, place).key == *key).copied()
    }

    #[inline]
    pub fn get(&self, place: u32) -> &Connection {
        get(&self.chunks, place)
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut Connection {
        &mut self.chunks[(place >> CHUNK_BITS) as usize][place as usize & (CHUNK - 1)]
    }

    /// Adds a connection whose key is not there, as the last heard of.
    pub fn insert(&mut self, hash: u64, connection: Connection) -> u32 {
        // The first free place is known as one above, so that 0 is none.
        let place = if let Some(place) = self.free.checked_sub(1) {
            self.free = self.get(place).next;
            *self.get_mut(place) = connection;
            place
        } else {
            if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            let full = (self.chunks.len() - 1) * CHUNK;
            let chunk = self.chunks.last_mut().expect("one was just pushed");
            chunk.push(connection);
            (full + chunk.len() - 1) as u32
        };
        let (hasher, chunks) = (&self.hasher, &self.chunks);
        self.places.insert_unique(hash, place, |&place| hasher.hash_one(get(chunks, place).key));
        self.link(place, false);
        place
    }

    pub fn remove(&mut self, place: u32) -> Connection {
        self.unlink(place);
        let connection = self.get(place).clone();
        let hash = self.hash(&connection.key);
        if let Ok(entry) = self.places.find_entry(hash, |&other| other == place) {
            entry.remove();
        }
        let free = self.free;
        self.get_mut(place).next = free;
        self.free = place + 1;
        connection
    }

    /// An open connection was heard of.
    #[inline]
    pub fn touch(&mut self, place: u32) {
        if self.open.first != place {
            self.unlink(place);
            self.link(place, false);
        }
    }

    /// An open connection has ended.
    pub fn retire(&mut self, place: u32) {
        self.unlink(place);
        self.link(place, true);
    }

    #[inline]
    pub fn oldest_open(&self) -> Option<u32> {
        Some(self.open.last).filter(|&place| place != NONE)
    }

    #[inline]
    pub fn oldest_ended(&self) -> Option<u32> {
        Some(self.ended.last).filter(|&place| place != NONE)
    }

    fn link(&mut self, place: u32, ended: bool) {
        let list = if ended { self.ended } else { self.open };
        let connection = self.get_mut(place);
        (connection.previous, connection.next, connection.retired) = (NONE, list.first, ended);
        if list.first != NONE {
            self.get_mut(list.first).previous = place;
        }
        let list = if ended { &mut self.ended } else { &mut self.open };
        list.first = place;
        if list.last == NONE {
            list.last = place;
        }
    }

    fn unlink(&mut self, place: u32) {
        let &Connection { previous, next, retired, .. } = self.get(place);
        if previous != NONE {
            self.get_mut(previous).next = next;
        }
        if next != NONE {
            self.get_mut(next).previous = previous;
        }
        let list = if retired { &mut self.ended } else { &mut self.open };
        if list.first == place {
            list.first = next;
        }
        if list.last == place {
            list.last = previous;
        }
    }
}
