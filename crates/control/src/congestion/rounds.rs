//! What Vegas and the controls that follow it know of delay: the round trips measured in one round, and the shortest.
//!
//! In whole microseconds, each sample one too long so that none is zero (`net/ipv4/tcp_vegas.c:
//! tcp_vegas_pkts_acked`). A round ends with the first acknowledgement of more than had been sent when it began.

use super::{Ack, Cause, State};

/// Round trips of the round under way.
#[derive(Debug, Clone)]
pub(super) struct Rounds {
    /// Whether delay counts now: not in recovery, whose measurements are stale.
    pub(super) active: bool,
    /// What the transport was last said to do.
    state: State,
    end: u64,
    /// What will be sent next, as of the last acknowledgement.
    nxt: u64,
    count: u64,
    shortest: u64,
    sum: u64,
    base: u64,
}

/// A complete round; all times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Round {
    /// Samples. With less than three they may all be of delayed acknowledgements.
    pub(super) count: u64,
    /// The shortest sample.
    pub(super) shortest: u64,
    /// The mean.
    pub(super) mean: u64,
    /// The shortest of all rounds: the propagation delay.
    pub(super) base: u64,
}

impl Default for Rounds {
    fn default() -> Rounds {
        Rounds {
            active: true,
            state: State::Open,
            end: 0,
            nxt: 0,
            count: 0,
            shortest: u64::MAX,
            sum: 0,
            base: u64::MAX,
        }
    }
}

impl Rounds {
    /// Takes the round-trip sample of an acknowledgement; true if delay counts again from now on.
    pub(super) fn observe(&mut self, ack: &Ack<'_>) -> bool {
        // the state is that before this acknowledgement, and so is where a round begins that begins with it
        let again = self.set_state(ack.state);
        self.nxt = ack.nxt;
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.picos() / 1_000_000 + 1;
            self.base = self.base.min(rtt);
            self.shortest = self.shortest.min(rtt);
            self.sum += rtt;
            self.count += 1;
        }
        again
    }

    /// Delay stops to count when the state is no longer [`State::Open`], and counts again when it is: true then
    /// (`net/ipv4/tcp_vegas.c: tcp_vegas_state`).
    pub(super) fn set_state(&mut self, state: State) -> bool {
        if state == self.state {
            return false;
        }
        self.state = state;
        if state == State::Open {
            self.restart();
        } else {
            self.active = false;
        }
        self.active
    }

    /// Delay does not count in a repair that begins now.
    pub(super) fn stop(&mut self, cause: Cause) {
        self.active = false;
        self.state = match cause {
            Cause::Loss => State::Recovery,
            Cause::Ece => State::Reducing,
            Cause::Timeout => State::Loss,
        };
    }

    /// A repair is over.
    pub(super) fn resume(&mut self) {
        self.state = State::Open;
        self.restart();
    }

    /// Starts over with the next segment sent.
    pub(super) fn restart(&mut self) {
        self.active = true;
        self.end = self.nxt;
        self.clear();
    }

    /// Starts over, and learns the propagation delay anew.
    pub(super) fn reset_base(&mut self) {
        self.base = u64::MAX;
        self.restart();
    }

    fn clear(&mut self) {
        (self.count, self.shortest, self.sum) = (0, u64::MAX, 0);
    }

    /// The round that ends with `ack`, if one does; the next one begins.
    pub(super) fn ended(&mut self, ack: &Ack<'_>) -> Option<Round> {
        if ack.una <= self.end {
            return None;
        }
        self.end = ack.nxt;
        let round = Round {
            count: self.count,
            shortest: self.shortest,
            mean: self.sum.checked_div(self.count).unwrap_or(u64::MAX),
            base: self.base,
        };
        self.clear();
        Some(round)
    }
}
