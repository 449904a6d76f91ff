//! Runs in network namespaces: what comes of them, and that nothing of them is left. As root; skipped with a printed
//! reason otherwise. Nothing here is about how long something takes, but for what no machine can do faster.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use crate::Place;

/// Two hosts with two paths of 20 Mb/s.
const SMALL: &str = r#"
name = "small"
about = "Two hosts as namespaces"
duration = "1s"
drain = "4s"
repeats = 1
host-kind = "namespaces"
[topology]
kind = "parallel-paths"
paths = 2
link = { rate = "20Mbps", delay = "1us" }
queue = { kind = "drop-tail", limit = "64KB" }
[hosts]
a = { count = 1 }
b = { count = 1 }
[[traffic]]
name = "bulk"
from = "a"
to = "b"
size = "1MB"
arrival = "once"
[[policy]]
name = "tcp"
transport = { kind = "tcp", stack = "linux", control = "new-reno" }
[[policy]]
name = "mptcp"
transport = { kind = "mptcp", stack = "linux", control = "new-reno", join-after = "0B" }
"#;

/// A program that goes on after the run was killed, if it is let.
const LONG: &str = r#"
[[traffic]]
name = "sleep"
kind = "command"
on = "a"
run = "sleep 4321 & setsid sleep 4321 & wait"
"#;

/// Why tests here cannot run on this machine; nothing if they can.
fn missing() -> Option<String> {
    let id = Command::new("id").arg("-u").output().expect("`id` is there").stdout;
    if id != b"0\n" {
        return Some("network namespaces are made by root".to_owned());
    }
    let there = |words: &[&str]| {
        let ran = Command::new(words[0]).args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    };
    for words in [&["ip", "-V"][..], &["tc", "-V"], &["unshare", "--version"], &["mount", "--version"]] {
        if !there(words) {
            return Some(format!("`{}` is not there", words[0]));
        }
    }
    let name = format!("hwtest-{}", std::process::id());
    let can = there(&["ip", "netns", "add", &name])
        && there(&["ip", "-n", &name, "link", "add", "v0", "type", "veth", "peer", "name", "v1"])
        && there(&[
            "tc", "-n", &name, "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "1mbit", "burst", "9k", "limit",
            "9k",
        ]);
    let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
    let mptcp = Path::new("/proc/sys/net/mptcp/enabled").exists();
    (!(can && mptcp)).then(|| "this kernel lacks network namespaces, veth, tbf or MPTCP".to_owned())
}

/// Says why a test is skipped, if it must be.
fn skipped() -> bool {
    static WHY: OnceLock<Option<String>> = OnceLock::new();
    let why = WHY.get_or_init(missing);
    if let Some(why) = why {
        println!("skipped: {why}");
    }
    why.is_some()
}

/// The namespaces of the process `id`.
fn spaces(id: u32) -> Vec<PathBuf> {
    let prefix = format!("hw-{id}-");
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return Vec::new() };
    let ours = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    ours.map(|entry| entry.path()).collect()
}

/// The processes in these namespaces.
fn inside(spaces: &[u64]) -> usize {
    use std::os::unix::fs::MetadataExt as _;
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let space = |process: &Path| std::fs::metadata(process.join("ns/net")).map(|space| space.ino());
    processes.filter(|process| space(&process.path()).is_ok_and(|own| spaces.contains(&own))).count()
}

fn numbers(spaces: &[PathBuf]) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt as _;
    spaces.iter().filter_map(|space| std::fs::metadata(space).ok()).map(|space| space.ino()).collect()
}

/// Waits until `condition` holds; it is only how long a broken test takes that this limits.
fn eventually(condition: impl Fn() -> bool) -> bool {
    (0..2400).any(|_| {
        let holds = condition();
        if !holds {
            std::thread::sleep(Duration::from_millis(50));
        }
        holds
    })
}

/// Starts a run that goes on for an hour, and waits until its program runs.
fn start(place: &Place) -> (Child, Vec<u64>) {
    let text = format!("{}{LONG}", SMALL.replace("drain = \"4s\"", "drain = \"1h\""));
    place.write("long.toml", text);
    let mut command = place.command(&["run", "long.toml", "--policy", "tcp", "--out", "long"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let id = child.id();
    // two agents with a process for their hosts each, the shell and its two programs
    assert!(eventually(|| inside(&numbers(&spaces(id))) >= 7), "the run does not begin");
    (child, numbers(&spaces(id)))
}

#[test]
fn flows_have_the_rate_of_their_paths_and_results_the_usual_shape() {
    if skipped() {
        return;
    }
    let place = Place::new();
    place.write("small.toml", SMALL);
    let before = std::fs::read("/proc/sys/net/core/rmem_max").unwrap();
    place.ok(&["run", "small.toml", "--out", "out", "--quiet"]);
    assert_eq!(std::fs::read("/proc/sys/net/core/rmem_max").unwrap(), before, "settings of the machine are its own");
    let summary = place.read("out/summary.csv");
    let value = |policy: &str, metric: &str| {
        let start = format!("{policy},bulk,{metric},");
        let line =
            summary.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{start}\n{summary}"));
        line[start.len()..].split(',').nth(1).unwrap().parse::<f64>().unwrap()
    };
    // 1 MB and 40 B of headers for every 1460 B at 20 Mb/s per path, less a burst of two frames at each of three queues
    let wire = |paths: f64| (1e6 - 6.0 * 1538.0) * 8.0 / (20e6 * paths);
    for (policy, paths) in [("tcp", 1.0), ("mptcp", 2.0)] {
        assert_eq!(value(policy, "unfinished"), 0.0, "{policy}");
        let fct = value(policy, "fct.mean");
        assert!(fct > wire(paths), "{policy}: {fct} s is faster than the cables");
    }
    let manifest = place.manifest("out");
    let warnings = manifest["warnings"].to_string();
    assert!(warnings.contains("times are those of this machine, Linux"), "{warnings}");
}

#[test]
fn lanes_are_done_by_the_daemon_on_every_host() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let lanes = r#"
[[policy]]
name = "lanes"
[policy.transport]
kind = "mptcp"
stack = "linux"
control = "new-reno"
join-after = "0B"
lanes = { judge = { kind = "deadline", deadline = "100ms" } }
"#;
    place.write("lanes.toml", format!("{SMALL}{lanes}"));
    place.ok(&["run", "lanes.toml", "--policy", "lanes", "--out", "out", "--quiet"]);
    let summary = place.read("out/summary.csv");
    assert!(summary.lines().any(|line| line.starts_with("lanes,bulk,unfinished,count,0,")), "{summary}");
    let warnings = place.manifest("out")["warnings"].to_string();
    assert!(!warnings.contains("daemon"), "{warnings}");
    let commands = place.read("out/commands.csv");
    for host in ["daemon.lane-left-host0", "daemon.lane-right-host0"] {
        let output = commands.lines().find_map(|line| line.rsplit(',').next().filter(|output| output.ends_with(host)));
        let output = output.unwrap_or_else(|| panic!("{host}: {commands}"));
        let said = place.read(&format!("out/{output}.stderr"));
        assert!(said.contains("lane lane=eth0 up=true") && said.contains("lane lane=eth1 up=true"), "{said}");
    }
}

#[test]
fn what_fails_while_it_is_set_up_leaves_nothing() {
    if skipped() {
        return;
    }
    let place = Place::new();
    place.write(
        "bad.toml",
        SMALL.replace("b = { count = 1 }", "b = { count = 1, linux = { setup = [\"echo no >&2; exit 7\"] } }"),
    );
    let child =
        place.command(&["run", "bad.toml", "--out", "bad"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("host `right-host0`: set-up: `echo no >&2; exit 7` ended with exit status: 7: no"), "{said}");
    assert_eq!(spaces(id), Vec::<PathBuf>::new());
}

#[test]
fn what_a_killed_run_leaves_the_next_one_removes() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let (mut child, numbers) = start(&place);
    let id = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!spaces(id).is_empty(), "nobody was there to remove them");
    place.write("bad.toml", SMALL.replace("b = { count = 1 }", "b = { count = 1, linux = { setup = [\"exit 7\"] } }"));
    place.fails(3, &["run", "bad.toml", "--out", "bad", "--quiet"], &["exit status: 7"]);
    assert_eq!(spaces(id), Vec::<PathBuf>::new());
    assert_eq!(inside(&numbers), 0, "programs that left their session, too");
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    if skipped() {
        return;
    }
    let place = Place::new();
    let (mut child, numbers) = start(&place);
    let id = child.id();
    let interrupt = || Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    // the first lets the run under way end, the second does not
    assert!(interrupt().success());
    std::thread::sleep(Duration::from_millis(200));
    assert!(interrupt().success());
    let mut status = None;
    for _ in 0..2400 {
        status = child.try_wait().unwrap();
        if status.is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let Some(status) = status else {
        let _ = child.kill();
        panic!("it does not end");
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(spaces(id), Vec::<PathBuf>::new());
    assert_eq!(inside(&numbers), 0);
}

#[test]
fn times_of_a_machine_cannot_be_verified() {
    if skipped() {
        return;
    }
    let place = Place::new();
    place.write("small.toml", SMALL);
    place.fails(2, &["run", "small.toml", "--verify", "--out", "out"], &["--verify", "never the same"]);
}
