//! The long-term bandwidth of BBR: whether a token-bucket policer limits the path, and to what rate
//! (`net/ipv4/tcp_bbr.c: bbr_lt_bw_sampling`; Flach et al., An Internet-Wide Analysis of Traffic Policing,
//! SIGCOMM 2016).
//!
//! Two successive intervals of 4 to 16 rounds, each from one loss to another, with at least 20 % loss (50/256)
//! and nearly the same delivery rate: then that rate is used for 48 rounds.

use super::{BW_UNIT, UNIT, bytes_per_second};

/// Rounds in an interval at least; at most four times as many.
const ROUNDS: u32 = 4;
/// An interval is lossy from this ratio on, in 1/256.
const LOSS: u64 = 50;
/// Rounds for which the policed rate is used.
const USE_ROUNDS: u32 = 48;
/// Rates that differ by no more than this, in bytes per second, are the same.
const SAME: u64 = 4000 / 8;

/// What there is to know at an acknowledgement.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "what was seen, not a state: each may be so or not")]
pub(super) struct Tally {
    pub(super) round_start: bool,
    /// Segments were found lost by this acknowledgement.
    pub(super) loss: bool,
    pub(super) app_limited: bool,
    pub(super) probing: bool,
    pub(super) totals: Totals,
    pub(super) mss: u64,
}

/// Segments delivered and lost since the connection began, and when the last was delivered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) delivered: u64,
    pub(super) lost: u64,
    pub(super) at_us: u64,
}

/// What follows for the rest of BBR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing new.
    Unchanged,
    /// There is a policer: its rate counts from now on.
    Policed,
    /// The rate was used long enough: probe again.
    Resume,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Policer {
    /// Delivery rate of the last interval, or the policed rate.
    bw: u64,
    active: bool,
    sampling: bool,
    rounds: u32,
    start: Totals,
}

impl Policer {
    /// The policed rate in segments per µs << 24, while it counts.
    pub(super) fn rate(&self) -> Option<u64> {
        self.active.then_some(self.bw)
    }

    pub(super) fn reset(&mut self, totals: Totals) {
        *self = Policer { start: totals, ..Policer::default() };
    }

    fn restart(&mut self, totals: Totals) {
        self.start = totals;
        self.rounds = 0;
    }

    pub(super) fn update(&mut self, tally: &Tally) -> Verdict {
        if self.active {
            if tally.probing && tally.round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS {
                    self.reset(tally.totals);
                    return Verdict::Resume;
                }
            }
            return Verdict::Unchanged;
        }
        // The first loss shows that the tokens are gone; a sample from before it would hold the burst they allowed.
        if !self.sampling {
            if !tally.loss {
                return Verdict::Unchanged;
            }
            self.restart(tally.totals);
            self.sampling = true;
        }
        if tally.app_limited {
            self.reset(tally.totals);
            return Verdict::Unchanged;
        }
        self.rounds += u32::from(tally.round_start);
        if self.rounds < ROUNDS {
            return Verdict::Unchanged;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(tally.totals);
            return Verdict::Unchanged;
        }
        // An interval also ends with a loss, when the tokens are gone again.
        if tally.loss { self.end(tally) } else { Verdict::Unchanged }
    }

    fn end(&mut self, tally: &Tally) -> Verdict {
        let lost = tally.totals.lost - self.start.lost;
        let delivered = tally.totals.delivered - self.start.delivered;
        if delivered == 0 || lost * UNIT < LOSS * delivered {
            return Verdict::Unchanged;
        }
        // Whole milliseconds, as Linux takes them.
        let ms = (tally.totals.at_us / 1000).saturating_sub(self.start.at_us / 1000);
        if ms == 0 {
            return Verdict::Unchanged;
        }
        if ms >= u64::from(u32::MAX) / 1000 {
            self.reset(tally.totals);
            return Verdict::Unchanged;
        }
        let bw = delivered * BW_UNIT / (ms * 1000);
        if self.bw > 0 {
            let diff = bw.abs_diff(self.bw);
            if diff * UNIT <= UNIT / 8 * self.bw || bytes_per_second(diff, UNIT, tally.mss) <= SAME {
                self.bw = self.bw.midpoint(bw);
                self.active = true;
                self.rounds = 0;
                return Verdict::Policed;
            }
        }
        self.bw = bw;
        self.restart(tally.totals);
        Verdict::Unchanged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rounds` rounds of 100 ms, each of 10 segments delivered and `lost` lost.
    fn run(policer: &mut Policer, totals: &mut Totals, rounds: u32, lost: u64) -> Verdict {
        let mut verdict = Verdict::Unchanged;
        for _ in 0..rounds {
            totals.at_us += 100_000;
            totals.delivered += 10;
            totals.lost += lost;
            let tally = Tally {
                round_start: true,
                loss: lost > 0,
                app_limited: false,
                probing: true,
                totals: *totals,
                mss: 1000,
            };
            verdict = policer.update(&tally);
            if verdict != Verdict::Unchanged {
                break;
            }
        }
        verdict
    }

    /// 100 segments/s with 2 lost for 10 delivered (51/256 ≥ 50/256). The first loss starts the first interval and
    /// counts as its first round, so it ends after 4 rounds: 30 segments in 300 ms; the second likewise 40 in 400 ms.
    /// Both are 100 segments/s = 2²⁴/10⁴ = 1677 in units.
    #[test]
    fn two_lossy_intervals_of_one_rate_show_a_policer() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        assert_eq!(run(&mut policer, &mut totals, 100, 2), Verdict::Policed);
        assert_eq!(totals.at_us, 800_000);
        assert_eq!(policer.rate(), Some(1677));
        // used for 48 rounds of probing
        assert_eq!(run(&mut policer, &mut totals, 47, 2), Verdict::Unchanged);
        assert_eq!(run(&mut policer, &mut totals, 1, 2), Verdict::Resume);
        assert_eq!(policer.rate(), None);
    }

    /// 1 lost for 10 delivered is 25.6/256: congestion, not a policer, however long it lasts.
    #[test]
    fn ten_per_cent_loss_shows_none() {
        let (mut policer, mut totals) = (Policer::default(), Totals::default());
        assert_eq!(run(&mut policer, &mut totals, 1000, 1), Verdict::Unchanged);
        assert_eq!(policer.rate(), None);
    }
}
