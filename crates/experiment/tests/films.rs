//! Films of links change nothing, whatever the network has: queues of all kinds, failures, relays, lossless ports, RoCE.

use std::path::Path;
use std::sync::Arc;

use headway_experiment::{Experiment, Options};
use headway_results::{Job, Outcome};
use headway_scenario::{Document, Overrides};

/// The outcomes of repeat 0 of the first policies at the first point, and how many links they have.
fn outcomes(name: &str, sets: &[&str], policies: u32) -> Vec<Outcome> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
    let sets = sets.iter().map(|&set| set.to_owned()).collect();
    let overrides = Overrides { quick: true, sets, ..Overrides::default() };
    let document = Document::parse_with(&text, name, &overrides).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, &folder).unwrap_or_else(|problems| panic!("{problems}"));
    let options =
        Options { seed: experiment.scenario.seed, threads: 1, verify: false, kernel: None, abort: Arc::default() };
    let policies = policies.min(experiment.scenario.policy.len() as u32);
    let run = |cell| {
        let job = Job { cell, repeat: 0 };
        experiment.outcome(job, Path::new("."), &options, 0).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    (0..policies).map(run).collect()
}

#[test]
fn films_change_nothing() {
    for (name, sets, policies) in [
        ("example-queues", &["duration=500ms"][..], 4),
        ("example-path-failure", &["duration=600ms"], 4),
        ("lossless-victim", &[], 2),
        ("lanes-l7-queue-buildup", &[], 4),
    ] {
        let none: Vec<&str> = sets.iter().copied().chain(["measure.film.points=none"]).collect();
        let (with, without) = (outcomes(name, sets, policies), outcomes(name, &none, policies));
        assert_eq!(with.len(), without.len());
        for (with, without) in with.into_iter().zip(without) {
            let film = with.film.as_ref().unwrap_or_else(|| panic!("{name} is filmed"));
            assert!((1..=200).contains(&film.times.len()) && !film.links.is_empty(), "{name}");
            assert!(film.links.iter().all(|link| link.steps.len() == film.times.len()));
            assert!(without.film.is_none());
            assert!(with.counters.packet_hops > 1000, "{name}: {:?}", with.counters);
            assert_eq!(Outcome { film: None, ..with }, without, "{name}");
        }
    }
}

/// Of five points with two policies: which are filmed, by point.
fn filmed(sets: &[&str], repeat: u32) -> Vec<bool> {
    let text = include_str!("../../scenario/tests/small.toml").replace("\"20Mbps\"", "\"$rate\"");
    let text = text + "\n[sweep]\nrate = [\"10Mbps\", \"20Mbps\", \"30Mbps\", \"40Mbps\", \"50Mbps\"]\n";
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let document = Document::parse(&text, "small.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, Path::new(".")).unwrap_or_else(|problems| panic!("{problems}"));
    let options = Options { seed: 1, threads: 1, verify: false, kernel: None, abort: Arc::default() };
    let run = |cell| experiment.outcome(Job { cell, repeat }, Path::new("."), &options, 0).unwrap().film.is_some();
    let each: Vec<bool> = (0..10).map(run).collect();
    assert!(each.chunks(2).all(|policies| policies[0] == policies[1]), "{each:?}");
    each.into_iter().step_by(2).collect()
}

#[test]
fn films_are_of_repeat_0_at_the_chosen_points() {
    assert_eq!(filmed(&[], 0), [true, false, true, false, true]);
    assert_eq!(filmed(&[], 1), [false; 5]);
    assert_eq!(filmed(&["measure.film.points=all"], 0), [true; 5]);
    assert_eq!(filmed(&["measure.film.points=none"], 0), [false; 5]);
}

#[test]
fn films_of_too_many_values_are_not_made() {
    let film = |steps| headway_scenario::schema::FilmRecord { steps, ..Default::default() };
    assert!(film(200).is_of(0, 1, 10_000));
    assert!(!film(201).is_of(0, 1, 10_000), "2,010,000 values");
}
