//! Random loss on wires: its frequency, its independence, and that nothing else goes missing.
//!
//! A count of n independent events of probability p has mean np and variance np(1 − p); all bounds are four standard
//! deviations (missed once in 16,000 seeds).

use headway_fabric::{Limit, PeriodicLoss, QueueSpec, Wire};
use headway_units::{Rate, Span, Time};

use super::open_loop::{Fate, Offer, chain, plain, run, run_on};

const N: u64 = 200_000;

fn lossy(loss: f64) -> (Wire, Span) {
    (Wire { loss, delay: Span::from_micros(1), ..plain(Rate::from_gbps(10)) }, Span::ZERO)
}

/// N frames back to back.
fn offers() -> impl Iterator<Item = Offer> {
    (0..N).map(|i| Offer::at(Time::ZERO + Span::from_micros(1) * i, 1250))
}

#[track_caller]
fn assert_binomial(what: &str, count: u64, trials: u64, p: f64) {
    let (n, bound) = (trials as f64, 4.0 * (trials as f64 * p * (1.0 - p)).sqrt());
    assert!((count as f64 - n * p).abs() <= bound, "{what}: {count}, expected {} ± {bound}", n * p);
}

#[test]
fn the_frequency_of_loss_is_its_probability() {
    for p in [1e-4, 1e-3, 0.01, 0.1, 0.5] {
        let chain = run(&[lossy(p)], 5, offers(), |_, _| {});
        assert_binomial(&format!("losses at {p}"), chain.totals.lost.frames, N, p);
    }
    for (p, lost) in [(0.0, 0), (1.0, N)] {
        assert_eq!(run(&[lossy(p)], 5, offers(), |_, _| {}).totals.lost.frames, lost);
    }
}

/// Losses on one wire are independent of each other: a loss follows a loss with probability p. So are those of two
/// wires: what passes both is (1 − p)(1 − q) of all.
#[test]
fn losses_are_independent() {
    let (p, q) = (0.1, 0.2);
    let chain = run(&[lossy(p)], 5, offers(), |_, _| {});
    let lost: Vec<bool> = chain.fates.iter().map(|&fate| fate == Fate::Discarded).collect();
    let pairs = lost.windows(2).filter(|pair| pair[0]).count() as u64;
    let both = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
    assert_binomial("losses after a loss", both, pairs, p);
    let chain = run(&[lossy(p), lossy(q)], 5, offers(), |_, _| {});
    assert_binomial(
        "frames over two wires",
        chain.totals.delivered.frames - chain.ports[0].delivered.frames,
        N,
        (1.0 - p) * (1.0 - q),
    );
}

/// Of a hundred frames one is lost, always the same one, whatever the seed; each direction counts for itself.
#[test]
fn regular_losses_are_where_they_are_asked_for() {
    for (every, first) in [(100, 100), (100, 1), (7, 30)] {
        let (mut graph, route) = chain(&[lossy(0.0), lossy(0.0)]);
        graph.lose_every(route[1], PeriodicLoss { every, first });
        let fates = run_on(&graph, &route, 5, offers().take(1_000), |_, _| {}).fates;
        let lost: Vec<u32> =
            (1..).zip(&fates).filter(|(_, fate)| **fate == Fate::Discarded).map(|(number, _)| number).collect();
        let expected: Vec<u32> = (first..=1_000).step_by(every as usize).collect();
        assert_eq!(lost, expected);
        let back = run_on(&graph, &[route[0]], 5, offers().take(1_000), |_, _| {});
        assert_eq!(back.totals.lost.frames, 0, "the other link loses nothing");
    }
}

/// Two runs of one seed lose the same frames; another seed loses others.
#[test]
fn the_seed_decides_which_frames_are_lost() {
    let fates = |seed| run(&[lossy(0.01)], seed, offers().take(10_000), |_, _| {}).fates;
    assert!(fates(1) == fates(1));
    assert!(fates(1) != fates(2));
}

/// Loss on the wire and drops at the queues together: at every moment and every port what came in went out, was lost
/// or is still there, and at the end every frame offered has one of three fates.
#[test]
fn frames_are_conserved_under_loss_and_drops() {
    let queue = QueueSpec::DropTail { limit: Some(Limit::Packets(5)), mark: None };
    let links = [(10, 0.05), (9, 0.1), (8, 0.01)].map(|(gbps, loss)| {
        let (wire, latency) = lossy(loss);
        (Wire { queue, rate: Rate::from_gbps(gbps), ..wire }, latency)
    });
    let mut moments = 0;
    let chain = run(&links, 5, offers().take(50_000), |_, fabric| {
        fabric.assert_conserved();
        moments += 1;
    });
    assert!(moments > 50_000);
    let arrived = chain.fates.iter().filter(|&&fate| fate != Fate::Discarded).count() as u64;
    let totals = chain.totals;
    assert!(totals.dropped.frames > 100 && totals.lost.frames > 100, "the network is too kind: {totals:?}");
    assert_eq!(arrived + totals.dropped.frames + totals.lost.frames, 50_000);
    assert_eq!(arrived, chain.ports[2].delivered.frames);
    // What a port delivers is offered to the next.
    for pair in chain.ports.windows(2) {
        assert_eq!(pair[0].delivered.frames, pair[1].accepted.frames + pair[1].dropped.frames);
    }
}
