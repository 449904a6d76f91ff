//! Paths that go down: what a time-out, routing and a host's own carrier do for a flow; nothing is lost for good.

use headway_control::lanes::{Deadline, History};
use headway_fabric::{LinkId, NodeId};
use headway_transport::{Failure, HistoryPlan, LanePlan, Multipath, Profile};
use headway_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::path::{cables, plain, round_trip, segments};
use crate::common::{Net, Outcome, Setup, multipath, profile, wire};

/// What [`profile`] has.
const MIN_RTO: Span = Span::from_millis(200);
const END: Span = Span::from_secs(300);

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// A pair of hosts with an interface on each of `paths` paths of two switches each; the links in the middle.
fn paths(paths: usize) -> (Net, (NodeId, NodeId), Vec<LinkId>) {
    let mut net = Net::default();
    let pair = (net.host(), net.host());
    let access = wire(super::path::RATE, Span::ZERO);
    let middles = (0..paths).map(|_| {
        let (left, right) = (net.switch(), net.switch());
        net.cable(pair.0, left, access);
        let middle = net.cable(left, right, plain());
        net.cable(pair.1, right, access);
        middle
    });
    let middles = middles.collect();
    (net, pair, middles)
}

/// A pair of hosts with one interface each and `width` equal ways between them; the two links of each.
fn fan(width: usize) -> (Net, (NodeId, NodeId), Vec<[LinkId; 2]>) {
    let mut net = Net::default();
    let pair = (net.host(), net.host());
    let (left, right) = (net.switch(), net.switch());
    let access = wire(super::path::RATE, Span::ZERO);
    net.cable(pair.0, left, access);
    net.cable(pair.1, right, access);
    let ways = (0..width).map(|_| {
        let middle = net.switch();
        [net.cable(left, middle, plain()), net.cable(middle, right, access)]
    });
    let ways = ways.collect();
    (net, pair, ways)
}

/// A window of 40 segments, so that queues stay below 40 ms and time-outs near their floor.
fn narrow(profile: Profile) -> Profile {
    Profile { receive_window: Bytes::new(segments(40)), ..profile }
}

fn tcp() -> Profile {
    narrow(profile())
}

fn mptcp(control: &str) -> Profile {
    narrow(multipath(control, 2))
}

fn lanes(after: Span) -> Profile {
    let plan = LanePlan::new(1, Deadline { deadline: after });
    let multi = Multipath { lanes: Some(plan), ..multipath("lia", 2).multipath.expect("multipath") };
    Profile { multipath: Some(multi), ..mptcp("lia") }
}

/// The only flow, which ended and delivered all of its `size` segments; how long it stood still.
#[track_caller]
fn whole(outcome: &Outcome, size: u64) -> Span {
    let [flow] = &outcome.ends[..] else { panic!("one flow") };
    assert!(flow.end.is_some(), "it ended: {flow:?}");
    assert_eq!(flow.delivered, segments(size));
    flow.stall.expect("a link was down meanwhile")
}

/// RFC 6298 §5.5: after a last acknowledgement the segment is retransmitted 1, 3 and 7 time-outs later. The path is down
/// from 0.1 s to 1.1 s, so the third one gets through.
#[test]
fn tcp_sits_an_outage_out() {
    let (net, pair, links) = paths(1);
    let outcome = Setup::new(&net, tcp())
        .flow(pair, Some(segments(500)), Span::ZERO)
        .cut(links[0], ms(100), Some(ms(1100)))
        .run(END);
    let stall = whole(&outcome, 500);
    assert!(stall > MIN_RTO * 7 && stall < MIN_RTO * 7 + ms(100), "{stall}");
    assert_eq!(outcome.ends[0].timeouts, 3);
    assert!(outcome.port(links[0]).down.frames > 3);
    assert_eq!(outcome.totals.down, outcome.ports.iter().map(|port| port.down.frames).sum::<u64>());
}

/// A flow that routing takes off the dead path waits for one time-out; after the path is back it returns to it. A flow
/// on another path is not moved at all.
#[test]
fn routing_takes_flows_off_a_dead_path_and_back() {
    let mut moved = 0;
    for seed in 1..=8 {
        let (net, pair, ways) = fan(2);
        let mut setup = Setup::new(&net, tcp()).seed(seed).flow(pair, Some(segments(3000)), Span::ZERO);
        setup.failures.push(Failure {
            links: vec![ways[0][0], ways[0][0].reverse()],
            at: Time::ZERO + ms(500),
            until: Some(Time::ZERO + ms(1500)),
            reroute: Some(ms(20)),
            carrier: true,
        });
        let outcome = setup.run(END);
        let stall = whole(&outcome, 3000);
        let [dead, other] = [0, 1].map(|way: usize| outcome.port(ways[way][0]));
        if dead.down.frames > 0 && dead.accepted.frames > 100 {
            moved += 1;
            assert!(stall > MIN_RTO && stall < MIN_RTO * 2, "seed {seed}: {stall}");
            assert!(other.delivered.frames > 500, "seed {seed}: a second at most at one segment a millisecond");
            assert!(dead.delivered.frames > 1500, "seed {seed}: it came back: {dead:?}");
        }
    }
    assert!(moved > 0, "some flow was on the way that died");
}

/// Without a word from anybody: the data of the dead subflow goes by the other after a time-out.
#[test]
fn multipath_survives_a_far_failure_within_a_time_out() {
    for own in [lanes(Span::from_secs(100)), mptcp("lia"), mptcp("new-reno")] {
        let (net, pair, links) = paths(2);
        let outcome =
            Setup::new(&net, own).flow(pair, Some(segments(2000)), Span::ZERO).cut(links[0], ms(300), None).run(END);
        let stall = whole(&outcome, 2000);
        assert!(stall > MIN_RTO / 2 && stall < MIN_RTO * 2, "{stall}");
    }
}

/// The sender's own interface: told at once, so the others carry it all within a round trip and what is queued there.
#[test]
fn multipath_survives_a_failure_at_its_own_interface_at_once() {
    let (net, pair, links) = cables(&[plain(), plain()]);
    let outcome = Setup::new(&net, mptcp("lia"))
        .flow(pair, Some(segments(2000)), Span::ZERO)
        .cut(links[0], ms(300), None)
        .run(END);
    let stall = whole(&outcome, 2000);
    assert!(stall < round_trip() + ms(40), "{stall}");
    // unless hosts do not see it
    let (net, pair, links) = cables(&[plain(), plain()]);
    let mut blind =
        Setup::new(&net, mptcp("lia")).flow(pair, Some(segments(2000)), Span::ZERO).cut(links[0], ms(300), None);
    blind.failures[0].carrier = false;
    let stall = whole(&blind.run(END), 2000);
    assert!(stall > MIN_RTO / 2 && stall < MIN_RTO * 2, "{stall}");
}

/// After it is back, a path is used again: at once if the host sees its carrier, else when the next probe goes through.
#[test]
fn a_path_that_is_back_is_used_again() {
    for near in [true, false] {
        let (net, pair, links) = if near { cables(&[plain(), plain()]) } else { paths(2) };
        let setup = Setup::new(&net, mptcp("new-reno")).flow(pair, Some(segments(20_000)), Span::ZERO).cut(
            links[0],
            ms(300),
            Some(ms(1300)),
        );
        let outcome = setup.run(END);
        whole(&outcome, 20_000);
        let first = outcome.port(links[0]).delivered.frames;
        assert!(first > 5000, "near: {near}: {first} of 20,000 went by the path that was back");
    }
}

/// The short lane dies before the switch: the long one takes over as if there were no lanes.
#[test]
fn a_dead_short_lane_does_not_stop_a_short_flow() {
    let (net, pair, links) = paths(2);
    let outcome = Setup::new(&net, lanes(Span::from_secs(100)))
        .flow(pair, Some(segments(600)), Span::ZERO)
        .cut(links[0], ms(200), None)
        .run(END);
    let stall = whole(&outcome, 600);
    assert!(stall < MIN_RTO * 2, "{stall}");
    assert_eq!(outcome.ends[0].switched, None);
}

/// The long lane dies after the switch: the short one, which was on hold, goes on.
#[test]
fn a_dead_long_lane_brings_a_long_flow_back() {
    for near in [true, false] {
        let (net, pair, links) = if near { cables(&[plain(), plain()]) } else { paths(2) };
        let outcome = Setup::new(&net, lanes(ms(100)))
            .flow(pair, Some(segments(2000)), Span::ZERO)
            .cut(links[1], ms(500), None)
            .run(END);
        let stall = whole(&outcome, 2000);
        assert!(outcome.ends[0].switched.is_some());
        let most = if near { MIN_RTO / 2 } else { MIN_RTO * 2 };
        assert!(stall < most, "near: {near}: {stall}");
        assert!(outcome.port(links[0]).delivered.frames > 1000);
    }
}

/// Both lanes die, one comes back: what the other has is carried by it too.
#[test]
fn of_two_dead_lanes_one_that_comes_back_is_enough() {
    for (near, back) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let (net, pair, links) = if near { cables(&[plain(), plain()]) } else { paths(2) };
        let until = |link: usize| (link == back).then_some(ms(1500));
        let outcome = Setup::new(&net, lanes(ms(100)))
            .flow(pair, Some(segments(2000)), Span::ZERO)
            .cut(links[0], ms(450), until(0))
            .cut(links[1], ms(500), until(1))
            .run(END);
        let stall = whole(&outcome, 2000);
        // From the last acknowledgement at about 0.5 s: a time-out after 1, 3, 7 shortest ones or somewhat more.
        let most = if near { ms(1000) + MIN_RTO / 2 } else { ms(2000) };
        assert!(stall > ms(900) && stall < most, "near: {near}, {back} back: {stall}");
    }
}

/// RFC 9293: a SYN on a dead path is retransmitted there until it is answered; `syn_fallback` tries the next interface
/// after the first time-out (1 s, RFC 6298 §2.1).
#[test]
fn a_connection_may_open_by_another_interface() {
    let run = |fallback: bool| {
        let (net, pair, links) = paths(2);
        let mut profile = mptcp("lia");
        profile.multipath.as_mut().expect("multipath").syn_fallback = fallback;
        let setup = Setup::new(&net, profile).flow(pair, Some(segments(50)), ms(10));
        setup.cut(links[0], Span::ZERO, Some(Span::from_secs(10))).run(END)
    };
    let (with, without) = (run(true), run(false));
    whole(&with, 50);
    whole(&without, 50);
    assert!(with.fct(0) > ms(1000) && with.fct(0) < ms(1200), "{}", with.fct(0));
    // 1 + 2 + 4 + 8 s
    assert!(without.fct(0) > ms(15_000), "{}", without.fct(0));
    assert_eq!(with.ends[0].interfaces, 0b11);
}

/// Two connections find the first lane dead by their SYNs; the third one begins where they got through. After a
/// half-life without news it is tried again.
#[test]
fn hosts_remember_the_lane_that_did_not_answer() {
    let (net, pair, links) = paths(2);
    let empty = History::new(Span::from_secs(1), 10).expect("neither is zero");
    let history = Some(HistoryPlan { empty, long: Bytes::from_kb(100), long_share: None });
    let plan = LanePlan { history, ..LanePlan::new(1, Deadline { deadline: Span::from_secs(100) }) };
    let mut profile = mptcp("lia");
    let multipath = profile.multipath.as_mut().expect("multipath");
    (multipath.lanes, multipath.syn_fallback) = (Some(plan), true);
    multipath.join_after = Bytes::from_kb(1000);
    let mut setup = Setup::new(&net, profile).cut(links[0], Span::ZERO, Some(Span::from_secs(20)));
    for at in [10, 300, 1500, 25_000] {
        setup = setup.flow(pair, Some(segments(10)), ms(at));
    }
    let outcome = setup.run(END);
    // by 1.01 s and 1.3 s the first two have timed out once each; in time for the third, not for the last
    let first: Vec<u64> = outcome.ends.iter().map(|end| end.interfaces & 1).collect();
    assert_eq!(first, [1, 1, 0, 1], "who tried the first lane");
    let fct: Vec<Span> = (0..4).map(|i| outcome.fct(i)).collect();
    assert!(fct[0] > ms(1000) && fct[1] > ms(1000), "{fct:?}");
    assert!(fct[2] < ms(100) && fct[3] < ms(100), "{fct:?}");
}

/// A host does not open on an interface that it sees to be down, and a connection that was about to moves.
#[test]
fn connections_open_where_there_is_a_carrier() {
    for at in [Span::ZERO, ms(11)] {
        for own in [mptcp("lia"), lanes(Span::from_secs(100))] {
            let (net, pair, links) = cables(&[plain(), plain()]);
            let setup = Setup::new(&net, own).flow(pair, Some(segments(50)), ms(10));
            let outcome = setup.cut(links[0], at, None).run(END);
            whole(&outcome, 50);
            // far less than the first time-out of a SYN
            assert!(outcome.fct(0) < ms(150), "{at}: {}", outcome.fct(0));
        }
    }
}

/// A link that no flow uses, and a failure after the last one: nothing is different, and nothing stood still.
#[test]
fn failures_elsewhere_change_nothing() {
    let (net, pair, links) = paths(2);
    let setup = || Setup::new(&net, tcp()).flow(pair, Some(segments(100)), Span::ZERO);
    let alone = setup().run(END);
    let used = usize::from(alone.port(links[1]).accepted.frames > 0);
    let other = setup().cut(links[1 - used], ms(10), None).run(END);
    assert_eq!(alone.ends[0].end, other.ends[0].end);
    assert!(alone.ends[0].stall.is_none());
    let late = setup().cut(links[used], Span::from_secs(200), None).run(END);
    assert_eq!((late.ends[0].end, late.ends[0].stall), (alone.ends[0].end, None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever fails, as long as everything comes back: every byte arrives once (frames are conserved: asserted at the
    /// end of every run), under every sort of transport, and the same run gives the same events.
    #[test]
    fn everything_arrives_in_the_end(
        kind in 0usize..5,
        direct in any::<bool>(),
        seed in any::<u64>(),
        cuts in prop::collection::vec((0usize..2, 0u64..3000, 1u64..2000, prop::option::of(0u64..300), any::<bool>(), 0u8..3), 0..6),
    ) {
        let own = match kind {
            0 => tcp(),
            1 => mptcp("lia"),
            2 => lanes(ms(100)),
            3 => {
                let mut own = lanes(ms(100));
                own.multipath.as_mut().expect("multipath").syn_fallback = true;
                own
            }
            _ => Profile {
                multipath: Some(Multipath { scheduler: headway_transport::Scheduler::Linux, subflows: Some(2), ..Multipath::default() }),
                mss: 1460,
                overhead: 58,
                ..Profile::linux()
            },
        };
        let run = || {
            let (net, pair, links) = if direct { cables(&[plain(), plain()]) } else { paths(2) };
            let mut setup = Setup::new(&net, own.clone()).seed(seed);
            for i in 0..4 {
                setup = setup.flow(pair, Some(segments(100 + 400 * i)), ms(600 * i));
            }
            for &(link, at, lasts, reroute, carrier, ways) in &cuts {
                let link = links[link];
                setup.failures.push(Failure {
                    links: match ways { 0 => vec![link], 1 => vec![link.reverse()], _ => vec![link, link.reverse()] },
                    at: Time::ZERO + ms(at),
                    until: Some(Time::ZERO + ms(at + lasts)),
                    reroute: reroute.map(ms),
                    carrier,
                });
            }
            setup.run(Span::from_secs(600))
        };
        let outcome = run();
        for (i, flow) in outcome.ends.iter().enumerate() {
            prop_assert!(flow.end.is_some(), "{flow:?}");
            prop_assert_eq!(flow.delivered, segments(100 + 400 * i as u64));
        }
        prop_assert_eq!(run().totals.digest, outcome.totals.digest);
    }
}
