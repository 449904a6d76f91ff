//! The receiving half of a queue pair: what has arrived, and what it answers.

use headway_control::dcqcn::NotificationPoint;
use headway_units::Time;

use super::profile::{Retransmission, Roce};
use crate::ranges::Ranges;

#[derive(Debug, Default)]
pub(super) struct Responder {
    /// The first packet that has not arrived.
    pub expected: u64,
    /// Those beyond it that have, with selective repeat.
    arrived: Ranges,
    /// How many have arrived, in order or not.
    pub packets: u64,
    /// In order and not acknowledged.
    unacknowledged: u32,
    /// Go-back-N: the missing packet that was reported, and from when on it is again.
    reported: Option<(u64, Time)>,
    pub point: NotificationPoint,
}

/// What is answered to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    /// Everything below has arrived.
    Ack(u64),
    /// The first is missing; the second has arrived.
    Nak(u64, u64),
}

impl Responder {
    /// Packet `psn`, the `last` of its message or not, has arrived.
    pub fn on_packet(&mut self, now: Time, psn: u64, last: bool, profile: &Roce) -> Answer {
        if psn < self.expected {
            // a duplicate: its acknowledgement may have been lost
            self.unacknowledged = 0;
            return Answer::Ack(self.expected);
        }
        if psn > self.expected {
            return match profile.retransmission {
                Retransmission::GoBackN => self.report(now, psn, profile),
                Retransmission::SelectiveRepeat => {
                    self.packets += self.arrived.insert(psn, psn + 1);
                    Answer::Nak(self.expected, psn)
                }
            };
        }
        self.packets += 1;
        let next = psn + 1;
        let filled = !self.arrived.is_empty();
        self.expected = if filled { self.arrived.absorb(next) } else { next };
        self.unacknowledged += 1;
        if last || filled || self.unacknowledged >= profile.ack_every {
            self.unacknowledged = 0;
            return Answer::Ack(self.expected);
        }
        Answer::Nothing
    }

    /// Reports the missing packet, once or from time to time.
    fn report(&mut self, now: Time, psn: u64, profile: &Roce) -> Answer {
        let quiet = self.reported.is_some_and(|(missing, until)| missing == self.expected && now < until);
        if quiet {
            return Answer::Nothing;
        }
        let until = profile.nak_interval.map_or(Time::NEVER, |interval| now.saturating_add(interval));
        self.reported = Some((self.expected, until));
        self.unacknowledged = 0;
        Answer::Nak(self.expected, psn)
    }
}
