//! `--hosts`, `--kernel` and `--policy`.

use crate::{Place, Ran};

/// Runs `args` where no kernel is built.
fn without_kernels(place: &Place, args: &[&str]) -> Ran {
    let mut command = place.command(args);
    command.env("HEADWAY_CACHE", place.path("cache")).env_remove("HEADWAY_KERNEL");
    Ran::from(command.output().unwrap())
}

#[test]
fn kernel_hosts_need_a_kernel_and_nothing_is_left_behind_without() {
    let place = Place::new();
    let ran = without_kernels(&place, &["run", "tiny.toml", "--hosts", "linux", "--policy", "new-reno"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{}", ran.err);
    assert!(ran.err.contains("`headway kernel build`"), "{}", ran.err);
    assert!(!place.path("results").exists());
    // what does not run them does not ask for one
    let ran = without_kernels(&place, &["check", "tiny.toml", "--hosts", "linux", "--policy", "new-reno"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let ran = without_kernels(&place, &["run", "tiny.toml", "--hosts", "modelled", "--repeats", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn what_all_hosts_are_is_kept_with_the_results() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "plain"]);
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--hosts", "modelled", "--out", "said"]);
    let text = place.read("said/scenario.toml");
    assert!(text.starts_with("# Changed on the command line: repeats=1, --hosts modelled\n"), "{text}");
    assert!(text.contains("\nhost-kind = \"modelled\"\n"));
    assert!(place.same_results("plain", "said"));
    assert_ne!(place.manifest("plain")["scenario_sha256"], place.manifest("said")["scenario_sha256"]);
    place.fails(2, &["run", "tiny.toml", "--hosts", "windows"], &["invalid value 'windows'", "modelled, linux"]);
}

#[test]
fn only_the_policies_asked_for_are_run() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "all"]);
    let ran = place.headway(&["run", "tiny.toml", "--repeats", "1", "--policy", "new-reno", "--out", "one"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("\n0 of 0 claims held, 1 not evaluated\nnot evaluated  A long flow"), "{}", ran.out);
    let of = |folder: &str| -> Vec<String> {
        let text = place.read(&format!("{folder}/summary.csv"));
        text.lines().filter(|line| line.starts_with("new-reno,")).map(str::to_owned).collect()
    };
    assert!(!of("one").is_empty() && of("one") == of("all"), "the others play no part");
    assert_eq!(place.read("one/summary.csv").lines().count(), of("one").len() + 1);
    // as it is kept, it gives the same again
    place.ok(&["run", "one/scenario.toml", "--out", "again"]);
    assert!(place.same_results("one", "again"));
    let words = ["there is no policy `new-rino`", "did you mean `new-reno`?"];
    place.fails(2, &["run", "tiny.toml", "--policy", "new-rino"], &words);
    place.fails(2, &["check", "tiny.toml", "--policy", "sack,new-rino"], &words);
}

/// With an image, if there is one; see the scenario crate's tests for what kernels do.
#[test]
fn a_run_on_kernels_says_so_and_does_not_depend_on_threads() {
    let place = Place::new();
    if let Err(error) = headway_kernel::image::Image::find(None) {
        println!("skipped: {error}");
        return;
    }
    let how = ["--hosts", "linux", "--policy", "new-reno", "--repeats", "2", "--set", "sweep.long=[1]"];
    for (threads, folder) in [("1", "one"), ("2", "two")] {
        let ran = place.headway(&[&["run", "tiny.toml", "--threads", threads, "--out", folder], &how[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains("kernel hosts: "), "which kernel: {}", ran.err);
    }
    assert!(place.same_results("one", "two"));
    let manifest = place.manifest("one");
    assert_eq!(manifest["kernel"]["linux_sha256"].as_str().map(str::len), Some(64));
    assert!(place.read("one/scenario.toml").contains("\nhost-kind = \"linux\"\n"));
    assert_eq!(manifest["runs"], place.manifest("two")["runs"], "digests and counters, too");
}

/// The newest image, if there is one; otherwise says that the test is skipped.
fn image() -> Option<headway_kernel::image::Image> {
    headway_kernel::image::Image::find(None).inspect_err(|error| println!("skipped: {error}")).ok()
}

#[test]
fn the_bundled_scenarios_for_kernels_give_what_they_claim() {
    let place = Place::new();
    let Some(image) = image() else { return };
    place.ok(&["check", "--run", "kernel-arithmetic"]);
    let has = |name: &str| image.about.programs.iter().any(|program| program.path.ends_with(&format!("/{name}")));
    if !has("nginx") || !has("wget") {
        println!("skipped kernel-web: the image has no nginx or no wget");
        return;
    }
    place.ok(&["run", "kernel-web", "--out", "web"]);
    let commands = place.read("web/commands.csv");
    assert_eq!(
        commands.lines().filter(|line| line.contains(",wget,") && line.contains(",0,")).count(),
        4,
        "{commands}"
    );
    let log = place.read("web/commands/0-0/nginx-right-host0.stdout");
    assert_eq!(log.lines().filter(|line| line.contains("\"GET /1mb HTTP/1.1\" 200 1000000")).count(), 12, "{log}");
    let capture = std::fs::metadata(place.path("web/captures/0-0/right-host0.pcap")).unwrap();
    assert!(capture.len() > 12_000_000, "the megabytes and their headers, {} bytes", capture.len());
}

/// W/d, and with relays what the link carries; see `scenarios/relay-kernel.toml`.
#[test]
fn haproxy_in_guests_relays_what_a_window_would_hold_back() {
    let place = Place::new();
    let Some(image) = image() else { return };
    if !image.about.programs.iter().any(|program| program.path.ends_with("/haproxy")) {
        println!("skipped relay-kernel: the image has no haproxy");
        return;
    }
    let short = ["--set", "sweep.loss=0%", "--set", "duration=9s", "--set", "traffic.relayed.start=5s"];
    let direct = "traffic.direct.run='iperf3 -c server -t 4 -J'";
    let relayed = "traffic.relayed.run='iperf3 -c relay-a -t 3 -J'";
    let how = [
        "run",
        "relay-kernel",
        "--hosts",
        "linux",
        "--policy",
        "linux",
        "--out",
        "relay",
        "--set",
        direct,
        "--set",
        relayed,
    ];
    place.ok(&[&how[..], &short].concat());
    let mbps = |name: &str| {
        let text = place.read(&format!("relay/commands/0-0/{name}-client.stdout"));
        let object: serde_json::Value = serde_json::from_str(&text).expect("iperf3's JSON");
        object["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate") / 1e6
    };
    // 65,535 B in 28.6 ms are 18.3 Mb/s, less in the round trips of slow start.
    assert!((17.0..18.7).contains(&mbps("direct")), "{}", mbps("direct"));
    // 1,448 B of data in each 1,538 B of 100 Mb/s: 94.1 Mb/s, less in slow start over the long link.
    assert!((80.0..94.2).contains(&mbps("relayed")), "{}", mbps("relayed"));
}

/// A limit of the switch's port decides what the fast client gets, and the slow ones take the rest of the server; see
/// `scenarios/metering-kernel.toml`.
#[test]
fn a_limit_on_a_port_moves_requests_of_kernels_to_others() {
    let place = Place::new();
    let Some(image) = image() else { return };
    let has = |name: &str| image.about.programs.iter().any(|program| program.path.ends_with(name));
    if !has("/nginx") || !has("/ab") {
        println!("skipped metering-kernel: the image has no nginx or no ab");
        return;
    }
    let ab = |clients: &str, sessions: u32| {
        format!("traffic.ab-{clients}.run='ab -q -r -t 1 -n 100000 -c {sessions} http://server/page'")
    };
    let (fast, slow) = (ab("fast", 100), ab("slow", 10));
    let short = ["--set", "sweep.limit=20Mbps", "--set", "duration=2s", "--set", &fast, "--set", &slow];
    place.ok(&[&["run", "metering-kernel", "--hosts", "linux", "--out", "metered"][..], &short].concat());
    let rate = |client: &str| {
        let text = place.read(&format!("metered/commands/0-0/ab-{client}.stdout"));
        let line = text.lines().find(|line| line.starts_with("Requests per second:")).expect("ab's summary");
        line.split_whitespace().nth(3).and_then(|number| number.parse::<f64>().ok()).expect("a rate")
    };
    // At least the page and nginx' header (1,642 B), and two frames of 66 B and one of 74 B with 18 B of Ethernet each, pass
    // the port for each request: 20 Mb/s are at most 1,320.
    let fast = rate("fast-fast");
    assert!((900.0..1320.0).contains(&fast), "{fast}");
    // The server's packets take 15 us, of which a request has 11 to 14: it does 4,700 to 6,100 for all.
    let all: f64 = fast + (0..4).map(|n| rate(&format!("slow-slow{n}"))).sum::<f64>();
    assert!((4700.0..6100.0).contains(&all), "{all}");
}
