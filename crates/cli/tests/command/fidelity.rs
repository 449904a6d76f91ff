//! How far the model is from the kernel, and that it does not get further.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Place, Ran};

/// Points of which a kernel makes short work: flows alone, flows that collide, a full pipe.
const CHEAP: [&str; 3] = [
    "short-alone:size=100KB,control=new-reno,buffer=125KB",
    "incast:senders=8,size=32KB,buffer=64KB,control=new-reno",
    "bulk-1g-200us:control=new-reno,buffer=50KB",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fidelity")
}

fn fidelity(place: &Place, data: &Path, args: &[&str]) -> Ran {
    let mut command = place.command(&["fidelity", "--quiet", "--data"]);
    Ran::from(command.arg(data).args(args).output().unwrap())
}

/// A copy of the folder.
fn copy(place: &Place) -> PathBuf {
    std::fs::create_dir(place.path("fidelity")).unwrap();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), place.path("fidelity").join(entry.file_name())).unwrap();
    }
    place.path("fidelity")
}

/// What the kernel's file in `data` has of `point`.
fn record(data: &Path, point: &str) -> Value {
    let text = std::fs::read_to_string(data.join("kernel.jsonl")).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.find(|record| record["point"] == point).unwrap_or_else(|| panic!("{point} is not there"))
}

#[test]
fn the_model_is_no_further_from_the_kernel_than_it_was() {
    let place = Place::new();
    let ran = fidelity(&place, &folder(), &["--quick", "--model-only", "--check", "--no-files"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("throughput: "), "{}", ran.out);
}

#[test]
fn a_model_that_moves_away_fails_the_check() {
    let place = Place::new();
    // A tenth of the window: far fewer bytes in 20 ms of round trip.
    let slower = ["--set", "policy.linux.transport.receive-window=20KB", "--model-only", "--check"];
    let ran = fidelity(&place, &folder(), &[&["bulk-100m-20ms:control=new-reno,buffer=250KB"], &slower[..]].concat());
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("throughput: error -9"), "{}", ran.err);
}

#[test]
fn every_number_comes_as_json_with_its_goal() {
    let place = Place::new();
    let ran = fidelity(&place, &folder(), &[CHEAP[0], "--model-only", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let median = lines.iter().find(|line| line["metric"] == "fct.p50").unwrap();
    assert_eq!((&median["point"], &median["goal"]), (&CHEAP[0].into(), &0.05.into()));
    let (kernel, model) = (median["kernel"].as_f64().unwrap(), median["model"].as_f64().unwrap());
    assert!((median["error"].as_f64().unwrap() - (model - kernel) / kernel).abs() < 1e-12);
}

#[test]
fn a_name_of_no_point_is_a_mistake() {
    let place = Place::new();
    let ran = fidelity(&place, &folder(), &["no-such-point", "--model-only"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("any part of one will do"), "{}", ran.err);
}

#[test]
fn numbers_of_another_scenario_are_not_used() {
    let place = Place::new();
    let data = copy(&place);
    let file = data.join("short-alone.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("rate = \"100Mbps\"", "rate = \"90Mbps\"")).unwrap();
    let ran = fidelity(&place, &data, &[CHEAP[0], "--model-only", "--check"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.contains("nothing was compared"), "{}", ran.err);
}

/// Only where there is an image, and of the version the numbers are of.
#[test]
fn kernels_do_again_what_they_did() {
    let place = Place::new();
    let list = place.command(&["kernel", "list", "--json"]).output().unwrap();
    let images: Value = serde_json::from_slice(&list.stdout).unwrap();
    let version = record(&folder(), CHEAP[0])["linux"].clone();
    let Some(image) = images.as_array().unwrap().iter().rfind(|image| image["version"] == version) else {
        println!("skipped: there is no image of Linux {version}");
        return;
    };
    let data = copy(&place);
    let kernel = image["name"].as_str().unwrap();
    let ran = fidelity(&place, &data, &[&CHEAP[..], &["--kernel-hosts", "--kernel", kernel]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for point in CHEAP {
        let (was, is) = (record(&folder(), point), record(&data, point));
        assert_eq!(is["linux_sha256"], image["linux"]["sha256"], "it was run");
        assert!(was["measured"] == is["measured"], "{point}: the kernel's numbers are others now");
    }
}

/// 2 KB are two segments of at most 1448 B (1500 − 20 − 20 − 12 of timestamps), after a round trip of 20 ms for SYN;
/// FIN takes a number, too (RFC 9293 §3.4).
#[test]
fn a_trace_has_the_segments_of_every_flow() {
    let place = Place::new();
    let point = "short-alone:size=2KB,control=new-reno,buffer=125KB";
    let ran = fidelity(&place, &folder(), &[point, "--model-only", "--trace", "traces"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = place.read("traces/short-alone-size-2KB-control-new-reno-buffer-125KB.model.txt");
    // Of the second flow, which starts after 800 ms.
    let lines: Vec<&str> = text.lines().filter(|line| line.contains(" left-host0#1 ")).collect();
    let has = |time: &str, end: &str| lines.iter().any(|line| line.starts_with(time) && line.ends_with(end));
    assert!(has("0.800000000 ", "> S   0:0 0"), "{lines:?}");
    assert!(has("0.8200", "> .   0:1448 1448") && has("0.8200", " 1448:2000 552"), "{lines:?}");
    let closed = |line: &&str| line.starts_with("0.8402") && line.contains("< F.  ack 2001 win ");
    assert!(lines.iter().any(closed), "{lines:?}");
}
