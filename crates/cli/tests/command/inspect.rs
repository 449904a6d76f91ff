//! `check`, `show`, `schema`, `list`, `completions`.

use crate::Place;

#[test]
fn check_counts_what_would_run() {
    let place = Place::new();
    let out = place.ok(&["check", "tiny.toml"]);
    let (extent, about) = out.split_once('\n').expect("two lines");
    assert_eq!(extent, "ok: 2 policies × 2 sweep points × 3 repeats");
    let parts = ["about ", " flows, ", " packet-hops, ", " of memory\n"];
    assert!(parts.iter().all(|part| about.contains(part)) && about.starts_with(parts[0]), "{about}");
    let one = ["check", "tiny.toml", "--repeats", "1", "--set", "sweep.long=[0]"];
    assert!(place.ok(&one).starts_with("ok: 2 policies × 1 sweep point × 1 repeat\nabout "));
    let mut json: serde_json::Value =
        serde_json::from_str(&place.ok(&["check", "tiny.toml", "--json", "--seed", "9"])).unwrap();
    let estimate = json.as_object_mut().unwrap().remove("estimate").expect("an estimate");
    assert!(
        ["flows", "packet_hops", "processor_s", "wall_s", "run_bytes"]
            .iter()
            .all(|&key| estimate[key].as_f64() > Some(0.0))
    );
    assert_eq!(estimate["warning"], serde_json::Value::Null);
    let expected = serde_json::json!({"scenario": "tiny", "seed": 9, "repeats": 3, "policies": 2, "points": 2});
    assert_eq!(json, expected);
    assert!(!place.path("results").exists());
}

/// With advice that the scenario can take: hosts of lossless ports have no random processing.
#[test]
fn check_warns_of_flows_in_step() {
    let place = Place::new();
    for (scenario, advised) in [("example-incast", true), ("lossless-d1", false)] {
        let output = place.command(&["check", scenario]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("run in step and nothing is random"), "{scenario}: {said}");
        assert_eq!(said.contains("random-processing"), advised, "{scenario}: {said}");
    }
}

#[test]
fn check_runs_without_leaving_anything() {
    let place = Place::new();
    let temporary = place.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let run = ["check", "tiny.toml", "--run", "--repeats", "2"];
    let output = place.command(&run).env("TMPDIR", &temporary).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(out.starts_with("ran: 2 policies × 2 sweep points × 2 repeats\n1 of 1 claim held\n"), "{out}");
    assert!(crate::names(&temporary).is_empty());
    assert!(!place.path("results").exists());
}

#[test]
fn check_keeps_results_on_request() {
    let place = Place::new();
    let out = place.ok(&["check", "tiny.toml", "--run", "--json", "--out", "kept"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["held"], &json["claims"][0]["held"]), (&true.into(), &true.into()));
    place.ok(&["run", "tiny.toml", "--out", "run"]);
    assert!(place.same_results("kept", "run"));
    place.fails(2, &["check", "tiny.toml", "--out", "kept"], &["--run"]);
}

#[test]
fn show_writes_every_default_and_reads_back() {
    let place = Place::new();
    let shown = place.ok(&["show", "tiny.toml"]);
    assert!(shown.contains("\nmin-rto = \"200ms\"") || shown.contains("min-rto = \"200ms\""), "{shown}");
    place.write("shown.toml", &shown);
    assert_eq!(place.ok(&["show", "shown.toml"]), shown);
    place.ok(&["run", "tiny.toml", "--out", "a"]);
    place.ok(&["run", "shown.toml", "--out", "b"]);
    assert!(place.same_results("a", "b"));
    let changed = place.ok(&["show", "tiny.toml", "--set", "duration=123ms"]);
    assert!(changed.contains("duration = \"123ms\""), "{changed}");
}

#[test]
fn the_schema_is_a_json_schema() {
    let place = Place::new();
    let schema: serde_json::Value = serde_json::from_str(&place.ok(&["schema"])).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn bundled_scenarios_are_listed_and_sound() {
    let place = Place::new();
    let json: serde_json::Value = serde_json::from_str(&place.ok(&["list", "--json"])).unwrap();
    let all = json.as_array().unwrap();
    let text = place.ok(&["list"]);
    assert_eq!(text.lines().filter(|line| !line.starts_with(' ')).count(), all.len());
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = words(&text);
    assert!(all.iter().any(|one| one["name"] == "lanes-l7-queue-buildup"), "{text}");
    for one in all {
        let (name, about) = (one["name"].as_str().unwrap(), one["about"].as_str().unwrap());
        assert!(whole.contains(&words(&format!("{name} {about}"))), "{name}: {about}\n{text}");
        assert!(place.ok(&["check", name]).starts_with("ok: "), "{name}");
        // Results are called as the scenario is.
        assert!(place.ok(&["show", name]).starts_with(&format!("name = \"{name}\"\n")), "{name}");
    }
}

#[test]
fn a_file_comes_before_a_bundled_scenario_of_its_name() {
    let place = Place::new();
    assert!(place.ok(&["check", "lanes-l7-queue-buildup.toml"]).contains("5 policies"));
    place.write("lanes-l7-queue-buildup.toml", crate::TINY);
    assert!(place.ok(&["check", "lanes-l7-queue-buildup.toml"]).contains("2 policies"));
}

#[test]
fn completions_are_for_the_shell_that_was_asked_for() {
    let place = Place::new();
    for (shell, word) in
        [("bash", "complete -F _headway"), ("zsh", "#compdef headway"), ("fish", "complete -c headway")]
    {
        let text = place.ok(&["completions", shell]);
        assert!(text.contains(word), "{shell}: {text}");
        assert!(text.contains("resume"), "{shell}: {text}");
    }
    place.fails(2, &["completions", "dos"], &["dos", "bash"]);
}
