//! BBR's model of the path: rate, bandwidth-delay product, aggregation.

use super::policer::{Tally, Verdict};
use super::{BW_UNIT, Bbr, EXTRA_ROUNDS, INITIAL, MAX_EPOCH, MAX_EXTRA_US, Mode, Sample, UNIT};

impl Bbr {
    /// The rate that counts, in segments per µs times 2²⁴.
    pub(super) fn rate(&self) -> u64 {
        self.policer.rate().unwrap_or(self.bw.get())
    }

    /// Segments in a bandwidth-delay product times `gain`, rounded up.
    pub(super) fn bdp(&self, bw: u64, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt else { return INITIAL };
        let scaled = (u128::from(bw) * u128::from(min_rtt) * u128::from(gain)) >> 8;
        scaled.div_ceil(u128::from(BW_UNIT)) as u64
    }

    /// The segments in one burst that hosts with segmentation offload send (`bbr_tso_segs_goal`): what the pace
    /// makes in about 1 ms, at most 64 KiB less the headers.
    pub(super) fn burst(&self) -> u64 {
        const MOST: u64 = 65_536 - 1 - 320;
        let least = if self.pacing < 1_200_000 / 8 { 1 } else { 2 };
        ((self.pacing >> 10).min(MOST) / self.mss).max(least).min(0x7F)
    }

    /// Room for bursts on both hosts, an even number, and some more when probing (`bbr_quantization_budget`).
    pub(super) fn quantised(&self, cwnd: u64) -> u64 {
        let cwnd = (cwnd + 3 * self.burst() + 1) & !1;
        if self.mode == Mode::ProbeBw && self.phase == 0 { cwnd + 2 } else { cwnd }
    }

    pub(super) fn inflight(&self, gain: u64) -> u64 {
        self.quantised(self.bdp(self.bw.get(), gain))
    }

    /// Of `flight` segments those still in the network when the next one may leave.
    pub(super) fn in_network(&self, flight: u64, wait_us: u64) -> u64 {
        let burst = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        let arrived = (u128::from(self.rate()) * u128::from(wait_us)) >> 24;
        (flight + burst).saturating_sub(arrived as u64)
    }

    pub(super) fn update_bw(&mut self, s: &Sample) {
        self.round_start = false;
        let (Some(delivered), Some(interval)) = (s.delivered, s.interval) else { return };
        if s.before >= self.round_end {
            self.round_end = s.total;
            self.round += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.watch_policer(s.lost > 0, s.app_limited);
        let bw = delivered * BW_UNIT / interval;
        // What the application limited tells of the path only if it is more than was known.
        if !s.app_limited || bw >= self.bw.get() {
            self.bw.update(self.settings.bw_rounds, self.round, bw);
        }
    }

    pub(super) fn watch_policer(&mut self, loss: bool, app_limited: bool) {
        let verdict = self.policer.update(&Tally {
            round_start: self.round_start,
            loss,
            app_limited,
            probing: self.mode == Mode::ProbeBw,
            totals: self.totals,
            mss: self.mss,
        });
        match verdict {
            Verdict::Unchanged => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::Resume => self.probe_bw(),
        }
    }

    /// `bbr_update_ack_aggregation`.
    pub(super) fn update_extra(&mut self, s: &Sample, cwnd: u64) {
        if s.acked == 0 || s.delivered.is_none() || s.interval.is_none() {
            return;
        }
        let (rate, now) = (self.rate(), self.totals.at_us);
        let extra = &mut self.extra;
        if self.round_start {
            extra.rounds += 1;
            if extra.rounds >= EXTRA_ROUNDS {
                extra.rounds = 0;
                extra.current = 1 - extra.current;
                extra.most[extra.current] = 0;
            }
        }
        let elapsed = now.saturating_sub(extra.epoch_us);
        let mut expected = ((u128::from(rate) * u128::from(elapsed)) >> 24) as u64;
        if extra.epoch_acked <= expected || extra.epoch_acked + s.acked >= MAX_EPOCH {
            extra.epoch_acked = 0;
            extra.epoch_us = now;
            expected = 0;
        }
        extra.epoch_acked = (extra.epoch_acked + s.acked).min(MAX_EPOCH - 1);
        let most = &mut extra.most[extra.current];
        *most = (*most).max((extra.epoch_acked - expected).min(cwnd));
    }

    /// What is added to the window for acknowledgements that come in bunches.
    pub(super) fn aggregation(&self) -> u64 {
        if !self.full {
            return 0;
        }
        let most = (u128::from(self.rate()) * u128::from(MAX_EXTRA_US)) >> 24;
        self.extra.most[0].max(self.extra.most[1]).min(most as u64)
    }
}
