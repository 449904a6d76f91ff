//! Replication of short flows over different paths (RepFlow: Xu and Li, 2014, doi:10.1109/INFOCOM.2014.6848107).

use headway_fabric::Wire;
use headway_transport::Profile;
use headway_units::{Bytes, Span};

use super::path::{cables, plain, segments};
use crate::common::{Outcome, Setup, lossy, profile};

const LIMIT: u64 = segments(50);

fn run(profile: Profile, wires: &[Wire], size: u64) -> (Outcome, Vec<u64>) {
    let (net, pair, links) = cables(wires);
    let outcome = Setup::new(&net, profile).flow(pair, Some(size), Span::ZERO).run(Span::from_secs(100));
    let used = links.iter().map(|&link| outcome.port(link).accepted.frames).collect();
    (outcome, used)
}

fn twice() -> Profile {
    Profile { replicate: Some((Bytes::new(LIMIT), 2)), ..profile() }
}

#[test]
fn the_first_copy_to_arrive_ends_the_flow_and_both_are_sent() {
    let slow = Wire { delay: Span::from_millis(30), ..plain() };
    let (alone, _) = run(profile(), &[plain()], LIMIT);
    for wires in [[plain(), slow], [slow, plain()]] {
        let (outcome, used) = run(twice(), &wires, LIMIT);
        assert_eq!(outcome.fct(0), alone.fct(0), "the minimum of both");
        assert_eq!(used, [51, 51], "SYN and 50 segments on either");
        let end = &outcome.ends[0];
        assert_eq!((end.delivered, end.subflows, end.interfaces), (LIMIT, 2, 0b11));
    }
}

#[test]
fn a_dead_path_costs_nothing() {
    let (alone, _) = run(profile(), &[plain()], LIMIT);
    for wires in [[plain(), lossy(plain(), 1.0)], [lossy(plain(), 1.0), plain()]] {
        assert_eq!(run(twice(), &wires, LIMIT).0.fct(0), alone.fct(0));
    }
}

#[test]
fn a_flow_over_the_limit_is_sent_once() {
    let (outcome, used) = run(twice(), &[plain(), plain()], LIMIT + 1);
    assert_eq!(outcome.ends[0].subflows, 1);
    assert_eq!(used.iter().sum::<u64>(), 52);
}
