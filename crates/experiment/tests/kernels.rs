//! Scenarios on real kernels, if an image is built; skipped with a printed reason otherwise.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use headway_experiment::{Experiment, KernelOptions, Options, RunError};
use headway_results::{Folder, Job, Manifest};
use headway_scenario::Document;

mod ran;

use ran::{image, run};

const SMALL: &str = include_str!("kernels/small.toml");

/// One flow at a time over 20 Mb/s: the kernel's initial window and growth make it take a little longer than the wire.
#[test]
fn flows_of_kernels_finish_as_the_wire_allows_and_every_time_alike() {
    let Some(image) = image() else { return };
    let one = run(&image, SMALL, &[], 1).unwrap();
    let flows = &one.outcomes[0].flows;
    assert!(flows.len() > 3, "{} flows", flows.len());
    for flow in flows {
        let (fct, ideal) = (flow.fct().expect("finished"), flow.ideal.expect("it has a size"));
        assert!(fct > ideal && fct.as_secs_f64() < 3.0 * ideal.as_secs_f64(), "{fct} and {ideal}");
        assert_eq!((flow.delivered, flow.subflows, &*flow.paths), (50_000, 1, "0"));
    }
    assert!(one.results.warnings.is_empty(), "{:?}", one.results.warnings);
    let two = run(&image, SMALL, &[], 2).unwrap();
    assert_eq!(one.outcomes, two.outcomes, "threads play no part");
}

#[test]
fn goodput_windows_and_round_trips_are_recorded() {
    let Some(image) = image() else { return };
    let sets = ["measure.series=[\"goodput\",\"cwnd\",\"rtt\",\"queue\"]", "repeats=1"];
    let ran = run(&image, SMALL, &sets, 1).unwrap();
    let outcome = &ran.outcomes[0];
    let of = |metric: &str| outcome.samples.iter().filter(|sample| *sample.metric == *metric).collect::<Vec<_>>();
    assert!(outcome.samples.is_sorted_by_key(|sample| sample.time));
    assert!(of("goodput_bps").iter().any(|sample| &*sample.entity == "flows/0" && sample.value > 1e6));
    assert!(of("cwnd_bytes").iter().any(|sample| &*sample.entity == "flows/0/0" && sample.value >= 14_480.0));
    // 3 links of 1 ms in each direction
    assert!(of("rtt_ns").iter().all(|sample| sample.value > 6e6 && sample.value < 1e8));
    assert!(of("queue_bytes").iter().any(|sample| sample.value > 0.0));
}

#[test]
fn subflows_go_from_each_interface_to_its_like() {
    let Some(image) = image() else { return };
    let text = SMALL
        .replace("kind = \"dumbbell\"", "kind = \"parallel-paths\"\npaths = 3")
        .replace("bottleneck = { rate = \"20Mbps\" }\n", "");
    let sets = ["policy.tcp.transport={kind=\"mptcp\",control=\"new-reno\"}", "repeats=1", "traffic.flows.size=1MB"];
    let ran = run(&image, &text, &sets, 1).unwrap();
    for flow in &ran.outcomes[0].flows {
        assert_eq!((flow.subflows, &*flow.paths), (3, "0+1+2"), "flow {}", flow.id);
        assert!(flow.end.is_some());
    }
}

#[test]
fn a_program_leaves_its_code_and_its_output() {
    let Some(image) = image() else { return };
    let more = r#"
[[traffic]]
name = "ask"
kind = "command"
on = "left"
hosts = 1
run = "echo {host} is {index}; ping -c1 right-host0; echo no >&2; exit 3"
start = "100ms"

[[traffic]]
name = "wait"
kind = "command"
on = "right"
run = "sleep 1000"
"#;
    let ran = run(&image, &format!("{SMALL}{more}"), &["repeats=1"], 1).unwrap();
    let [ask, wait] = &ran.outcomes[0].commands[..] else { panic!("{:?}", ran.outcomes[0].commands) };
    let said = String::from_utf8_lossy(&ask.stdout.kept);
    assert!(said.starts_with("left-host0 is 0\nPING right-host0") && said.contains("time=6."), "{said}");
    assert_eq!((ask.code, ask.ended, ask.stderr.kept.as_slice()), (3, false, b"no\n".as_slice()));
    assert_eq!((wait.code, wait.ended), (143, true), "told to end, it died of SIGTERM");
    let warnings: Vec<String> = ran.results.warnings.iter().map(headway_report::warning).collect();
    assert_eq!(warnings, ["the command of `ask` on `left-host0` ended with code 3: no"]);
}

#[test]
fn what_passes_a_host_and_a_link_is_captured() {
    let Some(image) = image() else { return };
    let sets = ["measure.capture=[\"right-host0\",\"left>right\"]", "repeats=1"];
    let ran = run(&image, SMALL, &sets, 1).unwrap();
    let folder = ran.place.path().join("results/captures/0-0");
    let packets = |name: &str| {
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let (mut at, mut count) = (24, 0);
        while at < bytes.len() {
            let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
            at += 16 + length as usize;
            count += 1;
        }
        assert_eq!(at, bytes.len(), "{name} is whole");
        count
    };
    let (host, link) = (packets("right-host0.pcap"), packets("left-to-right.pcap"));
    assert!(link > 100 && host > link, "{host} at the host, {link} over the link to it");
}

#[test]
fn what_the_kernel_refuses_ends_the_run_and_says_why() {
    let Some(image) = image() else { return };
    let sets = ["policy.tcp.linux={sysctl={\"net.ipv4.no_such_setting\"=1}}"];
    let error = run(&image, SMALL, &sets, 1).err().expect("it cannot run").to_string();
    assert!(error.starts_with("policy `tcp`, repeat 0: host `"), "{error}");
    assert!(error.contains("the kernel refuses net/ipv4/no_such_setting = 1"), "{error}");
}

#[test]
fn what_the_image_has_not_is_told_before_anything_starts() {
    let Some(image) = image() else { return };
    let sets =
        ["policy.tcp.transport.control=\"nosuch\"", "policy.tcp.linux={qdisc=\"nosuch limit 3\"}", "files=\"nowhere\""];
    let sets = sets.map(str::to_owned);
    let document = Document::parse(SMALL, "small.toml", &sets).unwrap();
    let experiment = Experiment::new(&document, Path::new(".")).unwrap();
    let text = experiment.check_image(&image).unwrap_err().to_string();
    assert!(text.contains("has no congestion control `nosuch`") && text.contains("reno"), "{text}");
    assert!(text.contains("there is no folder ./nowhere"), "{text}");
    assert!(text.contains("has no queueing discipline `nosuch`") && text.contains("pfifo"), "{text}");
}

#[test]
fn an_abort_ends_a_run_under_way() {
    let Some(image) = image() else { return };
    let document = Document::parse(SMALL, "small.toml", &[]).unwrap();
    let experiment = Experiment::new(&document, Path::new(".")).unwrap();
    let manifest = Manifest::new("small", SMALL, 1, 2, "test", experiment.cells().to_vec());
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path().join("results"), &manifest, SMALL).unwrap();
    let kernel = KernelOptions { image, processors: Vec::new() };
    let abort = Arc::new(AtomicBool::new(true));
    let options = Options { seed: 1, threads: 1, verify: false, kernel: Some(kernel), abort };
    let done: BTreeSet<Job> = BTreeSet::new();
    let stop = AtomicBool::new(false);
    let error = experiment.simulate(&folder, &manifest, &done, &options, &stop, &mut |_, _| {}).unwrap_err();
    assert!(matches!(error, RunError::Interrupted { done: 0, total: 2 }), "{error}");
}
