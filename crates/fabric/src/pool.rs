//! Where frames on their way stand: first-in-first-out lists in one pool.
//!
//! A ring per port would keep the memory of its fullest moment and walk through all of it; here a place that was left
//! is the next one taken, so what is touched is as large as what is on its way.

use headway_units::Time;

use crate::packet::Packet;

/// Aligned so that no slot lies in two cache lines.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Slot<B> {
    /// When the frame is at the far end of its link; while it waits for its turn, when it came.
    pub arrival: Time,
    pub packet: Packet<B>,
}

/// No place.
const NONE: u32 = u32::MAX;

/// All frames on their way.
#[derive(Debug)]
pub(crate) struct Pool<B> {
    slots: Vec<Slot<B>>,
    /// The place behind each place, in its list or among the free ones.
    next: Vec<u32>,
    free: u32,
}

/// A list in a [`Pool`], oldest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    pub len: u32,
}

impl List {
    pub const EMPTY: List = List { head: NONE, tail: NONE, len: 0 };

    /// The place of the first frame, if there is one.
    pub fn first(&self) -> Option<u32> {
        (self.len > 0).then_some(self.head)
    }
}

/// A position in a [`List`]: a place in it, or its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor(u32);

impl Cursor {
    pub const END: Cursor = Cursor(NONE);
}

/// A slot that is in no list: a frame between two ports. Goes to a list or is taken out.
#[derive(Debug)]
pub(crate) struct FrameHandle(u32);

impl FrameHandle {
    /// Whether this is the frame that stood at `cursor`.
    pub fn is_at(&self, cursor: Cursor) -> bool {
        self.0 == cursor.0
    }
}

impl<B: Copy> Pool<B> {
    pub fn new() -> Pool<B> {
        Pool { slots: Vec::new(), next: Vec::new(), free: NONE }
    }

    /// Gives `packet` a slot.
    ///
    /// # Panics
    /// If 2³² frames are on their way.
    #[inline]
    pub fn insert(&mut self, packet: Packet<B>) -> FrameHandle {
        let slot = Slot { arrival: Time::ZERO, packet };
        if self.free == NONE {
            let place = u32::try_from(self.slots.len()).ok().filter(|&place| place != NONE);
            self.slots.push(slot);
            self.next.push(NONE);
            FrameHandle(place.expect("fewer than 2³² frames on their way"))
        } else {
            let place = self.free;
            self.free = self.next[place as usize];
            self.slots[place as usize] = slot;
            FrameHandle(place)
        }
    }

    /// The place that the next frame gets.
    pub fn next_place(&self) -> u32 {
        if self.free == NONE { self.slots.len() as u32 } else { self.free }
    }

    /// Takes a frame out.
    #[inline]
    pub fn remove(&mut self, FrameHandle(place): FrameHandle) -> Packet<B> {
        self.next[place as usize] = self.free;
        self.free = place;
        self.slots[place as usize].packet
    }

    /// The slot of a frame between two ports.
    #[inline]
    pub fn slot(&mut self, frame: &FrameHandle) -> &mut Slot<B> {
        &mut self.slots[frame.0 as usize]
    }

    /// Adds a frame to the end of `list`. Returns where it stands.
    #[inline]
    pub fn push(&mut self, list: &mut List, FrameHandle(place): FrameHandle) -> Cursor {
        self.next[place as usize] = NONE;
        if list.len == 0 {
            list.head = place;
        } else {
            self.next[list.tail as usize] = place;
        }
        list.tail = place;
        list.len += 1;
        Cursor(place)
    }

    /// Takes the first frame off `list`. Returns it and the position behind it.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn pop(&mut self, list: &mut List) -> (FrameHandle, Cursor) {
        assert!(list.len > 0, "an arrival event means a frame on its way");
        let place = list.head;
        let next = self.next[place as usize];
        list.head = next;
        list.len -= 1;
        (FrameHandle(place), Cursor(next))
    }

    /// Takes what stands behind `last`, which is in `list`, out of it, and adds it to `out`.
    pub fn truncate(&mut self, list: &mut List, last: Cursor, out: &mut Vec<FrameHandle>) {
        let mut next = std::mem::replace(&mut self.next[last.0 as usize], NONE);
        list.tail = last.0;
        while next != NONE {
            out.push(FrameHandle(next));
            list.len -= 1;
            next = self.next[next as usize];
        }
    }

    /// The slot at `cursor`, `None` at the end.
    #[inline]
    pub fn get(&self, cursor: Cursor) -> Option<&Slot<B>> {
        if cursor.0 == NONE { None } else { Some(&self.slots[cursor.0 as usize]) }
    }

    /// The position behind `cursor`, which is not the end.
    #[inline]
    pub fn after(&self, cursor: Cursor) -> Cursor {
        Cursor(self.next[cursor.0 as usize])
    }

    /// All frames that are in lists or between two ports, in no order that means something.
    pub fn in_use(&self) -> impl Iterator<Item = &Packet<B>> + '_ {
        let mut free = vec![false; self.slots.len()];
        let mut at = self.free;
        while at != NONE {
            free[at as usize] = true;
            at = self.next[at as usize];
        }
        self.slots.iter().zip(free).filter(|(_, free)| !free).map(|(slot, _)| &slot.packet)
    }

    /// The slots of `list` from `cursor` on.
    pub fn iter_from(&self, cursor: Cursor) -> impl Iterator<Item = &Slot<B>> + '_ {
        let mut at = cursor;
        std::iter::from_fn(move || {
            let slot = self.get(at)?;
            at = self.after(at);
            Some(slot)
        })
    }

    /// The slots of `list`, oldest first.
    pub fn iter(&self, list: &List) -> impl Iterator<Item = &Slot<B>> + '_ {
        self.iter_from(Cursor(if list.len == 0 { NONE } else { list.head }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Three lists in one pool against three deques; the pool never has more places than the most ever needed.
        #[test]
        fn lists_are_queues(ops in prop::collection::vec((0usize..3, any::<bool>()), 1..300)) {
            let mut pool = Pool::new();
            let mut lists = [List::EMPTY; 3];
            let mut queues: [VecDeque<u32>; 3] = Default::default();
            let (mut number, mut most) = (0, 0);
            for (which, push) in ops {
                if push {
                    number += 1;
                    let packet = Packet { hop: number, size: 0, tos: 0, tag: 0, body: () };
                    let frame = pool.insert(packet);
                    pool.push(&mut lists[which], frame);
                    queues[which].push_back(number);
                } else if let Some(expected) = queues[which].pop_front() {
                    let (frame, behind) = pool.pop(&mut lists[which]);
                    prop_assert_eq!(pool.remove(frame).hop, expected);
                    prop_assert_eq!(pool.get(behind).map(|s| s.packet.hop), queues[which].front().copied());
                }
                for (list, queue) in lists.iter().zip(&queues) {
                    prop_assert_eq!(list.len as usize, queue.len());
                    prop_assert!(pool.iter(list).map(|s| s.packet.hop).eq(queue.iter().copied()));
                }
                most = most.max(queues.iter().map(VecDeque::len).sum());
                let mut there: Vec<u32> = pool.in_use().map(|packet| packet.hop).collect();
                let mut expected: Vec<u32> = queues.iter().flatten().copied().collect();
                there.sort_unstable();
                expected.sort_unstable();
                prop_assert_eq!(there, expected);
            }
            prop_assert_eq!(pool.slots.len(), most);
        }
    }
}
