//! The sending half of a queue pair: which packet is next, and what acknowledgements mean.

use super::profile::{Retransmission, Roce};
use crate::ranges::Ranges;

/// Packets of a message, by their sequence numbers (PSN) from 0, without the wrap at 24 bits that they have on the wire.
#[derive(Debug, Default)]
pub(super) struct Requester {
    /// How many there are; unlimited ones have none.
    pub packets: Option<u64>,
    /// The first that is not acknowledged.
    una: u64,
    /// Go-back-N: the next to be sent. Selective repeat: none below is to be repeated once more.
    next: u64,
    /// The first that has never been sent.
    fresh: u64,
    /// Selective repeat: those beyond `una` that have arrived, and below which missing ones are lost.
    arrived: Ranges,
    lost_below: u64,
    pub retransmissions: u32,
    pub timeouts: u32,
    /// CNPs that have come.
    pub marks: u32,
}

impl Requester {
    /// A message of so many packets.
    pub fn new(packets: Option<u64>) -> Requester {
        Requester { packets, ..Requester::default() }
    }

    /// Whether all is acknowledged.
    pub fn is_done(&self) -> bool {
        self.packets == Some(self.una)
    }

    /// The first packet that is not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.una
    }

    /// Whether something is sent that is not acknowledged.
    pub fn is_waiting(&self) -> bool {
        self.una < self.fresh
    }

    /// The packet to be sent now, if any.
    pub fn next(&self, profile: &Roce) -> Option<u64> {
        let candidate = match profile.retransmission {
            Retransmission::GoBackN => self.next,
            Retransmission::SelectiveRepeat => self.lost().unwrap_or(self.fresh),
        };
        let open = candidate - self.una < profile.window();
        (open && self.packets.is_none_or(|packets| candidate < packets)).then_some(candidate)
    }

    /// The first lost packet that was not repeated.
    fn lost(&self) -> Option<u64> {
        let mut candidate = self.next.max(self.una);
        while candidate < self.lost_below {
            match self.arrived.overlap(candidate, self.lost_below) {
                Some((start, end)) if start == candidate => candidate = end,
                _ => return Some(candidate),
            }
        }
        None
    }

    /// The packet that [`next`](Self::next) gave is sent.
    pub fn sent(&mut self, psn: u64, retransmission: Retransmission) {
        let again = psn < self.fresh;
        self.retransmissions += u32::from(again);
        self.fresh = self.fresh.max(psn + 1);
        if again || retransmission == Retransmission::GoBackN {
            self.next = psn + 1;
        }
    }

    /// All packets below `cumulative` have arrived. Says whether that is news.
    pub fn on_ack(&mut self, cumulative: u64) -> bool {
        let cumulative = cumulative.min(self.fresh);
        if cumulative <= self.una {
            return false;
        }
        self.una = cumulative;
        self.next = self.next.max(cumulative);
        if !self.arrived.is_empty() {
            self.arrived.absorb(cumulative);
        }
        true
    }

    /// Beside that, `beyond` has arrived and `cumulative` has not. Says whether there is news of `cumulative`.
    pub fn on_nak(&mut self, cumulative: u64, beyond: u64, retransmission: Retransmission) -> bool {
        let news = self.on_ack(cumulative);
        match retransmission {
            // an old report is of what has been repeated since
            Retransmission::GoBackN if cumulative < self.una => {}
            Retransmission::GoBackN => self.next = self.una,
            Retransmission::SelectiveRepeat if beyond > self.una && beyond < self.fresh => {
                self.arrived.insert(beyond, beyond + 1);
                self.lost_below = self.lost_below.max(beyond);
            }
            Retransmission::SelectiveRepeat => {}
        }
        news
    }

    /// Nothing has been heard for too long: all that is sent and not acknowledged is lost. (IRN repeats the first alone, so
    /// that each packet of a lost tail would wait for a time-out of its own.)
    pub fn on_timeout(&mut self) {
        self.timeouts += 1;
        self.next = self.una;
        self.lost_below = self.fresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 2 and 4 of six are lost. The reports of 3 and 5 come after the acknowledgement of the repeated 2, and say all
    /// the same that 3 and 5 are there: 4 alone is repeated.
    #[test]
    fn an_old_report_says_what_has_arrived() {
        let profile = Roce { retransmission: Retransmission::SelectiveRepeat, ..Roce::default() };
        let repair = Retransmission::SelectiveRepeat;
        let mut requester = Requester::new(Some(6));
        (0..6).for_each(|psn| requester.sent(psn, repair));
        assert!(requester.on_ack(4), "2 was repeated, and 3 had arrived");
        assert!(!requester.on_nak(2, 5, repair), "no news of what is in order");
        assert_eq!(requester.next(&profile), Some(4));
        requester.sent(4, repair);
        assert_eq!(requester.next(&profile), None, "5 is there");
    }

    /// With go-back-N it is of a time before the repetition.
    #[test]
    fn an_old_report_repeats_nothing_with_go_back_n() {
        let mut requester = Requester::new(Some(6));
        (0..6).for_each(|psn| requester.sent(psn, Retransmission::GoBackN));
        requester.on_ack(4);
        requester.on_nak(2, 5, Retransmission::GoBackN);
        assert_eq!(requester.next(&Roce::default()), None);
    }
}
