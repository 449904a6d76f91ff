//! `headway run`: what it leaves and what it prints.

use crate::{Place, names};

#[test]
fn a_run_leaves_a_folder_and_prints_tables() {
    let place = Place::new();
    let ran = place.headway(&["run", "tiny.toml"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let files = [
        "flows.parquet",
        "links.parquet",
        "manifest.json",
        "repeats.csv",
        "report.html",
        "scenario.toml",
        "series.parquet",
        "summary.csv",
        "topology.json",
    ];
    assert_eq!(names(&place.path("results/tiny")), files);
    assert!(ran.out.starts_with("tiny: 2 policies × 2 sweep points × 3 repeats, seed 1\n\n"), "{}", ran.out);
    for title in [
        "short: mean FCT in ms",
        "short: p99 FCT in",
        "long: mean goodput of a flow in Mb/s",
        "network: frames dropped",
    ] {
        assert!(ran.out.contains(title), "no `{title}` in\n{}", ran.out);
    }
    assert!(ran.out.contains("\n1 of 1 claim held\nheld      A long flow"), "{}", ran.out);
    assert!(ran.err.contains("results in results/tiny after "), "{}", ran.err);
    let manifest = place.manifest("results/tiny");
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["command"], serde_json::json!(["run", "tiny.toml"]));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(manifest["claims"][0]["held"], true);
    for time in ["started", "finished"] {
        let text = manifest[time].as_str().unwrap();
        assert!(text.starts_with("20") && text.ends_with('Z') && text.len() == 20, "{time}: {text}");
    }
    // An unchanged scenario is kept as it is written.
    assert_eq!(place.read("results/tiny/scenario.toml"), crate::TINY);
}

#[test]
fn the_number_of_threads_does_not_show_in_the_results() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--threads", "1", "--out", "one"]);
    place.ok(&["run", "tiny.toml", "--threads", "4", "--out", "four"]);
    assert!(place.same_results("one", "four"));
}

#[test]
fn a_seed_gives_the_same_results_again_and_another_gives_others() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--seed", "7", "--out", "seven"]);
    place.ok(&["run", "tiny.toml", "--seed", "7", "--out", "again"]);
    place.ok(&["run", "tiny.toml", "--seed", "8", "--out", "eight"]);
    assert!(place.same_results("seven", "again"));
    // the network is the same
    for file in crate::RESULTS.into_iter().filter(|file| *file != "topology.json") {
        let bytes = |folder: &str| std::fs::read(place.path(folder).join(file)).unwrap();
        assert_ne!(bytes("seven"), bytes("eight"), "{file}");
    }
}

#[test]
fn any_seed_will_do() {
    let place = Place::new();
    for seed in ["0", "9223372036854775807"] {
        place.ok(&["run", "tiny.toml", "--repeats", "1", "--seed", seed, "--out", seed]);
        assert_eq!(place.manifest(seed)["seed"].to_string(), seed);
        let again = format!("{seed}-again");
        place.ok(&["run", &format!("{seed}/scenario.toml"), "--out", &again]);
        assert!(place.same_results(seed, &again));
    }
}

#[test]
fn the_kept_scenario_gives_the_same_results() {
    let place = Place::new();
    let changes =
        ["--seed", "5", "--repeats", "2", "--set", "duration=200ms", "--set", "policy.sack.transport.initial-window=4"];
    place.ok(&[&["run", "tiny.toml", "--out", "first"], &changes[..]].concat());
    let kept = place.read("first/scenario.toml");
    let header =
        "# Changed on the command line: duration=200ms, policy.sack.transport.initial-window=4, seed=5, repeats=2\n";
    assert!(kept.starts_with(header), "{kept}");
    place.ok(&["run", "first/scenario.toml", "--out", "second"]);
    assert!(place.same_results("first", "second"));
    assert_eq!(place.read("second/scenario.toml"), kept);
    assert_eq!(place.manifest("first")["repeats"], 2);
}

#[test]
fn files_that_a_scenario_names_are_kept_with_it() {
    let place = Place::new();
    let text = crate::TINY.replace(
        r#"size = { kind = "uniform", min = "2KB", max = "30KB" }"#,
        r#"size = { kind = "cdf", file = "sizes/web.txt" }"#,
    );
    std::fs::create_dir_all(place.path("mine/sizes")).unwrap();
    place.write("mine/scenario.toml", text);
    place.write("mine/sizes/web.txt", "bytes,cumulative\n1000,0\n2000,0.5\n30000,1\n");
    place.ok(&["run", "mine/scenario.toml", "--out", "first"]);
    std::fs::remove_dir_all(place.path("mine")).unwrap();
    place.ok(&["run", "first/scenario.toml", "--out", "second"]);
    assert!(place.same_results("first", "second"));
}

#[test]
fn json_is_one_object() {
    let place = Place::new();
    let out = place.ok(&["run", "tiny.toml", "--json"]);
    assert_eq!(out.lines().count(), 1);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["scenario"], "tiny");
    assert_eq!((json["seed"].as_u64(), json["repeats"].as_u64()), (Some(1), Some(3)));
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["out"], "results/tiny");
    assert_eq!(json["claims"][0]["held"], true);
    // The same rows as in the file, header aside.
    let rows = json["summary"].as_array().unwrap();
    assert_eq!(rows.len() + 1, place.read("results/tiny/summary.csv").lines().count());
    assert_eq!(
        (&rows[0]["policy"], &rows[0]["sweep"]["long"], &rows[0]["metric"]),
        (&"sack".into(), &0.into(), &"fct.mean".into())
    );
    assert!(rows[0]["ci95_low"].as_f64() < rows[0]["value"].as_f64());
}

#[test]
fn a_claim_that_is_not_held_fails_the_check_and_not_the_run() {
    let place = Place::new();
    // Sets, for the claim is the only one: 30 KB need 4.8 ms at 50 Mb/s, so a mean below 1 us cannot be.
    let never = ["--set", "claim.0.between.high=1us"];
    let out = place.ok(&[&["run", "tiny.toml"], &never[..]].concat());
    assert!(out.contains("0 of 1 claim held\nnot held  A long flow"), "{out}");
    let ran = place.headway(&[&["check", "tiny.toml", "--run"], &never[..]].concat());
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    assert!(
        words.join(" ").contains("allowed 0 s to 1.00 us") && ran.out.contains("not held  A long flow"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("error: a claim is not held"), "{}", ran.err);
}

#[test]
fn unfinished_flows_are_pointed_out() {
    let place = Place::new();
    let ran = place.headway(&["run", "tiny.toml", "--set", "drain=0s", "--set", "traffic.short.arrival.mean=1ms"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("warning: traffic short: not all flows finished in "), "{}", ran.err);
    assert!(ran.out.contains("\n*  Not all flows finished."), "{}", ran.out);
    let warnings = place.manifest("results/tiny")["warnings"].to_string();
    assert!(warnings.contains("traffic short: not all flows finished"), "{warnings}");
}

#[test]
fn runs_are_made_twice_to_verify_them() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--verify", "--out", "verified"]);
    place.ok(&["run", "tiny.toml", "--out", "plain"]);
    assert!(place.same_results("verified", "plain"));
}

#[test]
fn quiet_leaves_the_results_alone() {
    let place = Place::new();
    let ran = place.headway(&["run", "tiny.toml", "--quiet"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.contains("short: mean FCT"), "{}", ran.out);
}
