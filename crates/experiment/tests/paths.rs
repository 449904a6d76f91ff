//! Paths of connections are kept with results, and a run's choices are repeated from there under another seed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use headway_experiment::{Destination, Experiment, Interruption, Options, Planned, Request, Source};
use headway_results::{Job, Outcome};
use headway_scenario::Document;

const HEAD: &str = r#"
name = "paths"
about = "x"
duration = "20ms"
drain = "300ms"
[topology]
kind = "leaf-spine"
leaves = 3
spines = 4
hosts-per-leaf = 3
link = { rate = "1Gbps", delay = "2us" }
queue = { kind = "drop-tail", limit = "100pkt", mark = "50pkt" }
[hosts]
all = { count = 9 }
[measure]
paths = true
"#;

const DRAWN: &str = r#"
[[traffic]]
name = "t"
from = "all"
to = "all"
size = "30KB"
arrival = { kind = "poisson", mean = "2ms" }
"#;

const POLICIES: [&str; 4] = [
    "[[policy]]\nname = \"tcp\"\ntransport = \"tcp\"\n",
    "[[policy]]\nname = \"copies\"\ntransport = \"tcp\"\nreplicate = { below = \"1MB\" }\n",
    "[[policy]]\nname = \"mptcp\"\ntransport = { kind = \"mptcp\", subflows = 3 }\n",
    "[[policy]]\nname = \"roce\"\ntransport = \"roce\"\n",
];

fn scenario(traffic: &str, seed: u64, policies: &[&str]) -> String {
    format!("seed = {seed}\n{HEAD}{traffic}{}", policies.concat())
}

/// What a run of each policy gave.
fn outcomes(text: &str, folder: &Path) -> Vec<Outcome> {
    let document = Document::parse(text, "paths.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let experiment = Experiment::new(&document, folder).unwrap_or_else(|problems| panic!("{problems}"));
    let options =
        Options { seed: experiment.scenario.seed, threads: 1, verify: false, kernel: None, abort: Arc::default() };
    let run = |cell| experiment.outcome(Job { cell, repeat: 0 }, folder, &options, 0).unwrap();
    (0..experiment.scenario.policy.len() as u32).map(run).collect()
}

/// The paths of an outcome, by flow, connection and subflow.
fn paths(outcome: &Outcome) -> Vec<(u64, u8, u8, &str, &str)> {
    let all = outcome.paths.as_ref().expect("they were kept").iter();
    all.map(|own| (outcome.flows[own.flow as usize].id, own.connection, own.subflow, &*own.path, &*own.back)).collect()
}

fn problem(text: &str, folder: &Path) -> String {
    match Document::parse(text, "paths.toml", &[]) {
        Ok(document) => Experiment::new(&document, folder).expect_err("it is wrong").to_string(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn a_recorded_run_replayed_under_another_seed_takes_the_same_links() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let text = scenario(DRAWN, 1, &POLICIES);
    let source = Source { name: "paths.toml".into(), text: text.clone(), folder: folder.to_path_buf() };
    let request = Request { threads: Some(1), no_report: true, ..Request::default() };
    let planned = Planned::new(&source, Destination::New(folder.join("a")), &request);
    let opened = planned.unwrap_or_else(|error| panic!("{error}")).open(&mut |_| {}).unwrap();
    opened.run(&Interruption::default(), &mut |_, _| {}).unwrap();

    let first = outcomes(&text, folder);
    for (nth, (policy, first)) in POLICIES.iter().zip(&first).enumerate() {
        let name = ["tcp", "copies", "mptcp", "roce"][nth];
        let taken = paths(first);
        let connections = taken.iter().map(|own| (own.1, own.2)).collect::<BTreeSet<_>>().len();
        assert_eq!((first.flows.len() > 30, connections), (true, [1, 2, 3, 1][nth]), "{name}");
        assert!(taken.iter().any(|own| own.3.contains("spine0")) && taken.iter().any(|own| own.3.contains("spine3")));
        let replayed = |file: &str, seed| {
            let list = format!(
                "[[traffic]]\nname = \"t\"\nkind = \"replay\"\nfile = \"a/{file}\"\nselect = {{ policy = \"{name}\", repeat = 0 }}\n"
            );
            outcomes(&scenario(&list, seed, &[policy]), folder).remove(0)
        };
        let again = replayed("paths.parquet", 2);
        assert_eq!(again.flows.len(), first.flows.len());
        assert_eq!(paths(&again), taken, "{name}: with its paths");
        let other = replayed("flows.parquet", 2);
        assert_ne!(paths(&other), taken, "{name}: without");
        // nothing but paths is random here: each flow goes as before
        assert_eq!(again.flows, first.flows, "{name}");
    }
}

#[test]
fn keeping_paths_changes_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let text = scenario(DRAWN, 3, &POLICIES);
    let without = outcomes(&text.replace("paths = true", "paths = false"), place.path());
    for (with, without) in outcomes(&text, place.path()).into_iter().zip(without) {
        assert!(with.paths.is_some() && without.paths.is_none());
        assert_eq!(Outcome { paths: None, ..with }, without);
    }
}

#[test]
fn all_flows_pass_the_switch_that_their_traffic_names() {
    let place = tempfile::tempdir().unwrap();
    let hosts = "[hosts]\na = { count = 2 }\nothers = { count = 4 }\nb = { count = 1 }\n";
    let traffic = DRAWN.replace("\"all\"\nto = \"all\"", "\"a\"\nto = \"b\"\nvia = [\"spine2\"]");
    let text = scenario(&traffic, 1, &POLICIES).replace("[hosts]\nall = { count = 9 }\n", hosts);
    for outcome in outcomes(&text, place.path()) {
        let taken = paths(&outcome);
        assert!(taken.len() > 5);
        for (_, _, _, forth, back) in taken {
            assert!(forth.ends_with(" leaf0 spine2 leaf2 leaf2-host0"), "{forth}");
            assert!(back.starts_with("leaf2-host0 leaf2 spine2 leaf0 "), "{back}");
        }
    }
    let inside = text.replace("others = { count = 4 }\n", "");
    let told = problem(&inside, place.path());
    assert!(told.contains("no shortest path between `leaf0-host0` and `leaf0-host2` passes `spine2`"), "{told}");
    assert!(told.contains("via = [\"spine2\"]"), "it has its place: {told}");
}

#[test]
fn paths_that_cannot_be_are_refused_with_their_place() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let list = |keys: &str| format!("[[traffic]]\nname = \"t\"\nkind = \"replay\"\nfile = \"list.csv\"\n{keys}");
    let write = |path: &str, back: &str| {
        let text = format!(
            "start_us,source,destination,bytes,path,path_back\n0,leaf0-host0,leaf1-host0,5,,\n1,leaf0-host0,leaf1-host0,5,{path},{back}\n"
        );
        fs::write(folder.join("list.csv"), text).unwrap();
    };
    let whole = "leaf0-host0 leaf0 spine1 leaf1 leaf1-host0";
    for (path, back, message) in [
        ("spin1", "", "list.csv: line 3: there is no switch or host `spin1`"),
        ("spin1", "", "did you mean `spine1`?"),
        ("spine1#x", "", "line 3: there is no switch or host `spine1#x`"),
        ("leaf2", "", "list.csv: line 3: no shortest path between `leaf0-host0` and `leaf1-host0` passes `leaf2`"),
        ("spine1 spine2", "", "passes `spine2` as it is given"),
        ("leaf1 leaf0", "", "passes `leaf0` as it is given"),
        ("spine1#2", "", "passes `spine1` as it is given"),
        ("leaf0-host0 leaf0 spine1 leaf1 leaf1-host1", "", "passes `leaf1-host1` as it is given"),
        (whole, whole, "passes `leaf0-host0` as it is given"),
    ] {
        write(path, back);
        let told = problem(&scenario(&list(""), 1, &POLICIES[..1]), folder);
        assert!(told.contains(message) && told.contains("file = \"list.csv\""), "{path}, {back}: {told}");
    }
    write(whole, "spine3");
    let taken = outcomes(&scenario(&list(""), 1, &POLICIES[..1]), folder);
    assert_eq!(paths(&taken[0])[1].3, whole);
    assert!(paths(&taken[0])[1].4.contains(" spine3 "));
    let interface = "[[policy]]\nname = \"i\"\ntransport = { kind = \"tcp\", interface = 0 }\n";
    for (keys, policy, message) in [
        ("start = \"1ms\"\nconnections = {}\n", POLICIES[0], "gives its flows paths, and they are messages"),
        ("", interface, "chooses their interface"),
    ] {
        let told = problem(&scenario(&list(keys), 1, &[policy]), folder);
        assert!(told.contains(message), "{told}");
    }
}

/// Two hosts with an interface on each of two paths: plain TCP takes the one of its path, subflows have theirs by their
/// numbers, and lanes theirs by addresses.
#[test]
fn interfaces_follow_from_paths_where_they_are_free() {
    let place = tempfile::tempdir().unwrap();
    let list = |path: &str| {
        let text = format!("start_us,source,destination,bytes,path\n0,left-host0,right-host0,5000,{path}\n");
        fs::write(place.path().join("list.csv"), text).unwrap();
        "[[traffic]]\nname = \"t\"\nkind = \"replay\"\nfile = \"list.csv\"\n"
    };
    let parallel = |traffic: &str, policy: &str| {
        let kind = "kind = \"parallel-paths\"\nleft = 1\nright = 1\npaths = 2";
        let leaves = "kind = \"leaf-spine\"\nleaves = 3\nspines = 4\nhosts-per-leaf = 3";
        scenario(traffic, 1, &[policy]).replace(leaves, kind).replace("count = 9", "count = 2")
    };
    for path in ["path0-left", "path1-left"] {
        let taken = outcomes(&parallel(list(path), POLICIES[0]), place.path());
        assert!(paths(&taken[0])[0].3.contains(path) && taken[0].flows[0].end.is_some());
    }
    let lanes = "[[policy]]\nname = \"l\"\ntransport = { kind = \"mptcp\", lanes = { judge = { kind = \"deadline\", deadline = \"20ms\" } } }\n";
    for (path, policy, message) in [
        (
            "path1-left",
            POLICIES[2],
            "subflow 0 from `left-host0` to `right-host0` has no shortest path over `path1-left`",
        ),
        ("path0-left", lanes, "has lanes, whose paths follow from addresses"),
    ] {
        let told = problem(&parallel(list(path), policy), place.path());
        assert!(told.contains(message) && told.contains("transport = "), "{told}");
    }
}

/// Connections that stay open have the paths, as flows of their own name; what goes over a relay has one for each segment.
#[test]
fn kept_connections_and_segments_between_relays_are_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let pooled = DRAWN.replace("name = \"t\"", "name = \"t\"\nstart = \"2ms\"\nconnections = {}");
    let outcome = &outcomes(&scenario(&pooled, 1, &POLICIES[..1]), place.path())[0];
    let of = |flow: u32| &*outcome.flows[flow as usize].traffic;
    let kept = outcome.paths.as_ref().unwrap();
    let connections = outcome.flows.iter().filter(|flow| &*flow.traffic == "t/connection").count();
    assert!(kept.iter().all(|own| of(own.flow) == "t/connection"));
    assert_eq!((kept.len(), connections), (72, 72), "one for each pair of nine hosts");

    let hosts = "[hosts]\na = { count = 2 }\nmiddle = { count = 1 }\nb = { count = 6 }\n";
    let relay = "[[policy]]\nname = \"r\"\ntransport = \"tcp\"\nrelay = { hosts = [\"middle\"] }\n";
    let traffic = DRAWN.replace("\"all\"\nto = \"all\"", "\"a\"\nto = \"b\"");
    let text = scenario(&traffic, 1, &[relay]).replace("[hosts]\nall = { count = 9 }\n", hosts);
    let outcome = &outcomes(&text, place.path())[0];
    let kept = paths(outcome);
    assert_eq!(kept.len(), 2 * outcome.flows.len());
    for segments in kept.chunks(2) {
        let [first, second] = segments else { panic!("two segments each") };
        assert_eq!((first.0, first.1, second.0, second.1), (first.0, 0, first.0, 1));
        assert!(first.3.ends_with(" leaf0-host2") && second.3.starts_with("leaf0-host2 "), "{segments:?}");
        assert!(second.4.ends_with(" leaf0-host2"), "{segments:?}");
    }
}
