//! Worked cases of the standards for loss recovery as Linux does it.

use super::*;
use crate::tcp::profile::{LinuxRecovery, Reduction, RtoRule};

/// Linux' sender with segments of [`MSS`], one by one, no timestamps, in congestion avoidance from `window` on.
fn linux(window: u32) -> Profile {
    Profile {
        control: AnyController::by_name("new-reno").unwrap(),
        mss: MSS as u32,
        timestamps: false,
        initial_window: window,
        initial_ssthresh: Some(Bytes::new(u64::from(window) * MSS)),
        receive_window: Bytes::new(1 << 30),
        autotuning: None,
        send_buffer: None,
        offload: None,
        ..Profile::linux()
    }
}

/// Acknowledgements of segments `arrived`, the first of which was sent with those before it that are lost: what each
/// lets go, N for new, R for retransmitted.
fn answers(s: &mut Script, arrived: std::ops::Range<u64>) -> String {
    let first = arrived.start;
    let mut new = s.data / MSS;
    let mut all = Vec::new();
    for segment in arrived {
        s.ack(0, &[(first, segment + 1)], 0);
        let sent = s.segments();
        all.push(sent.iter().map(|&n| if n >= new { 'N' } else { 'R' }).collect::<String>());
        new = s.data / MSS;
    }
    all.iter().map(|sent| if sent.is_empty() { "-" } else { sent }).collect::<Vec<_>>().join(" ")
}

fn reducing(reduction: Reduction) -> Profile {
    let own = linux(20).recovery.linux().unwrap();
    Profile { recovery: Recovery::Linux(LinuxRecovery { reduction, ..own }), ..linux(20) }
}

/// RFC 6937 §3 for acknowledgements 1 to 19 of 20 segments without the first, and limited transmit: what each lets go if
/// `before` segments become `after`.
fn rule(before: u64, after: u64) -> String {
    let (mut all, mut out) = (vec!["N", "N", "R"], 1);
    let mut pipe = 22 - 1 - 3 + 1;
    for delivered in 2..=17u64 {
        pipe -= 1;
        let may = if pipe > after { (delivered * after).div_ceil(before) - out } else { after - pipe };
        assert!(may <= 1);
        all.push(if may == 1 { "N" } else { "-" });
        (out, pipe) = (out + may, pipe + may);
    }
    all.join(" ")
}

/// RFC 6937 §3.1, first example: of 20 segments the first is lost; rows "sent". They are those of a FlightSize of 22, with
/// limited transmit's two segments, that becomes 11; Linux' window of 20 becomes 10.
#[test]
fn a_single_loss_of_rfc_6937() {
    assert_eq!(rule(22, 11), "N N R - N - N - N - N - N - N - - N N");
    let mut s = Script::after(reducing(Reduction::Proportional), 0);
    assert_eq!(s.segments().len(), 20);
    assert_eq!(answers(&mut s, 1..20), rule(20, 10));
    assert_eq!(s.sender.pipe(), 10 * MSS);
    let mut s = Script::after(reducing(Reduction::Halving), 0);
    s.segments();
    assert_eq!(answers(&mut s, 1..20), "N N R - N - N - N - N - N - N - N - N");
    // RFC 6675: "half window of silence". FlightSize is without limited transmit's two segments (RFC 6675 §5 step 4.2),
    // so that the window is ten: one less in the end than in the example.
    let mut s = Script::after(Profile { initial_window: 20, ..profile(Recovery::Sack) }, 0);
    s.segments();
    assert_eq!(answers(&mut s, 1..20), "N N R - - - - - - - - - N N N N N N N");
}

/// RFC 6937 §3.1, second example: the first 15 of 20 are lost; rows of PRR-CRB and rate halving. Linux takes the
/// conservative bound as long as acknowledgements do not advance (`tcp_cwnd_reduction`). Row "pipe" is without what the
/// acknowledgement lets go.
#[test]
fn a_burst_of_losses_of_rfc_6937() {
    for reduction in [Reduction::Proportional, Reduction::Halving] {
        let mut s = Script::after(reducing(reduction), 0);
        s.segments();
        assert_eq!(answers(&mut s, 15..20), "N N R R R", "{reduction:?}");
        assert_eq!(s.sender.pipe(), (4 + 1) * MSS, "{reduction:?}");
    }
    // RFC 6675: up to the window at once, which is ten here (see above)
    let mut s = Script::after(Profile { initial_window: 20, ..profile(Recovery::Sack) }, 0);
    s.segments();
    assert_eq!(answers(&mut s, 15..20), "N N RRRRRR R R");
}

/// The same burst, repaired: the window is ssthresh, ten, after proportional reduction; after rate halving it is what was
/// in flight and no more (`tcp_complete_cwr` of Linux 2.6.32), and slow start goes on from there.
#[test]
fn rate_halving_does_not_end_with_a_burst() {
    for (reduction, expected) in [(Reduction::Proportional, 10), (Reduction::Halving, 6)] {
        let mut s = Script::after(reducing(reduction), 0);
        s.segments();
        answers(&mut s, 15..20);
        for next in 1..15 {
            s.ack(next, &[(15, 20)], 0);
        }
        s.ack(22, &[], 0);
        assert_eq!(s.cwnd(), expected, "{reduction:?}");
    }
}

/// When timers set now for `after` fire in Linux: at a tick, and with the wheel's grain of 8 ms from 63 ms on; up to a
/// grain later.
fn assert_fires(s: &Script, after: Span) {
    let (deadline, grain) = (s.sender.timer.deadline(), if after < Span::from_millis(63) { 1 } else { 8 });
    let span = deadline - s.now;
    assert!(span >= after && span <= after + Span::from_millis(grain + 1), "{span}, asked for {after}");
}

/// RFC 8985 §7.2: PTO = 2·SRTT, and the time-out if that is sooner; for a lone segment the receiver's delay is added.
/// Linux adds two ticks in the former case and 200 ms in the latter, which is beyond srtt + 200 ms, the time-out. What
/// is sent then is new data if there is some (§7.3), else the last segment; a second probe has to wait for an answer, so
/// that the next is the time-out, counted from the probe.
#[test]
fn a_tail_loss_probe_comes_after_two_round_trips() {
    let rto = ROUND_TRIP + Span::from_millis(200);
    for (segments, pto) in
        [(2, ROUND_TRIP * 2 + Span::from_millis(2)), (5, ROUND_TRIP * 2 + Span::from_millis(2)), (1, rto)]
    {
        let mut s = Script::of(linux(10), 0, segments * MSS);
        assert_eq!(s.segments().len() as u64, segments);
        assert_fires(&s, pto);
        s.time_out();
        assert_eq!((s.segments(), s.sender.counters.timeouts), (vec![segments - 1], 0), "{segments}");
        assert_fires(&s, rto);
        s.time_out();
        assert_eq!((s.segments(), s.sender.counters.timeouts), (vec![0], 1), "{segments}");
    }
    let mut s = Script::of(linux(10), 0, 20 * MSS);
    assert_eq!(s.segments().len(), 10);
    s.time_out();
    assert_eq!((s.segments(), s.sender.counters.timeouts), (vec![10], 0)); // beyond the window
}

/// RFC 8985 §3.4: "Tail drop": the last three of ten are lost. The probe is the last one again, its answer shows that
/// two more are missing, which go at once, and the window is halved: nothing waits for the time-out.
#[test]
fn a_tail_drop_is_repaired_by_the_probe() {
    let mut s = Script::of(linux(10), 0, 10 * MSS);
    s.segments();
    s.now += ROUND_TRIP;
    s.ack(7, &[], 0);
    assert_eq!(s.segments(), []);
    s.time_out();
    assert_eq!(s.segments(), [9]);
    s.now += ROUND_TRIP;
    s.ack(7, &[(9, 10)], 0);
    assert_eq!(s.segments(), [7]); // the first at once, whatever the bound
    s.now += ROUND_TRIP;
    s.ack(8, &[(9, 10)], 0);
    assert_eq!(s.segments(), [8]);
    s.now += ROUND_TRIP;
    s.ack(10, &[], 0);
    assert_eq!((s.sender.counters.timeouts, s.sender.outstanding()), (0, 0));
    assert_eq!(s.sender.window.ssthresh, 5 * MSS);
}

/// RFC 8985 §7.4.2: a probe that repaired the only loss is congestion all the same, and one that was answered twice (a
/// duplicate report, RFC 2883) is not.
#[test]
fn a_probe_that_repaired_a_loss_halves_the_window() {
    let mut s = Script::of(linux(10), 0, 10 * MSS);
    s.segments();
    s.now += ROUND_TRIP;
    s.ack(9, &[], 0);
    s.time_out();
    assert_eq!(s.segments(), [9]);
    let before = s.cwnd();
    s.end = 20 * MSS;
    s.now += ROUND_TRIP;
    s.ack(10, &[], 0);
    // whether it was lost shows when something behind it is acknowledged
    assert_eq!(s.cwnd(), before);
    s.now += ROUND_TRIP;
    s.ack(11, &[], 0);
    assert!(s.sender.window.ssthresh <= before.div_ceil(2) * MSS, "{}", s.sender.window.ssthresh / MSS);
}

/// RFC 8985 §3.3: a retransmission that is lost is found by what was sent after it, a round trip later. RFC 6675, which
/// marks a segment lost once, waits for the time-out.
#[test]
fn a_lost_retransmission_is_found_within_a_round_trip() {
    let run = |profile: Profile| {
        let mut s = Script::after(profile, 0);
        s.segments();
        s.now += ROUND_TRIP;
        for k in 1..10 {
            s.ack(0, &[(1, k + 1)], 0);
        }
        let sent = s.segments();
        assert_eq!(sent.iter().filter(|&&n| n == 0).count(), 1, "{sent:?}");
        // all that was sent after the retransmission arrives
        let last = *sent.last().expect("new data follows");
        s.now += ROUND_TRIP;
        for k in 10..=last {
            s.ack(0, &[(1, k + 1)], 0);
        }
        let again = s.segments();
        (again.iter().filter(|&&n| n == 0).count(), s.sender.counters.timeouts)
    };
    assert_eq!(run(linux(10)), (1, 0));
    assert_eq!(run(profile(Recovery::Sack)), (0, 0));
}

/// RFC 8985 §6.2 step 4, §3.2: before reordering is seen three segments beyond are a loss; afterwards what comes within
/// min_RTT/4 costs nothing, however many are beyond it, and what does not is retransmitted by a timer (two ticks are added
/// in Linux).
#[test]
fn reordering_within_a_quarter_of_the_round_trip_costs_nothing() {
    let quarter = ROUND_TRIP / 4;
    let mut s = Script::after(linux(12), 0);
    s.segments();
    s.now += ROUND_TRIP;
    // two overtake the first, which is below the threshold
    s.ack(0, &[(1, 2)], 0);
    s.ack(0, &[(1, 3)], 0);
    s.now += quarter / 2;
    s.ack(3, &[], 0);
    assert_eq!(s.sender.counters.retransmissions, 0);
    // now six overtake the next
    for k in 4..10 {
        s.ack(3, &[(4, k + 1)], 0);
    }
    s.now += quarter / 2;
    s.segments();
    s.ack(10, &[], 0);
    assert_eq!((s.sender.counters.retransmissions, s.sender.counters.timeouts), (0, 0));
    assert_eq!(s.sender.window.ssthresh, 12 * MSS);
    // and once more, but it never comes
    s.now += ROUND_TRIP;
    s.segments();
    s.ack(s.data / MSS, &[], 0);
    let hole = s.segments()[0];
    s.now += ROUND_TRIP;
    for k in hole + 1..hole + 4 {
        s.ack(hole, &[(hole + 1, k + 1)], 0);
    }
    assert!(!s.segments().contains(&hole));
    let wait = s.sender.timer.deadline() - s.now;
    assert!(wait <= quarter + Span::from_millis(3), "{wait}");
    s.time_out();
    assert_eq!((s.segments().first(), s.sender.counters.timeouts), (Some(&hole), 0));
    assert_eq!(s.sender.repair, Repair::Fast);
}

/// RFC 5682 §2.1 with SACK (§3.1): a delay spike. After the time-out the first acknowledgement lets two new segments go
/// (step 2.b), the second is for data that was sent once (step 3.b): the time-out was spurious, the window comes back.
#[test]
fn a_spurious_time_out_is_undone() {
    let mut s = Script::after(Profile { rto_rule: RtoRule::Rfc6298, ..without_probes(10) }, 0);
    assert_eq!(s.segments().len(), 10);
    s.time_out();
    assert_eq!((s.segments(), s.cwnd(), s.sender.window.ssthresh), (vec![0], 1, 5 * MSS));
    s.ack(1, &[], 0);
    assert_eq!(s.segments(), [10, 11]);
    s.ack(2, &[], 0);
    assert_eq!((s.sender.repair, s.sender.window.ssthresh), (Repair::None, 10 * MSS));
    assert!(s.cwnd() >= 10, "{}", s.cwnd());
    assert!(s.segments().iter().all(|&n| n >= 12), "nothing more is retransmitted");
}

/// The same with a real loss of all ten: the first acknowledgement is for retransmissions, then come duplicates for
/// the two new ones (step 3.a): repair goes on in slow start from where it was, and nothing is undone.
#[test]
fn a_real_time_out_is_not_undone() {
    let mut s = Script::after(without_probes(10), 0);
    s.segments();
    s.time_out();
    assert_eq!(s.segments(), [0]);
    s.now += ROUND_TRIP;
    s.ack(1, &[], 0);
    assert_eq!(s.segments(), [10, 11]);
    s.now += ROUND_TRIP;
    s.ack(1, &[(10, 11)], 0);
    s.ack(1, &[(10, 12)], 0);
    let sent = s.segments();
    assert!(!sent.is_empty() && sent.iter().all(|&n| (1..10).contains(&n)), "{sent:?}");
    assert_eq!(s.sender.window.ssthresh, 5 * MSS);
    assert!(s.cwnd() <= 4, "{}", s.cwnd());
}

fn without_probes(window: u32) -> Profile {
    let own = linux(window).recovery.linux().unwrap();
    Profile { recovery: Recovery::Linux(LinuxRecovery { tail_loss_probe: false, ..own }), ..linux(window) }
}

/// RFC 6298 §5.5 and Linux' time-out: srtt + 200 ms, doubled each time, at the grain of its timers.
#[test]
fn linux_time_outs_double() {
    let mut s = Script::after(without_probes(10), 0);
    let mut rto = ROUND_TRIP + Span::from_millis(200);
    for n in 1..=6u64 {
        let span = s.sender.timer.deadline() - s.now;
        let grain = Span::from_millis(match rto.picos() / 1_000_000_000 {
            ..504 => 8,
            504..4032 => 64,
            _ => 512,
        });
        assert!(span >= rto && span <= rto + grain + Span::from_millis(1), "time-out {n}: {span}, {rto}");
        s.time_out();
        rto = rto * 2;
    }
    assert_eq!(s.sender.counters.timeouts, 6);
}
