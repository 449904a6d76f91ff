//! What a host remembers of its earlier connections, for the choice before the first packet.
//!
//! The thesis names it as open (§7): every connection starts on the first SL, because nothing is known of a path before
//! its first round trip. But a host talks to the same few hosts all the time. [`History`] keeps, per destination and
//! lane, the queueing delay that its connections measured and the smallest RTT, and per destination and service how many
//! of the connections turned out long. All of it fades with a half-life: what was seen long ago is no reason.
//!
//! What is left out: sharing among hosts (the paths of two hosts of a rack are mostly the same), and the far end's view.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use headway_units::{Span, Time};

use super::MAX_SUBFLOWS;

/// Who a connection goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// The host: an address, or any number that stands for it.
    pub host: u64,
    /// What of it: the destination port, or any number that stands for a service.
    pub service: u16,
}

/// A parameter of [`History`] out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryError {
    /// The half-life is zero: everything would be forgotten at once.
    HalfLife,
    /// The capacity is zero.
    Capacity,
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HistoryError::HalfLife => "the half-life must be longer than zero",
            HistoryError::Capacity => "the capacity must be at least 1",
        })
    }
}

impl Error for HistoryError {}

/// A number that halves every half-life.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Fading {
    value: f64,
    at: Time,
}

impl Fading {
    fn get(&self, now: Time, half_life: Span) -> f64 {
        let lives = now.since(self.at.min(now)).picos() as f64 / half_life.picos() as f64;
        self.value * libm::exp2(-lives)
    }

    fn set(&mut self, now: Time, value: f64) {
        (self.value, self.at) = (value, self.at.max(now));
    }
}

/// What is known of one lane to one host.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Lane {
    /// Queueing delay, ps.
    delay: Fading,
    /// The smallest RTT and when it was seen; `None` before the first.
    base: Option<(Span, Time)>,
    /// Time-outs lately without a sample since.
    failed: Fading,
}

/// What is known of one service of one host.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Outcomes {
    long: Fading,
    short: Fading,
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Remembered<T> {
    latest: Time,
    of: T,
}

/// The memory of one host. Bounded: at `capacity` destinations (and as many services) the one not heard of for longest
/// is forgotten for a new one.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    half_life: Span,
    capacity: usize,
    lanes: BTreeMap<u64, Remembered<[Lane; MAX_SUBFLOWS]>>,
    outcomes: BTreeMap<Peer, Remembered<Outcomes>>,
}

impl History {
    /// A smallest RTT older than this gives way to any new sample, as in BBR (draft-cardwell-iccrg-bbr-02 §4.1.1.3): the path may
    /// have changed.
    pub const BASE_AGE: Span = Span::from_secs(10);

    /// An empty memory.
    ///
    /// # Errors
    /// A half-life or a capacity of zero.
    pub fn new(half_life: Span, capacity: usize) -> Result<History, HistoryError> {
        if half_life.is_zero() {
            return Err(HistoryError::HalfLife);
        }
        if capacity == 0 {
            return Err(HistoryError::Capacity);
        }
        Ok(History { half_life, capacity, lanes: BTreeMap::new(), outcomes: BTreeMap::new() })
    }

    /// A connection to `host` measured `srtt` on `lane` (its interface's number), and so learns the smallest RTT that
    /// any connection saw there: its own first samples, taken behind a queue, are no measure of the empty path.
    /// Lanes past [`MAX_SUBFLOWS`] are not remembered.
    pub fn measured(&mut self, now: Time, host: u64, lane: usize, srtt: Span) -> Option<Span> {
        let half_life = self.half_life;
        let lane = self.lane(now, host, lane)?;
        let base = match lane.base {
            Some((base, when)) if base <= srtt && now.since(when.min(now)) < Self::BASE_AGE => base,
            _ => {
                lane.base = Some((srtt, now));
                srtt
            }
        };
        let before = lane.delay.get(now, half_life);
        let delay = srtt.saturating_sub(base).picos() as f64;
        lane.delay.set(now, before + (delay - before) / 4.0);
        lane.failed.set(now, 0.0);
        Some(base)
    }

    /// A connection to `host` timed out on `lane`.
    pub fn failed(&mut self, now: Time, host: u64, lane: usize) {
        let half_life = self.half_life;
        if let Some(lane) = self.lane(now, host, lane) {
            lane.failed.set(now, lane.failed.get(now, half_life) + 1.0);
        }
    }

    /// `lane` of this host is known to work again: its time-outs before say nothing any more, whoever they were to.
    pub fn forgive(&mut self, lane: usize) {
        for known in self.lanes.values_mut() {
            if let Some(lane) = known.of.get_mut(lane) {
                lane.failed = Fading::default();
            }
        }
    }

    /// A connection to `peer` turned out long, or ended short.
    pub fn ended(&mut self, now: Time, peer: Peer, long: bool) {
        let half_life = self.half_life;
        let outcomes = remembered(&mut self.outcomes, peer, now, self.capacity);
        let count = if long { &mut outcomes.long } else { &mut outcomes.short };
        count.set(now, count.get(now, half_life) + 1.0);
    }

    /// The queueing delay to expect on `lane` to `host`: zero where nothing is known.
    pub fn delay(&self, now: Time, host: u64, lane: usize) -> Span {
        let known = self.lanes.get(&host).and_then(|known| known.of.get(lane));
        let picos = known.map_or(0.0, |lane| lane.delay.get(now, self.half_life));
        // saturates at the longest span
        Span::from_picos(picos as u64)
    }

    /// Whether `lane` to `host` timed out twice within about a half-life and nothing has come back over it since. Once is
    /// what congestion does.
    pub fn is_down(&self, now: Time, host: u64, lane: usize) -> bool {
        let known = self.lanes.get(&host).and_then(|known| known.of.get(lane));
        known.is_some_and(|lane| lane.failed.get(now, self.half_life) > 1.25)
    }

    /// The share of long ones among the connections to `peer`, recent ones counting more; `None` without the weight of a
    /// whole one.
    pub fn long_share(&self, now: Time, peer: Peer) -> Option<f64> {
        let outcomes = &self.outcomes.get(&peer)?.of;
        let [long, short] = [outcomes.long, outcomes.short].map(|count| count.get(now, self.half_life));
        (long + short >= 1.0).then(|| long / (long + short))
    }

    fn lane(&mut self, now: Time, host: u64, lane: usize) -> Option<&mut Lane> {
        if lane >= MAX_SUBFLOWS {
            return None;
        }
        Some(&mut remembered(&mut self.lanes, host, now, self.capacity)[lane])
    }
}

/// The entry of `key`, which is new if need be.
fn remembered<K: Ord + Copy, T: Default>(
    map: &mut BTreeMap<K, Remembered<T>>,
    key: K,
    now: Time,
    capacity: usize,
) -> &mut T {
    if !map.contains_key(&key)
        && map.len() >= capacity
        && let Some(oldest) = map.iter().min_by_key(|(_, known)| known.latest).map(|(&key, _)| key)
    {
        map.remove(&oldest);
    }
    let known = map.entry(key).or_default();
    known.latest = known.latest.max(now);
    &mut known.of
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: u64 = 7;
    const PEER: Peer = Peer { host: HOST, service: 80 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ms(n: u64) -> Span {
        Span::from_millis(n)
    }

    fn history() -> History {
        History::new(Span::from_secs(1), 2).unwrap()
    }

    #[test]
    fn delays_are_smoothed_by_a_quarter_and_halve_with_time() {
        let mut history = history();
        assert_eq!(history.measured(at(0), HOST, 0, ms(2)), Some(ms(2)));
        // 4 ms above the smallest: ¼ of it
        assert_eq!(history.measured(at(0), HOST, 0, ms(6)), Some(ms(2)));
        assert_eq!(history.delay(at(0), HOST, 0), ms(1));
        assert_eq!(history.delay(at(1000), HOST, 0), Span::from_micros(500));
        assert_eq!(history.delay(at(1000), HOST, 1), Span::ZERO, "another lane");
        assert_eq!(history.delay(at(1000), 8, 0), Span::ZERO, "another host");
        // after a second 0.5 ms is left; 8 ms above the smallest: 0.5 + (8 − 0.5)/4
        let _ = history.measured(at(1000), HOST, 0, ms(10));
        assert_eq!(history.delay(at(1000), HOST, 0), Span::from_micros(2375));
    }

    #[test]
    fn a_new_connection_learns_the_empty_path_and_an_old_minimum_expires() {
        let mut history = history();
        let _ = history.measured(at(0), HOST, 0, ms(2));
        assert_eq!(history.measured(at(9_999), HOST, 0, ms(12)), Some(ms(2)));
        assert_eq!(history.measured(at(10_000), HOST, 0, ms(12)), Some(ms(12)));
    }

    #[test]
    fn shares_need_the_weight_of_one_connection_and_recent_ones_count_more() {
        let mut history = history();
        assert_eq!(history.long_share(at(0), PEER), None);
        history.ended(at(0), PEER, true);
        assert_eq!(history.long_share(at(0), PEER), Some(1.0));
        assert_eq!(history.long_share(at(1), PEER), None, "faded below one");
        // a second later the long one weighs ½: ½ of 1½
        history.ended(at(1000), PEER, false);
        assert_eq!(history.long_share(at(1000), PEER), Some(0.5 / 1.5));
        assert_eq!(history.long_share(at(1000), Peer { service: 81, ..PEER }), None, "another service");
    }

    #[test]
    fn a_lane_that_timed_out_twice_is_down_until_it_is_heard_of_or_time_has_passed() {
        let mut history = history();
        history.failed(at(0), HOST, 1);
        assert!(!history.is_down(at(0), HOST, 1), "once is congestion");
        // after 400 ms, as after a first time-out of 200 ms: 0.76 + 1, and 1.25 half a life later
        history.failed(at(400), HOST, 1);
        assert!(history.is_down(at(890), HOST, 1) && !history.is_down(at(890), HOST, 0));
        assert!(!history.is_down(at(893), HOST, 1));
        for _ in 0..2 {
            history.failed(at(2000), HOST, 1);
        }
        assert!(history.is_down(at(2000), HOST, 1));
        let _ = history.measured(at(2001), HOST, 1, ms(2));
        assert!(!history.is_down(at(2001), HOST, 1));
    }

    #[test]
    fn a_lane_that_is_up_again_is_forgiven() {
        let mut history = history();
        for lane in [0, 0, 1, 1] {
            history.failed(at(0), HOST, lane);
        }
        history.forgive(1);
        assert!(history.is_down(at(0), HOST, 0) && !history.is_down(at(0), HOST, 1));
        history.forgive(MAX_SUBFLOWS);
    }

    #[test]
    fn the_host_not_heard_of_for_longest_is_forgotten() {
        let mut history = history();
        for (time, host) in [(0, 1), (1, 2), (2, 1), (3, 3)] {
            let _ = history.measured(at(time), host, 0, ms(2));
            let _ = history.measured(at(time), host, 0, ms(6));
        }
        assert!(history.delay(at(3), 1, 0) > Span::ZERO && history.delay(at(3), 3, 0) > Span::ZERO);
        assert_eq!(history.delay(at(3), 2, 0), Span::ZERO);
        assert_eq!(history.lanes.len(), 2);
    }

    #[test]
    fn lanes_past_the_last_are_not_remembered() {
        let mut history = history();
        assert_eq!(history.measured(at(0), HOST, MAX_SUBFLOWS, ms(2)), None);
        history.failed(at(0), HOST, usize::MAX);
        assert!(!history.is_down(at(0), HOST, usize::MAX));
    }

    #[test]
    fn a_memory_without_time_or_place_is_refused() {
        assert_eq!(History::new(Span::ZERO, 1), Err(HistoryError::HalfLife));
        assert_eq!(History::new(ms(1), 0), Err(HistoryError::Capacity));
    }
}
