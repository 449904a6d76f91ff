//! Round-trip time and retransmission time-out (RFC 6298; `net/ipv4/tcp_input.c` of Linux 6.12).

use headway_units::{Span, Time};

use crate::tcp::profile::{Profile, RtoRule};

/// Smoothed round-trip time, its variation and the smallest sample.
#[derive(Debug, Clone, Copy)]
pub struct RttEstimator {
    srtt: Option<Span>,
    /// RFC 6298: RTTVAR. Linux: the mean deviation.
    variation: Span,
    min: Option<Span>,
    /// The last sample, without the receiver's delay.
    latest: Span,
    rto: Span,
    floor: Span,
    ceiling: Span,
    rule: RtoRule,
    /// Linux: 4·RTTVAR, which follows the largest deviation of a round trip.
    spread: Span,
    /// Linux: the largest 4·deviation of this round trip, at least `floor`.
    largest: Span,
    /// Linux: acknowledged beyond this, a round trip is over.
    round: u64,
}

impl RttEstimator {
    /// Without a sample the time-out is `initial` (§2.1); later it stays within `floor` (§2.4; Linux: 200 ms) and
    /// `ceiling` (§2.5).
    pub fn new(initial: Span, floor: Span, ceiling: Span, rule: RtoRule) -> RttEstimator {
        RttEstimator {
            srtt: None,
            variation: Span::ZERO,
            min: None,
            latest: Span::ZERO,
            rto: initial.min(ceiling),
            floor,
            ceiling,
            rule,
            spread: Span::ZERO,
            largest: Span::ZERO,
            round: 0,
        }
    }

    /// The estimator of a connection's first packet, or with another `initial` time-out.
    pub(crate) fn of(profile: &Profile, initial: Span) -> RttEstimator {
        RttEstimator::new(initial, profile.min_rto, profile.max_rto, profile.rto_rule)
    }

    /// Takes a sample of a segment that was sent once (Karn's rule is the caller's), when everything below `una` is
    /// acknowledged and `nxt` is sent next. `shortest` is what the sample says of the path itself: without the time
    /// that the receiver waited for the last of several segments.
    #[inline]
    pub fn sample(&mut self, rtt: Span, shortest: Span, una: u64, nxt: u64) {
        self.min = Some(self.min.map_or(shortest, |min| min.min(shortest)));
        self.latest = shortest;
        match self.rule {
            RtoRule::Rfc6298 => self.rfc6298(rtt),
            RtoRule::Linux => self.linux(rtt, una, nxt),
        }
    }

    fn rfc6298(&mut self, rtt: Span) {
        let srtt = match self.srtt {
            None => {
                self.variation = rtt / 2; // §2.2
                rtt
            }
            Some(srtt) => {
                // §2.3, with α = 1/8 and β = 1/4; the variation first
                self.variation = (self.variation * 3 + srtt.abs_diff(rtt)) / 4;
                (srtt * 7 + rtt) / 8
            }
        };
        self.srtt = Some(srtt);
        self.rto = (srtt + self.variation * 4).max(self.floor).min(self.ceiling);
    }

    /// `tcp_rtt_estimator`, `__tcp_set_rto`. In its units: `mdev_us` is 4·variation.
    fn linux(&mut self, rtt: Span, una: u64, nxt: u64) {
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.variation = rtt / 2;
                self.spread = (self.variation * 4).max(self.floor);
                self.largest = self.spread;
                self.round = nxt;
            }
            Some(srtt) => {
                // A sample below the mean weighs only an eighth where it would raise the deviation.
                let error = srtt.abs_diff(rtt);
                self.variation = if error <= self.variation {
                    self.variation - (self.variation - error) / 4
                } else if rtt < srtt {
                    self.variation + (error - self.variation) / 32
                } else {
                    self.variation + (error - self.variation) / 4
                };
                self.srtt = Some((srtt * 7 + rtt) / 8);
                let deviation = self.variation * 4;
                if deviation > self.largest {
                    self.largest = deviation;
                    self.spread = self.spread.max(deviation);
                }
                if una > self.round {
                    if self.largest < self.spread {
                        self.spread = self.spread - (self.spread - self.largest) / 4;
                    }
                    self.round = nxt;
                    self.largest = self.floor;
                }
            }
        }
        self.rto = (self.srtt.unwrap_or(rtt) + self.spread).min(self.ceiling);
    }

    /// Doubles the time-out (§5.5).
    pub fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.ceiling);
    }

    /// Takes back what [`back_off`](Self::back_off) did.
    pub fn end_back_off(&mut self) {
        let Some(srtt) = self.srtt else { return };
        let spread = match self.rule {
            RtoRule::Rfc6298 => self.variation * 4,
            RtoRule::Linux => self.spread,
        };
        self.rto = (srtt + spread).max(self.floor).min(self.ceiling);
    }

    /// The time-out now.
    #[inline]
    pub fn rto(&self) -> Span {
        self.rto
    }

    /// The smallest time-out.
    #[inline]
    pub(crate) fn floor(&self) -> Span {
        self.floor
    }

    /// The smoothed round-trip time.
    #[inline]
    pub fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// The last sample, without the receiver's delay; zero before the first.
    #[inline]
    pub fn latest(&self) -> Span {
        self.latest
    }

    /// The smallest sample.
    #[inline]
    pub fn min(&self) -> Option<Span> {
        self.min
    }
}

const MILLISECOND: u64 = 1_000_000_000;

/// Linux' count of milliseconds at the start of a run, modulo the 512 that matter below: kernel hosts boot one second
/// before it, with the counter at −300 s (`INITIAL_JIFFIES`), HZ is 1000.
const JIFFIES_AT_START: u64 = (1 << 20) - 299_000;

/// The millisecond that Linux' timestamps, delayed acknowledgements and timers count, from the start of the run.
#[inline]
pub(crate) fn tick(time: Time) -> u64 {
    time.picos() / MILLISECOND
}

/// `usecs_to_jiffies`: ticks, rounded up.
#[inline]
pub(crate) fn ticks_of(span: Span) -> u64 {
    span.picos().div_ceil(MILLISECOND)
}

/// When a timer that is set at `now` for `after` fires. Exactly then by the RFCs; in Linux at a tick of a millisecond,
/// and the further away the coarser: from 63 ms on at a multiple of 8, from 504 ms on of 64, and so on
/// (`kernel/time/timer.c: calc_wheel_index`).
pub(crate) fn expiry(now: Time, after: Span, rule: RtoRule) -> Time {
    if rule == RtoRule::Rfc6298 {
        return now.saturating_add(after);
    }
    let ticks = tick(now) + JIFFIES_AT_START;
    let delta = ticks_of(after);
    let expires = ticks + delta;
    let mut level = 0;
    while level < 8 && delta >= 63 << (3 * level) {
        level += 1;
    }
    // never early: up to the next multiple
    let fires = ((expires >> (3 * level)) + 1) << (3 * level);
    Time::from_picos((fires - JIFFIES_AT_START).saturating_mul(MILLISECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(floor_ms: u64) -> RttEstimator {
        RttEstimator::new(Span::from_secs(1), Span::from_millis(floor_ms), Span::from_secs(120), RtoRule::Rfc6298)
    }

    /// Equal samples R: RTO = 3R, 2.5R, 2.125R (RFC 6298 §2.2, §2.3: the variation is R/2, then ¾ of it each time).
    #[test]
    fn equal_samples_approach_the_round_trip() {
        let mut rtt = estimator(0);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        let r = Span::from_millis(800);
        for expected_ms in [2400, 2000, 1700] {
            rtt.sample(r, r, 0, 0);
            assert_eq!(rtt.rto(), Span::from_millis(expected_ms));
            assert_eq!(rtt.srtt(), Some(r));
        }
    }

    /// 100 ms, then 180 ms: variation ¾·50 + ¼·80 = 57.5, srtt ⅞·100 + ⅛·180 = 110, RTO 110 + 230 = 340.
    #[test]
    fn a_second_sample_moves_both_averages() {
        let mut rtt = estimator(200);
        rtt.sample(Span::from_millis(100), Span::from_millis(100), 0, 0);
        rtt.sample(Span::from_millis(180), Span::from_millis(180), 0, 0);
        assert_eq!(rtt.srtt(), Some(Span::from_millis(110)));
        assert_eq!(rtt.rto(), Span::from_millis(340));
        assert_eq!(rtt.min(), Some(Span::from_millis(100)));
    }

    #[test]
    fn back_off_doubles_up_to_the_ceiling_and_a_sample_ends_it() {
        let mut rtt = estimator(200);
        rtt.sample(Span::from_millis(1), Span::from_millis(1), 0, 0);
        assert_eq!(rtt.rto(), Span::from_millis(200));
        for expected_ms in [400, 800, 1600] {
            rtt.back_off();
            assert_eq!(rtt.rto(), Span::from_millis(expected_ms));
        }
        for _ in 0..10 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Span::from_secs(120));
        rtt.sample(Span::from_millis(1), Span::from_millis(1), 0, 0);
        assert_eq!(rtt.rto(), Span::from_millis(200));
    }

    /// Linux' time-out is the round trip plus at least the smallest one: 100 ms give 300, where RFC 6298 gives 200.
    /// A single long sample (300 ms) makes mdev 50·3/4 + (300−100)/4 = 87.5 ms: 125 + 4·87.5 = 475 ms; the spread stays
    /// for this round trip and then falls by quarters of the difference.
    #[test]
    fn linux_adds_at_least_the_floor_and_remembers_a_round_trips_largest_deviation() {
        let ms = Span::from_millis;
        let mut rtt = RttEstimator::new(Span::from_secs(1), ms(200), Span::from_secs(120), RtoRule::Linux);
        rtt.sample(ms(100), ms(100), 1, 10);
        assert_eq!(rtt.rto(), ms(300));
        rtt.sample(ms(300), ms(300), 2, 10);
        assert_eq!(rtt.srtt(), Some(ms(125)));
        assert_eq!(rtt.rto(), ms(475));
        rtt.sample(ms(125), ms(125), 11, 20); // the round ends: nothing to forget yet, its largest is the spread
        assert_eq!(rtt.rto(), ms(475));
        rtt.sample(ms(125), ms(125), 21, 30); // mdev ¾·¾·87.5: 4·49.2 < 200 ms; spread 350 − (350 − 200)/4
        assert_eq!(rtt.rto(), ms(125) + Span::from_micros(312_500));
    }

    /// `calc_wheel_index`: 200 ms belong to level 1, whose grain is 8 ms; the count at time zero is 8 modulo 64.
    #[test]
    fn linux_timers_fire_at_the_grain_of_their_level() {
        let at = |now_us: u64, after_ms: u64| {
            expiry(Time::ZERO + Span::from_micros(now_us), Span::from_millis(after_ms), RtoRule::Linux)
        };
        let ms = |n: u64| Time::ZERO + Span::from_millis(n);
        assert_eq!(JIFFIES_AT_START % 64, 8);
        assert_eq!(at(0, 40), ms(41));
        assert_eq!(at(900, 40), ms(41)); // the tick in which it is set
        assert_eq!(at(0, 200), ms(208));
        assert_eq!(at(7_500, 200), ms(208)); // 207, up to the next multiple of 8
        assert_eq!(at(8_000, 200), ms(216));
        assert_eq!(at(0, 1000), ms(1016)); // 1008 in its count, up to 1024
    }
}
