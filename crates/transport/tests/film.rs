//! Films of links: they say what ports count, and change nothing.

mod common;

use common::{FULL, GAP, Outcome, Setup, dumbbell, limited, lossy, multipath, parallel, profile, wire};
use headway_fabric::{Limit, LinkId};
use headway_transport::{LinkStep, SampleKind};
use headway_units::{Bytes, Rate, Span};

const MS: fn(u64) -> Span = Span::from_millis;

/// The steps of a link.
fn steps(outcome: &Outcome, link: LinkId) -> Vec<LinkStep> {
    let film = outcome.film.as_ref().expect("a film was made");
    let own = film.links.iter().find(|(own, _)| *own == link);
    own.map_or_else(|| vec![LinkStep::default(); film.times.len()], |(_, steps)| steps.clone())
}

/// Flows over a narrow, lossy link, of which one cable fails for a while; samples are taken as well.
fn busy() -> Setup {
    let access = wire(Rate::from_gbps(1), Span::from_micros(10));
    let narrow = limited(lossy(wire(Rate::from_mbps(100), Span::from_micros(50)), 0.01), Limit::Packets(10));
    let net = dumbbell(&[access; 4], narrow);
    let mut setup = Setup::new(&net.net, profile()).sample(MS(7), &[SampleKind::Goodput, SampleKind::Cwnd]);
    for (at, &pair) in (0..).zip(&net.pairs) {
        setup = setup.flow(pair, Some(400_000), MS(10 * at));
    }
    setup.cut(net.bottleneck, MS(20), Some(MS(60)))
}

#[test]
fn a_film_changes_nothing() {
    let without = busy().run(Span::from_secs(20));
    for steps in [1, 50, 1000] {
        let with = busy().filmed(steps).run(Span::from_secs(20));
        assert!(with.film.as_ref().is_some_and(|film| film.times.len() > steps as usize / 40));
        assert_eq!(with.totals, without.totals, "events and their digest among them");
        assert_eq!((&with.ends, &with.samples, &with.ports), (&without.ends, &without.samples, &without.ports));
    }
    assert!(without.ends.iter().all(|flow| flow.end.is_some()), "{:?}", without.ends);
    assert!(without.totals.down > 0 && without.totals.lost > 0 && without.totals.drops > 0, "{:?}", without.totals);
}

#[test]
fn a_film_adds_up_to_what_ports_count() {
    let outcome = busy().filmed(50).run(Span::from_secs(20));
    let mut drops = 0;
    for (at, port) in outcome.ports.iter().enumerate() {
        let own = steps(&outcome, LinkId(at as u32));
        let dropped = port.dropped.frames + port.lost.frames + port.down.frames;
        assert_eq!(own.iter().map(|step| u64::from(step.drops)).sum::<u64>(), dropped, "link {at}");
        drops += dropped;
        let sent: u64 = own.iter().map(|step| step.sent).sum();
        if port.down.frames == 0 {
            // all has left the queue, for the flows are over
            assert_eq!(sent, port.accepted.bytes + port.accepted.frames * GAP, "link {at}");
        } else {
            assert!(sent <= port.accepted.bytes + port.accepted.frames * GAP && sent >= port.delivered.bytes / 2);
        }
    }
    assert!(drops > 10);
}

#[test]
fn flows_queues_and_rates_of_a_shared_link_are_seen() {
    let access = wire(Rate::from_gbps(1), Span::from_micros(10));
    let narrow = limited(wire(Rate::from_mbps(100), Span::from_micros(50)), Limit::Packets(20));
    let net = dumbbell(&[access; 3], narrow);
    let setup = Setup::new(&net.net, profile()).flow(net.pairs[0], None, Span::ZERO);
    let outcome = setup.flow(net.pairs[1], None, MS(500)).filmed(100).run(Span::from_secs(1));
    let film = outcome.film.as_ref().unwrap();
    assert_eq!((film.times.len(), film.times[0].picos()), (100, MS(10).picos()));
    let own = steps(&outcome, net.bottleneck);
    let flows: Vec<u32> = own.iter().map(|step| step.flows).collect();
    assert!(flows[..50].iter().all(|&flows| flows == 1) && flows[51..].iter().all(|&flows| flows == 2), "{flows:?}");
    assert!(steps(&outcome, net.bottleneck.reverse()).iter().all(|step| step.flows == 0), "no data goes back");
    // 100 Mb/s are 125,000 B in 10 ms; a frame that was under way counts where it ends
    assert!(own.iter().all(|step| step.sent <= 125_000 + FULL), "{own:?}");
    assert!(own[10..].iter().all(|step| step.sent > 125_000 - 2 * FULL), "the link is never idle: {own:?}");
    let deepest = own.iter().map(|step| step.queue).max().unwrap();
    let frame = FULL - GAP;
    assert!((15 * frame..=20 * frame).contains(&deepest), "{deepest}");
    // the third pair has nothing to send
    assert_eq!(film.links.iter().map(|(link, _)| link).filter(|link| steps(&outcome, **link).len() != 100).count(), 0);
    assert!(film.links.len() < outcome.ports.len());
}

#[test]
fn a_flow_of_several_subflows_is_one_flow_on_each_of_its_links() {
    let access = wire(Rate::from_gbps(1), Span::from_micros(10));
    let path = limited(wire(Rate::from_mbps(100), Span::from_micros(50)), Limit::Bytes(Bytes::new(100_000)));
    let net = parallel(access, &[(path, 0), (path, 0)]);
    let setup = Setup::new(&net.net, multipath("lia", 2)).flow(net.multi, None, Span::ZERO);
    let outcome = setup.filmed(20).run(Span::from_secs(1));
    for &link in &net.bottlenecks {
        let flows: Vec<u32> = steps(&outcome, link).iter().map(|step| step.flows).collect();
        assert!(flows[2..].iter().all(|&flows| flows == 1), "{flows:?}");
    }
}
