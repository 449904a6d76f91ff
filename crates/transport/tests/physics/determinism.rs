//! A run is its seed: events, flows and samples.

use headway_fabric::Limit;
use headway_transport::{Profile, SampleKind};
use headway_units::{Rate, Span};

use crate::common::{Outcome, Setup, delayed, dumbbell, limited, lossy, multipath, profile, wire};

/// Twelve finite flows, of TCP and MPTCP, over a link that drops and loses.
fn run(seed: u64, loss: f64) -> Outcome {
    setup(seed, loss).run(Span::from_secs(5))
}

fn setup(seed: u64, loss: f64) -> Setup {
    let access = wire(Rate::from_gbps(10), Span::from_micros(20));
    let bottleneck = limited(wire(Rate::from_gbps(1), Span::from_micros(50)), Limit::Packets(30));
    let net = dumbbell(&[access; 4], lossy(bottleneck, loss));
    let mut setup = Setup::new(&net.net, Profile { delayed_ack: delayed(), ..profile() })
        .profile(multipath("lia", 3))
        .sample(Span::from_millis(1), &[SampleKind::Goodput, SampleKind::Cwnd, SampleKind::Rtt])
        .seed(seed);
    for i in 0..12u64 {
        setup =
            setup.flow_of((i % 2) as u16, net.pairs[i as usize % 4], Some(100_000 + 50_000 * i), Span::from_millis(i));
    }
    setup
}

#[test]
fn one_seed_gives_one_run() {
    let (one, two) = (run(7, 0.01), run(7, 0.01));
    assert!(one.totals.lost > 0 && one.totals.drops > 0, "nothing random happened: {:?}", one.totals);
    assert_eq!(one.totals, two.totals);
    assert_eq!(one.ends, two.ends);
    assert_eq!(one.samples, two.samples);
    assert_eq!(one.ports, two.ports);
}

#[test]
fn another_seed_gives_another_run_where_chance_has_a_part() {
    assert_ne!(run(7, 0.01).totals.digest, run(8, 0.01).totals.digest);
}

/// Without loss and with one path, nothing is left to chance.
#[test]
fn without_chance_the_seed_does_not_matter() {
    assert_eq!(run(7, 0.0).totals, run(8, 0.0).totals);
}

/// Stopping and going on changes nothing: not at a sample's time, not between flows' starts, not in the middle of things.
#[test]
fn a_run_in_parts_is_the_run() {
    let whole = run(7, 0.01);
    let ends = [0, 1_000, 3_500, 10_000, 10_001, 250_000, 5_000_000].map(Span::from_micros);
    let parts = setup(7, 0.01).run_in_parts(&ends);
    assert_eq!(whole.ends, parts.ends);
    assert_eq!(whole.samples, parts.samples);
    assert_eq!(whole.ports, parts.ports);
}
