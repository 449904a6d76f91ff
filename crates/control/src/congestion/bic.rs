//! BIC (Xu, Harfoush and Rhee, INFOCOM 2004), as Linux has it (`net/ipv4/tcp_bic.c`).
//!
//! The window searches for the last maximum by halves (here: quarters) of what is missing, at most 16 segments a
//! round trip, stays near it for a while, and then leaves it ever faster. Up to 14 segments it is Reno. Unlike the
//! paper, and as in the kernel, growth is corrected for delayed acknowledgements, and a new flow grows by at least
//! 5 % a round trip. That correction is for counting acknowledgements, as Linux 2.6 did (`count_acks`); Linux 6.12
//! counts segments and corrects all the same, so that delayed acknowledgements make it twice as fast. Leaves out:
//! `initial_ssthresh`, which is the transport's, and the fast growth at low use of Linux 2.6.13
//! (`low_utilization_period`).

use super::{Ack, Cause, CongestionControl, Credit, Event, Parameter, State, Window, linux};

/// Unit of β (`BICTCP_BETA_SCALE`).
const SCALE: u64 = 1024;
/// The part of the distance to the maximum that is gone at once (`BICTCP_B`).
const B: u64 = 4;
/// log2 of the unit of `delayed_ack` (`ACK_RATIO_SHIFT`).
const RATIO_SHIFT: u32 = 4;

#[derive(Debug, Clone)]
struct Settings {
    fast_convergence: bool,
    beta: u64,
    max_increment: u64,
    low_window: u64,
    smooth_part: u64,
    /// An acknowledgement counts as one segment, however many it acknowledges.
    count_acks: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            fast_convergence: true,
            beta: 819,
            max_increment: 16,
            low_window: 14,
            smooth_part: 20,
            count_acks: false,
        }
    }
}

/// What a time-out forgets (`bictcp_reset`): segments, and ticks.
#[derive(Debug, Clone)]
struct Search {
    /// Acknowledged segments for one of growth.
    cnt: u64,
    last_max: u64,
    last_cwnd: u64,
    last_time: u64,
    /// Segments per acknowledgement, 1/16.
    delayed_ack: u64,
}

impl Default for Search {
    fn default() -> Self {
        Search { cnt: 0, last_max: 0, last_cwnd: 0, last_time: 0, delayed_ack: 2 << RATIO_SHIFT }
    }
}

/// BIC's state.
#[derive(Debug, Clone, Default)]
pub struct Bic {
    settings: Settings,
    search: Search,
    credit: Credit,
    sequence: linux::InSequence,
    in_loss: bool,
}

impl Search {
    /// `bictcp_update`: sets `cnt` for a window of `cwnd` segments.
    fn update(&mut self, now: u64, cwnd: u64, settings: &Settings) {
        if self.last_cwnd == cwnd && now - self.last_time <= linux::HZ / 32 {
            return;
        }
        self.last_cwnd = cwnd;
        self.last_time = now;
        if cwnd <= settings.low_window {
            self.cnt = cwnd;
            return;
        }
        self.cnt = self.step(cwnd, settings);
        if self.last_max == 0 {
            self.cnt = self.cnt.min(20);
        }
        self.cnt = ((self.cnt << RATIO_SHIFT) / self.delayed_ack).max(1);
    }

    fn step(&self, cwnd: u64, settings: &Settings) -> u64 {
        let Settings { max_increment, smooth_part, .. } = *settings;
        if cwnd < self.last_max {
            let distance = (self.last_max - cwnd) / B;
            if distance > max_increment {
                cwnd / max_increment
            } else if distance <= 1 {
                cwnd * smooth_part / B
            } else {
                cwnd / distance
            }
        } else if cwnd < self.last_max + B {
            cwnd * smooth_part / B
        } else if cwnd < self.last_max + max_increment * (B - 1) {
            cwnd * (B - 1) / (cwnd - self.last_max)
        } else {
            cwnd / max_increment
        }
    }
}

impl CongestionControl for Bic {
    /// `bictcp_acked`, and `bictcp_state` for time-outs that are no congestion event of their own.
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let in_loss = ack.state == State::Loss;
        if in_loss && !self.in_loss {
            self.search = Search::default();
        }
        self.in_loss = in_loss;
        let acked = linux::packets(self.sequence.bytes(ack), window);
        if ack.state == State::Open {
            // A sliding average: 15/16 of it and 1/16 of the sample.
            self.search.delayed_ack += acked;
            self.search.delayed_ack -= (self.search.delayed_ack - acked) >> RATIO_SHIFT;
        }
    }

    /// `bictcp_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let mut acked = window.bytes(linux::packets(ack.acked, window));
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        if self.settings.count_acks {
            acked = acked.min(window.bytes(1));
        }
        self.search.update(linux::jiffies(ack.now), window.segments(), &self.settings);
        let per = window.bytes(self.search.cnt);
        self.credit.grow(window, per, acked);
    }

    /// `bictcp_recalc_ssthresh`.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let cwnd = event.flight / u64::from(window.mss);
        let Settings { beta, low_window, fast_convergence, .. } = self.settings;
        self.search.last_max =
            if cwnd < self.search.last_max && fast_convergence { cwnd * (SCALE + beta) / (2 * SCALE) } else { cwnd };
        let reduced = if cwnd <= low_window { cwnd / 2 } else { cwnd * beta / SCALE };
        window.ssthresh = window.bytes(reduced.max(2));
        self.credit.clear();
        if event.cause == Cause::Timeout {
            self.search = Search::default();
            self.in_loss = true;
        }
    }

    fn parameters() -> &'static [Parameter] {
        const fn of(name: &'static str, about: &'static str, default: f64, low: f64, high: f64) -> Parameter {
            Parameter { name, about, default, low, high }
        }
        const ALL: &[Parameter] = &[
            of("beta", "what remains of the window after congestion, 1/1024 (module parameter)", 819.0, 1.0, 1023.0),
            of("fast_convergence", "give way to newcomers, 0 or 1 (module parameter)", 1.0, 0.0, 1.0),
            of("max_increment", "most growth in a round trip, segments (module parameter)", 16.0, 1.0, 1e6),
            of("low_window", "up to here it is Reno, segments (module parameter)", 14.0, 0.0, 1e6),
            of("smooth_part", "round trips spent near the maximum (module parameter)", 20.0, 1.0, 1e6),
            of("count_acks", "growth counts acknowledgements and not segments, 0 or 1 (Linux 2.6: 1)", 0.0, 0.0, 1.0),
        ];
        ALL
    }

    fn set(&mut self, name: &str, value: f64) {
        let whole = libm::round(value) as u64;
        match name {
            "beta" => self.settings.beta = whole,
            "fast_convergence" => self.settings.fast_convergence = whole != 0,
            "max_increment" => self.settings.max_increment = whole,
            "low_window" => self.settings.low_window = whole,
            "smooth_part" => self.settings.smooth_part = whole,
            "count_acks" => self.settings.count_acks = whole != 0,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    /// Acknowledged segments for one of growth, with a maximum of `last_max` and an acknowledgement per segment.
    fn cnt(cwnd: u64, last_max: u64) -> u64 {
        let mut search = Search { last_max, delayed_ack: 1 << RATIO_SHIFT, ..Search::default() };
        search.update(100, cwnd, &Settings::default());
        search.cnt
    }

    /// Towards a maximum of 1000: 16 a round trip from 800 (a quarter of 200 is more), 10 from 960, and within 8
    /// segments one in five round trips. Beyond it the same slowness for 4 segments, then by a third of the distance
    /// gone, and from 48 on 16 again.
    #[test]
    fn worked_example() {
        let expected = [(800, 800 / 16), (960, 960 / 10), (992, 992 / 2), (993, 993 * 5), (1000, 1000 * 5)];
        for (cwnd, needed) in expected {
            assert_eq!(cnt(cwnd, 1000), needed, "{cwnd}");
        }
        for (cwnd, needed) in [(1003, 1003 * 5), (1004, 1004 * 3 / 4), (1030, 1030 * 3 / 30), (1048, 1048 / 16)] {
            assert_eq!(cnt(cwnd, 1000), needed, "{cwnd}");
        }
        assert_eq!([cnt(14, 1000), cnt(15, 1000), cnt(400, 0)], [14, 1, 20]); // Reno; 15 / 16 is none, so 1; 5 %
    }

    /// The maximum of the last loss is kept if it is not below the one before, else the mean of the window before and
    /// after: 800 · (1024 + 819)/2048 = 719; and the window becomes ⌊w · 819/1024⌋, or half up to 14.
    #[test]
    fn loss() {
        let (mut bic, mut window) = (Bic::default(), at(1000));
        for (cwnd, last_max, ssthresh) in [(1000, 1000, 799), (800, 719, 639), (14, 12, 7), (3, 2, 2)] {
            bic.on_congestion(&Event::of(Time::ZERO, Cause::Loss, cwnd * MSS), &mut window);
            assert_eq!((bic.search.last_max, window.ssthresh / MSS), (last_max, ssthresh));
        }
    }

    /// Two segments an acknowledgement are assumed, and halve what is needed for growth. The kernel's whole numbers
    /// never find out that it is one: 32 + 1 − ⌊32/16⌋ = 31, and 31 + 1 − ⌊31/16⌋ = 31. Four are found: the average
    /// rises to 64 to within the rounding, 63 + 4 − ⌊63/16⌋ = 64 + 4 − ⌊64/16⌋ = 64.
    #[test]
    fn delayed_acknowledgements_are_made_up_for() {
        for (per_ack, expected) in [(1, 31), (4, 64)] {
            let (mut bic, mut window) = (Bic::default(), at(320));
            bic.search.last_max = 1000;
            bic.on_ack(&Ack::of(Time::ZERO, MSS), &mut window);
            assert_eq!(bic.search.cnt, 320 / 16 / 2);
            for n in 1..=100 {
                bic.observe(&Ack { una: n * per_ack * MSS, ..Ack::of(Time::ZERO, per_ack * MSS) }, &mut window);
            }
            assert_eq!(bic.search.delayed_ack, expected);
        }
    }

    /// A new flow grows by 5 % a round trip where acknowledgements are counted, two segments each: 400 segments are 200
    /// acknowledgements, and ten of them make one of growth. Where segments are counted it is 10 %.
    #[test]
    fn counting_acknowledgements_is_half_as_fast_as_counting_segments() {
        for (count_acks, grown) in [(1.0, 20), (0.0, 40)] {
            let (mut bic, mut window) = (Bic::default(), at(400));
            bic.set("count_acks", count_acks);
            for _ in 0..200 {
                bic.on_ack(&Ack::of(Time::ZERO, 2 * MSS), &mut window);
            }
            assert_eq!(window.segments(), 400 + grown);
        }
    }

    #[test]
    fn a_timeout_forgets_the_maximum() {
        let (mut bic, mut window) = (Bic::default(), at(1000));
        bic.on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 1000 * MSS), &mut window);
        assert_eq!((bic.search.last_max, window.ssthresh / MSS), (0, 799));
        // One while the transport was repairing a loss anyway is seen by its state.
        bic.search.last_max = 500;
        bic.in_loss = false;
        let now = Time::ZERO + Span::from_secs(1);
        bic.observe(&Ack { state: State::Loss, ..Ack::of(now, MSS) }, &mut window);
        assert_eq!(bic.search.last_max, 0);
    }
}
