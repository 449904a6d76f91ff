//! However a run with kernel hosts ends, its guests end with it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::Place;

/// Virtual hours on two guests: does not end by itself while the test looks.
const LONG: &str = r#"
name = "long"
about = "Two kernels that have much to do"
duration = "6h"
repeats = 1
host-kind = "linux"
[topology]
kind = "graph"
hosts = ["a", "b"]
switches = []
cables = [{ between = ["a", "b"] }]
link = { rate = "100Mbps", delay = "1ms" }
queue = { kind = "drop-tail", limit = "100pkt" }
[hosts]
a = { members = ["a"] }
b = { members = ["b"] }
[[traffic]]
name = "bulk"
from = "a"
to = "b"
size = "unlimited"
arrival = "once"
[[policy]]
name = "reno"
transport = "tcp"
"#;

/// The processes that live in a temporary folder of the guests of process `id`.
fn guests(id: u32) -> usize {
    let folder = format!("/headway-guests-{id}-");
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let inside = |process: &Path| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.to_string_lossy().contains(&folder))
    };
    processes.filter(|process| inside(&process.path())).count()
}

fn folders(id: u32) -> usize {
    let prefix = format!("headway-guests-{id}-");
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count()
}

/// Waits until `condition` holds, or half a minute.
fn eventually(condition: impl Fn() -> bool) -> bool {
    (0..600).any(|_| {
        let holds = condition();
        if !holds {
            std::thread::sleep(Duration::from_millis(50));
        }
        holds
    })
}

fn running(place: &Place, out: &str) -> Child {
    let mut command = place.command(&["run", "long.toml", "--out", out, "--quiet"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    assert!(eventually(|| guests(child.id()) >= 2), "both guests run");
    child
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn guests_end_with_the_run_that_has_them() {
    if let Err(error) = headway_kernel::image::Image::find(None) {
        println!("skipped: {error}");
        return;
    }
    let place = Place::new();
    place.write("long.toml", LONG);
    // the second Ctrl-C does not wait for the run under way
    let mut child = running(&place, "interrupted");
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let status = child.wait().unwrap();
    assert!(!status.success());
    assert!(eventually(|| guests(child.id()) == 0), "no guest outlives Ctrl-C");

    let mut child = running(&place, "killed");
    let killed = child.id();
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(eventually(|| guests(killed) == 0), "no guest outlives kill -9");
    assert_eq!(folders(killed), 1, "nobody was left to remove the folder");
    // the next run does
    let mut child = running(&place, "next");
    assert_eq!(folders(killed), 0);
    signal(&child, "KILL");
    child.wait().unwrap();
    assert!(eventually(|| guests(child.id()) == 0));
    for entry in std::fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&format!("headway-guests-{}-", child.id())) {
            std::fs::remove_dir_all(entry.path()).unwrap();
        }
    }
}
