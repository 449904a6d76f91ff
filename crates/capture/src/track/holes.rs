//! Runs of bytes that were passed over: data that came in another order, was lost before it came by, or was dropped by
//! the capture. Few connections have any at a time, so they are kept aside.

use super::NONE;

/// The most holes of a connection; of more the oldest is forgotten, and what comes for it counts as sent twice.
const MAX_HOLES: usize = 8;

/// Bytes `start..end` (numbers of TCP) of one side.
#[derive(Debug, Clone, Copy, Default)]
struct Hole {
    start: u32,
    end: u32,
    /// When it appeared, in nanoseconds.
    since: u64,
    side: u8,
}

#[derive(Debug, Clone, Copy)]
struct Set {
    holes: [Hole; MAX_HOLES],
    count: usize,
    /// The next free set, if this is one.
    next: u32,
}

/// The sets of all connections.
#[derive(Debug)]
pub(super) struct HoleSets {
    sets: Vec<Set>,
    free: u32,
}

impl Default for HoleSets {
    fn default() -> HoleSets {
        HoleSets { sets: Vec::new(), free: NONE }
    }
}

impl HoleSets {
    /// Adds a hole to the set at `place`, which is made if there is none.
    pub fn add(&mut self, place: &mut u32, side: usize, start: u32, end: u32, since: u64) {
        if *place == NONE {
            *place = self.free;
            if *place == NONE {
                *place = self.sets.len() as u32;
                self.sets.push(Set { holes: [Hole::default(); MAX_HOLES], count: 0, next: NONE });
            } else {
                self.free = self.sets[*place as usize].next;
            }
        }
        self.sets[*place as usize].push(Hole { start, end, since, side: side as u8 });
    }

    /// Fills `start..end` in: how many bytes of it were missing, and since when the oldest of them.
    pub fn fill(&mut self, place: &mut u32, side: usize, start: u32, end: u32) -> (u32, u64) {
        if *place == NONE {
            return (0, 0);
        }
        let set = &mut self.sets[*place as usize];
        let (mut filled, mut since) = (0, u64::MAX);
        let mut at = 0;
        while at < set.count {
            let hole = set.holes[at];
            // Distances from the hole's beginning; numbers wrap.
            let size = hole.end.wrapping_sub(hole.start);
            let from = i64::from(start.wrapping_sub(hole.start).cast_signed()).max(0);
            let to = i64::from(end.wrapping_sub(hole.start).cast_signed()).min(i64::from(size));
            if usize::from(hole.side) != side || from >= to {
                at += 1;
                continue;
            }
            filled += (to - from) as u32;
            since = since.min(hole.since);
            let before = Hole { end: hole.start.wrapping_add(from as u32), ..hole };
            let after = Hole { start: hole.start.wrapping_add(to as u32), ..hole };
            match (before.start != before.end, after.start != after.end) {
                (false, false) => {
                    set.holes.copy_within(at + 1..set.count, at);
                    set.count -= 1;
                }
                (true, false) => (set.holes[at], at) = (before, at + 1),
                (false, true) => (set.holes[at], at) = (after, at + 1),
                (true, true) => {
                    set.holes[at] = before;
                    // All of it was in this hole, so no other has any.
                    set.push(after);
                    break;
                }
            }
        }
        if set.count == 0 {
            self.free(place);
        }
        (filled, since)
    }

    /// Forgets the set at `place`.
    pub fn free(&mut self, place: &mut u32) {
        if *place != NONE {
            let set = &mut self.sets[*place as usize];
            (set.count, set.next) = (0, self.free);
            self.free = std::mem::replace(place, NONE);
        }
    }
}

impl Set {
    fn push(&mut self, hole: Hole) {
        if self.count == MAX_HOLES {
            self.holes.copy_within(1.., 0);
            self.count -= 1;
        }
        self.holes[self.count] = hole;
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_from_both_ends_and_in_the_middle() {
        let mut sets = HoleSets::default();
        let mut place = NONE;
        // Over the wrap of numbers.
        let base = u32::MAX - 499;
        let at = |offset: u32| base.wrapping_add(offset);
        sets.add(&mut place, 0, at(0), at(1000), 7);
        assert_eq!(sets.fill(&mut place, 1, at(0), at(1000)), (0, u64::MAX), "the other side");
        assert_eq!(sets.fill(&mut place, 0, at(400), at(600)), (200, 7));
        assert_eq!(sets.fill(&mut place, 0, at(400), at(600)), (0, u64::MAX), "is filled");
        assert_eq!(sets.fill(&mut place, 0, at(0), at(100)), (100, 7));
        assert_eq!(sets.fill(&mut place, 0, at(50), at(2000)), (700, 7), "what is left of both");
        assert_eq!(place, NONE, "and then there is none");
        sets.add(&mut place, 0, 1, 2, 3);
        assert_eq!(place, 0, "its place is used again");
    }

    #[test]
    fn the_oldest_of_too_many_is_forgotten() {
        let mut sets = HoleSets::default();
        let mut place = NONE;
        for n in 0..9 {
            sets.add(&mut place, 0, n * 10, n * 10 + 5, u64::from(n));
        }
        assert_eq!(sets.fill(&mut place, 0, 0, 5).0, 0);
        assert_eq!(sets.fill(&mut place, 0, 10, 15), (5, 1));
    }
}
