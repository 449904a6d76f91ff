//! Lanes at work: what each path carries before and after the switch (thesis §5.2, Algorithm 1).

use headway_control::lanes::{Backlog, Deadline, Leftovers, Start};
use headway_engine::Streams;
use headway_fabric::Wire;
use headway_transport::{AddressPairs, FlowStart, LanePlan, Measure, Multipath, Profile, Scheduler, Simulation};
use headway_units::{Bytes, Span, Time};

use super::path::{black_hole, cables, handshake, plain, round_trip, segments};
use crate::common::{Outcome, Setup, lossy, multipath};

const AFTER: Span = Span::from_millis(100);

/// One short-flow lane, one long-flow lane, a deadline.
fn lanes() -> Profile {
    let plan = LanePlan::new(1, Deadline { deadline: AFTER });
    let multi = Multipath { lanes: Some(plan), ..multipath("lia", 2).multipath.expect("multipath") };
    Profile { multipath: Some(multi), receive_window: Bytes::new(segments(40)), ..multipath("lia", 2) }
}

fn run(profile: Profile, wires: &[Wire], size: u64) -> Outcome {
    let (net, pair, _) = cables(wires);
    Setup::new(&net, profile).flow(pair, Some(segments(size)), Span::ZERO).run(Span::from_secs(100))
}

/// Frames accepted by each of two lanes at the given times of a flow without end.
fn used(times: &[Span]) -> Vec<[u64; 2]> {
    used_by(lanes(), times)
}

fn used_by(profile: Profile, times: &[Span]) -> Vec<[u64; 2]> {
    let (net, pair, links) = cables(&[plain(), plain()]);
    let start = FlowStart {
        time: Time::ZERO,
        id: 0,
        traffic: 0,
        source: pair.0,
        destination: pair.1,
        size: None,
        deadline: None,
        profile: 0,
    };
    let mut simulation = Simulation::new(net.graph, vec![profile], Measure::default(), Streams::new(1));
    let mut starts = vec![start].into_iter();
    let counts = times.iter().map(|&at| {
        simulation.run(Time::ZERO + at, &mut starts).expect("connected");
        [0, 1].map(|i: usize| simulation.port(links[i]).0.accepted.frames)
    });
    counts.collect()
}

#[test]
fn before_the_deadline_the_long_lane_carries_one_segment_a_round_trip() {
    let [short, long] = used(&[AFTER])[0];
    // joined after handshake, the first segment and its acknowledgement, handshake, the join's ACK and its answer
    let open = handshake() + round_trip() + handshake() * 2;
    let probes = (AFTER - open).picos().div_ceil(round_trip().picos());
    // at most, because a probe waits where the receive window is used up by the short lane
    assert!((3..=2 + probes).contains(&long), "SYN, the join's ACK, {probes} probes: {long}");
    assert!(short > 60, "{short}");
}

/// Algorithm 1 line 22: cwnd = 0 on the short lane. What is in flight there at the switch has left its queue one
/// window (of 40) later; then nothing more comes.
#[test]
fn after_the_deadline_the_short_lane_carries_nothing_new() {
    let settled = AFTER + Span::from_millis(60);
    let [before, after] = used(&[settled, settled + Span::from_secs(1)])[..] else { panic!("two times") };
    assert_eq!(before[0], after[0]);
    assert!(after[1] > before[1] + 900, "the long lane is used fully: {before:?}, {after:?}");
}

/// Linux' stack: the mark stops what is new, and what the short lane's subflow has been given still leaves, and is
/// more than what a window keeps on its way.
#[test]
fn where_permits_are_marks_the_short_lane_sends_what_it_has() {
    let plan = LanePlan { late: true, ..LanePlan::new(1, Deadline { deadline: AFTER }) };
    let own = |scheduler| {
        let multi = Multipath { lanes: Some(plan.clone()), scheduler, ..Multipath::default() };
        Profile { multipath: Some(multi), mss: 1460, overhead: 58, ..Profile::linux() }
    };
    let after = |scheduler| {
        let times = [AFTER + Span::from_millis(5), Span::from_secs(2), Span::from_secs(3)];
        let [switch, drained, later] = used_by(own(scheduler), &times)[..] else { panic!("three times") };
        assert_eq!(drained[0], later[0], "nothing new");
        assert!(later[1] > drained[1] + 900, "the long lane is used fully: {drained:?}, {later:?}");
        drained[0] - switch[0]
    };
    let (windows, marks) = (after(Scheduler::LowestRtt), after(Scheduler::Linux));
    assert!(windows < 20 && marks > 100, "{windows}, {marks}");
}

/// The judge is asked at acknowledgements, which come every millisecond here.
#[test]
fn the_switch_happens_at_the_deadline() {
    let outcome = run(lanes(), &[plain(), plain()], 500);
    let switched = outcome.ends[0].switched.expect("500 ms of data") - Time::ZERO;
    assert!(switched >= AFTER && switched <= AFTER + Span::from_millis(1), "{switched}");
    assert_eq!(run(lanes(), &[plain(), plain()], 50).ends[0].switched, None);
}

/// Nothing moves to a lane that does not exist (yet): a long lane whose SYN is never answered is none.
#[test]
fn a_long_lane_that_never_opens_does_not_stop_the_short_one() {
    let alone = run(Profile { multipath: multipath("lia", 1).multipath, ..lanes() }, &[plain()], 500);
    let outcome = run(lanes(), &[plain(), lossy(plain(), 1.0)], 500);
    assert_eq!(outcome.fct(0), alone.fct(0));
    assert_eq!(outcome.ends[0].switched, None);
}

/// A long lane that loses all data looks fine until its probe times out; at most one time-out is lost by it.
#[test]
fn a_long_lane_that_loses_all_data_costs_one_time_out() {
    let alone = run(Profile { multipath: multipath("lia", 1).multipath, ..lanes() }, &[plain()], 500);
    let outcome = run(lanes(), &[plain(), black_hole()], 500);
    let most = alone.fct(0) + Span::from_millis(200) + round_trip() * 4;
    assert!(outcome.fct(0) <= most, "{} after {most}", outcome.fct(0));
}

fn with(plan: LanePlan) -> Profile {
    let multi = Multipath { lanes: Some(plan), subflows: None, ..Multipath::default() };
    Profile { multipath: Some(multi), ..multipath("lia", 2) }
}

/// Two short lanes: flows of one sender start on them in turn, and a short flow uses no other.
#[test]
fn flows_take_turns_on_the_short_lanes() {
    let (net, pair, _) = cables(&[plain(), plain(), plain()]);
    let plan = LanePlan { start: Start::RoundRobin, late: true, ..LanePlan::new(2, Backlog::default()) };
    let mut setup = Setup::new(&net, with(plan));
    for i in 0..6 {
        setup = setup.flow(pair, Some(segments(4)), Span::from_secs(1) * i);
    }
    let used: Vec<u64> = setup.run(Span::from_secs(10)).ends.iter().map(|end| end.interfaces).collect();
    assert!(used == [1, 2, 1, 2, 1, 2] || used == [2, 1, 2, 1, 2, 1], "{used:?}");
}

/// Traffics of one host may have lanes of their own: each has its own rule for the first lane.
#[test]
fn two_profiles_of_one_host_each_choose_by_their_own_rule() {
    let (net, pair, _) = cables(&[plain(), plain(), plain()]);
    let own = |short, start| with(LanePlan { start, late: true, ..LanePlan::new(short, Backlog::default()) });
    let mut setup = Setup::new(&net, own(1, Start::RoundRobin));
    setup.profiles.push(own(2, Start::RoundRobin));
    for i in 0..6 {
        setup = setup.flow(pair, Some(segments(4)), Span::from_secs(1) * i);
        setup.flows[i as usize].profile = (i % 2) as u16;
    }
    let used: Vec<u64> = setup.run(Span::from_secs(10)).ends.iter().map(|end| end.interfaces).collect();
    assert!(used == [1, 1, 1, 2, 1, 1] || used == [1, 2, 1, 1, 1, 2], "{used:?}");
}

/// A long lane that is opened late is opened for those alone who are long by their backlog, at their first
/// acknowledgement; what they had sent before is an initial window.
#[test]
fn a_late_lane_opens_for_long_flows_only_and_takes_the_rest() {
    let (net, pair, links) = cables(&[plain(), plain()]);
    let plan = LanePlan { late: true, ..LanePlan::new(1, Backlog { threshold: Bytes::new(segments(70)) }) };
    let outcome = Setup::new(&net, with(plan))
        .flow(pair, Some(segments(69)), Span::ZERO)
        .flow(pair, Some(segments(1000)), Span::from_secs(1))
        .run(Span::from_secs(10));
    let [short, long] = &outcome.ends[..] else { panic!("two flows") };
    assert_eq!((short.subflows, short.interfaces, short.switched), (1, 1, None));
    assert_eq!((long.subflows, long.interfaces, long.delivered), (2, 3, segments(1000)));
    let switched = long.switched.expect("it is long") - (Time::ZERO + Span::from_secs(1));
    // two handshakes and what is under way between them
    assert!(switched < handshake() * 2 + round_trip() * 2, "{switched}");
    let frames = [0, 1].map(|i: usize| outcome.ports[links[i].index()].accepted.frames);
    assert!(frames[0] < 69 + 100 && frames[1] > 900, "{frames:?}");
}

/// On an idle short lane leftovers carry two segments in a round trip, beside the long lane in full.
#[test]
fn leftovers_of_an_idle_short_lane_are_used() {
    let carried = |leftovers| {
        let (net, pair, links) = cables(&[plain(), plain()]);
        let plan = LanePlan { late: true, leftovers, ..LanePlan::new(1, Backlog::default()) };
        let outcome = Setup::new(&net, with(plan)).flow(pair, None, Span::ZERO).run(Span::from_secs(2));
        [0, 1].map(|i: usize| outcome.ports[links[i].index()].accepted.frames)
    };
    // the second segment waits for the first, which is no queue of others
    let own = Leftovers { packets: 2, below: Span::from_millis(5), pause: Span::from_millis(50) };
    let (without, with) = (carried(None), carried(Some(own)));
    let gain = with[0] - without[0];
    // two segments in the round trip of one, if each is acknowledged, or of two
    let rounds = |span: Span| 2 * (Span::from_secs(2).picos() / span.picos());
    let (least, most) = (rounds(round_trip() + super::path::FULL_TIME), rounds(round_trip()));
    assert!((least * 9 / 10..=most).contains(&gain), "{without:?} {with:?} {least} {most}");
    assert!(with[1].abs_diff(without[1]) <= 2, "{without:?} {with:?}");
}

/// §7.3.1: between two hosts with two addresses each, a full mesh has four subflows over two interfaces.
#[test]
fn a_full_mesh_opens_every_pair_that_has_a_path() {
    let subflows = |pairs, crossed: bool| {
        let mut net = crate::common::Net::default();
        let (a, b) = (net.host(), net.host());
        let switches = [net.switch(), net.switch()];
        for switch in switches {
            net.cable(a, switch, plain());
            net.cable(switch, b, plain());
        }
        if crossed {
            net.cable(switches[0], switches[1], plain());
        }
        let multi = Multipath { pairs, ..Multipath::default() };
        let profile = Profile { multipath: Some(multi), ..multipath("lia", 2) };
        let outcome = Setup::new(&net, profile).flow((a, b), Some(segments(500)), Span::ZERO).run(Span::from_secs(9));
        assert_eq!(outcome.ends[0].delivered, segments(500));
        (outcome.ends[0].subflows, outcome.ends[0].interfaces)
    };
    assert_eq!(subflows(AddressPairs::OneToOne, true), (2, 3));
    assert_eq!(subflows(AddressPairs::FullMesh, true), (4, 3));
    assert_eq!(subflows(AddressPairs::FullMesh, false), (2, 3), "crossed pairs have no path");
}
