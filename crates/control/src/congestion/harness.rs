//! The harness that every congestion control passes: random operation sequences keep the window sane.

use headway_units::{Span, Time};
use proptest::prelude::*;

use super::{Ack, AnyController, Cause, Delivery, Event, FlowDeadline, Sibling, Start, State, Window};

#[derive(Debug, Clone)]
enum Op {
    Ack { segments: u64, rtt_us: u64, ece: bool, limited: bool },
    Congestion(Cause),
    Recovered,
    Undo,
    Restart { idle_ms: u64 },
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        40 => (1u64..20, 1u64..500_000, prop::bool::weighted(0.1), prop::bool::weighted(0.9))
            .prop_map(|(segments, rtt_us, ece, limited)| Op::Ack { segments, rtt_us, ece, limited }),
        1 => prop_oneof![Just(Cause::Loss), Just(Cause::Ece), Just(Cause::Timeout)].prop_map(Op::Congestion),
        1 => Just(Op::Recovered),
        1 => Just(Op::Undo),
        1 => (1u64..100_000).prop_map(|idle_ms| Op::Restart { idle_ms }),
    ]
}

/// A sender around a control, as far as the controls can tell: it keeps totals, and reduces as the transport does.
struct Harness {
    control: AnyController,
    window: Window,
    now: Time,
    una: u64,
    total: u64,
    lost_ever: u64,
    srtt: Option<Span>,
    min_rtt: Option<Span>,
    state: State,
    /// cwnd and ssthresh before the last reduction.
    prior: Option<(u64, u64)>,
}

impl Harness {
    fn siblings(&self) -> [Sibling; 2] {
        let srtt = self.srtt.unwrap_or(Span::from_micros(900));
        let min_rtt = self.min_rtt.unwrap_or(srtt);
        [
            Sibling { cwnd: self.window.cwnd, srtt, min_rtt, between_losses: self.una, own: true },
            Sibling {
                cwnd: 3 * u64::from(self.window.mss),
                srtt: Span::from_micros(700),
                min_rtt: Span::from_micros(500),
                between_losses: 40_000,
                own: false,
            },
        ]
    }

    fn ack(&mut self, segments: u64, rtt_us: u64, ece: bool, limited: bool) -> Result<(), TestCaseError> {
        let mss = u64::from(self.window.mss);
        let rtt = Span::from_micros(rtt_us);
        self.now += rtt;
        let acked = segments.min(self.window.cwnd / mss).max(1) * mss;
        let flight_before = self.window.cwnd;
        self.una += acked;
        self.total += acked;
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8));
        let siblings = self.siblings();
        let lost = if self.state == State::Recovery { mss * (segments % 3) } else { 0 };
        self.lost_ever += lost;
        let ack = Ack {
            now: self.now,
            acked,
            total: self.total,
            lost,
            lost_ever: self.lost_ever,
            flight_before,
            flight: flight_before - acked.min(flight_before),
            una: self.una,
            nxt: self.una + self.window.cwnd,
            rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            ece,
            cwnd_limited: limited,
            state: self.state,
            departure: segments.is_multiple_of(2).then_some(self.now + Span::from_micros(segments)),
            delivery: self.control.wants_delivery().then_some(Delivery {
                before: self.total - acked,
                bytes: acked,
                interval: Some(rtt),
                app_limited: !limited,
            }),
            deadline: segments.is_multiple_of(3).then_some(FlowDeadline {
                remaining: 100 * mss,
                deadline: Time::ZERO + Span::from_millis(segments * 1_000),
            }),
            siblings: if self.control.is_coupled() { &siblings } else { &[] },
        };
        let name = self.control.name().to_owned();
        let before = self.window;
        self.control.observe(&ack, &mut self.window);
        if self.control.manages_cwnd() {
            return Ok(());
        }
        // Measuring may end a slow start or reduce a window, but grows none.
        prop_assert!(self.window.cwnd <= before.cwnd, "{name}: measuring grew {before:?} to {:?}", self.window);
        let before = self.window;
        if (limited || self.control.grows_app_limited()) && matches!(self.state, State::Open) && !ece {
            self.control.on_ack(&ack, &mut self.window);
            // Illinois may spend at α = 10 what it has earned at α = 38/128, which is 33.7 windows and this
            // acknowledgement's 10, each a segment.
            let spent = if name == "illinois" { 44 * mss } else { 0 };
            let most = before.cwnd + acked + before.cwnd + spent;
            prop_assert!(
                self.window.cwnd <= most,
                "{name}: {before:?} more than doubled by {acked}: {:?}",
                self.window
            );
        }
        Ok(())
    }

    fn congestion(&mut self, cause: Cause) -> Result<(), TestCaseError> {
        let before = self.window;
        let siblings = self.siblings();
        let event = Event {
            now: self.now,
            cause,
            flight: self.window.cwnd,
            una: self.una,
            deadline: None,
            siblings: if self.control.is_coupled() { &siblings } else { &[] },
        };
        self.control.on_congestion(&event, &mut self.window);
        let (name, mss) = (self.control.name(), u64::from(self.window.mss));
        if self.control.manages_cwnd() {
            self.state = if cause == Cause::Timeout { State::Loss } else { State::Recovery };
            return Ok(());
        }
        prop_assert!(self.window.ssthresh >= 2 * mss, "{name}: {cause:?} left {:?}", self.window);
        // Westwood's threshold after a time-out is what it believes the path carries, whatever the window.
        let by_rate = name == "westwood" && cause == Cause::Timeout;
        let most = if by_rate { 1 << 50 } else { before.cwnd.max(2 * mss) };
        prop_assert!(self.window.ssthresh <= most, "{name}: {cause:?} raised {before:?} to {:?}", self.window);
        prop_assert_eq!(self.window.cwnd, before.cwnd, "{}: the way down is the transport's", name);
        self.prior = Some((before.cwnd, before.ssthresh));
        self.state = if cause == Cause::Timeout { State::Loss } else { State::Recovery };
        self.window.cwnd = if cause == Cause::Timeout { mss } else { self.window.ssthresh.min(before.cwnd) };
        Ok(())
    }

    fn step(&mut self, op: &Op) -> Result<(), TestCaseError> {
        match *op {
            Op::Ack { segments, rtt_us, ece, limited } => self.ack(segments, rtt_us, ece, limited)?,
            Op::Congestion(cause) => self.congestion(cause)?,
            Op::Recovered => {
                self.state = State::Open;
                self.control.on_recovered(self.now, &mut self.window);
            }
            Op::Undo => {
                if let Some((cwnd, ssthresh)) = self.prior.take() {
                    self.window.cwnd = self.window.cwnd.max(cwnd);
                    self.window.ssthresh = self.window.ssthresh.max(ssthresh);
                    self.state = State::Open;
                    self.control.on_undo(self.now, &mut self.window);
                }
            }
            Op::Restart { idle_ms } => {
                let idle = Span::from_millis(idle_ms);
                self.now += idle;
                self.control.on_restart(self.now, idle, &mut self.window);
            }
        }
        let (name, mss) = (self.control.name(), u64::from(self.window.mss));
        prop_assert!(self.window.cwnd >= mss, "{name}: {op:?} left {:?}", self.window);
        prop_assert!(self.window.cwnd < 1 << 50, "{name}: {op:?} left {:?}", self.window);
        if let Some(rate) = self.control.pacing() {
            prop_assert!(!rate.is_zero(), "{name}: a pace of zero never sends");
        }
        Ok(())
    }
}

proptest! {
    /// cwnd stays at least one segment, ssthresh at least two; no acknowledgement more than doubles a window;
    /// congestion never raises ssthresh above the window; a pace is never zero.
    #[test]
    fn windows_stay_bounded(
        ops in prop::collection::vec(op(), 1..400), mss in 100u32..9000, iw in 1u32..100, growth_limit in 1u32..100
    ) {
        for name in AnyController::NAMES {
            let control = AnyController::by_name(name).unwrap();
            prop_assert_eq!(control.name(), *name);
            let mut harness = Harness {
                control,
                window: Window { growth_limit, ..Window::initial(iw, mss) },
                now: Time::ZERO,
                una: 0,
                total: 0,
                lost_ever: 0,
                srtt: None,
                min_rtt: None,
                state: State::Open,
                prior: None,
            };
            if mss.is_multiple_of(2) {
                let start = Start { now: Time::ZERO, rtt: Some(Span::from_millis(1)), seed: u64::from(mss) };
                harness.control.on_start(&start, &mut harness.window);
            }
            for op in &ops {
                harness.step(op)?;
            }
        }
    }
}

/// Every parameter takes its default and the ends of its range, and refuses what lies beyond.
#[test]
fn parameters_have_ranges() {
    for name in AnyController::NAMES {
        let mut control = AnyController::by_name(name).unwrap();
        for p in control.parameters() {
            for value in [p.default, p.low, p.high] {
                control.set(p.name, value).unwrap_or_else(|e| panic!("{name}: {e}"));
            }
            control.set(p.name, p.high * 2.0 + 1.0).unwrap_err();
            control.set(p.name, f64::NAN).unwrap_err();
            assert!(!p.about.is_empty());
        }
        let error = control.set("no-such", 1.0).unwrap_err().to_string();
        assert!(error.contains("no-such") && error.contains(name), "{error}");
    }
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let error = AnyController::by_name("renoo").unwrap_err().to_string();
    assert!(error.contains("renoo") && error.contains("new-reno") && error.contains("lia"), "{error}");
}

/// A sender holds a control in place; only the smallest are not boxed.
#[test]
fn a_control_is_small() {
    assert!(std::mem::size_of::<AnyController>() <= 24, "{} bytes", std::mem::size_of::<AnyController>());
}
