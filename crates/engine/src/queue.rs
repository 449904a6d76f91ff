//! A 4-ary heap of (time, class, entity) keys in which the earliest entry can be moved in place.

use headway_units::Time;

use crate::class::EventClass;

/// Who an event belongs to: a class (which part of the simulator) and an entity within it.
///
/// At equal times lower classes come first, then lower entities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source(u32);

impl Source {
    const ENTITY_BITS: u32 = 27;
    /// The number of entities a class can have.
    pub const MAX_ENTITIES: u32 = 1 << Self::ENTITY_BITS;

    /// Entity `entity` of class `class`.
    ///
    /// # Panics
    /// If `entity` is not below [`Source::MAX_ENTITIES`].
    #[inline]
    pub const fn new(class: EventClass, entity: u32) -> Source {
        assert!(entity < Self::MAX_ENTITIES);
        Source((class as u32) << Self::ENTITY_BITS | entity)
    }

    /// The class.
    #[inline]
    pub const fn class(self) -> EventClass {
        EventClass::from_number((self.0 >> Self::ENTITY_BITS) as u8)
    }

    /// The entity within its class.
    #[inline]
    pub const fn entity(self) -> u32 {
        self.0 & (Self::MAX_ENTITIES - 1)
    }
}

/// Time in the upper half, source and sequence in the lower: one comparison orders all.
type Key = u128;

#[inline]
fn key(time: Time, source: Source, sequence: u32) -> Key {
    Key::from(time.picos()) << 64 | Key::from(source.0) << 32 | Key::from(sequence)
}

#[inline]
fn parts(key: Key) -> (Time, Source, u32) {
    (Time::from_picos((key >> 64) as u64), Source((key >> 32) as u32), key as u32)
}

/// Four keys of one cache line: the children of one node.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Group([Key; 4]);

/// An empty place: after every event.
const EMPTY: Key = Key::MAX;

impl Group {
    const EMPTY: Group = Group([EMPTY; 4]);
}

/// Pending events in their total order.
///
/// The loop looks at the earliest event with [`peek`](Self::peek) and then either removes it
/// ([`pop`](Self::pop)) or moves it to its source's next time ([`reschedule`](Self::reschedule)), which
/// saves the removal and the insertion. An event stays at the front until one of these is called.
///
/// A 4-ary heap. Node `n` is key `n % 4` of group `n / 4`; the root is node 3, so that the children of any node
/// `n`, group `n - 2`, are one cache line.
#[derive(Debug)]
pub struct EventQueue {
    groups: Vec<Group>,
    /// The node after the last one in use; at least [`ROOT`].
    end: usize,
    /// The key taken last; all that follow are greater.
    last: Key,
    /// Events taken so far.
    taken: u64,
    /// A running hash of the keys taken.
    digest: u64,
}

const ROOT: usize = 3;

impl Default for EventQueue {
    fn default() -> EventQueue {
        EventQueue { groups: vec![Group::EMPTY], end: ROOT, last: 0, taken: 0, digest: 0 }
    }
}

impl EventQueue {
    /// An empty queue at time zero.
    pub fn new() -> EventQueue {
        EventQueue::default()
    }

    #[inline]
    fn first(&self) -> Key {
        self.groups[0].0[ROOT]
    }

    /// The earliest event: when, whose, and which of its owner's.
    #[inline]
    pub fn peek(&self) -> Option<(Time, Source, u32)> {
        let first = self.first();
        (first != EMPTY).then(|| parts(first))
    }

    /// Adds an event. `sequence` tells apart the events that one source has pending; a source with one at a time
    /// uses 0.
    ///
    /// # Panics
    /// If it is not later, in the total order, than the last event taken.
    #[inline]
    pub fn push(&mut self, time: Time, source: Source, sequence: u32) {
        let key = key(time, source, sequence);
        self.assert_later(key);
        let mut at = self.end;
        self.end += 1;
        if at / 4 == self.groups.len() {
            self.groups.push(Group::EMPTY);
        }
        while at > ROOT {
            let parent = at / 4 + 2;
            let above = self.groups[parent / 4].0[parent % 4];
            if above <= key {
                break;
            }
            self.groups[at / 4].0[at % 4] = above;
            at = parent;
        }
        self.groups[at / 4].0[at % 4] = key;
    }

    /// Takes the earliest event.
    ///
    /// # Panics
    /// If the queue is empty or two events had the same key.
    #[inline]
    pub fn pop(&mut self) {
        self.take_first();
        self.end -= 1;
        let tail = std::mem::replace(&mut self.groups[self.end / 4].0[self.end % 4], EMPTY);
        if self.end > ROOT {
            self.sift_down(tail);
        }
    }

    /// Takes the earliest event and sets its source's next one to `time`.
    ///
    /// # Panics
    /// If the queue is empty, or `time` is not later than the event's.
    #[inline]
    pub fn reschedule(&mut self, time: Time) {
        self.take_first();
        let (_, source, sequence) = parts(self.first());
        let next = key(time, source, sequence);
        self.assert_later(next);
        self.sift_down(next);
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.end - ROOT
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.end == ROOT
    }

    /// Number of events taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// A hash of all events taken so far, in order: equal runs have equal digests.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    #[inline]
    fn take_first(&mut self) {
        let first = self.first();
        assert!(first != EMPTY, "no event to take");
        assert!(self.last < first, "two events with one key: {:?}", parts(first));
        self.last = first;
        self.taken += 1;
        // One multiply and a rotation per event: enough to tell streams apart, not for adversaries.
        let folded = (first >> 64) as u64 ^ (first as u64).rotate_left(32);
        self.digest = (self.digest.rotate_left(5) ^ folded).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    #[inline]
    fn assert_later(&self, key: Key) {
        assert!(self.last < key, "event in the past: {:?}", parts(key));
    }

    /// Puts `key` at the root and moves it to its place.
    #[inline]
    fn sift_down(&mut self, key: Key) {
        let groups = &mut self.groups[..];
        let mut at = ROOT;
        while let Some(&Group([a, b, c, d])) = groups.get(at - 2) {
            // A tournament of independent comparisons, which the compiler turns into selects.
            let (ab, i) = if b < a { (b, 1) } else { (a, 0) };
            let (cd, j) = if d < c { (d, 3) } else { (c, 2) };
            let (least, child) = if cd < ab { (cd, j) } else { (ab, i) };
            if key <= least {
                break;
            }
            groups[at / 4].0[at % 4] = least;
            at = (at - 2) * 4 + child;
        }
        groups[at / 4].0[at % 4] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn at(ps: u64) -> Time {
        Time::from_picos(ps)
    }

    #[test]
    fn orders_by_time_then_class_then_entity() {
        use EventClass::{Arrival, SenderTimer, Wake};
        let mut queue = EventQueue::new();
        let events = [(5, Arrival, 9), (5, SenderTimer, 0), (3, Wake, 7), (5, Arrival, 2), (9, Arrival, 0)];
        for (t, class, entity) in events {
            queue.push(at(t), Source::new(class, entity), 0);
        }
        let mut seen = Vec::new();
        while let Some((t, source, _)) = queue.peek() {
            seen.push((t.picos(), source.class(), source.entity()));
            queue.pop();
        }
        assert_eq!(seen, [(3, Wake, 7), (5, Arrival, 2), (5, Arrival, 9), (5, SenderTimer, 0), (9, Arrival, 0)]);
    }

    #[test]
    #[should_panic(expected = "two events with one key")]
    fn equal_keys_are_a_bug() {
        let mut queue = EventQueue::new();
        queue.push(at(1), Source::new(EventClass::Arrival, 0), 0);
        queue.push(at(1), Source::new(EventClass::Arrival, 0), 0);
        queue.pop();
        queue.pop();
    }

    #[test]
    #[should_panic(expected = "event in the past")]
    fn time_does_not_run_backwards() {
        let mut queue = EventQueue::new();
        queue.push(at(2), Source::new(EventClass::Arrival, 0), 0);
        queue.pop();
        queue.push(at(1), Source::new(EventClass::Arrival, 1), 0);
    }

    #[test]
    fn the_digest_tells_streams_apart() {
        let digest = |second: u64| {
            let mut queue = EventQueue::new();
            queue.push(at(1), Source::new(EventClass::Arrival, 0), 0);
            queue.push(at(second), Source::new(EventClass::Arrival, 1), 0);
            queue.pop();
            queue.pop();
            queue.digest()
        };
        assert_eq!(digest(2), digest(2));
        assert_ne!(digest(2), digest(3));
    }

    #[derive(Debug, Clone)]
    enum Op {
        Push(u64, u32),
        Pop,
        Reschedule(u64),
    }

    proptest! {
        /// The heap agrees with a sorted set over random pushes, pops and in-place moves.
        #[test]
        fn agrees_with_a_reference_queue(ops in prop::collection::vec(prop_oneof![
            (0u64..50, 0u32..40).prop_map(|(t, e)| Op::Push(t, e)),
            Just(Op::Pop),
            (1u64..50).prop_map(Op::Reschedule),
        ], 1..400)) {
            let mut queue = EventQueue::new();
            let mut reference = BTreeSet::new();
            let mut now = 0u64;
            for op in ops {
                match op {
                    Op::Push(delay, entity) => {
                        // as in use: one pending event per entity, strictly in the future
                        if !reference.iter().any(|&(_, e)| e == entity) {
                            reference.insert((now + 1 + delay, entity));
                            queue.push(at(now + 1 + delay), Source::new(EventClass::Arrival, entity), 0);
                        }
                    }
                    Op::Pop => {
                        if let Some((t, _)) = reference.pop_first() { now = t; queue.pop(); }
                    }
                    Op::Reschedule(delay) => {
                        if let Some((t, e)) = reference.pop_first() {
                            now = t;
                            reference.insert((now + delay, e));
                            queue.reschedule(at(now + delay));
                        }
                    }
                }
                prop_assert_eq!(queue.len(), reference.len());
                prop_assert_eq!(
                    queue.peek().map(|(t, s, _)| (t.picos(), s.entity())),
                    reference.first().copied()
                );
            }
        }
    }
}
