//! The command as its users meet it: the built binary, its files, its words and its exit codes.

mod compare;
mod cost;
mod fidelity;
mod folder;
mod hosts;
mod inspect;
mod kernel;
mod leftovers;
mod lossless;
mod model;
mod namespaces;
mod output;
mod report;
mod reproduce;
mod resume;
mod run;
mod sweeps;
mod tables;
mod trace;
mod usage;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Twelve runs of some milliseconds each.
const TINY: &str = include_str!("tiny.toml");

/// The files whose bytes depend on scenario and seed alone.
const RESULTS: [&str; 6] =
    ["flows.parquet", "series.parquet", "summary.csv", "repeats.csv", "links.parquet", "topology.json"];

/// A folder of its own for each test, with `tiny.toml` in it.
struct Place(TempDir);

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        place.write("tiny.toml", TINY);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway"));
        command.current_dir(self.0.path()).args(args).stdin(Stdio::null());
        for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE", "HEADWAY_STORE"] {
            command.env_remove(variable);
        }
        command
    }

    fn headway(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Runs it and returns what is on stdout; all must be well.
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.headway(args);
        assert_eq!(ran.code, Some(0), "headway {args:?}\n{}", ran.err);
        ran.out
    }

    /// Runs it, which must fail with `code` and say each of `words` on stderr, and nothing on stdout.
    fn fails(&self, code: i32, args: &[&str], words: &[&str]) -> String {
        let ran = self.headway(args);
        assert_eq!(ran.code, Some(code), "headway {args:?}\n{}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "headway {args:?}");
        for word in words {
            assert!(ran.err.contains(word), "headway {args:?}: no `{word}` in\n{}", ran.err);
        }
        ran.err
    }

    /// Whether two folders hold the same results, byte for byte.
    fn same_results(&self, a: &str, b: &str) -> bool {
        let bytes = |folder: &str, file| std::fs::read(self.path(folder).join(file)).unwrap();
        RESULTS.iter().all(|file| bytes(a, file) == bytes(b, file))
    }

    fn manifest(&self, folder: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(&format!("{folder}/manifest.json"))).unwrap()
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes| String::from_utf8(bytes).expect("what it prints is UTF-8");
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
