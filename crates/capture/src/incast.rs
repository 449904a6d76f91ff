//! How many senders start to send to one destination at about the same time.
//!
//! A window opens with the first start of a flow to a destination that has none open, and closes after the given time.
//! Its degree is the number of distinct senders among the flows that started in it.

use std::collections::VecDeque;

use hashbrown::HashMap;

use crate::histogram::Histogram;
use crate::packet::Address;

/// A flow in the table: place, number of its connection, side.
pub(crate) type Member = (u32, u64, usize);

#[derive(Debug, Default)]
struct Window {
    senders: Vec<Address>,
    members: Vec<Member>,
}

/// All windows that are open, and the degrees of those that were.
#[derive(Debug)]
pub(crate) struct Incast {
    window: u64,
    /// At least so many senders are a burst.
    burst: u16,
    most: usize,
    open: HashMap<Address, Window, foldhash::fast::RandomState>,
    /// When they close, in order.
    closing: VecDeque<(u64, Address)>,
    members: usize,
    /// Of all windows.
    pub degrees: Histogram,
    /// Windows with at least `burst` senders, by their destination's heading.
    pub bursts: [Histogram; 3],
}

impl Incast {
    /// Windows of `window` nanoseconds, with at most `most` flows in all that are open.
    pub fn new(window: u64, burst: u16, most: usize) -> Incast {
        Incast {
            window,
            burst,
            most,
            open: HashMap::default(),
            closing: VecDeque::new(),
            members: 0,
            degrees: Histogram::default(),
            bursts: Default::default(),
        }
    }

    /// A flow started. `closed` is told of every flow whose window has closed by now, with its degree.
    pub fn started(
        &mut self,
        now: u64,
        source: Address,
        destination: Address,
        member: Member,
        heading: impl Fn(Address) -> usize,
        mut closed: impl FnMut(Member, u16),
    ) {
        self.close(now, &heading, &mut closed);
        if self.members >= self.most {
            self.close_first(&heading, &mut closed);
        }
        let window = self.open.entry(destination).or_insert_with(|| {
            self.closing.push_back((now.saturating_add(self.window), destination));
            Window::default()
        });
        // Sorted, so that large incasts take no quadratic time.
        if let Err(at) = window.senders.binary_search(&source) {
            window.senders.insert(at, source);
        }
        window.members.push(member);
        self.members += 1;
    }

    /// Closes the windows that have come to their end.
    pub fn close(&mut self, now: u64, heading: &impl Fn(Address) -> usize, closed: &mut impl FnMut(Member, u16)) {
        while self.closing.front().is_some_and(|&(until, _)| until < now) {
            self.close_first(heading, closed);
        }
    }

    fn close_first(&mut self, heading: &impl Fn(Address) -> usize, closed: &mut impl FnMut(Member, u16)) {
        let Some((_, destination)) = self.closing.pop_front() else { return };
        let window = self.open.remove(&destination).unwrap_or_default();
        let degree = u16::try_from(window.senders.len()).unwrap_or(u16::MAX);
        self.members -= window.members.len();
        self.degrees.add(u64::from(degree));
        if degree >= self.burst {
            self.bursts[heading(destination)].add(u64::from(degree));
        }
        for member in window.members {
            closed(member, degree);
        }
    }

    /// Senders so far in the window to `destination` that is open.
    pub fn so_far(&self, destination: Address) -> u16 {
        let senders = self.open.get(&destination).map_or(0, |window| window.senders.len());
        u16::try_from(senders).unwrap_or(u16::MAX)
    }
}
