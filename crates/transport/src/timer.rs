//! Timers that move often and fire rarely.

use headway_engine::{EventQueue, Source};
use headway_units::Time;

/// A timer whose deadline moves often and fires rarely: the pending event is left where it is while the deadline
/// moves later, and set anew, with the next sequence number, when it moves earlier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer {
    deadline: Time,
    /// When the valid pending event fires.
    armed: Time,
    sequence: u32,
}

/// What a timer event means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// Nothing: an outdated setting, or the deadline has moved.
    Early,
    /// The deadline is now.
    Due,
}

impl Timer {
    pub const OFF: Timer = Timer { deadline: Time::NEVER, armed: Time::NEVER, sequence: 0 };

    pub fn deadline(&self) -> Time {
        self.deadline
    }

    #[inline]
    pub fn set(&mut self, deadline: Time, queue: &mut EventQueue, source: Source) {
        self.deadline = deadline;
        if deadline < self.armed {
            self.armed = deadline;
            self.sequence = self.sequence.wrapping_add(1);
            queue.push(deadline, source, self.sequence);
        }
    }

    #[inline]
    pub fn cancel(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Handles the timer's event, which must be the earliest in `queue`.
    pub fn fire(&mut self, now: Time, sequence: u32, queue: &mut EventQueue) -> Fired {
        if sequence != self.sequence || self.armed != now || self.deadline == Time::NEVER {
            queue.pop();
            if sequence == self.sequence && self.armed == now {
                self.armed = Time::NEVER;
            }
            return Fired::Early;
        }
        if self.deadline > now {
            self.armed = self.deadline;
            queue.reschedule(self.deadline);
            return Fired::Early;
        }
        self.armed = Time::NEVER;
        self.deadline = Time::NEVER;
        queue.pop();
        Fired::Due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_engine::EventClass;

    fn at(ps: u64) -> Time {
        Time::from_picos(ps)
    }

    /// Sets a timer as `settings` say, each at its time, and returns when it was due.
    fn run(settings: &[(u64, Option<u64>)]) -> Vec<u64> {
        let (source, mut queue, mut timer) = (Source::new(EventClass::SenderTimer, 0), EventQueue::new(), Timer::OFF);
        let mut due = Vec::new();
        let mut settings = settings.iter().peekable();
        loop {
            let event = queue.peek();
            match (settings.peek(), event) {
                (Some(&&(t, deadline)), next) if next.is_none_or(|(n, _, _)| t < n.picos()) => {
                    match deadline {
                        Some(deadline) => timer.set(at(deadline), &mut queue, source),
                        None => timer.cancel(),
                    }
                    settings.next();
                }
                (_, Some((now, _, sequence))) => {
                    if timer.fire(now, sequence, &mut queue) == Fired::Due {
                        due.push(now.picos());
                    }
                }
                (_, None) => return due,
            }
        }
    }

    #[test]
    fn a_timer_fires_at_its_last_deadline_only() {
        assert_eq!(run(&[(0, Some(10))]), [10]);
        assert_eq!(run(&[(0, Some(10)), (5, Some(20)), (15, Some(30))]), [30]);
        assert_eq!(run(&[(0, Some(100)), (1, Some(10))]), [10]); // earlier than armed
        assert_eq!(run(&[(0, Some(100)), (1, Some(10)), (11, Some(100))]), [10, 100]);
        assert_eq!(run(&[(0, Some(100)), (1, Some(50)), (2, Some(20)), (21, Some(100)), (30, Some(40))]), [20, 40]);
        assert_eq!(run(&[(0, Some(10)), (5, None)]), []);
        assert_eq!(run(&[(0, Some(10)), (5, None), (6, Some(10))]), [10]);
        assert_eq!(run(&[(0, Some(10)), (5, None), (12, Some(20))]), [20]);
    }
}
