//! Vegas: keeps a few segments queued, no more and no fewer (Brakmo, Peterson: TCP Vegas: End to End Congestion
//! Avoidance on a Global Internet, IEEE JSAC 13(8), 1995), as Linux 6.12's `net/ipv4/tcp_vegas.c` does it: slow start
//! grows in every round, not in every other; the delay of a round is its shortest round trip; loss is Reno's.
//!
//! Leaves out: after a time-out, what was sent since the last acknowledgement, for which Linux' first round waits too;
//! and the paper's own detection of loss.

use super::rounds::{Round, Rounds};
use super::{Ack, Cause, CongestionControl, Credit, Event, Parameter, Window};
use headway_units::{Span, Time};

/// Vegas of one connection.
#[derive(Debug, Clone)]
pub struct Vegas {
    alpha: u64,
    beta: u64,
    gamma: u64,
    rounds: Rounds,
    credit: Credit,
}

impl Default for Vegas {
    fn default() -> Vegas {
        Vegas { alpha: 2, beta: 4, gamma: 1, rounds: Rounds::default(), credit: Credit::default() }
    }
}

/// Reno's growth (`net/ipv4/tcp_cong.c: tcp_reno_cong_avoid`), for rounds that say nothing of delay.
fn grow_as_reno(credit: &mut Credit, ack: &Ack<'_>, window: &mut Window) {
    if !ack.cwnd_limited {
        return;
    }
    let mut acked = ack.acked;
    if window.in_slow_start() {
        acked = window.slow_start(acked);
        if acked == 0 {
            return;
        }
    }
    let per = window.cwnd;
    credit.grow(window, per, acked);
}

/// The round that `ack` completes, if it was measured well enough to adjust the window by; otherwise the window grows
/// as Reno's, or in slow start, or not at all (`tcp_vegas_cong_avoid`).
pub(super) fn round_or_reno(
    rounds: &mut Rounds,
    credit: &mut Credit,
    ack: &Ack<'_>,
    window: &mut Window,
) -> Option<Round> {
    if !rounds.active {
        grow_as_reno(credit, ack, window);
        return None;
    }
    match rounds.ended(ack) {
        Some(round) if round.count > 2 => return Some(round),
        Some(_) => grow_as_reno(credit, ack, window),
        None if window.in_slow_start() => {
            window.slow_start(ack.acked);
        }
        None => {}
    }
    None
}

impl Vegas {
    fn adjust(&mut self, round: Round, ack: &Ack<'_>, window: &mut Window) {
        let cwnd = window.segments();
        // Segments queued, measured against the shortest round trip (the kernel's "diff").
        let queued = cwnd * (round.shortest - round.base) / round.base;
        if window.in_slow_start() {
            if queued > self.gamma {
                // Down to the actual rate times the propagation delay, and one for the rounding.
                let target = cwnd * round.base / round.shortest;
                window.cwnd = window.cwnd.min(window.bytes(target + 1));
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(ack.acked);
            }
        } else if queued > self.beta {
            window.cwnd = window.bytes(cwnd - 1);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if queued < self.alpha {
            window.cwnd = window.bytes(cwnd + 1);
        }
        window.cwnd = window.cwnd.max(window.bytes(2));
        // `tcp_current_ssthresh`: three quarters of cwnd at least.
        let segments = window.segments();
        window.ssthresh = window.ssthresh.max(window.bytes(segments / 2 + segments / 4));
    }
}

impl CongestionControl for Vegas {
    const GROWS_APP_LIMITED: bool = true;

    fn observe(&mut self, ack: &Ack<'_>, _window: &mut Window) {
        self.rounds.observe(ack);
    }

    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.rounds.set_state(ack.state);
        if let Some(round) = round_or_reno(&mut self.rounds, &mut self.credit, ack, window) {
            self.adjust(round, ack, window);
        }
    }

    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        window.ssthresh = window.reduced(event.flight, 0.5);
        self.credit.clear();
        self.rounds.stop(event.cause);
        if event.cause == Cause::Timeout {
            // Linux retransmits with nothing in flight, which it takes for a start (`CA_EVENT_TX_START`).
            self.rounds.reset_base();
        }
    }

    fn on_recovered(&mut self, _now: Time, _window: &mut Window) {
        self.rounds.resume();
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        self.rounds.resume();
    }

    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) {
        self.rounds.reset_base();
    }

    fn parameters() -> &'static [Parameter] {
        const fn segments(name: &'static str, about: &'static str, default: f64) -> Parameter {
            Parameter { name, about, default, low: 0.0, high: 1e6 }
        }
        const LIST: &[Parameter] = &[
            segments("alpha", "segments queued below which the window grows", 2.0),
            segments("beta", "segments queued above which it shrinks", 4.0),
            segments("gamma", "segments queued above which slow start ends", 1.0),
        ];
        LIST
    }

    fn set(&mut self, name: &str, value: f64) {
        let segments = value as u64;
        match name {
            "alpha" => self.alpha = segments,
            "beta" => self.beta = segments,
            _ => self.gamma = segments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bottleneck::Bottleneck;
    use super::super::{AnyController, State};
    use super::*;

    const MSS: u64 = 1000;

    /// A round of `acks` acknowledgements of one segment each, all with a round trip of `rtt_us`; what was sent before
    /// the first ends with the last but one.
    fn round(vegas: &mut Vegas, window: &mut Window, una: &mut u64, acks: u64, rtt_us: u64) {
        let nxt = *una + acks * MSS;
        for _ in 0..acks {
            *una += MSS;
            let ack = Ack {
                una: *una,
                nxt,
                rtt: Some(Span::from_micros(rtt_us)),
                ..Ack::of(Time::ZERO + Span::from_micros(*una), MSS)
            };
            vegas.observe(&ack, window);
            vegas.on_ack(&ack, window);
        }
    }

    fn window(segments: u64, ssthresh: u64) -> Window {
        Window { cwnd: segments * MSS, ssthresh: ssthresh * MSS, mss: MSS as u32, growth_limit: 100 }
    }

    /// Window 20 in congestion avoidance, base 9 999 + 1 µs. Round trips of 10 999 + 1: queued = 20·1000/10000 = 2,
    /// within 2..4: stays. 10 499 + 1: 20·500/10000 = 1 < 2: one more. 12 499 + 1: 5 > 4: one less.
    #[test]
    fn the_window_moves_by_one_segment_per_round() {
        for (rtt, expected) in [(10_999, 20), (10_499, 21), (12_499, 19), (11_999, 20)] {
            let (mut vegas, mut window, mut una) = (Vegas::default(), window(20, 10), 0);
            round(&mut vegas, &mut window, &mut una, 1, 9_999); // the first round has one sample: Reno
            assert_eq!(window.segments(), 20);
            round(&mut vegas, &mut window, &mut una, 20, rtt);
            round(&mut vegas, &mut window, &mut una, 1, rtt);
            assert_eq!(window.segments(), expected, "{rtt}");
        }
    }

    /// Slow start, window 40 and base 10 ms: at 10.5 ms two are queued, more than gamma, so cwnd = 40·10/10.5 + 1 = 39,
    /// and that is the threshold.
    #[test]
    fn slow_start_ends_at_the_actual_rate() {
        let (mut vegas, mut window, mut una) = (Vegas::default(), window(20, 1_000_000), 0);
        round(&mut vegas, &mut window, &mut una, 1, 9_999);
        round(&mut vegas, &mut window, &mut una, 19, 10_499);
        assert_eq!(window.segments(), 40); // one more for each acknowledged
        round(&mut vegas, &mut window, &mut una, 1, 10_499);
        assert_eq!((window.segments(), window.ssthresh), (39, 39 * MSS));
    }

    /// In recovery delay does not count; after it a whole round must pass.
    #[test]
    fn recovery_pauses_vegas() {
        let (mut vegas, mut window, mut una) = (Vegas::default(), window(20, 10), 0);
        round(&mut vegas, &mut window, &mut una, 1, 9_999);
        vegas.on_congestion(&Event::of(Time::ZERO, Cause::Loss, 20 * MSS), &mut window);
        assert_eq!((window.ssthresh, vegas.rounds.active), (10 * MSS, false));
        let ack = Ack { una, nxt: una, state: State::Recovery, ..Ack::of(Time::ZERO, MSS) };
        vegas.observe(&ack, &mut window);
        assert!(!vegas.rounds.active);
        vegas.on_recovered(Time::ZERO, &mut window);
        assert!(vegas.rounds.active);
    }

    /// `tcp_vegas_state`: delay counts in TCP_CA_Open alone, so not while something is missing; the round that begins when
    /// all is well again ends with what is sent then.
    #[test]
    fn something_missing_pauses_vegas() {
        let (mut vegas, mut window, mut una) = (Vegas::default(), window(20, 10), 0);
        round(&mut vegas, &mut window, &mut una, 1, 9_999);
        let ack = |una, nxt, state| Ack { una, nxt, state, ..Ack::of(Time::ZERO, MSS) };
        vegas.observe(&ack(una, 30 * MSS, State::Open), &mut window); // selectively acknowledged
        vegas.observe(&ack(una, 30 * MSS, State::Disorder), &mut window); // another one
        assert!(!vegas.rounds.active);
        vegas.observe(&ack(3 * MSS, 40 * MSS, State::Disorder), &mut window); // the hole is filled
        vegas.on_ack(&ack(3 * MSS, 40 * MSS, State::Open), &mut window);
        assert!(vegas.rounds.active);
        assert_eq!(vegas.rounds.ended(&ack(40 * MSS, 50 * MSS, State::Open)), None);
        assert!(vegas.rounds.ended(&ack(41 * MSS, 50 * MSS, State::Open)).is_some());
    }

    /// One to four flows on one bottleneck of 100 segments per 10 ms: each keeps from alpha to beta segments queued.
    #[test]
    fn each_flow_keeps_two_to_four_segments_queued() {
        for flows in 1..=4 {
            let controls = (0..flows).map(|_| AnyController::by_name("vegas").unwrap()).collect();
            let mut path = Bottleneck::new(10_000.0, Span::from_millis(10), controls);
            path.run(300);
            let queued = path.queued();
            let (least, most) = (2.0 * f64::from(flows), 5.0 * f64::from(flows));
            // Linux rounds what is queued down, so just under 5 counts as 4.
            assert!((least..most).contains(&queued), "{flows}: {queued}");
            let windows = path.windows();
            let spread = windows.iter().max().unwrap() - windows.iter().min().unwrap();
            assert!(spread <= 3, "{windows:?}");
        }
    }
}
