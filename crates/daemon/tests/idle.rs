//! The daemon of `examples/idle.rs`, as a person and a service manager use it.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "processes and time-outs")]

use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use headway_daemon::http::client;
use headway_linux::netns;
use rustix::process::{Pid, Signal, kill_process};

/// Whatever is waited for comes long before, or never.
const PATIENCE: Duration = Duration::from_secs(20);

/// The program, which is built with the tests.
fn program() -> Command {
    let test = std::env::current_exe().unwrap();
    Command::new(test.ancestors().nth(2).unwrap().join("examples/idle"))
}

fn idle(arguments: &[&str], config: &Path) -> Output {
    program().args(arguments).arg(config).env("NO_COLOR", "1").output().expect("examples/idle is built with the tests")
}

/// What was printed, on stdout and on stderr, and the exit code.
fn told(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

struct Files {
    folder: tempfile::TempDir,
    config: PathBuf,
    socket: PathBuf,
}

impl Files {
    fn new() -> Files {
        let folder = tempfile::tempdir().unwrap();
        let (config, socket) = (folder.path().join("idle.toml"), folder.path().join("idle.sock"));
        let files = Files { folder, config, socket };
        files.write("one");
        files
    }

    fn write(&self, label: &str) {
        let text = format!("label = \"{label}\"\n[operations]\nsocket = \"{}\"\n", self.socket.display());
        std::fs::write(&self.config, text).unwrap();
    }
}

#[test]
fn check_points_at_mistakes_and_prints_defaults() {
    let files = Files::new();
    let (out, err, code) = told(&idle(&["check"], &files.config));
    assert_eq!((out, err.as_str(), code), (format!("{}: OK, label one\n", files.config.display()), "", Some(0)));
    std::fs::write(&files.config, "label = \"one\"\n").unwrap();
    let (out, _, code) = told(&idle(&["check", "--print-defaults"], &files.config));
    assert_eq!((out.contains("socket = \"/run/headway/idle.sock\""), code), (true, Some(0)), "{out}");
    std::fs::write(&files.config, "labl = \"one\"\n").unwrap();
    let (out, err, code) = told(&idle(&["check"], &files.config));
    assert!(out.is_empty() && err.contains("labl") && err.contains("label") && err.contains("idle.toml:1"), "{err}");
    assert_eq!(code, Some(2));
    let text = "label = \"one\"\n[operations]\nsocket = \"idle.sock\"\nmetrics = \"10.0.0.1:9477\"\n";
    std::fs::write(&files.config, text).unwrap();
    let (_, err, code) = told(&idle(&["check"], &files.config));
    for problem in ["`operations.socket` must be an absolute path", "`operations.metrics` must be a loopback address"] {
        assert!(err.contains(problem), "{err}");
    }
    assert_eq!(code, Some(2));
    let (_, err, code) = told(&idle(&["check"], &files.folder.path().join("none.toml")));
    assert_eq!((err.contains("none.toml"), code), (true, Some(2)), "{err}");
}

/// `docs/adding/daemon.md` says so: a daemon begins as a copy of it.
#[test]
fn the_example_has_less_than_200_lines() {
    assert!(include_str!("../examples/idle.rs").lines().count() < 200);
}

#[test]
fn the_daemons_configuration_is_the_one_that_is_read_if_none_is_named() {
    let output = program().args(["run", "--help"]).output().unwrap();
    let (out, _, code) = told(&output);
    assert!(out.contains("[default: /etc/headway/idle.toml]"), "{out}");
    assert_eq!(code, Some(0));
}

#[test]
fn doctor_names_what_is_missing() {
    let files = Files::new();
    let (out, _, code) = told(&idle(&["doctor", "--config"], &files.config));
    assert!(out.starts_with("ok       kernel") && out.contains("ok       configuration  label one\n"), "{out}");
    assert_eq!(code, Some(0));
    std::fs::write(&files.config, "").unwrap();
    let (out, err, code) = told(&idle(&["doctor", "--config"], &files.config));
    assert!(out.contains("missing  configuration") && out.contains("-> `headway-idle check` says why"), "{out}");
    assert_eq!((err.as_str(), code), ("", Some(3)));
    let (out, _, code) = told(&idle(&["doctor", "--json", "--config"], &files.config));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["checks"][1]["verdict"].as_str(), code), (Some("missing"), Some(3)));
}

/// A network namespace, gone with this.
struct Netns(String);

impl Netns {
    /// `None`, with the reason printed, where it cannot be made: then everything happens in the one that there is.
    fn new() -> Option<Netns> {
        let name = format!("idledaemon-{}", std::process::id());
        let ip = Command::new("ip").args(["netns", "add", &name]).output();
        if !ip.is_ok_and(|output| output.status.success()) {
            eprintln!("not in a network namespace of its own: this needs root and ip(8)");
            return None;
        }
        Some(Netns(name))
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// A daemon that runs; killed with this, unless it has ended.
struct Running {
    child: Child,
    manager: UnixDatagram,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts it, with a service manager that it tells how it is.
    fn start(files: &Files) -> Running {
        let notify = files.folder.path().join("notify");
        let manager = UnixDatagram::bind(&notify).unwrap();
        manager.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut command = program();
        command.args(["run", "--config"]).arg(&files.config).env("NOTIFY_SOCKET", &notify);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        Running { child, manager }
    }

    /// What it tells the service manager next.
    fn tells(&self) -> String {
        let mut message = [0; 1024];
        let length = self.manager.recv(&mut message).expect("the daemon tells the service manager");
        String::from_utf8(message[..length].to_vec()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; what it wrote and its exit code.
    fn end(&mut self) -> (String, Option<i32>) {
        let start = Instant::now();
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            thread::sleep(Duration::from_millis(5));
        };
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (text, code)
    }
}

fn run_reload_and_end() {
    let files = Files::new();
    let mut daemon = Running::start(&files);
    assert_eq!(daemon.tells(), "READY=1\nSTATUS=label one\n");
    let (out, err, code) = told(&idle(&["status", "--config"], &files.config));
    assert_eq!((out, err.as_str(), code), (format!("headway-idle {}: one\n", env!("CARGO_PKG_VERSION")), "", Some(0)));
    let json = program().args(["status", "--json", "--socket"]).arg(&files.socket).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(status["label"], "one");

    // a right and a wrong configuration
    files.write("two");
    daemon.signal(Signal::HUP);
    assert!(daemon.tells().starts_with("RELOADING=1"));
    assert_eq!(daemon.tells(), "READY=1\nSTATUS=label two\n");
    files.write("Not a Name");
    daemon.signal(Signal::HUP);
    assert!(daemon.tells().starts_with("RELOADING=1"));
    assert_eq!(daemon.tells(), "READY=1\nSTATUS=label two\n");
    let metrics = client::get(&files.socket, "/metrics").unwrap();
    for line in ["headway_idle_reloads_total 1", "headway_idle_reload_failures_total 1"] {
        assert!(metrics.lines().any(|one| one == line), "{metrics}");
    }

    // a second one: at the same socket, and elsewhere in the same network namespace
    files.write("three");
    let (_, err, code) = told(&idle(&["run", "--config"], &files.config));
    assert_eq!((err, code), (format!("error: another daemon serves {}\n", files.socket.display()), Some(1)));
    let other = Files::new();
    let (_, err, code) = told(&idle(&["run", "--config"], &other.config));
    assert_eq!((err.as_str(), code), ("error: another headway-idle looks after this network namespace\n", Some(1)));

    daemon.signal(Signal::TERM);
    assert_eq!(daemon.tells(), "STOPPING=1\n");
    let (log, code) = daemon.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("configuration read: label two") && log.contains("the configuration stays as it was"),
        "{log}"
    );
    assert!(!files.socket.exists());
    let (_, err, code) = told(&idle(&["status", "--config"], &files.config));
    assert!(err.starts_with("error: no daemon listens on"), "{err}");
    assert_eq!(code, Some(1));
}

#[test]
fn it_runs_reloads_is_alone_and_ends() {
    let netns = Netns::new();
    // the namespace is the thread's, and that of the processes it starts
    let inside = || {
        if let Some(netns) = &netns {
            netns::enter(&netns.0).expect("the namespace was just made");
        }
        run_reload_and_end();
    };
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}
