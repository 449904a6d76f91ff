//! Leaving slow start before there is loss, for any control: HyStart as in Linux' CUBIC, and HyStart++ (RFC 9406).
//!
//! Leaves out: nothing of `net/ipv4/tcp_cubic.c: hystart_update`, and of RFC 9406 the advice for a slow start that
//! is not the connection's first, where it is not used (§4.3).

use headway_units::Span;

use super::{Ack, Credit, Window, linux};

/// Settings of Linux' HyStart, by the names of the module's parameters.
#[derive(Debug, Clone)]
pub(super) struct Detection {
    /// 1: acknowledgement trains, 2: delay, 3: both (`hystart_detect`).
    pub detect: u8,
    /// The smallest window at which it acts, segments (`hystart_low_window`).
    pub low_window: u64,
    /// Acknowledgements at most this far apart are a train, microseconds (`hystart_ack_delta_us`).
    pub ack_delta: u64,
    /// The most bytes handed to the card at once (`sk_gso_max_size`); 0: a segment at a time.
    pub gso: u64,
    /// Whether the sender paces: a train then may take the whole round trip.
    pub paced: bool,
}

/// Delay samples of a round before they count (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u8 = 8;
/// Bounds of the delay that ends slow start, microseconds (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY: (u64, u64) = (4_000, 16_000);

/// HyStart of Ha and Rhee (2008) with Linux' changes.
#[derive(Debug, Clone)]
pub(super) struct HyStart {
    found: bool,
    samples: u8,
    /// Microseconds.
    round_start: u64,
    last_ack: u64,
    least_rtt: u64,
    /// The position that ends the round; `None`: what is next to be sent when the next acknowledgement arrives.
    round_end: Option<u64>,
}

impl Default for HyStart {
    /// A round that ends with the first acknowledgement, as after `cubictcp_init`.
    fn default() -> Self {
        HyStart { found: false, samples: 0, round_start: 0, last_ack: 0, least_rtt: u64::MAX, round_end: Some(0) }
    }
}

impl HyStart {
    /// Starts over at `now` microseconds: `bictcp_reset` and `bictcp_hystart_reset` after a time-out.
    pub fn restart(&mut self, now: u64) {
        *self = HyStart { round_start: now, last_ack: now, round_end: None, ..HyStart::default() };
    }

    /// A round-trip time of `rtt` microseconds in slow start, `least` the smallest so far: `hystart_update`.
    /// Sets ssthresh where slow start is to end.
    pub fn observe(&mut self, rtt: u64, least: u64, ack: &Ack<'_>, window: &mut Window, settings: &Detection) {
        if self.found {
            return;
        }
        let now = linux::clock(ack.now);
        let end = *self.round_end.get_or_insert(ack.nxt);
        if ack.una > end {
            self.round_start = now;
            self.last_ack = now;
            self.round_end = Some(ack.nxt);
            self.least_rtt = u64::MAX;
            self.samples = 0;
        }
        if window.segments() < settings.low_window {
            return;
        }
        if settings.detect & 1 != 0 && now - self.last_ack <= settings.ack_delta {
            self.last_ack = now;
            let mut threshold = least + settings.ack_delay(ack, window);
            if !settings.paced {
                threshold /= 2;
            }
            self.found |= now - self.round_start > threshold;
        }
        if settings.detect & 2 != 0 {
            self.least_rtt = self.least_rtt.min(rtt);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else {
                self.found |= self.least_rtt > least + (least >> 3).clamp(DELAY.0, DELAY.1);
            }
        }
        if self.found {
            window.ssthresh = window.bytes(window.segments());
        }
    }
}

impl Detection {
    /// How long the largest burst may keep acknowledgements back, microseconds: `hystart_ack_delay`, with the rate
    /// that `net/ipv4/tcp_input.c: tcp_update_pacing_rate` keeps even where nothing is paced.
    fn ack_delay(&self, ack: &Ack<'_>, window: &Window) -> u64 {
        let Some(srtt) = ack.srtt.map(linux::micros).filter(|&srtt| srtt > 0) else { return 0 };
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let rate = u128::from(window.cwnd) * percent * 10_000 / u128::from(srtt);
        (u128::from(self.gso) * 4_000_000).checked_div(rate).map_or(0, |delay| delay.min(1_000) as u64)
    }
}

/// Constants of RFC 9406 §4.3.
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
const L: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Standard,
    /// Conservative slow start: the least delay at which it began, and the rounds since, the first of them partial.
    Conservative {
        baseline: Span,
        rounds: u32,
    },
    Done,
}

/// HyStart++ (RFC 9406): a delay that grows from round to round makes slow start conservative, and ends it if that
/// lasts for five rounds.
#[derive(Debug, Clone)]
pub(super) struct HyStartPlus {
    phase: Phase,
    round_end: Option<u64>,
    /// The least round trip of the last round and of this one.
    last: Option<Span>,
    least: Option<Span>,
    samples: u32,
    credit: Credit,
}

impl Default for HyStartPlus {
    fn default() -> Self {
        let credit = Credit::default();
        HyStartPlus { phase: Phase::Standard, round_end: None, last: None, least: None, samples: 0, credit }
    }
}

impl HyStartPlus {
    /// Congestion was found: "enter congestion avoidance" (§4.2).
    pub fn finish(&mut self) {
        self.phase = Phase::Done;
    }

    /// Growth in slow start by `acked` bytes (§4.2: cwnd += min(N, L·SMSS), a quarter of that in conservative slow
    /// start, in whole segments). Without pacing L is 8. Returns what slow start leaves over.
    pub fn grow(&mut self, acked: u64, paced: bool, window: &mut Window) -> u64 {
        let limit = if paced { u32::MAX } else { L };
        if let Phase::Conservative { .. } = self.phase {
            let per = window.bytes(CSS_GROWTH_DIVISOR);
            self.credit.grow(window, per, acked.min(window.bytes(u64::from(limit))));
            return 0;
        }
        let own = std::mem::replace(&mut window.growth_limit, limit);
        let remaining = window.slow_start(acked);
        window.growth_limit = own;
        remaining
    }

    /// An acknowledgement in slow start. Sets ssthresh where slow start is to end. The growth by this
    /// acknowledgement comes after; the RFC's text has it before.
    pub fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if self.phase == Phase::Done {
            return;
        }
        if let Some(rtt) = ack.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        if let Some(least) = self.least.filter(|_| self.samples >= N_RTT_SAMPLE) {
            match (self.phase, self.last) {
                (Phase::Standard, Some(last)) => {
                    let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                    if least >= last + threshold {
                        self.phase = Phase::Conservative { baseline: least, rounds: 0 };
                        self.credit.clear();
                    }
                }
                (Phase::Conservative { baseline, .. }, _) if least < baseline => self.phase = Phase::Standard,
                _ => {}
            }
        }
        let end = *self.round_end.get_or_insert(ack.nxt);
        if ack.una >= end {
            self.next_round(ack.nxt, window);
        }
    }

    fn next_round(&mut self, end: u64, window: &mut Window) {
        self.round_end = Some(end);
        self.last = self.least.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
                self.phase = Phase::Done;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Time;

    use super::*;

    const MSS: u64 = 1000;
    const MS: u64 = 1000;

    fn detection(detect: u8) -> Detection {
        Detection { detect, low_window: 16, ack_delta: 2_000, gso: 0, paced: false }
    }

    fn window(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: u64::MAX, mss: 1000, growth_limit: 1 }
    }

    /// An acknowledgement of one segment at `us` microseconds; the round ends at position `nxt`.
    fn ack(us: u64, una: u64, nxt: u64, rtt_us: u64) -> Ack<'static> {
        let rtt = Some(Span::from_micros(rtt_us));
        Ack { una, nxt, rtt, srtt: rtt, ..Ack::of(Time::ZERO + Span::from_micros(us), MSS) }
    }

    /// A train of acknowledgements 1 ms apart reaches half of the least round trip, 20 ms, after more than 10 ms.
    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        for (paced, last) in [(false, 11), (true, 21)] {
            let (mut hystart, mut window) = (HyStart::default(), window(16));
            let settings = Detection { paced, ..detection(1) };
            for ms in 0..=last {
                assert_eq!(window.ssthresh, u64::MAX, "{ms}");
                let ack = ack((100 + ms) * MS, (ms + 1) * MSS, 1_000_000, 20 * MS);
                hystart.observe(20 * MS, 20 * MS, &ack, &mut window, &settings);
            }
            assert_eq!(window.ssthresh, 16 * MSS);
        }
    }

    /// The same train with a gap of more than 2 ms is none.
    #[test]
    fn a_gap_breaks_a_train() {
        let (mut hystart, mut window) = (HyStart::default(), window(16));
        for ms in 0..30 {
            let late = if ms > 5 { 3 } else { 0 };
            let ack = ack((100 + ms + late) * MS, (ms + 1) * MSS, 1_000_000, 20 * MS);
            hystart.observe(20 * MS, 20 * MS, &ack, &mut window, &detection(1));
        }
        assert_eq!(window.ssthresh, u64::MAX);
    }

    /// The burst that the card may make out of 64 KiB delays a train by 4 · 65536 B / rate, at most 1 ms: 16 segments
    /// in 1 ms are 16 MB/s, twice that 32 MB/s, and the delay 8.2 ms, so 1 ms; 1000 segments 0.131 ms.
    #[test]
    fn the_delay_by_segmentation_offload() {
        let settings = Detection { gso: 65_536, ..detection(1) };
        assert_eq!(settings.ack_delay(&ack(0, 0, 0, MS), &window(16)), 1_000);
        assert_eq!(settings.ack_delay(&ack(0, 0, 0, MS), &window(1000)), 131);
        assert_eq!(detection(1).ack_delay(&ack(0, 0, 0, MS), &window(1000)), 0);
    }

    /// With a least round trip of 40 ms a round of more than 40 + 5 ms ends slow start, at its ninth sample; with
    /// 10 ms it takes more than 4 ms more, with 400 ms more than 16.
    #[test]
    fn a_longer_round_trip_ends_slow_start_at_the_ninth_sample() {
        for (least, threshold) in [(40, 5), (10, 4), (400, 16)] {
            for over in [0, 1] {
                let (mut hystart, mut window) = (HyStart::default(), window(16));
                let rtt = (least + threshold) * MS + over;
                for n in 1..=9 {
                    assert_eq!(window.ssthresh, u64::MAX);
                    let ack = ack(n * 10 * MS, n * MSS, 1_000_000, rtt);
                    hystart.observe(rtt, least * MS, &ack, &mut window, &detection(2));
                }
                assert_eq!(window.ssthresh, if over == 1 { 16 * MSS } else { u64::MAX }, "{least}");
            }
        }
    }

    #[test]
    fn small_windows_are_left_alone() {
        let (mut hystart, mut window) = (HyStart::default(), window(15));
        for n in 1..=40 {
            hystart.observe(90 * MS, 10 * MS, &ack(n * MS, n * MSS, 1_000_000, 90 * MS), &mut window, &detection(3));
        }
        assert_eq!(window.ssthresh, u64::MAX);
    }

    /// Rounds of ten acknowledgements, each with its round-trip time in milliseconds.
    fn rounds(plus: &mut HyStartPlus, window: &mut Window, from: &mut u64, rtts_ms: &[u64]) {
        for &rtt in rtts_ms {
            let end = *from + 10 * MSS;
            for _ in 0..10 {
                *from += MSS;
                // What is next to be sent when a round ends is the next round's end.
                let nxt = if *from == end { end + 10 * MSS } else { end };
                plus.observe(&ack(0, *from, nxt, rtt * MS), window);
                plus.grow(MSS, false, window);
            }
        }
    }

    /// RFC 9406 §4.2: at 40 ms the threshold is 5 ms. A round of 44 ms changes nothing (and becomes the last round:
    /// then 49.5 ms would be needed), one of 50 ms makes slow start conservative at its eighth sample, so it grows
    /// by the seven before and then by a quarter; the fifth round's end sets ssthresh.
    #[test]
    fn hystart_plus_slows_down_and_ends_after_five_rounds() {
        let (mut plus, mut w, mut una) = (HyStartPlus::default(), window(10), 0);
        rounds(&mut plus, &mut w, &mut una, &[40, 44]);
        assert_eq!((w.segments(), plus.phase), (30, Phase::Standard));
        rounds(&mut plus, &mut w, &mut una, &[50]);
        // 7 standard, 3 conservative; this partial round is the first of the five.
        assert_eq!(w.segments(), 37);
        assert_eq!(plus.phase, Phase::Conservative { baseline: Span::from_millis(50), rounds: 1 });
        rounds(&mut plus, &mut w, &mut una, &[50, 50, 50]);
        assert_eq!(w.segments(), 37 + 33 / 4);
        assert!(w.in_slow_start());
        rounds(&mut plus, &mut w, &mut una, &[50]);
        // The last acknowledgement of the round sets ssthresh before it would grow the window.
        assert_eq!((w.ssthresh / MSS, plus.phase), (37 + 42 / 4, Phase::Done));
    }

    /// §4.2: if the delay falls below the baseline the increase was none, and slow start is resumed.
    #[test]
    fn hystart_plus_resumes_when_the_delay_was_jitter() {
        let (mut plus, mut w, mut una) = (HyStartPlus::default(), window(10), 0);
        rounds(&mut plus, &mut w, &mut una, &[40, 60]);
        assert!(matches!(plus.phase, Phase::Conservative { .. }));
        rounds(&mut plus, &mut w, &mut una, &[41]);
        assert_eq!(plus.phase, Phase::Standard);
        assert_eq!(w.ssthresh, u64::MAX);
    }

    /// §4.3: L = 8 without pacing, no limit with it.
    #[test]
    fn hystart_plus_limits_bursts() {
        let (mut plain, mut paced) = (window(10), window(10));
        HyStartPlus::default().grow(20 * MSS, false, &mut plain);
        HyStartPlus::default().grow(20 * MSS, true, &mut paced);
        assert_eq!((plain.segments(), paced.segments()), (18, 30));
        assert_eq!(plain.growth_limit, 1);
    }
}
