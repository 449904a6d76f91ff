//! Mean windows of controls under random loss: each control's response function.
//!
//! The published functions (RFC 3649 §5, RFC 9438 §5.1) are for losses that are equally many segments apart; a wire
//! loses at random. In between stands the [`ideal`] process, which grows and falls as the standard's equations say,
//! in real numbers: with equal distances it has to give the published tables, and with random ones what the
//! simulator gives. As in `loss_law` windows are goodput × round trip, on a link so fast that the round trip is constant.

use headway_control::congestion::AnyController;
use headway_engine::{Stream, Streams};
use headway_transport::{Profile, Recovery, SampleKind};
use headway_units::{Bytes, Rate, Span};

use crate::common::{MSS, Setup, assert_near, line, lossy, profile, wire};

/// Equations of a control in congestion avoidance; windows in segments, times in seconds.
trait Law {
    /// What one acknowledged segment adds to a window of `w` at `t` after the last repair.
    fn grow(&mut self, w: f64, t: f64, rtt: f64) -> f64;
    /// What congestion leaves of `w`.
    fn fall(&mut self, w: f64) -> f64;
}

/// RFC 3649 §7; in whole segments a round trip, rounded up, as in appendix B's table and Linux if `rounds`.
struct HighSpeed {
    rounds: bool,
}

impl HighSpeed {
    fn decrease(w: f64) -> f64 {
        0.5 - 0.4 * libm::log(w.max(38.0) / 38.0) / libm::log(83_000.0 / 38.0)
    }
}

impl Law for HighSpeed {
    fn grow(&mut self, w: f64, _: f64, _: f64) -> f64 {
        let b = HighSpeed::decrease(w);
        let a = if w <= 38.0 { 1.0 } else { w * w * 0.078 / libm::pow(w, 1.2) * 2.0 * b / (2.0 - b) };
        if self.rounds { a.ceil() / w } else { a / w }
    }

    fn fall(&mut self, w: f64) -> f64 {
        w * (1.0 - HighSpeed::decrease(w))
    }
}

/// RFC 9438 §4.2 to §4.7, with C = 0.4 and β = 0.7.
#[derive(Default)]
struct Cubic {
    max: f64,
    start: f64,
    reno: f64,
    fast_convergence: bool,
}

impl Law for Cubic {
    fn grow(&mut self, w: f64, t: f64, rtt: f64) -> f64 {
        let k = libm::cbrt((self.max - self.start).max(0.0) / 0.4);
        let cubic = 0.4 * (t + rtt - k).powi(3) + self.max;
        self.reno += 9.0 / 17.0 / w; // §4.3: 3 (1 − β)/(1 + β)
        let growth = (cubic.clamp(w, 1.5 * w) - w) / w;
        growth.max(self.reno - w).max(0.0)
    }

    fn fall(&mut self, w: f64) -> f64 {
        let shrinks = self.fast_convergence && w < self.max;
        self.max = if shrinks { w * 0.85 } else { w };
        self.start = 0.7 * w;
        self.reno = self.start;
        self.start
    }
}

/// Segments per round trip of a `law` that loses segments `distance()` apart until `losses` are passed.
///
/// If `repairs`, a loss is noticed a round trip after it happened, what is lost meanwhile is of the same window and
/// costs nothing more, and for the round trip of the repair the window stands still (RFC 5681 §3.2, RFC 6675). Else
/// all that takes no time, as in the RFCs' tables.
fn ideal(law: &mut dyn Law, rtt: f64, losses: u32, repairs: bool, distance: &mut dyn FnMut() -> f64) -> f64 {
    let (mut w, mut now, mut sent) = (50.0f64, 0.0, 0.0);
    let (mut begun, mut resumed) = ((0.0, 0.0), 0.0);
    let mut notice: Option<f64> = None;
    let mut next = distance();
    let mut passed = 0;
    while passed < losses {
        now += rtt / w;
        sent += 1.0;
        if sent >= next {
            next += distance();
            passed += 1;
            if passed == losses / 10 {
                begun = (now, sent);
            }
            if !repairs {
                w = law.fall(w);
                resumed = now;
                continue;
            }
            notice = notice.or(Some((now + rtt).max(resumed)));
        }
        if notice.is_some_and(|at| now >= at) {
            notice = None;
            w = law.fall(w);
            resumed = now + rtt;
        }
        if now >= resumed {
            w += law.grow(w, now - resumed, rtt);
        }
    }
    (sent - begun.1) * rtt / (now - begun.0)
}

fn periodic(law: &mut dyn Law, rtt: f64, p: f64) -> f64 {
    ideal(law, rtt, 400, false, &mut || 1.0 / p)
}

fn random(law: &mut dyn Law, rtt: f64, p: f64) -> f64 {
    let mut stream: Stream = Streams::new(5).stream("ideal");
    ideal(law, rtt, 10_000, true, &mut || stream.exponential(1.0 / p))
}

/// What the simulator gives.
struct Got {
    /// Segments per round trip.
    window: f64,
    /// Lost of all that was sent: p but for chance.
    lost: f64,
    timeouts: u32,
}

/// One flow under loss `p` from the window `start` on, about `losses` of them.
fn simulate(profile: Profile, rtt: Span, p: f64, start: f64, losses: f64) -> Got {
    let line = line(&[lossy(wire(Rate::from_gbps(100), rtt / 2), p)]);
    let bytes = Some(Bytes::new(start as u64 * u64::from(MSS)));
    let profile = Profile { initial_window: start as u32, initial_ssthresh: bytes, ..profile };
    let interval = rtt * 100;
    let intervals = (losses / p / start / 100.0).ceil() as u64;
    let warmup = interval * intervals.div_ceil(10);
    let outcome = Setup::new(&line.net, profile)
        .flow((line.source, line.sink), None, Span::ZERO)
        .sample(interval, &[SampleKind::Goodput])
        .run(warmup + interval * intervals);
    let port = outcome.port(line.links[0]);
    Got {
        window: outcome.goodput(0, warmup) * rtt.as_secs_f64() / 8.0 / f64::from(MSS),
        lost: port.lost.frames as f64 / (port.lost.frames + port.delivered.frames) as f64,
        timeouts: outcome.ends[0].timeouts,
    }
}

fn of(control: &str) -> Profile {
    Profile { control: AnyController::by_name(control).expect("a known control"), ..profile() }
}

/// RFC 3649 table 5 (its response function 0.12/p^0.835); RFC 9438 tables 2 and 3 where Reno's window governs, √1.5/√p.
/// RFC 3649 §5 takes the average window for the loss's, which a fall of b is above by b/4 or so: 10 %.
#[test]
fn the_ideal_gives_the_tables_of_the_standards() {
    for (p, expected) in [(1e-3, 38.0), (1e-4, 263.0), (1e-5, 1795.0)] {
        assert_near(&format!("HighSpeed at {p}"), periodic(&mut HighSpeed { rounds: false }, 0.1, p), expected, 0.10);
    }
    for (rtt, p, expected) in [(0.01, 1e-3, 38.7), (0.01, 1e-4, 122.5)] {
        assert_near(&format!("CUBIC beside Reno at {p}"), periodic(&mut Cubic::default(), rtt, p), expected, 0.04);
    }
}

/// RFC 9438 table 2 (round trip 0.1 s) where the cubic function governs. Its formula has the loss at the plateau, K after
/// the last one, which is neither stable nor unstable to the third order: equal distances stay for hundreds of epochs
/// where they began. So the other way round: an epoch from the average window's maximum, W·4/(3 + β), to K has 1/p
/// segments. Tolerance 3 %: segments go with W^(4/3), the table has whole ones.
#[test]
fn an_epoch_of_the_ideal_has_the_segments_of_cubics_table() {
    for (p, average) in [(1e-4, 187.0), (1e-5, 1054.0), (1e-6, 5926.0)] {
        let (rtt, mut law) = (0.1, Cubic::default());
        let mut w = law.fall(average * 4.0 / 3.7);
        let k = libm::cbrt((law.max - w) / 0.4);
        let (mut t, mut segments) = (0.0, 0.0);
        while t < k {
            t += rtt / w;
            segments += 1.0;
            w += law.grow(w, t, rtt);
        }
        assert_near(&format!("segments at {p}"), segments, 1.0 / p, 0.03);
        assert_near(&format!("window after K at {p}"), w, law.max, 0.01);
    }
}

/// HighSpeed TCP at p = 2e-4, where Reno has 93 and the RFC's function is 147. Linux takes a(w) from the table of
/// appendix B as whole numbers rounded up (3 for 2.3 at 147). About 1,200 losses: a standard error of 1.6 % (as in
/// `loss_law`), doubled, and rounded falls, half a segment and half of a hundredth of 150 each, make 7 %.
#[test]
fn high_speed_follows_its_response_function() {
    let p = 2e-4;
    let got = simulate(of("highspeed"), Span::from_millis(100), p, 147.0, 1200.0);
    let expected = random(&mut HighSpeed { rounds: true }, 0.1, p);
    println!("HighSpeed: {}, ideal {expected}", got.window);
    assert_near("HighSpeed", got.window, expected, 0.07);
    assert!(got.window > 1.31 / p.sqrt() * 1.3, "{} is not above Reno's", got.window);
}

/// CUBIC at a round trip of 0.1 s and p = 2e-4: the cubic function's region, 1.054·(RTT/p)^(3/4) = 111 with equal
/// distances. Then where Reno's window is larger, p = 1e-3 at 10 ms. Tolerance 9 %: two standard errors of 1.6 % at
/// 1,200 losses, and windows in whole segments: the cubic function is rounded by up to one, of 35 to 110, each way: 5 %.
#[test]
fn cubic_follows_its_response_function() {
    for (rtt, p) in [(100u32, 2e-4), (10, 1e-3)] {
        let mut law = Cubic { fast_convergence: true, ..Cubic::default() };
        let expected = random(&mut law, f64::from(rtt) / 1e3, p);
        let got = simulate(of("cubic"), Span::from_millis(rtt.into()), p, expected, 1200.0);
        println!("CUBIC at {rtt} ms: {}, ideal {expected}", got.window);
        assert_near(&format!("CUBIC, {rtt} ms, {p}"), got.window, expected, 0.09);
    }
}

/// Scalable TCP adds ln(1.01) a round trip to the logarithm of its window and takes ln(8/7) for a loss. The logarithm
/// neither rises nor falls for ever, so both balance whatever the distances are: r events a round trip with growth in
/// all but the 1 − r of repair, r·ln(8/7) = (1 − r)·ln(1.01), r = 0.0694. A loss hides those of the round trip until it is
/// noticed, r = λ/(1 + λ), so that p·W = λ = 0.0745, with p counted. Tolerance: the window's own logarithm at the ends,
/// ±0.5 of the ln(8/7)·200 (2 %), whether growth is 1.01 or e^0.01 a round trip (0.5 %), the same for losses while
/// repairing (an r-th of an r-th, 0.5 %), and whole segments in an eighth of 370 (1 %).
#[test]
fn scalable_loses_as_often_at_any_rate() {
    let growth = libm::log(1.01);
    let events = growth / (libm::log(8.0 / 7.0) + growth);
    let got = simulate(of("scalable"), Span::from_millis(20), 2e-4, 372.0, 300.0);
    assert_near("losses per round trip", got.window * got.lost, events / (1.0 - events), 0.04);
}

/// At several per cent time-outs count. Padhye et al. (eq. 30; T₀ = 4 RTT) let a loss take the rest of its round with
/// it and know neither selective acknowledgements nor limited transmit: low for independent losses. But there windows are
/// real numbers and grow during repair too: half of 7 is 3 in segments, 7 % less on average, and of the time a part of
/// p·W, 14 to 20 %, does not grow the window, which goes with the root of that: 86 % of Padhye's is the lower bound. The law
/// without time-outs, 1.31/√p, is an upper one. The larger p, the farther below it.
#[test]
fn frequent_losses_are_between_padhye_and_the_law_without_time_outs() {
    let rtt = Span::from_millis(10);
    for recovery in [Recovery::Sack, Recovery::NEW_RENO] {
        let mut before = 1.0;
        for p in [0.02, 0.04, 0.08] {
            let own = Profile { recovery, min_rto: rtt * 4, ..profile() };
            let got = simulate(own, rtt, p, 1.31 / f64::sqrt(p), 4000.0);
            let timeouts = 4.0 * (3.0 * f64::sqrt(3.0 * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
            let (low, high) = (1.0 / (f64::sqrt(2.0 * p / 3.0) + timeouts), 1.31 / f64::sqrt(p));
            assert!((0.86 * low..high).contains(&got.window), "{recovery:?} at {p}: {} in {low} … {high}", got.window);
            assert!(got.timeouts > 0);
            assert!(got.window / high < before, "{recovery:?} at {p}");
            before = got.window / high;
        }
    }
}
