//! `headway reproduce`, and quick runs.

use crate::{Place, names};

/// The cheapest experiment there is: nine runs of two seconds on three paths.
const L6: &str = "lanes-l6-throughput";
const CHEAP: [&str; 6] = ["reproduce", "l6", "--no-kernel-hosts", "--policy", "mptcp,repflow", "--quiet"];

#[test]
fn experiments_are_listed_with_their_sizes() {
    let place = Place::new();
    let out = place.ok(&["reproduce", "--list"]);
    let line = out.lines().find(|line| line.contains("lanes-l7-queue-buildup")).expect(&out);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(&words[..5], ["L7", "lanes-l7-queue-buildup", "2750", "100", "14"], "{out}");
    assert!(!out.contains("example-incast"), "{out}");
    let json: serde_json::Value = serde_json::from_str(&place.ok(&["reproduce", "l7", "--list", "--json"])).unwrap();
    let kernel_hosts = serde_json::json!(["tcp", "mptcp", "lanes-deadline", "lanes-link-cost"]);
    assert_eq!(json[0]["kernel_hosts"], kernel_hosts);
    assert_eq!(json.as_array().unwrap().len(), 1);
    assert!(!place.path("results").exists());
}

#[test]
fn what_is_no_experiment_is_refused() {
    let place = Place::new();
    place.fails(2, &["reproduce", "l99"], &["there is no experiment `l99`", "--list"]);
    place.fails(2, &["reproduce", "lanes-l7-queue-bildup"], &["did you mean `lanes-l7-queue-buildup`?"]);
    place.fails(2, &["reproduce", "example-incast"], &["there is no experiment `example-incast`"]);
    place.fails(2, &["reproduce", "l6", "--kernel-hosts", "--no-kernel-hosts"], &["cannot be used with"]);
}

#[test]
fn an_experiment_is_run_once_and_found_afterwards() {
    let place = Place::new();
    let again = |out: &str| -> String { out.lines().filter(|line| !line.contains("wall")).collect() };
    let first = place.ok(&CHEAP);
    assert!(first.contains("L6: lanes-l6-throughput: "), "{first}");
    assert!(first.contains("\nheld      Pure MPTCP reaches the rate of two paths\n"), "{first}");
    assert!(first.contains("published: at most two paths"), "{first}");
    assert!(first.contains("\nnot evaluated  The deadline judge"), "{first}");
    let path = format!("results/reproduce/{L6}");
    assert_eq!(names(&place.path("results/reproduce")), [L6, "report.html"]);
    let page = place.read("results/reproduce/report.html");
    assert!(page.contains(r#""kind":"reproduction""#) && page.contains(r#""groups":[{"title":"lanes","runs":[0]}]"#));
    let finished = place.manifest(&path)["finished"].clone();
    let second = place.ok(&CHEAP);
    assert!(second.contains("finished before, in "), "{second}");
    assert_eq!(again(&second).replace("finished before, ", ""), again(&first), "from what was kept");
    assert_eq!(place.manifest(&path)["finished"], finished);
    // As `run` leaves it.
    place.ok(&["run", L6, "--policy", "mptcp,repflow", "--out", "run"]);
    assert!(place.same_results("run", &path));
    // Others have no place there.
    let ran = place.headway(&[&CHEAP[..4], &["mptcp", "--quiet"]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.out.contains("holds results of another scenario or version"), "{}", ran.out);
}

#[test]
fn an_interrupted_experiment_is_gone_on_with() {
    let place = Place::new();
    place.ok(&CHEAP);
    let path = format!("results/reproduce/{L6}");
    std::fs::rename(place.path(&path), place.path("whole")).unwrap();
    // What an interrupted run leaves: a manifest that is not complete, and the text.
    std::fs::create_dir_all(place.path(&path)).unwrap();
    let manifest = place.read("whole/manifest.json").replace("\"complete\": true", "\"complete\": false");
    assert!(manifest.contains("\"complete\": false"), "{manifest}");
    place.write(&format!("{path}/manifest.json"), manifest);
    place.write(&format!("{path}/scenario.toml"), place.read("whole/scenario.toml"));
    let out = place.ok(&CHEAP);
    assert!(!out.contains("finished before"), "{out}");
    assert!(place.same_results("whole", &path));
}

#[test]
fn json_has_claims_with_what_was_published() {
    let place = Place::new();
    let args = ["reproduce", "l6", "--no-kernel-hosts", "--policy", "link-cost-300", "--json", "--quiet"];
    // About 180 ms were published, which is known not to come out: no failure.
    let json: serde_json::Value = serde_json::from_str(&place.ok(&args)).unwrap();
    let one = &json["experiments"][0];
    assert_eq!((&one["name"], &one["held"]), (&L6.into(), &true.into()));
    let claims = one["model"]["claims"].as_array().unwrap();
    let claim = claims.iter().find(|claim| claim["text"].as_str().unwrap().contains("180 ms")).unwrap();
    assert_eq!(claim["published"][0]["value"], 0.18);
    assert_eq!(claim["held"], false);
    assert!(claim["known"].as_str().unwrap().contains("slow start"));
    let ratio = claim["cases"][0]["ratios"][0].as_f64().unwrap();
    assert!((ratio - claim["cases"][0]["first"]["value"].as_f64().unwrap() / 0.18).abs() < 1e-9);
    assert_eq!(one["kernel_hosts"], serde_json::Value::Null);
}

#[test]
fn kernel_hosts_are_left_out_where_there_is_no_kernel_unless_they_are_asked_for() {
    let place = Place::new();
    let run = |more: &[&str]| {
        let args = ["reproduce", "l6", "--policy", "repflow", "--quiet"];
        let mut command = place.command(&[&args[..], more].concat());
        command.env("HEADWAY_CACHE", place.path("cache")).env_remove("HEADWAY_KERNEL");
        crate::Ran::from(command.output().unwrap())
    };
    let ran = run(&[]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(
        ran.out.contains("kernel hosts were not run: ") && ran.out.contains("`headway kernel build`"),
        "{}",
        ran.out
    );
    let ran = run(&["--kernel-hosts", "--out", "other"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("`headway kernel build`") && !place.path("other").exists(), "{}", ran.err);
}

/// With an image, if there is one.
#[test]
fn kernel_hosts_stand_beside_the_model() {
    let place = Place::new();
    if let Err(error) = headway_kernel::image::Image::find(None) {
        println!("skipped: {error}");
        return;
    }
    let out = place.ok(&["reproduce", "l6", "--policy", "mptcp,repflow", "--kernel-hosts", "--quiet"]);
    assert!(out.contains("\non kernel hosts ("), "{out}");
    let row = out.lines().find(|line| line.starts_with("repflow") && line.contains("goodput.mean")).expect(&out);
    assert!(row.contains("Mb/s"), "{out}");
    let kernels = format!("results/reproduce/{L6}-kernel-hosts");
    assert_eq!(place.manifest(&kernels)["kernel"]["linux_sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_quick_run_is_smaller_and_says_so() {
    let place = Place::new();
    place.write("tiny.toml", format!("{}\n[quick]\nrepeats = 1\nsweep = {{ long = [0] }}\n", crate::TINY));
    let out = place.ok(&["check", "tiny.toml", "--quick"]);
    assert!(out.starts_with("ok: 2 policies × 1 sweep point × 1 repeat\n"), "{out}");
    let out = place.ok(&["run", "tiny.toml", "--quick", "--out", "quick"]);
    assert!(out.starts_with("tiny: 2 policies × 1 sweep point × 1 repeat, seed 1, quick\n"), "{out}");
    assert_eq!(place.manifest("quick")["quick"], true);
    assert!(place.read("quick/scenario.toml").starts_with("# Changed on the command line: --quick\n"));
    place.ok(&["run", "quick/scenario.toml", "--out", "again"]);
    assert!(place.same_results("quick", "again"));
    assert_eq!(place.manifest("again")["quick"], false);
    let shown = place.ok(&["show", "tiny.toml", "--quick"]);
    assert!(shown.contains("\nrepeats = 1\n") && !shown.contains("[quick]"), "{shown}");
    let out = place.ok(&["check", "tiny.toml", "--quick", "--repeats", "2"]);
    assert!(out.starts_with("ok: 2 policies × 1 sweep point × 2 repeats\n"), "{out}");
}
