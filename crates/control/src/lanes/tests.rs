//! Worked examples and random operation sequences.

use headway_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use super::{
    Backlog, BytesSent, Deadline, DeliveryRate, Judge, Lanes, Leftovers, LinkCost, MAX_SUBFLOWS, Observation, Permit,
    Permits, Progress, Return, Role, SubflowIndex, TooManySubflows,
};

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn us(n: u64) -> Span {
    Span::from_micros(n)
}

/// `n` ms after the opening of every connection below, which is at 7 s.
fn at(n: u64) -> Time {
    OPENED + ms(n)
}

const OPENED: Time = Time::from_picos(7_000_000_000_000);

fn rtt(srtt: Span) -> Observation {
    Observation { srtt, latest: None, min_rtt: None }
}

/// A sample with queueing delay `delay` over a path of 2 ms.
fn queued(delay: Span) -> Observation {
    Observation { srtt: ms(2) + delay, latest: None, min_rtt: Some(ms(2)) }
}

fn one_each(judge: impl Into<Judge>) -> (Lanes, SubflowIndex, SubflowIndex) {
    let mut lanes = Lanes::new(judge, OPENED).unwrap();
    let short = lanes.add_subflow(Role::Short).unwrap();
    let long = lanes.add_subflow(Role::Long).unwrap();
    (lanes, short, long)
}

/// Samples with constant delays every `interval`; when the connection switched, as its age.
fn age_of_switch(judge: LinkCost, short_delay: Span, long_delay: Span, interval: Span) -> Span {
    let (mut lanes, short, long) = one_each(judge);
    let mut now = OPENED;
    while lanes.switched().is_none() && now < at(10_000) {
        let _ = lanes.observe(now, long, queued(long_delay));
        let _ = lanes.observe(now, short, queued(short_delay));
        now += interval;
    }
    lanes.switched().expect("switched") - OPENED
}

// ---- eq. 5.7 ----

#[test]
fn cost_of_the_short_lane_is_below_its_congestion_before_the_deadline_and_above_it_after() {
    let judge = LinkCost::default();
    // ν = 1 ms = 8 units of 125 µs, so congestion costs 1 + 1·8 = 9 throughout.
    assert_eq!(judge.cost(Role::Short, ms(1), ms(0)), 9.0 - 300.0);
    assert_eq!(judge.cost(Role::Short, ms(1), ms(100)), 9.0 - 200.0);
    assert_eq!(judge.cost(Role::Short, ms(1), ms(300)), 9.0);
    assert_eq!(judge.cost(Role::Short, ms(1), ms(350)), 9.0 + 50.0);
}

#[test]
fn cost_of_a_long_lane_is_its_congestion_at_any_age() {
    let judge = LinkCost { alpha: 2.0, ..LinkCost::default() };
    for age in [ms(0), ms(300), ms(100_000)] {
        assert_eq!(judge.cost(Role::Long, Span::ZERO, age), 1.0);
        assert_eq!(judge.cost(Role::Long, ms(1), age), 1.0 + 2.0 * 8.0);
    }
}

#[test]
fn powers_apply_to_the_absolute_values_and_keep_the_sign() {
    let judge = LinkCost { beta: 2.0, delta: 1.5, ..LinkCost::default() };
    // ν = 0.5 ms = 4 units, 4² = 16. 4 ms from the deadline: 4^1.5 = 8; (−4)^1.5 has no value.
    assert_eq!(judge.cost(Role::Long, us(500), ms(0)), 17.0);
    assert_eq!(judge.cost(Role::Short, us(500), ms(296)), 17.0 - 8.0);
    assert_eq!(judge.cost(Role::Short, us(500), ms(304)), 17.0 + 8.0);
    // An even power keeps the sign, too: −(4²).
    let even = LinkCost { delta: 2.0, ..LinkCost::default() };
    assert_eq!(even.cost(Role::Short, Span::ZERO, ms(296)), 1.0 - 16.0);
    let root = LinkCost { beta: 0.5, ..LinkCost::default() };
    assert_eq!(root.cost(Role::Long, us(500), ms(0)), 3.0);
}

#[test]
fn without_gamma_the_short_lane_costs_what_a_long_one_does() {
    let judge = LinkCost { gamma: 0.0, ..LinkCost::default() };
    for age in [ms(0), ms(300), Span::MAX] {
        assert_eq!(judge.cost(Role::Short, ms(1), age), judge.cost(Role::Long, ms(1), age));
    }
}

// ---- measuring ----

#[test]
fn first_measurement_is_taken_whole_and_later_ones_by_a_quarter() {
    let (mut lanes, _, long) = one_each(LinkCost::default());
    assert_eq!(lanes.link_cost(long), None);
    // τ0 = 2 ms, ν = 0: 1.
    let _ = lanes.observe(at(1), long, rtt(ms(2)));
    assert_eq!(lanes.link_cost(long), Some(1.0));
    // ν = 1 ms: 9. ¾·1 + ¼·9 = 3.
    let _ = lanes.observe(at(2), long, rtt(ms(3)));
    assert_eq!(lanes.link_cost(long), Some(3.0));
    // ν = 2 ms: 17. ¾·3 + ¼·17 = 2.25 + 4.25 = 6.5.
    let _ = lanes.observe(at(3), long, rtt(ms(4)));
    assert_eq!(lanes.link_cost(long), Some(6.5));
}

#[test]
fn the_deadline_term_is_not_smoothed_and_moves_with_every_tick() {
    let (mut lanes, short, _) = one_each(LinkCost::default());
    let _ = lanes.observe(at(0), short, rtt(ms(2)));
    assert_eq!(lanes.link_cost(short), Some(1.0 - 300.0));
    let _ = lanes.tick(at(120));
    assert_eq!(lanes.link_cost(short), Some(1.0 - 180.0));
    // ν = 1 ms: 9, smoothed to 3.
    let _ = lanes.observe(at(200), short, rtt(ms(3)));
    assert_eq!(lanes.link_cost(short), Some(3.0 - 100.0));
}

#[test]
fn smoothing_of_one_takes_each_sample_whole() {
    let (mut lanes, _, long) = one_each(LinkCost { smoothing: 1.0, ..LinkCost::default() });
    let _ = lanes.observe(at(1), long, queued(ms(1)));
    let _ = lanes.observe(at(2), long, queued(ms(3)));
    assert_eq!(lanes.link_cost(long), Some(25.0));
}

#[test]
fn minimum_rtt_found_later_raises_the_delay_of_later_samples() {
    let (mut lanes, _, long) = one_each(LinkCost::default());
    // The first sample is the minimum, however long the queue was.
    let _ = lanes.observe(at(1), long, rtt(ms(10)));
    assert_eq!(lanes.link_cost(long), Some(1.0));
    let _ = lanes.observe(at(2), long, rtt(ms(2)));
    assert_eq!(lanes.link_cost(long), Some(1.0));
    // Now 10 ms are 8 ms of queue: 1 + 64 = 65. ¾·1 + ¼·65 = 17.
    let _ = lanes.observe(at(3), long, rtt(ms(10)));
    assert_eq!(lanes.link_cost(long), Some(17.0));
}

#[test]
fn minimum_rtt_of_the_stack_is_used_if_it_is_given() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let stack = |srtt, min| Observation { srtt, latest: None, min_rtt: Some(min) };
    let _ = lanes.observe(at(0), long, stack(ms(2), ms(1)));
    assert_eq!(lanes.link_cost(long), Some(9.0));
    // Unset (zero) is no minimum, and neither is one above the smoothed RTT.
    let _ = lanes.observe(at(300), short, stack(ms(2), Span::ZERO));
    assert_eq!(lanes.link_cost(short), Some(1.0));
    let _ = lanes.observe(at(300), short, stack(ms(1), ms(2)));
    assert_eq!(lanes.link_cost(short), Some(1.0));
}

#[test]
fn srtt_of_zero_is_no_measurement() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let _ = lanes.observe(at(1000), long, rtt(Span::ZERO));
    let _ = lanes.observe(at(1000), short, rtt(ms(2)));
    assert_eq!((lanes.link_cost(long), lanes.switched()), (None, None));
}

// ---- when the link-cost judge switches ----

#[test]
fn steady_queue_on_the_short_lane_switches_at_the_age_that_the_equation_gives() {
    // SL: ν = 5 ms = 40 units, LL idle. 1 + 40 − (300 − t) > 1 ⇔ t > 260.
    let (mut lanes, short, long) = one_each(LinkCost::default());
    assert_eq!(lanes.observe(at(0), short, queued(ms(5))), Permits::Unchanged);
    assert_eq!(lanes.observe(at(0), long, queued(Span::ZERO)), Permits::Unchanged);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Normal, Permit::Probe));
    // Costs are equal at 260 ms: a tie goes to the SL.
    assert_eq!(lanes.tick(at(260)), Permits::Unchanged);
    assert_eq!(lanes.link_cost(short), lanes.link_cost(long));
    let just_after = at(260) + Span::from_picos(1);
    assert_eq!(lanes.tick(just_after), Permits::Changed);
    assert_eq!(lanes.switched(), Some(just_after));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
}

#[test]
fn steady_queue_on_the_long_lane_switches_as_much_after_the_deadline() {
    // 1 + (t − 300) > 1 + 40 ⇔ t > 340; sampled every ms.
    assert_eq!(age_of_switch(LinkCost::default(), Span::ZERO, ms(5), ms(1)), ms(341));
    // Equal queues cancel: just after the deadline.
    assert_eq!(age_of_switch(LinkCost::default(), ms(5), ms(5), ms(1)), ms(301));
}

#[test]
fn equal_powers_scale_both_terms_alike() {
    // β = δ = 2: 40² > (300 − t)² ⇔ t > 260, as with β = δ = 1.
    let judge = LinkCost { beta: 2.0, delta: 2.0, ..LinkCost::default() };
    assert_eq!(age_of_switch(judge, ms(5), Span::ZERO, ms(1)), ms(261));
}

#[test]
fn larger_alpha_leaves_a_congested_short_lane_earlier_and_a_congested_long_lane_later() {
    // t = 300 − α·40 and 300 + α·40 (thesis fig. 7.1: the two wings open with α).
    for (alpha, early, late) in [(0.25, 290, 310), (0.5, 280, 320), (1.0, 260, 340), (2.0, 220, 380), (4.0, 140, 460)] {
        let judge = LinkCost { alpha, ..LinkCost::default() };
        assert_eq!(age_of_switch(judge, ms(5), Span::ZERO, ms(1)), ms(early + 1), "alpha {alpha}");
        assert_eq!(age_of_switch(judge, Span::ZERO, ms(5), ms(1)), ms(late + 1), "alpha {alpha}");
    }
}

#[test]
fn larger_gamma_switches_closer_to_the_deadline() {
    // t = 300 ∓ 40/γ (thesis fig. 7.2).
    for (gamma, early, late) in [(0.25, 140, 460), (0.5, 220, 380), (1.0, 260, 340), (2.0, 280, 320), (4.0, 290, 310)] {
        let judge = LinkCost { gamma, ..LinkCost::default() };
        assert_eq!(age_of_switch(judge, ms(5), Span::ZERO, ms(1)), ms(early + 1), "gamma {gamma}");
        assert_eq!(age_of_switch(judge, Span::ZERO, ms(5), ms(1)), ms(late + 1), "gamma {gamma}");
    }
}

#[test]
fn units_of_the_thesis_code_move_the_switch_by_32_times_the_queue() {
    // 3.75 ms of queue: 300 − 32·3.75 = 180 ms (thesis fig. 6.1: about 180 ms).
    let judge = LinkCost::thesis_code();
    assert_eq!(age_of_switch(judge, us(3750), Span::ZERO, ms(1)), ms(181));
    // A full 128 KB queue at 100 Mb/s (10.24 ms) on the LL with α = 4: 300 + 4·32·10.24 = 1610.72 ms.
    let judge = LinkCost { alpha: 4.0, ..judge };
    assert_eq!(age_of_switch(judge, Span::ZERO, us(10_240), ms(1)), ms(1611));
}

#[test]
fn polling_and_acks_switch_within_one_interval_of_each_other() {
    // 260 ms by the equation, sampled every 20 ms and every 100 µs.
    assert_eq!(age_of_switch(LinkCost::default(), ms(5), Span::ZERO, ms(20)), ms(280));
    assert_eq!(age_of_switch(LinkCost::default(), ms(5), Span::ZERO, us(100)), us(260_100));
}

#[test]
fn a_long_lane_without_measurement_cannot_be_chosen() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let _ = lanes.observe(at(5_000), short, queued(ms(5)));
    assert_eq!((lanes.switched(), lanes.permit(long)), (None, Permit::Probe));
    // Its first sample is enough.
    assert_eq!(lanes.observe(at(5_001), long, queued(ms(50))), Permits::Changed);
    assert_eq!(lanes.switched(), Some(at(5_001)));
}

#[test]
fn a_long_lane_measured_before_the_short_one_waits_for_it() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    assert_eq!(lanes.observe(at(1), long, queued(Span::ZERO)), Permits::Unchanged);
    assert_eq!(lanes.observe(at(2), short, queued(Span::ZERO)), Permits::Unchanged);
    assert_eq!(lanes.switched(), None);
}

#[test]
fn the_cheapest_of_several_long_lanes_counts() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let other = lanes.add_subflow(Role::Long).unwrap();
    let _ = lanes.observe(at(0), short, queued(ms(5)));
    let _ = lanes.observe(at(270), long, queued(ms(9)));
    // SL at 270 ms: 41 − 30 = 11; LLs: 73 and 1.
    assert_eq!(lanes.switched(), None);
    let _ = lanes.observe(at(270), other, queued(Span::ZERO));
    assert_eq!(lanes.switched(), Some(at(270)));
    assert_eq!((lanes.permit(long), lanes.permit(other)), (Permit::Normal, Permit::Normal));
}

#[test]
fn the_cheapest_of_several_short_lanes_keeps_the_connection() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let other = lanes.add_subflow(Role::Short).unwrap();
    let _ = lanes.observe(at(290), other, queued(Span::ZERO));
    let _ = lanes.observe(at(290), long, queued(Span::ZERO));
    // SLs at 290 ms: 41 − 10 = 31 and 1 − 10 = −9; LL: 1.
    let _ = lanes.observe(at(290), short, queued(ms(5)));
    assert_eq!(lanes.switched(), None);
    // The cheap one gone, 31 > 1.
    let _ = lanes.remove(other);
    assert_eq!(lanes.tick(at(290)), Permits::Changed);
}

// ---- the deadline judge ----

#[test]
fn deadline_switches_by_observation() {
    let (mut lanes, short, long) = one_each(Deadline { deadline: ms(30) });
    assert_eq!(lanes.deadline(), at(30));
    assert_eq!(lanes.observe(at(29), short, queued(ms(50))), Permits::Unchanged);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Normal, Permit::Probe));
    assert_eq!(lanes.observe(at(31), short, queued(ms(50))), Permits::Changed);
    assert_eq!(lanes.switched(), Some(at(31)));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
    assert_eq!((lanes.link_cost(short), lanes.link_cost(long)), (None, None));
}

#[test]
fn deadline_switches_by_a_tick_at_the_deadline_without_any_sample() {
    let (mut lanes, short, long) = one_each(Deadline::default());
    assert_eq!(lanes.tick(at(300) - Span::from_picos(1)), Permits::Unchanged);
    assert_eq!(lanes.tick(lanes.deadline()), Permits::Changed);
    assert_eq!(lanes.switched(), Some(at(300)));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
}

#[test]
fn without_a_long_lane_nothing_switches_until_one_comes() {
    for judge in [Judge::from(Deadline::default()), Judge::from(LinkCost::default())] {
        let mut lanes = Lanes::new(judge, OPENED).unwrap();
        let short = lanes.add_subflow(Role::Short).unwrap();
        assert_eq!(lanes.observe(at(1_000), short, queued(ms(5))), Permits::Unchanged);
        assert_eq!((lanes.switched(), lanes.permit(short)), (None, Permit::Normal));
        let long = lanes.add_subflow(Role::Long).unwrap();
        assert_eq!(lanes.permit(long), Permit::Probe);
        assert_eq!(lanes.observe(at(1_001), long, queued(Span::ZERO)), Permits::Changed);
        assert_eq!(lanes.permit(short), Permit::Hold);
    }
}

// ---- one way, and failures ----

#[test]
fn the_switch_is_one_way() {
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let _ = lanes.observe(at(300), long, queued(Span::ZERO));
    let _ = lanes.observe(at(301), short, queued(Span::ZERO));
    assert_eq!(lanes.switched(), Some(at(301)));
    // The LL is now far dearer than the SL ever gets at this age.
    for age in 302..400 {
        assert_eq!(lanes.observe(at(age), long, queued(ms(100))), Permits::Unchanged);
        assert_eq!(lanes.observe(at(age), short, queued(Span::ZERO)), Permits::Unchanged);
    }
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
    assert_eq!(lanes.switched(), Some(at(301)));
}

#[test]
fn a_long_lane_that_fails_before_the_switch_is_not_switched_to() {
    for judge in [Judge::from(Deadline::default()), Judge::from(LinkCost::default())] {
        let (mut lanes, short, long) = one_each(judge);
        let _ = lanes.observe(at(1), short, queued(Span::ZERO));
        let _ = lanes.observe(at(1), long, queued(Span::ZERO));
        assert_eq!(lanes.failed(long), Permits::Unchanged);
        assert_eq!(lanes.link_cost(long), None);
        let _ = lanes.observe(at(500), short, queued(ms(5)));
        assert_eq!((lanes.switched(), lanes.permit(short), lanes.permit(long)), (None, Permit::Normal, Permit::Probe));
        // It answers again.
        assert_eq!(lanes.observe(at(501), long, queued(Span::ZERO)), Permits::Changed);
        assert_eq!(lanes.permit(short), Permit::Hold);
    }
}

#[test]
fn the_short_lane_takes_over_while_no_long_lane_is_left_after_the_switch() {
    let (mut lanes, short, long) = one_each(Deadline::default());
    let other = lanes.add_subflow(Role::Long).unwrap();
    let _ = lanes.tick(at(300));
    assert_eq!(lanes.failed(long), Permits::Unchanged);
    assert_eq!(lanes.permit(short), Permit::Hold);
    assert_eq!(lanes.remove(other), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Normal);
    assert_eq!(lanes.permit(other), Permit::Hold);
    assert_eq!(lanes.switched(), Some(at(300)));
    // The failed one answers: back to it.
    assert_eq!(lanes.observe(at(400), long, queued(ms(1))), Permits::Changed);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
    assert_eq!(lanes.switched(), Some(at(300)));
}

#[test]
fn long_lanes_take_over_while_no_short_lane_is_left_before_the_switch() {
    let (mut lanes, short, long) = one_each(Deadline::default());
    assert_eq!(lanes.failed(short), Permits::Changed);
    assert_eq!((lanes.switched(), lanes.permit(long)), (None, Permit::Normal));
    assert_eq!(lanes.observe(at(10), short, queued(Span::ZERO)), Permits::Changed);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Normal, Permit::Probe));
    // With link costs, a lost SL is dearer than any LL.
    let (mut lanes, short, long) = one_each(LinkCost::default());
    let _ = lanes.observe(at(1), short, queued(Span::ZERO));
    let _ = lanes.remove(short);
    let _ = lanes.observe(at(2), long, queued(ms(50)));
    assert_eq!((lanes.switched(), lanes.permit(long)), (Some(at(2)), Permit::Normal));
}

#[test]
fn a_failure_forgets_the_minimum_rtt_and_the_cost() {
    let (mut lanes, _, long) = one_each(LinkCost::default());
    let _ = lanes.observe(at(1), long, rtt(ms(2)));
    let _ = lanes.observe(at(2), long, rtt(ms(3)));
    assert_eq!(lanes.link_cost(long), Some(3.0));
    let _ = lanes.failed(long);
    // The path that comes back is longer, not congested.
    let _ = lanes.observe(at(3), long, rtt(ms(6)));
    assert_eq!(lanes.link_cost(long), Some(1.0));
}

#[test]
fn time_never_runs_back() {
    let (mut lanes, _, _) = one_each(Deadline::default());
    let _ = lanes.tick(at(300));
    assert_eq!(lanes.tick(at(10)), Permits::Unchanged);
    assert_eq!(lanes.switched(), Some(at(300)));
    let (mut lanes, short, _) = one_each(LinkCost::default());
    let _ = lanes.observe(Time::ZERO, short, queued(Span::ZERO));
    assert_eq!(lanes.link_cost(short), Some(1.0 - 300.0));
    let _ = lanes.tick(at(200));
    let _ = lanes.tick(at(100));
    assert_eq!(lanes.link_cost(short), Some(1.0 - 100.0));
}

#[test]
fn at_most_eight_subflows_and_a_place_is_given_again() {
    let mut lanes = Lanes::new(Deadline::default(), OPENED).unwrap();
    let added: Vec<_> = (0..MAX_SUBFLOWS).map(|_| lanes.add_subflow(Role::Long).unwrap()).collect();
    assert_eq!(added.iter().map(|s| s.get()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(lanes.add_subflow(Role::Short), Err(TooManySubflows));
    let _ = lanes.remove(added[3]);
    assert_eq!(lanes.add_subflow(Role::Short), Ok(added[3]));
}

#[test]
fn state_is_inline_and_small() {
    assert!(size_of::<Lanes>() <= 1024, "{} bytes", size_of::<Lanes>());
}

#[test]
fn with_a_common_base_a_lane_that_is_full_from_its_first_sample_on_costs_its_queue() {
    for (common_base, cost) in [(false, 1.0), (true, 9.0)] {
        let (mut lanes, short, long) = one_each(LinkCost { common_base, ..LinkCost::default() });
        let _ = lanes.observe(at(1), short, rtt(ms(2)));
        // 1 ms more than the other lane's 2 ms: 8 units
        let _ = lanes.observe(at(2), long, rtt(ms(3)));
        assert_eq!(lanes.link_cost(long), Some(cost));
    }
}

// ---- judges beyond age ----

fn kb(n: u64) -> Bytes {
    Bytes::from_kb(n)
}

fn sent(acked: u64, backlog: u64) -> Progress {
    Progress { acked: kb(acked), backlog: kb(backlog) }
}

#[test]
fn bytes_sent_decide_whatever_the_age() {
    let (mut lanes, short, long) = one_each(BytesSent { threshold: kb(100) });
    assert_eq!(lanes.progress(at(10_000), sent(99, 1000)), Permits::Unchanged);
    assert!(!lanes.wants_long());
    assert_eq!(lanes.progress(at(10_001), sent(100, 0)), Permits::Changed);
    assert_eq!(lanes.switched(), Some(at(10_001)));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
}

#[test]
fn a_backlog_decides_before_it_is_sent_and_wants_a_lane_that_is_not_there_yet() {
    let mut lanes = Lanes::new(Backlog { threshold: kb(100) }, OPENED).unwrap();
    let short = lanes.add_subflow(Role::Short).unwrap();
    assert_eq!(lanes.progress(at(1), sent(0, 99)), Permits::Unchanged);
    assert!(!lanes.wants_long());
    assert_eq!(lanes.progress(at(1), sent(17, 5000)), Permits::Unchanged);
    assert!(lanes.wants_long() && lanes.switched().is_none());
    assert_eq!(lanes.permit(short), Permit::Normal);
    let long = lanes.add_subflow(Role::Long).unwrap();
    assert_eq!(lanes.tick(at(2)), Permits::Changed);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Hold, Permit::Normal));
    assert!(lanes.wants_long(), "it has one, and goes on wanting it");
}

#[test]
fn a_delivery_rate_counts_over_whole_windows() {
    // 20 Mb/s over 50 ms are 125 kB
    let judge = DeliveryRate { rate: Rate::from_mbps(20), window: ms(50) };
    let (mut lanes, ..) = one_each(judge);
    let _ = lanes.progress(at(49), sent(1000, 0));
    assert_eq!(lanes.switched(), None, "the window is not over");
    // in the next window, which began with the sample at 50 ms, too little arrives
    let (mut lanes, ..) = one_each(judge);
    let _ = lanes.progress(at(50), sent(124, 0));
    let _ = lanes.progress(at(99), sent(1000, 0));
    assert_eq!(lanes.switched(), None);
    // 124 kB by 50 ms, and 125 kB more in the 50 ms after it
    let _ = lanes.progress(at(100), sent(249, 0));
    assert_eq!(lanes.switched(), Some(at(100)));
}

#[test]
fn an_earlier_count_of_bytes_does_not_take_any_back() {
    let (mut lanes, ..) = one_each(BytesSent { threshold: kb(100) });
    let _ = lanes.progress(at(1), sent(60, 0));
    let _ = lanes.progress(at(2), sent(10, 0));
    assert_eq!(lanes.progress(at(3), sent(100, 0)), Permits::Changed);
}

// ---- coming back ----

#[test]
fn crowded_long_lanes_send_a_connection_back_after_the_hold_and_the_judge_begins_anew() {
    let (lanes, ..) = one_each(Deadline { deadline: ms(300) });
    let mut lanes = lanes.returning(Some(Return { margin: ms(2), hold: ms(50) }));
    let (short, long) = (SubflowIndex(0), SubflowIndex(1));
    let _ = lanes.tick(at(300));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Probe, Permit::Normal), "the SL goes on measuring");
    let _ = lanes.observe(at(301), short, queued(Span::ZERO));
    // 2 ms more is not more than the margin
    let _ = lanes.observe(at(302), long, queued(ms(2)));
    let _ = lanes.observe(at(360), long, queued(ms(2)));
    assert_eq!(lanes.returns(), 0);
    // smoothed by a quarter: 2 + (10 − 2)/4 = 4 ms
    let _ = lanes.observe(at(400), long, queued(ms(10)));
    let _ = lanes.observe(at(449), long, queued(ms(10)));
    assert_eq!(lanes.returns(), 0);
    assert_eq!(lanes.observe(at(450), long, queued(ms(10))), Permits::Changed);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Normal, Permit::Probe));
    assert_eq!((lanes.returns(), lanes.switched()), (1, Some(at(300))), "the first switch is the one reported");
    let _ = lanes.tick(at(749));
    assert_eq!(lanes.permit(short), Permit::Normal);
    let _ = lanes.tick(at(750));
    assert_eq!(lanes.permit(short), Permit::Probe, "300 ms after it came back");
}

#[test]
fn a_break_in_the_crowd_begins_the_hold_anew() {
    let (lanes, short, long) = one_each(Deadline { deadline: ms(0) });
    let mut lanes = lanes.returning(Some(Return { margin: ms(1), hold: ms(50) }));
    let _ = lanes.observe(at(0), short, queued(Span::ZERO));
    let _ = lanes.observe(at(1), long, queued(ms(8)));
    // the SL fills up, too, and empties again
    let _ = lanes.observe(at(40), short, queued(ms(40)));
    let _ = lanes.observe(at(41), short, rtt(ms(2)));
    for _ in 0..20 {
        let _ = lanes.observe(at(45), short, rtt(ms(2)));
    }
    let _ = lanes.observe(at(60), long, queued(ms(8)));
    assert_eq!(lanes.returns(), 0);
    let _ = lanes.observe(at(95), long, queued(ms(8)));
    assert_eq!(lanes.returns(), 1);
}

#[test]
fn bytes_before_the_return_do_not_count_again() {
    let (lanes, short, long) = one_each(BytesSent { threshold: kb(100) });
    let mut lanes = lanes.returning(Some(Return { margin: ms(1), hold: ms(0) }));
    let _ = lanes.progress(at(1), sent(100, 0));
    let _ = lanes.observe(at(2), short, queued(Span::ZERO));
    let _ = lanes.observe(at(3), long, queued(ms(5)));
    assert_eq!((lanes.returns(), lanes.permit(short)), (1, Permit::Normal));
    let _ = lanes.progress(at(4), sent(199, 0));
    assert_eq!(lanes.permit(short), Permit::Normal);
    let _ = lanes.progress(at(5), sent(200, 0));
    assert_eq!(lanes.permit(short), Permit::Probe);
}

#[test]
fn a_connection_that_begins_long_uses_what_it_has_until_a_long_lane_is_there() {
    let mut lanes = Lanes::new(Deadline::default(), OPENED).unwrap().long_from_the_start();
    assert_eq!(lanes.switched(), Some(OPENED));
    let long = lanes.add_subflow(Role::Long).unwrap();
    let short = lanes.add_subflow(Role::Short).unwrap();
    assert_eq!((lanes.permit(long), lanes.permit(short)), (Permit::Normal, Permit::Hold));
    let _ = lanes.failed(long);
    assert_eq!(lanes.permit(short), Permit::Normal, "any lane is better than none");
}

// ---- patience ----

#[test]
fn a_long_connection_whose_lanes_are_silent_waits_before_it_takes_the_short_one() {
    let (lanes, short, long) = one_each(Deadline { deadline: ms(300) });
    let mut lanes = lanes.patient(ms(100));
    let _ = lanes.tick(at(300));
    assert_eq!(lanes.failed(long), Permits::Changed);
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Sip(2), Permit::Normal));
    assert_eq!(lanes.tick(at(399)), Permits::Unchanged);
    assert_eq!(lanes.tick(at(400)), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Normal, "this lane is dead");
    assert_eq!(lanes.observe(at(401), long, rtt(ms(2))), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Hold, "it is back");
}

#[test]
fn a_connection_that_wants_a_lane_waits_for_it_to_open() {
    let mut lanes = Lanes::new(BytesSent { threshold: kb(100) }, OPENED).unwrap().patient(ms(100));
    let short = lanes.add_subflow(Role::Short).unwrap();
    let _ = lanes.progress(at(10), sent(99, 0));
    assert_eq!(lanes.permit(short), Permit::Normal);
    let _ = lanes.progress(at(20), sent(100, 0));
    assert_eq!(lanes.permit(short), Permit::Sip(2));
    let _ = lanes.tick(at(120));
    assert_eq!(lanes.permit(short), Permit::Normal);
}

#[test]
fn leftovers_are_taken_of_a_short_lane_until_it_is_needed() {
    let (lanes, short, long) = one_each(Deadline { deadline: ms(300) });
    let mut lanes = lanes.taking(Some(Leftovers { packets: 3, below: ms(1), pause: ms(50) }));
    let _ = lanes.observe(at(10), short, queued(Span::ZERO));
    assert_eq!(lanes.permit(short), Permit::Normal, "not long yet");
    let _ = lanes.tick(at(300));
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Sip(3), Permit::Normal));
    assert_eq!(lanes.observe(at(301), short, queued(ms(1))), Permits::Unchanged, "not above the bound");
    assert_eq!(lanes.observe(at(302), short, queued(us(1001))), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Hold);
    assert_eq!(lanes.tick(at(351)), Permits::Unchanged);
    assert_eq!(lanes.tick(at(352)), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Sip(3), "50 ms later it is tried again");
    // the last sample counts, not the smoothed one
    let late = Observation { srtt: ms(9), latest: Some(ms(2)), min_rtt: Some(ms(2)) };
    assert_eq!(lanes.observe(at(353), short, late), Permits::Unchanged);
    assert_eq!(lanes.failed(short), Permits::Changed);
    assert_eq!(lanes.permit(short), Permit::Hold, "it seems down");

    let (lanes, short, _) = one_each(Deadline { deadline: ms(0) });
    let mut lanes = lanes.taking(Some(Leftovers { packets: 0, below: ms(1), pause: ms(0) }));
    let _ = lanes.tick(at(0));
    assert_eq!(lanes.permit(short), Permit::Sip(2));
}

// ---- parameters ----

#[test]
fn parameters_out_of_range_are_named() {
    let good = LinkCost::default();
    let bad = [
        ("alpha", LinkCost { alpha: -1.0, ..good }),
        ("alpha", LinkCost { alpha: f64::NAN, ..good }),
        ("gamma", LinkCost { gamma: f64::INFINITY, ..good }),
        ("beta", LinkCost { beta: 0.0, ..good }),
        ("beta", LinkCost { beta: f64::NAN, ..good }),
        ("delta", LinkCost { delta: 8.1, ..good }),
        ("delay_unit", LinkCost { delay_unit: Span::ZERO, ..good }),
        ("time_unit", LinkCost { time_unit: Span::ZERO, ..good }),
        ("smoothing", LinkCost { smoothing: 0.0, ..good }),
        ("smoothing", LinkCost { smoothing: 1.1, ..good }),
    ];
    for (parameter, judge) in bad {
        assert_eq!(Lanes::new(judge, OPENED).unwrap_err().parameter, parameter);
    }
    let error = Judge::from(LinkCost { alpha: -1.0, ..good }).validate().unwrap_err();
    assert_eq!(error.to_string(), "alpha is -1; it must be from 0 to 1000000");
    for extreme in [
        LinkCost { alpha: 0.0, gamma: 0.0, ..good },
        LinkCost { alpha: 1e6, gamma: 1e6, beta: 8.0, delta: 8.0, delay_unit: Span::from_picos(1), ..good },
        LinkCost { delay_unit: Span::MAX, time_unit: Span::MAX, deadline: Span::MAX, smoothing: 1.0, ..good },
    ] {
        assert_eq!(Judge::from(extreme).validate(), Ok(()));
    }
}

#[test]
fn costs_are_finite_at_the_ends_of_all_ranges() {
    let spans = [Span::ZERO, Span::from_picos(1), ms(300), Span::MAX];
    for (weight, power) in [(0.0, 1e-9), (0.0, 8.0), (1e6, 1e-9), (1e6, 8.0), (1e-300, 0.5)] {
        for unit in [Span::from_picos(1), Span::MAX] {
            for deadline in spans {
                let judge = LinkCost {
                    deadline,
                    alpha: weight,
                    beta: power,
                    gamma: weight,
                    delta: power,
                    delay_unit: unit,
                    time_unit: unit,
                    smoothing: 0.25,
                    ..LinkCost::default()
                };
                assert_eq!(Judge::from(judge).validate(), Ok(()));
                for delay in spans {
                    for age in spans {
                        assert!(judge.cost(Role::Short, delay, age).is_finite(), "{judge:?} {delay} {age}");
                        assert!(judge.cost(Role::Long, delay, age).is_finite(), "{judge:?} {delay} {age}");
                    }
                }
            }
        }
    }
}

// ---- random operations ----

#[derive(Debug, Clone, Copy)]
enum Operation {
    Add(Role),
    Observe(u8, Observation),
    Tick,
    Progress(Progress),
    Failed(u8),
    Remove(u8),
}

/// Mostly data-centre values, sometimes the ends of the range.
fn span() -> impl Strategy<Value = Span> {
    prop_oneof![
        1 => Just(Span::ZERO),
        1 => Just(Span::from_picos(1)),
        1 => Just(Span::MAX),
        1 => any::<u64>().prop_map(Span::from_picos),
        12 => (0_u64..500_000).prop_map(Span::from_micros),
    ]
}

fn unit() -> impl Strategy<Value = Span> {
    span().prop_filter("not zero", |unit| !unit.is_zero())
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(1e6), 0.0..=4.0]
}

fn power() -> impl Strategy<Value = f64> {
    prop_oneof![Just(1.0), Just(8.0), Just(f64::MIN_POSITIVE), 0.1..=3.0]
}

fn judge() -> impl Strategy<Value = Judge> {
    let link_cost = (span(), weight(), power(), weight(), power(), unit(), unit(), 0.01..=1.0, any::<bool>()).prop_map(
        |(deadline, alpha, beta, gamma, delta, delay_unit, time_unit, smoothing, common_base)| {
            LinkCost { deadline, alpha, beta, gamma, delta, delay_unit, time_unit, smoothing, common_base }.into()
        },
    );
    prop_oneof![
        1 => span().prop_map(|deadline| Deadline { deadline }.into()),
        1 => Just(LinkCost::default().into()),
        3 => link_cost,
        1 => bytes().prop_map(|threshold| BytesSent { threshold }.into()),
        1 => (1_u64..200_000).prop_map(|bytes| Backlog { threshold: Bytes::new(bytes) }.into()),
        1 => (1_u64..1_000_000_000, unit())
            .prop_map(|(bps, window)| DeliveryRate { rate: Rate::from_bps(bps), window }.into()),
    ]
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![1 => any::<u64>(), 4 => 0_u64..300_000].prop_map(Bytes::new)
}

fn operation() -> impl Strategy<Value = Operation> {
    let observation = (span(), proptest::option::of(span()), proptest::option::of(span()))
        .prop_map(|(srtt, latest, min_rtt)| Observation { srtt, latest, min_rtt });
    let place = 0..MAX_SUBFLOWS as u8;
    prop_oneof![
        2 => any::<bool>().prop_map(|short| Operation::Add(if short { Role::Short } else { Role::Long })),
        8 => (place.clone(), observation).prop_map(|(place, observation)| Operation::Observe(place, observation)),
        2 => Just(Operation::Tick),
        4 => (bytes(), bytes()).prop_map(|(acked, backlog)| Operation::Progress(Progress { acked, backlog })),
        1 => place.clone().prop_map(Operation::Failed),
        1 => place.prop_map(Operation::Remove),
    ]
}

/// What the model below remembers of a subflow: its role and whether it is alive.
type Model = [Option<(Role, bool)>; MAX_SUBFLOWS];

fn permits(lanes: &Lanes, model: &Model) -> [Option<Permit>; MAX_SUBFLOWS] {
    std::array::from_fn(|place| model[place].map(|_| lanes.permit(SubflowIndex(place as u8))))
}

proptest! {
    #[test]
    fn any_sequence_of_operations_keeps_the_invariants(
        judge in judge(),
        patience in prop_oneof![Just(Span::ZERO), span()],
        leftovers in proptest::option::of((0_u8..4, span(), span())
            .prop_map(|(packets, below, pause)| Leftovers { packets, below, pause })),
        back in proptest::option::of((span(), span()).prop_map(|(margin, hold)| Return { margin, hold })),
        opened in span(),
        operations in proptest::collection::vec((operation(), span()), 1..60),
    ) {
        let opened = Time::ZERO + opened;
        let mut now = opened;
        let mut lanes = Lanes::new(judge, opened).unwrap().returning(back).patient(patience).taking(leftovers);
        let mut model: Model = [None; MAX_SUBFLOWS];
        for (operation, pause) in operations {
            now = now.saturating_add(pause);
            let alive = |model: &Model, role| model.iter().flatten().any(|&(r, alive)| alive && r == role);
            let (switched_before, returns_before) = (lanes.switched(), lanes.returns());
            let before = permits(&lanes, &model);
            let changed = match operation {
                Operation::Add(role) => {
                    match lanes.add_subflow(role) {
                        Ok(added) => {
                            prop_assert!(model[added.get()].is_none());
                            model[added.get()] = Some((role, true));
                        }
                        Err(TooManySubflows) => prop_assert!(model.iter().all(Option::is_some)),
                    }
                    None
                }
                Operation::Observe(place, observation) => {
                    if let Some((_, alive)) = &mut model[usize::from(place)] {
                        *alive = true;
                    }
                    Some(lanes.observe(now, SubflowIndex(place), observation))
                }
                Operation::Tick => Some(lanes.tick(now)),
                Operation::Progress(progress) => Some(lanes.progress(now, progress)),
                Operation::Failed(place) => {
                    if let Some((_, alive)) = &mut model[usize::from(place)] {
                        *alive = false;
                    }
                    Some(lanes.failed(SubflowIndex(place)))
                }
                Operation::Remove(place) => {
                    model[usize::from(place)] = None;
                    Some(lanes.remove(SubflowIndex(place)))
                }
            };
            let after = permits(&lanes, &model);

            // The caller hears of every change of a permit.
            if changed == Some(Permits::Unchanged) {
                for (before, after) in before.iter().zip(after) {
                    prop_assert!(after.is_none() || *before == after);
                }
            }
            // The first switch: one way; at a time that has been; only by time or samples, and only to an LL that is alive.
            match (switched_before, lanes.switched()) {
                (None, Some(switched)) => {
                    prop_assert_eq!(switched, now);
                    prop_assert!(alive(&model, Role::Long));
                    prop_assert!(matches!(operation, Operation::Observe(..) | Operation::Tick | Operation::Progress(_)));
                }
                (before, after) => prop_assert_eq!(before, after),
            }
            prop_assert!(lanes.returns() - returns_before <= u32::from(back.is_some() && lanes.switched().is_some()));
            // Whether it is on its LLs now is not told; where both are alive, the permits say it.
            let switched = lanes.long_since.is_some();
            let mut sending = false;
            for (place, subflow) in model.iter().enumerate() {
                let index = SubflowIndex(place as u8);
                let cost = lanes.link_cost(index);
                prop_assert!(cost.is_none_or(f64::is_finite), "{:?}", cost);
                let Some((role, alive_here)) = *subflow else {
                    prop_assert_eq!(lanes.permit(index), Permit::Hold);
                    prop_assert_eq!(cost, None);
                    continue;
                };
                prop_assert!(alive_here || cost.is_none());
                let waits = lanes.mode() == super::Mode::Waiting;
                prop_assert!(!waits || !patience.is_zero() && !alive(&model, Role::Long) && lanes.wants_long());
                let expected = match role {
                    Role::Short if waits => Permit::Sip(2),
                    Role::Short if switched && alive(&model, Role::Long) && leftovers.is_some() => {
                        // that, and for how long, is for the worked example
                        let now = lanes.permit(index);
                        let sips = Permit::Sip(leftovers.map_or(0, |leftovers| leftovers.packets).max(2));
                        prop_assert!(now == Permit::Hold || alive_here && now == sips);
                        now
                    }
                    Role::Long if waits => Permit::Normal,
                    Role::Short if switched && alive(&model, Role::Long) && back.is_some() => Permit::Probe,
                    Role::Short if switched && alive(&model, Role::Long) => Permit::Hold,
                    Role::Long if !switched && alive(&model, Role::Short) => Permit::Probe,
                    _ => Permit::Normal,
                };
                prop_assert_eq!(lanes.permit(index), expected);
                sending |= alive_here && (expected == Permit::Normal || waits && expected == Permit::Sip(2));
            }
            // The connection never stalls: whatever is alive, something alive sends at full rate.
            if alive(&model, Role::Short) || alive(&model, Role::Long) {
                prop_assert!(sending);
            }
        }
    }

    /// Monotone in the parameters and in congestion: fig. 7.1 and 7.2 in general.
    #[test]
    fn congestion_on_the_short_lane_never_delays_the_switch(
        less in 0_u64..10_000, more in 0_u64..10_000, long in 0_u64..10_000,
        alpha in 0.1..4.0, gamma in 0.25..4.0,
    ) {
        let (less, more) = (less.min(more), less.max(more));
        let judge = LinkCost { alpha, gamma, ..LinkCost::default() };
        let early = age_of_switch(judge, us(more), us(long), ms(1));
        let late = age_of_switch(judge, us(less), us(long), ms(1));
        prop_assert!(early <= late);
        // t = deadline − 8·(α/γ)·(ν_SL − ν_LL), not before 0, at the next whole ms (or, where the
        // equation gives a whole ms, up to one later).
        let exact = 300.0 - 8.0 * alpha / gamma * (us(less).as_millis_f64() - us(long).as_millis_f64());
        let found = late.as_millis_f64();
        prop_assert!(found >= exact - 1e-6 && found <= exact.max(0.0) + 1.0 + 1e-6, "{} {}", found, exact);
    }
}

// ---- another flow on the same connection ----

#[test]
fn a_connection_that_is_new_again_is_short_until_its_judge_says_otherwise_and_counts_from_there() {
    let (mut lanes, short, long) = one_each(Deadline { deadline: ms(300) });
    assert_eq!(lanes.tick(at(300)), Permits::Changed);
    assert!(lanes.is_long());
    assert_eq!(lanes.anew(at(1_000)), Permits::Changed);
    assert!(!lanes.is_long());
    assert_eq!((lanes.permit(short), lanes.permit(long)), (Permit::Normal, Permit::Probe));
    assert_eq!(lanes.tick(at(1_299)), Permits::Unchanged);
    assert_eq!(lanes.tick(at(1_300)), Permits::Changed);
    // what was sent before is not counted again
    let (mut lanes, ..) = one_each(BytesSent { threshold: Bytes::new(100) });
    let _ = lanes.progress(at(1), Progress { acked: Bytes::new(90), backlog: Bytes::ZERO });
    let _ = lanes.anew(at(2));
    let _ = lanes.progress(at(3), Progress { acked: Bytes::new(180), backlog: Bytes::ZERO });
    assert!(!lanes.is_long());
    let _ = lanes.progress(at(4), Progress { acked: Bytes::new(191), backlog: Bytes::ZERO });
    assert!(lanes.is_long());
    // nor what waited
    let (mut lanes, ..) = one_each(Backlog { threshold: Bytes::new(100) });
    let _ = lanes.progress(at(1), Progress { acked: Bytes::ZERO, backlog: Bytes::new(200) });
    assert!(lanes.is_long());
    let _ = lanes.anew(at(2));
    assert_eq!(lanes.tick(at(3)), Permits::Unchanged);
}
