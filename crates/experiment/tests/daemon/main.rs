//! The daemon `headway-lane` on real kernels, below applications of our own (examples/peer.rs) that check every byte; if
//! an image is built, and skipped with a printed reason otherwise.

mod history;
mod ipv6;
mod probing;
mod races;
#[path = "../ran/mod.rs"]
mod ran;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use headway_kernel::image::Image;
use headway_results::Outcome;
use ran::{Ran, check_daemons, said};
use serde_json::Value;
use tempfile::TempDir;

const TWO: &str = include_str!("two.toml");

/// What a scenario of [`TWO`] is run with: the image, and the program that applications are.
struct Lab {
    image: Arc<Image>,
    files: TempDir,
}

impl Lab {
    /// If there is an image.
    fn new() -> Option<Lab> {
        let image = ran::image()?;
        let files = tempfile::tempdir().unwrap();
        let test = std::env::current_exe().unwrap();
        let peer = test.ancestors().nth(2).unwrap().join("examples/peer");
        let copy = |from: &Path, name: &str| {
            fs::copy(from, files.path().join(name)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        };
        assert!(peer.exists(), "cargo build -p headway-experiment --example peer");
        copy(&peer, "program");
        // built as this test is, it needs the same libraries
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut libraries: Vec<PathBuf> =
            maps.lines().filter_map(|line| line.split_once('/').map(|(_, path)| Path::new("/").join(path))).collect();
        libraries.retain(|path| path.to_string_lossy().contains(".so"));
        libraries.sort();
        libraries.dedup();
        for library in &libraries {
            copy(library, library.file_name().unwrap().to_str().unwrap());
        }
        let starter = files.path().join("peer");
        fs::write(&starter, "#!/bin/sh\nexec ./ld-linux-x86-64.so.2 --library-path . ./program \"$@\"\n").unwrap();
        fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Lab { image, files })
    }

    /// A run of [`TWO`] and these programs.
    fn run(&self, programs: &[String], sets: &[&str]) -> Ran {
        let files = format!("files={:?}", self.files.path().to_str().unwrap());
        let sets = [&[&*files], sets].concat();
        ran::run(&self.image, &format!("{TWO}{}", programs.concat()), &sets, 1).unwrap()
    }

    /// The same, twice with the same outcome.
    fn twice(&self, programs: &[String], sets: &[&str]) -> Ran {
        let one = self.run(programs, sets);
        let two = self.run(programs, sets);
        assert_eq!(one.outcomes, two.outcomes, "another time, all alike");
        one
    }
}

/// What the command `name`, a `headway-lane status --json`, said.
fn status(outcome: &Outcome, name: &str) -> Value {
    let text = said(outcome, name);
    let mut status: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
    status["namespaces"][0].take()
}

fn counter(status: &Value, name: &str) -> u64 {
    status["counters"][name].as_u64().unwrap_or_else(|| panic!("no `{name}` in {status}"))
}

/// At which age, in ms, a connection was judged long, by what the command `monitor` (`headway-lane monitor --json`) said.
fn switched(outcome: &Outcome) -> f64 {
    let events = said(outcome, "monitor");
    let event = events.lines().find(|line| line.contains("\"switched\"")).unwrap_or_else(|| panic!("not in {events}"));
    let event: Value = serde_json::from_str(event).unwrap();
    event["age_s"].as_f64().unwrap() * 1e3
}

/// The lanes of a connection of a status that are no backups.
fn carriers(connection: &Value) -> Vec<&str> {
    let subflows = connection["subflows"].as_array().unwrap();
    subflows.iter().filter(|one| one["backup"] == false).map(|one| one["lane"].as_str().unwrap()).collect()
}

/// What the daemon of a host has written.
fn log(outcome: &Outcome, host: &str) -> String {
    let own = |command: &&headway_results::CommandRecord| command.daemon().is_some() && &*command.host == host;
    let logs = outcome.commands.iter().filter(own).map(|own| String::from_utf8_lossy(&own.stderr.kept).into_owned());
    logs.collect()
}

/// Daemons ran to the end, and nothing is to be warned of: not by the run, and not by a daemon.
fn quiet(ran: &Ran) {
    check_daemons(ran);
    assert!(ran.results.warnings.is_empty(), "{:?}", ran.results.warnings);
    for host in ["left-host0", "right-host0"] {
        let log = log(&ran.outcomes[0], host);
        assert!(!log.contains("WARN") && !log.contains("ERROR"), "{host}: {log}");
    }
}
