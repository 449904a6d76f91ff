//! Westwood+ (Grieco and Mascolo, CCR 2004), as Linux has it (`net/ipv4/tcp_westwood.c`).
//!
//! Reno, except that a loss leaves what the path carried: the filtered rate of acknowledged data times the least
//! round trip. The threshold is set when a reduction is complete, so what comes before (halving, proportional rate
//! reduction) is Reno's; a time-out sets it at once. It may be above the window: the rate is an estimate.
//!
//! Leaves out: the kernel's fast path (`westwood_fast_bw`), which counts an acknowledgement in full although
//! duplicates before it were counted, when the advertised window happens not to have changed; and when the first
//! interval begins, which is one round trip before the first acknowledgement here, and with the handshake there.

use headway_units::Time;

use super::{Ack, Cause, CongestionControl, Credit, Event, State, Window, linux};

/// Shortest interval for which a rate is measured, ticks (`TCP_WESTWOOD_RTT_MIN`).
const SHORTEST: u64 = linux::HZ / 20;
/// Round trip before there is one, ticks (`TCP_WESTWOOD_INIT_RTT`).
const INITIAL_RTT: u64 = 20 * linux::HZ;

/// Westwood+'s state: bytes and ticks.
#[derive(Debug, Clone)]
pub struct Westwood {
    credit: Credit,
    /// Rate after one filter, and after two: bytes per tick.
    once: u64,
    twice: u64,
    /// Begin of the interval, and what was acknowledged in it.
    begin: u64,
    acked: u64,
    una: Option<u64>,
    /// Counted for duplicate acknowledgements, and not yet in sequence.
    accounted: u64,
    rtt: u64,
    rtt_min: u64,
    reset_rtt_min: bool,
    timed_out: bool,
}

impl Default for Westwood {
    fn default() -> Self {
        Westwood {
            credit: Credit::default(),
            once: 0,
            twice: 0,
            begin: 0,
            acked: 0,
            una: None,
            accounted: 0,
            rtt: INITIAL_RTT,
            rtt_min: INITIAL_RTT,
            reset_rtt_min: true,
            timed_out: false,
        }
    }
}

impl Westwood {
    /// `westwood_filter`: two low-pass filters with 7/8.
    fn filter(&mut self, interval: u64) {
        let sample = self.acked / interval;
        if self.once == 0 && self.twice == 0 {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = (7 * self.once + sample) >> 3;
            self.twice = (7 * self.twice + self.once) >> 3;
        }
    }

    /// `westwood_acked_count`: bytes that this acknowledgement is worth. A duplicate stands for a segment; what
    /// duplicates stood for is not counted again.
    fn count(&mut self, una: u64, mss: u64) -> u64 {
        let moved = una - self.una.replace(una).unwrap_or(una).min(una);
        if moved == 0 {
            self.accounted += mss;
            return mss;
        }
        if moved <= mss {
            return moved;
        }
        if self.accounted >= moved {
            self.accounted -= moved;
            return mss;
        }
        moved - std::mem::take(&mut self.accounted)
    }

    /// `tcp_westwood_bw_rttmin`: what the path holds, in bytes and at least two segments.
    fn pipe(&self, window: &Window) -> u64 {
        window.bytes((self.twice * self.rtt_min / u64::from(window.mss)).max(2))
    }
}

impl CongestionControl for Westwood {
    /// `tcp_westwood_pkts_acked`, `tcp_westwood_ack`.
    fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.timed_out = ack.state == State::Loss;
        let now = linux::jiffies(ack.now);
        if let Some(rtt) = ack.rtt.map(linux::micros).filter(|&rtt| rtt > 0) {
            self.rtt = linux::ticks(rtt);
        }
        if self.una.is_none() {
            // As in the kernel the first acknowledgement is where counting begins.
            self.una = Some(ack.una);
            self.begin = now.saturating_sub(self.rtt);
        }
        let interval = now.saturating_sub(self.begin);
        if interval > self.rtt.max(SHORTEST) {
            self.filter(interval);
            self.acked = 0;
            self.begin = now;
        }
        self.acked += self.count(ack.una, u64::from(window.mss));
        self.rtt_min = if self.reset_rtt_min { self.rtt } else { self.rtt_min.min(self.rtt) };
        self.reset_rtt_min = false;
    }

    /// `net/ipv4/tcp_cong.c: tcp_reno_cong_avoid`.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        let mut acked = window.bytes(linux::packets(ack.acked, window));
        if window.in_slow_start() {
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        let per = window.bytes(window.segments());
        self.credit.grow(window, per, acked);
    }

    /// `net/ipv4/tcp_cong.c: tcp_reno_ssthresh`; `tcp_westwood_event` on CA_EVENT_LOSS.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        self.credit.clear();
        self.timed_out = event.cause == Cause::Timeout;
        if self.timed_out {
            window.ssthresh = self.pipe(window);
            self.reset_rtt_min = true;
        } else {
            let segments = event.flight / u64::from(window.mss);
            window.ssthresh = window.bytes((segments / 2).max(2));
        }
    }

    /// `tcp_westwood_event` on CA_EVENT_COMPLETE_CWR, which there is none of after a time-out.
    fn on_recovered(&mut self, _now: Time, window: &mut Window) {
        if !std::mem::take(&mut self.timed_out) {
            window.ssthresh = self.pipe(window);
            window.cwnd = window.ssthresh;
        }
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Span;

    use super::*;

    const MSS: u64 = 1000;

    fn at(segments: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: segments * MSS, mss: 1000, growth_limit: 1 }
    }

    fn ack(ms: u64, una: u64, rtt_ms: u64) -> Ack<'static> {
        let now = Time::ZERO + Span::from_millis(ms);
        Ack { una, rtt: Some(Span::from_millis(rtt_ms)), ..Ack::of(now, MSS) }
    }

    /// A segment each 2 ms, so 500 bytes a tick, over a path of 60 ms: 30 segments. The first interval begins before
    /// there are acknowledgements, and whole numbers stop the filters as they rise: ⌊(7 · 493 + 500)/8⌋ = 493 and
    /// ⌊(7 · 486 + 493)/8⌋ = 486, so ⌊486 · 60/1000⌋ = 29 segments. A loss halves 40 to 20, and when it is repaired
    /// the window is 29; so is the threshold after a time-out.
    #[test]
    fn a_loss_leaves_what_the_path_carried() {
        let (mut control, mut window) = (Westwood::default(), at(40));
        for n in 1..=10_000 {
            control.observe(&ack(60 + 2 * n, n * MSS, 60 + n % 3), &mut window);
        }
        assert_eq!((control.rtt_min, control.once, control.twice), (60, 493, 486));
        control.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 40 * MSS), &mut window);
        assert_eq!(window.ssthresh, 20 * MSS);
        window.cwnd = window.ssthresh;
        control.on_recovered(Time::ZERO, &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (29 * MSS, 29 * MSS));

        control.on_congestion(&Event::of(Time::ZERO, Cause::Timeout, 40 * MSS), &mut window);
        assert_eq!(window.ssthresh, 29 * MSS);
        window.cwnd = MSS;
        control.on_recovered(Time::ZERO, &mut window);
        assert_eq!(window.cwnd, MSS);
        // The least round trip starts over.
        control.observe(&ack(30_000, 10_000 * MSS, 80), &mut window);
        assert_eq!(control.rtt_min, 80);
    }

    /// 500, then a sample of 900: (7 · 500 + 900)/8 = 550, and (7 · 500 + 550)/8 = 506.
    #[test]
    fn two_filters() {
        let mut control = Westwood { acked: 50_000, ..Westwood::default() };
        control.filter(100);
        assert_eq!((control.once, control.twice), (500, 500));
        control.acked = 90_000;
        control.filter(100);
        assert_eq!((control.once, control.twice), (550, 506));
    }

    /// Three duplicates count three segments; when the hole is filled and four are in sequence, one is new. A partial
    /// acknowledgement of fewer than were counted counts one.
    #[test]
    fn duplicates_are_not_counted_twice() {
        let mut control = Westwood { una: Some(0), ..Westwood::default() };
        let counted: Vec<u64> = [0, 0, 0, 4 * MSS, 5 * MSS].iter().map(|&una| control.count(una, MSS)).collect();
        assert_eq!(counted, [MSS; 5]);
        control.accounted = 3 * MSS;
        assert_eq!(control.count(7 * MSS, MSS), MSS);
        assert_eq!(control.accounted, MSS);
        assert_eq!(control.count(10 * MSS, MSS), 2 * MSS);
    }

    /// No sample before 50 ms, or a round trip if that is longer, have passed.
    #[test]
    fn intervals_are_not_short() {
        for (rtt, interval) in [(10, 50), (70, 70)] {
            let (mut control, mut window) = (Westwood::default(), at(10));
            control.observe(&ack(rtt, 0, rtt), &mut window); // the interval begins at 0
            control.observe(&ack(interval, 5 * MSS, rtt), &mut window);
            assert_eq!(control.twice, 0);
            control.observe(&ack(interval + 1, 6 * MSS, rtt), &mut window);
            // The first acknowledgement moves nothing, so it counts as a duplicate, and the second for a segment less;
            // the one that ends the interval belongs to the next.
            assert_eq!(control.twice, 5 * MSS / (interval + 1));
        }
    }
}
