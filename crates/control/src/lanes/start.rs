//! On which lane a connection starts.
//!
//! The thesis always takes the first SL, so several SLs help nobody, and names what could: round robin or a hash over
//! the SLs (§7.3, fig. 7.8). [`HostLanes`] is what one sending host decides that with, the state of all its connections
//! together; the lanes of one connection are [`super::Lanes`].

use headway_units::{Span, Time};

use super::MAX_SUBFLOWS;
use super::history::{History, Peer};

/// How a connection's first lane is chosen among the SLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// The first SL, as in the thesis.
    #[default]
    First,
    /// By a hash of the connection: spread over all SLs at random, without state.
    Hash,
    /// The SLs in turn, counted per sending host over all its destinations, from a place of its own on: hosts that answer
    /// one request together must not all begin with the same one.
    RoundRobin,
    /// The SL with the least queueing delay by the host's [`History`]. Of those within [`HostLanes::TIE`], in turn:
    /// otherwise all connections that start within a round trip would take the same one.
    LeastCost,
}

/// Where a connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beginning {
    /// The number of the lane.
    pub lane: usize,
    /// It is taken for long: [`super::Lanes::long_from_the_start`].
    pub long: bool,
}

/// The lanes of one sending host over all its connections: lanes `0..short` are SLs, those above are LLs.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLanes {
    short: usize,
    start: Start,
    history: Option<History>,
    /// From this share of long ones on, a connection begins long; above 1: never.
    long_share: f64,
    turn: u64,
}

impl HostLanes {
    /// Queueing delays that differ by no more than this are alike: a full Ethernet frame at 100 Mb/s.
    pub const TIE: Span = Span::from_micros(123);

    /// The lanes of a host with `short` short ones (at least 1). What it remembers is in `history`; without one,
    /// [`Start::LeastCost`] takes the SLs in turn. A connection to a peer whose share of long ones is at least
    /// `long_share` begins on an LL (`None`: never).
    pub fn new(short: usize, start: Start, history: Option<History>, long_share: Option<f64>) -> HostLanes {
        HostLanes { short: short.max(1), start, history, long_share: long_share.unwrap_or(f64::INFINITY), turn: 0 }
    }

    /// Takes lanes in turn from place `turn` on, which should differ between hosts; any number.
    pub fn from_turn(mut self, turn: u64) -> HostLanes {
        self.turn = turn;
        self
    }

    /// Where a connection to `peer` begins that could use `lanes` lanes; `hash` is of the connection.
    pub fn begin(&mut self, now: Time, peer: Peer, lanes: usize, hash: u64) -> Beginning {
        let lanes = lanes.clamp(1, MAX_SUBFLOWS);
        let short = self.short.min(lanes);
        let long_share = self.history.as_ref().and_then(|history| history.long_share(now, peer));
        if short < lanes && long_share.is_some_and(|share| share >= self.long_share) {
            let lane = self.least(now, peer.host, short..lanes);
            return Beginning { lane, long: true };
        }
        let lane = match self.start {
            Start::First => 0,
            Start::Hash => ((u128::from(hash) * short as u128) >> 64) as usize,
            Start::RoundRobin => self.next(short),
            Start::LeastCost => self.least(now, peer.host, 0..short),
        };
        let down = |lane| self.history.as_ref().is_some_and(|history| history.is_down(now, peer.host, lane));
        if !down(lane) {
            return Beginning { lane, long: false };
        }
        // fallback to any lane: the SLs first
        Beginning { lane: (0..lanes).find(|&lane| !down(lane)).unwrap_or(lane), long: false }
    }

    /// What the host remembers.
    pub fn history(&mut self) -> Option<&mut History> {
        self.history.as_mut()
    }

    fn next(&mut self, count: usize) -> usize {
        let turn = self.turn;
        self.turn = turn.wrapping_add(1);
        (turn % count as u64) as usize
    }

    fn least(&mut self, now: Time, host: u64, lanes: std::ops::Range<usize>) -> usize {
        let mut tied = [0; MAX_SUBFLOWS];
        let mut count = 0;
        if let Some(history) = &self.history {
            let cost = |lane| (history.is_down(now, host, lane), history.delay(now, host, lane));
            let (down, least) = lanes.clone().map(cost).min().expect("there is at least one lane");
            for lane in lanes {
                let (is_down, delay) = cost(lane);
                if is_down == down && delay.saturating_sub(least) <= Self::TIE {
                    tied[count] = lane;
                    count += 1;
                }
            }
        } else {
            for lane in lanes {
                tied[count] = lane;
                count += 1;
            }
        }
        tied[self.next(count)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Peer = Peer { host: 1, service: 0 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn remembering() -> History {
        History::new(Span::from_secs(1), 10).unwrap()
    }

    fn lanes_of(host: &mut HostLanes, count: u64) -> Vec<usize> {
        (0..count).map(|n| host.begin(at(0), PEER, 3, n << 61).lane).collect()
    }

    #[test]
    fn short_lanes_are_spread_as_told() {
        assert_eq!(lanes_of(&mut HostLanes::new(2, Start::First, None, None), 4), [0, 0, 0, 0]);
        assert_eq!(lanes_of(&mut HostLanes::new(2, Start::RoundRobin, None, None), 5), [0, 1, 0, 1, 0]);
        assert_eq!(lanes_of(&mut HostLanes::new(2, Start::RoundRobin, None, None).from_turn(u64::MAX), 3), [1, 0, 1]);
        // hashes 0/8 … 7/8 of the range: the lower half is lane 0
        assert_eq!(lanes_of(&mut HostLanes::new(2, Start::Hash, None, None), 8), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(lanes_of(&mut HostLanes::new(2, Start::LeastCost, None, None), 3), [0, 1, 0]);
    }

    #[test]
    fn the_emptier_lane_is_taken_and_equal_ones_in_turn() {
        let mut host = HostLanes::new(2, Start::LeastCost, Some(remembering()), None);
        assert_eq!(lanes_of(&mut host, 3), [0, 1, 0]);
        for rtt in [2, 10] {
            let _ = host.history().unwrap().measured(at(0), PEER.host, 0, Span::from_millis(rtt));
        }
        assert_eq!(lanes_of(&mut host, 3), [1, 1, 1], "2 ms of queue on lane 0");
        // four half-lives: 125 µs, one more: a tie
        assert_eq!(host.begin(at(4000), PEER, 3, 0).lane, 1);
        let later: Vec<_> = (0..2).map(|_| host.begin(at(5000), PEER, 3, 0).lane).collect();
        assert!(later == [0, 1] || later == [1, 0]);
    }

    #[test]
    fn a_peer_that_always_turns_out_long_begins_long() {
        let mut host = HostLanes::new(1, Start::First, Some(remembering()), Some(0.75));
        for _ in 0..4 {
            host.history().unwrap().ended(at(0), PEER, true);
        }
        assert_eq!(host.begin(at(0), PEER, 2, 0), Beginning { lane: 1, long: true });
        host.history().unwrap().ended(at(0), PEER, false);
        assert!(host.begin(at(0), PEER, 2, 0).long, "4 of 5");
        host.history().unwrap().ended(at(0), PEER, false);
        assert_eq!(host.begin(at(0), PEER, 2, 0), Beginning { lane: 0, long: false }, "4 of 6");
        assert!(!host.begin(at(0), PEER, 1, 0).long, "there is no long lane");
    }

    #[test]
    fn a_lane_that_is_down_is_not_begun_on_while_another_is_left() {
        let mut host = HostLanes::new(1, Start::First, Some(remembering()), None);
        for _ in 0..2 {
            host.history().unwrap().failed(at(0), PEER.host, 0);
        }
        assert_eq!(host.begin(at(1), PEER, 2, 0), Beginning { lane: 1, long: false });
        for _ in 0..2 {
            host.history().unwrap().failed(at(1), PEER.host, 1);
        }
        assert_eq!(host.begin(at(2), PEER, 2, 0).lane, 0);
    }
}
