//! Which priority of a port sends next: enhanced transmission selection (IEEE 802.1Qaz, now 802.1Q §8.6.8.4).
//!
//! Strict classes go first, the one of the highest priority before the others. The rest share what is left by deficit round
//! robin (Shreedhar & Varghese 1996), with quanta in proportion to their shares of which the least is a largest frame. What
//! a class does not use goes to the others in that proportion, since classes without frames that may leave have no turn.
//!
//! Every priority has a queue of its own; within a class, frames leave in the order in which they came. A class of which a
//! priority is paused goes on with its others, where a class that is one queue would wait for its first frame. A class that
//! cannot send keeps no right to catch up. What is counted is bytes of frames, without the gap between them: a class of small
//! frames gets more of the line than its share.

use super::spec::{LosslessSpec, PRIORITIES};

/// A class at a port.
#[derive(Debug, Clone, Copy, Default)]
struct Class {
    /// The priorities in it.
    members: u8,
    strict: bool,
    quantum: u64,
    deficit: u64,
}

/// The classes of a port, and whose turn it is.
#[derive(Debug, Clone)]
pub(super) struct Classes {
    all: Vec<Class>,
    /// Strict ones, in order.
    strict: Vec<usize>,
    /// The one that has its turn, of all.
    turn: usize,
    /// It has been given its quantum.
    given: bool,
}

impl Classes {
    pub fn new(spec: &LosslessSpec) -> Classes {
        let least =
            spec.classes.iter().filter(|class| !class.strict).map(|class| class.share).min().unwrap_or(1).max(1);
        let mut classes: Vec<Class> = spec
            .classes
            .iter()
            .map(|class| Class {
                members: 0,
                strict: class.strict,
                quantum: (u64::from(class.share) * u64::from(spec.largest.max(1))).div_ceil(u64::from(least)),
                deficit: 0,
            })
            .collect();
        for (priority, &class) in spec.class_of.iter().enumerate() {
            classes[usize::from(class)].members |= 1 << priority;
        }
        let mut strict: Vec<usize> = (0..classes.len()).filter(|&at| classes[at].strict).collect();
        strict.sort_by_key(|&at| std::cmp::Reverse(classes[at].members));
        Classes { all: classes, strict, turn: 0, given: false }
    }

    /// The priority that sends next among those of `may`: `first` has when and how large the first frame of each is. The
    /// frame counts as sent.
    pub fn choose(&mut self, may: u8, first: &[(u64, u64); PRIORITIES]) -> Option<u8> {
        let oldest = |members: u8| {
            let able = members & may;
            (0..PRIORITIES as u8).filter(|&own| able >> own & 1 == 1).min_by_key(|&own| first[usize::from(own)].0)
        };
        if let Some(own) = self.strict.iter().find_map(|&at| oldest(self.all[at].members)) {
            return Some(own);
        }
        if may == 0 {
            return None;
        }
        loop {
            let class = &mut self.all[self.turn];
            match oldest(class.members).filter(|_| !class.strict) {
                Some(own) => {
                    if !std::mem::replace(&mut self.given, true) {
                        class.deficit += class.quantum;
                    }
                    let size = first[usize::from(own)].1;
                    if size <= class.deficit {
                        class.deficit -= size;
                        return Some(own);
                    }
                }
                None => class.deficit = 0,
            }
            self.turn = (self.turn + 1) % self.all.len();
            self.given = false;
        }
    }

    /// Forgets whose turn it was.
    pub fn reset(&mut self) {
        self.all.iter_mut().for_each(|class| class.deficit = 0);
        (self.turn, self.given) = (0, false);
    }
}
