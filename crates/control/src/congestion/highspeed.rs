//! HighSpeed TCP (RFC 3649), as Linux has it (`net/ipv4/tcp_highspeed.c`).
//!
//! Windows above 38 segments grow by a(w) a round trip and lose b(w) of themselves, from the table of RFC 3649
//! appendix B. As in the kernel growth counts acknowledgements, not segments, so delayed acknowledgements slow it
//! down. Leaves out: limited slow start (RFC 3742; RFC 3649 §10.1), which Linux does not have; the table's
//! last row (94717: 73, 0.09), which Linux does not have either.

use super::{Ack, CongestionControl, Event, Window, linux};

/// The largest window of each row; a(w) is the row's number, from 1 (`hstcp_aimd_vals`).
const WINDOWS: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
    5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
    17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
    37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
    79517, 84035, 89053,
];

/// 256·b(w) of each row.
const DECREASES: [u8; 72] = [
    128, 112, 104, 98, 93, 89, 86, 83, 81, 78, 76, 74, 72, 71, 69, 68, 66, 65, 64, 62, 61, 60, 59, 58, 57, 56, 55, 54,
    53, 52, 52, 51, 50, 49, 48, 48, 47, 46, 45, 45, 44, 43, 43, 42, 41, 41, 40, 39, 39, 38, 38, 37, 36, 36, 35, 35, 34,
    33, 33, 32, 32, 31, 30, 30, 29, 28, 28, 27, 26, 26, 25, 24,
];

/// Increase and decrease that depend on the window.
#[derive(Debug, Clone, Default)]
pub struct HighSpeed {
    /// Row of the table; a(w) is one more.
    row: u32,
    /// Growth earned, in segments times the window (`snd_cwnd_cnt`).
    earned: u64,
}

impl HighSpeed {
    /// Finds the row with WINDOWS[row - 1] < `segments` ≤ WINDOWS[row], or the last.
    fn seek(&mut self, segments: u64) {
        let above = |row: u32| segments > u64::from(WINDOWS[row as usize]);
        while above(self.row) && (self.row as usize) < WINDOWS.len() - 1 {
            self.row += 1;
        }
        while self.row > 0 && !above(self.row - 1) {
            self.row -= 1;
        }
    }
}

impl CongestionControl for HighSpeed {
    /// `hstcp_cong_avoid`; RFC 3649 §7: w ← w + a(w)/w for each acknowledgement.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if window.in_slow_start() {
            window.slow_start(window.bytes(linux::packets(ack.acked, window)));
            return;
        }
        let segments = window.segments();
        self.seek(segments);
        self.earned += u64::from(self.row) + 1;
        if self.earned >= segments {
            self.earned -= segments;
            window.cwnd += u64::from(window.mss);
        }
    }

    /// `hstcp_ssthresh`; RFC 3649 §7: w ← (1 − b(w)) w. The row is that of the last growth.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let segments = event.flight / u64::from(window.mss);
        let lost = segments.saturating_mul(u64::from(DECREASES[self.row as usize])) >> 8;
        window.ssthresh = window.bytes((segments - lost).max(2));
        self.earned = 0;
    }
}

#[cfg(test)]
mod tests {
    use headway_units::{Span, Time};

    use super::super::Cause;
    use super::super::response::{average_window, near};
    use super::*;

    const MSS: u64 = 1000;

    /// RFC 3649 appendix B without its last row: w of a(w) = 1, 2, 3, …
    const RFC_WINDOWS: [u32; 72] = [
        38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
        5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
        17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
        37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
        79517, 84035, 89053,
    ];
    /// And 100·b(w).
    const RFC_DECREASES: [u32; 72] = [
        50, 44, 41, 38, 37, 35, 34, 33, 32, 31, 30, 29, 28, 28, 27, 27, 26, 26, 25, 25, 24, 24, 23, 23, 22, 22, 22, 21,
        21, 21, 20, 20, 20, 19, 19, 19, 19, 18, 18, 18, 17, 17, 17, 17, 16, 16, 16, 16, 15, 15, 15, 15, 14, 14, 14, 14,
        13, 13, 13, 13, 13, 12, 12, 12, 12, 11, 11, 11, 10, 10, 10, 10,
    ];

    /// RFC 3649 §7: b(w) = (High_Decrease − 0.5)(log w − log W) / (log W_1 − log W) + 0.5, W = 38, W_1 = 83000.
    fn decrease(w: f64) -> f64 {
        0.5 - 0.4 * (w / 38.0).log10() / (83_000.0f64 / 38.0).log10()
    }

    /// RFC 3649 §7: a(w) = w² · p(w) · 2 · b(w) / (2 − b(w)), p(w) = 0.078 / w^1.2.
    fn increase(w: f64) -> f64 {
        let b = decrease(w);
        w * w * 0.078 / libm::pow(w, 1.2) * 2.0 * b / (2.0 - b)
    }

    /// Linux' windows are the RFC's; its decreases, in 1/256 rounded down, are what the RFC rounds to hundredths.
    #[test]
    fn table_of_appendix_b() {
        assert_eq!(WINDOWS, RFC_WINDOWS);
        for (row, ((w, b), rfc)) in WINDOWS.iter().zip(DECREASES).zip(RFC_DECREASES).enumerate() {
            let (w, b) = (f64::from(*w), f64::from(b) / 256.0);
            assert!((b - f64::from(rfc) / 100.0).abs() <= 0.005 + 1.0 / 256.0, "{w}: {b} {rfc}");
            assert!((b - decrease(w)).abs() <= 1.0 / 256.0, "{w}: {b} {}", decrease(w));
            // A row is where a(w) reaches its number.
            assert!(row == 0 || (increase(w) - (row + 1) as f64).abs() < 0.05, "{w}: {} {row}", increase(w));
        }
    }

    /// The RFC's rule without a table.
    #[derive(Default)]
    struct Formula(f64);

    impl CongestionControl for Formula {
        fn on_ack(&mut self, _ack: &Ack<'_>, window: &mut Window) {
            self.0 = self.0.max(window.segments() as f64);
            self.0 += increase(self.0) / self.0;
            window.cwnd = self.0 as u64 * MSS;
        }

        fn on_congestion(&mut self, _event: &Event<'_>, window: &mut Window) {
            self.0 *= 1.0 - decrease(self.0);
            window.ssthresh = self.0 as u64 * MSS;
        }
    }

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    /// A window of 300 is in the row up to 347: a = 4, so 300/4 = 75 acknowledgements for a segment; and b = 98/256:
    /// 301 − ⌊301·98/256⌋ = 301 − 115 = 186, where a = 3.
    #[test]
    fn worked_example() {
        let (mut window, mut control) = (at(300), HighSpeed::default());
        for _ in 0..74 {
            control.on_ack(&Ack::of(Time::ZERO, 2 * MSS), &mut window); // that each covers two makes no difference
        }
        assert_eq!(window.segments(), 300);
        control.on_ack(&Ack::of(Time::ZERO, 2 * MSS), &mut window);
        assert_eq!(window.segments(), 301);
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 301 * MSS), &mut window);
        assert_eq!(window.ssthresh, 186 * MSS);
        window.cwnd = window.ssthresh;
        control.on_ack(&Ack::of(Time::ZERO, MSS), &mut window);
        assert_eq!(control.earned, 3);
    }

    /// Up to 38 segments it is Reno: 38 acknowledgements for a segment, and a loss halves.
    #[test]
    fn small_windows_are_renos() {
        let (mut window, mut control) = (at(38), HighSpeed::default());
        for _ in 0..38 {
            control.on_ack(&Ack::of(Time::ZERO, MSS), &mut window);
        }
        assert_eq!(window.segments(), 39);
        let (mut window, mut control) = (at(30), HighSpeed::default());
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 30 * MSS), &mut window);
        assert_eq!(window.ssthresh, 15 * MSS);
    }

    /// RFC 3649 table 3 and eq. 1: 263 segments at p = 10⁻⁴, 1795 at 10⁻⁵. The formulas give just that; Linux takes
    /// a and b of the end of the row, so up to 1 in a(w) too much, and gets as much more.
    #[test]
    fn response_function() {
        for (between, expected) in [(10_000, 263), (100_000u64, 1795)] {
            let w = expected as f64;
            near(0.12 * libm::pow(between as f64, 0.835), w, 0.005, "RFC 3649 eq. 1");
            let rtt = Span::from_millis(100);
            near(average_window(Formula::default(), between, rtt, expected, 12), w, 0.02, "RFC 3649");
            let linux = average_window(HighSpeed::default(), between, rtt, expected, 12) / w;
            assert!((1.0..1.0 + 1.0 / increase(w)).contains(&linux), "{linux} at {w}");
        }
    }
}
