//! `plan`, `run --apply-routes`, `cleanup`, `doctor` and `status` of the very binary, in network namespaces.
//!
//! Needs root, `ip` and a kernel with MPTCP; says so and does nothing otherwise.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use headway_linux::netns;
use rustix::process::{Pid, Signal, kill_process};

/// A namespace with two interfaces, gone with this.
struct Namespace {
    name: String,
    folder: tempfile::TempDir,
}

fn ip(arguments: &str) -> Result<String, String> {
    let output = Command::new("ip").args(arguments.split(' ')).output().map_err(|error| format!("ip: {error}"))?;
    if !output.status.success() {
        return Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn until(what: &str, mut check: impl FnMut() -> bool) {
    let start = Instant::now();
    while !check() {
        assert!(start.elapsed() < Duration::from_secs(20), "not within 20 s: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Namespace {
    /// `None`, with the reason printed, where it cannot be made.
    fn new() -> Option<Namespace> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("lanecfg-{}-{number}", std::process::id());
        if !rustix::process::geteuid().is_root() || !fs::exists("/proc/sys/net/mptcp/enabled").unwrap_or(false) {
            eprintln!("skipped: this needs root and a kernel with MPTCP");
            return None;
        }
        if let Err(error) = ip(&format!("netns add {name}")) {
            eprintln!("skipped: {error}");
            return None;
        }
        let namespace = Namespace { name, folder: tempfile::tempdir().unwrap() };
        for (index, path) in ["eth0", "eth1"].iter().enumerate() {
            namespace.ip(&format!("link add {path} type veth peer name peer{index}"));
            namespace.ip(&format!("link set peer{index} up"));
            namespace.ip(&format!("link set {path} up"));
            namespace.ip(&format!("addr add 10.{index}.0.5/24 dev {path}"));
            namespace.ip(&format!("-6 addr add fd00:{index}::5/64 dev {path} nodad"));
        }
        namespace.ip("route add default via 10.0.0.1");
        let run = namespace.folder.path().display();
        let config = format!(
            "[[lane]]\nname = \"fast\"\nrole = \"short\"\ninterface = \"eth0\"\n\n\
             [[lane]]\nname = \"bulk\"\nrole = \"long\"\ninterface = \"eth1\"\ngateway = \"10.1.0.1\"\n\n\
             [operations]\nsocket = \"{run}/lane.sock\"\nstate = \"{run}/state\"\n"
        );
        fs::write(namespace.config(), config).unwrap();
        Some(namespace)
    }

    fn config(&self) -> PathBuf {
        self.folder.path().join("lane.toml")
    }

    fn ip(&self, arguments: &str) -> String {
        ip(&format!("-n {} {arguments}", self.name)).unwrap()
    }

    /// The binary with the namespace's configuration.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-lane"));
        command.arg(arguments[0]).arg("--config").arg(self.config()).args(&arguments[1..]);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The same in the namespace.
    fn inside(&self, arguments: &[&str]) -> Output {
        let netns = self.name.clone();
        let mut all = arguments.to_vec();
        all.extend(["--netns", &netns]);
        self.run(&all)
    }

    /// The sysctl that says who manages connections.
    fn who() -> &'static str {
        if fs::exists("/proc/sys/net/mptcp/path_manager").unwrap() { "path_manager" } else { "pm_type" }
    }

    /// … and how it says that a daemon does.
    fn userspace() -> &'static str {
        if Self::who() == "path_manager" { "userspace" } else { "1" }
    }

    /// Everything that is set up, as the system's own tools see it.
    fn state(&self) -> String {
        let sysctl = |name: &str| {
            let output = Command::new("ip")
                .args(["netns", "exec", &self.name, "cat", &format!("/proc/sys/net/mptcp/{name}")])
                .output();
            String::from_utf8_lossy(&output.unwrap().stdout).into_owned()
        };
        let routes = ["-4", "-6"].map(|family| {
            // Counters of IPv6's routes and of time are none of the state.
            let all = self.ip(&format!("{family} route show table all"));
            let ours = all.lines().filter(|line| line.contains("183") || line.contains("table 83"));
            ours.flat_map(|line| [line, "\n"]).collect::<String>()
        });
        let limits = ip(&format!("-n {} mptcp limits show", self.name)).unwrap_or_default();
        [sysctl(Self::who()), sysctl("enabled"), limits, routes.concat(), self.ip("rule show"), self.ip("-6 rule show")]
            .concat()
    }

    /// Writes the configuration anew: the long lane has this one instead of all that its interface has.
    fn narrow(&self, address: &str) {
        let text = fs::read_to_string(self.config()).unwrap();
        let narrow = text.replace("gateway = \"10.1.0.1\"", &format!("address = \"{address}\""));
        assert_ne!(text, narrow);
        fs::write(self.config(), narrow).unwrap();
    }

    fn counter(&self, name: &str) -> u64 {
        let status: serde_json::Value = serde_json::from_slice(&self.run(&["status", "--json"]).stdout).unwrap();
        status["namespaces"][0]["counters"][name].as_u64().unwrap()
    }

    /// A connection from an address to itself: both ends.
    fn connection(&self, address: &str) -> (TcpStream, TcpStream) {
        self.ip("link set lo up");
        let connect = || {
            netns::enter(&self.name).unwrap();
            let listener = TcpListener::bind((address, 0)).unwrap();
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (near, listener.accept().unwrap().0)
        };
        std::thread::scope(|scope| scope.spawn(connect).join().unwrap())
    }

    /// A daemon in the namespace, once it answers.
    fn daemon(&self) -> Daemon {
        let mut command = self.command(&["run", "--apply-routes", "--netns", &self.name]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let messages = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || messages.lines().map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        until("the daemon answers", || {
            assert!(child.try_wait().unwrap().is_none(), "the daemon ended");
            self.run(&["status"]).status.success()
        });
        Daemon(child)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.name));
    }
}

/// Killed with this.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_plan_changes_nothing_and_a_shell_can_do_it() {
    let Some(host) = Namespace::new() else { return };
    let before = host.state();
    let plan = host.inside(&["plan"]);
    assert!(plan.status.success(), "{}", text(&plan));
    assert_eq!(host.state(), before);
    let script = String::from_utf8(plan.stdout).unwrap();
    assert!(
        script.contains("ip route add default via 10.1.0.1 dev eth1 src 10.1.0.5 table 8301 proto 183\n"),
        "{script}"
    );
    for line in script.lines().filter(|line| line.starts_with("ip ") && !line.contains("mptcp")) {
        host.ip(line.split("  #").next().unwrap().strip_prefix("ip ").unwrap());
    }
    // What ip(8) made of the printed commands is what is wanted.
    let again = String::from_utf8(host.inside(&["plan"]).stdout).unwrap();
    assert!(!again.lines().any(|line| line.starts_with("ip ") && !line.contains("mptcp")), "{again}");
    let json: serde_json::Value = serde_json::from_slice(&host.inside(&["plan", "--json"]).stdout).unwrap();
    assert!(
        json["steps"].as_array().unwrap().iter().any(|step| step["kind"] == "route" && step["state"] == "there"),
        "{json}"
    );
}

#[test]
fn what_a_killed_daemon_set_up_is_undone() {
    let Some(host) = Namespace::new() else { return };
    let before = host.state();
    let mut daemon = host.daemon();
    let after = host.state();
    assert!(after.starts_with(&format!("{}\n1\n", Namespace::userspace())), "{after}");
    for wanted in
        ["default via 10.1.0.1 dev eth1 table 8301 proto 183 src 10.1.0.5", "from 10.0.0.5 lookup 8300 proto 183"]
    {
        assert!(after.contains(wanted), "{wanted} in\n{after}");
    }
    assert!(!before.contains("183"));
    let status = text(&host.run(&["status"]));
    assert!(status.contains("bulk  long   eth1       up"), "{status}");
    // Another daemon is refused, and does not disturb this one.
    let second = host.command(&["run"]).args(["--netns", &host.name]).output().unwrap();
    assert!(!second.status.success() && text(&second).contains("another daemon serves"), "{}", text(&second));
    daemon.0.kill().unwrap();
    daemon.0.wait().unwrap();
    assert_eq!(host.state(), after, "it stays set up without the daemon");
    // Once more, over what is there: nothing changes.
    drop(host.daemon());
    assert_eq!(host.state(), after);
    let cleanup = host.inside(&["cleanup"]);
    assert!(cleanup.status.success(), "{}", text(&cleanup));
    assert_eq!(host.state(), before, "{}", text(&cleanup));
    let again = host.inside(&["cleanup"]);
    assert_eq!((again.status.code(), text(&again).as_str()), (Some(0), "nothing is recorded, nothing was done\n"));
}

#[test]
fn what_a_reload_does_not_want_any_more_is_undone_once_no_connection_uses_it() {
    let Some(host) = Namespace::new() else { return };
    let before = host.state();
    let daemon = host.daemon();
    let rule = |from: &str| host.state().contains(&format!("from {from} lookup 8301 proto 183"));
    assert!(rule("10.1.0.5") && rule("fd00:1::5"));
    let ends = host.connection("10.1.0.5");
    host.narrow("fd00:1::5");
    let plan = text(&host.inside(&["plan"]));
    let later = "# once no connection uses it any more: ip rule del from 10.1.0.5 lookup 8301";
    assert!(plan.contains(later) && plan.contains("there already: ip -6 rule add from fd00:1::5"), "{plan}");
    kill_process(Pid::from_child(&daemon.0), Signal::HUP).unwrap();
    until("a reload", || host.counter("reloads") == 1);
    assert!(rule("10.1.0.5") && rule("fd00:1::5"), "{}", host.state());
    drop(ends);
    until("the rule is gone", || !rule("10.1.0.5"));
    let after = host.state();
    assert!(rule("fd00:1::5") && !after.contains("10.1.0."), "{after}");
    let plan = text(&host.inside(&["plan"]));
    assert!(!plan.contains(" del ") && !plan.lines().any(|line| line.starts_with("ip ")), "{plan}");
    drop(daemon);
    assert!(host.inside(&["cleanup"]).status.success());
    assert_eq!(host.state(), before);
}

#[test]
fn what_a_killed_daemon_set_up_for_other_settings_is_undone_at_the_next_start() {
    let Some(host) = Namespace::new() else { return };
    let before = host.state();
    drop(host.daemon());
    host.narrow("fd00:1::5");
    fs::write(host.config(), fs::read_to_string(host.config()).unwrap() + "[limits]\nsubflows = 3\n").unwrap();
    // what others have made of it meanwhile is theirs
    host.ip("route add 10.9.0.0/16 dev eth1 table 8301");
    drop(host.daemon());
    host.ip("route del 10.9.0.0/16 dev eth1 table 8301");
    let changed = host.state();
    assert!(host.inside(&["cleanup"]).status.success());
    assert_eq!(host.state(), before);
    drop(host.daemon());
    assert_eq!(host.state(), changed, "as if nothing had been before");
}

#[test]
fn what_others_took_away_or_changed_is_told_and_left_alone() {
    let Some(host) = Namespace::new() else { return };
    drop(host.daemon());
    host.ip("rule del from 10.1.0.5 lookup 8301");
    host.ip("link del eth1");
    let cleanup = text(&host.inside(&["cleanup"]));
    assert!(cleanup.contains("gone already: ip rule add from 10.1.0.5"), "{cleanup}");
    assert!(cleanup.contains("gone already: ip route add default via 10.1.0.1"), "{cleanup}");
    let who = format!("undone: sysctl -w net.mptcp.{}={}", Namespace::who(), Namespace::userspace());
    assert!(cleanup.contains(&who), "{cleanup}");
    assert!(!host.state().contains("183"), "{}", host.state());
}

#[test]
fn doctor_names_what_is_missing_and_is_content_with_a_running_daemon() {
    let Some(host) = Namespace::new() else { return };
    let before = host.inside(&["doctor"]);
    assert_eq!(before.status.code(), Some(3), "{}", text(&before));
    let found = text(&before);
    assert!(found.contains("missing  userspace path manager"), "{found}");
    assert!(found.contains("packets from 10.1.0.5 to 192.0.2.1 leave by eth0, not by eth1"), "{found}");
    let _daemon = host.daemon();
    let after = host.inside(&["doctor", "--json"]);
    assert_eq!(after.status.code(), Some(0), "{}", text(&after));
    let report: serde_json::Value = serde_json::from_slice(&after.stdout).unwrap();
    assert!(
        report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|check| check["what"] == "way of bulk" && check["verdict"] == "ok")
    );
    fs::write(host.config(), fs::read_to_string(host.config()).unwrap().replace("eth1", "eth9")).unwrap();
    let gone = host.inside(&["doctor"]);
    assert!(gone.status.code() == Some(3) && text(&gone).contains("there is no interface eth9"), "{}", text(&gone));
}

#[test]
fn a_lane_that_is_down_at_the_start_is_set_up_once_it_is_up() {
    let Some(host) = Namespace::new() else { return };
    let before = host.state();
    host.ip("link set eth1 down");
    let daemon = host.daemon();
    let there = |text: &str| host.state().contains(text);
    assert!(there("default via 10.0.0.1 dev eth0 table 8300") && !there("dev eth1 table 8301"), "{}", host.state());
    host.ip("link set eth1 up");
    until("its routes", || there("default via 10.1.0.1 dev eth1 table 8301"));
    drop(daemon);
    assert!(host.inside(&["cleanup"]).status.success());
    assert_eq!(host.state(), before);
}

/// A log on a full disk, and one that nobody reads any more.
#[test]
fn a_daemon_whose_messages_cannot_be_written_goes_on() {
    let Some(host) = Namespace::new() else { return };
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let broken = std::io::pipe().unwrap().1;
    for stderr in [Stdio::from(full), Stdio::from(broken)] {
        let mut command = host.command(&["run", "--log-level", "trace", "--apply-routes", "--netns", &host.name]);
        let mut daemon = Daemon(command.stderr(stderr).spawn().unwrap());
        until("the daemon answers", || {
            assert!(daemon.0.try_wait().unwrap().is_none(), "the daemon ended");
            host.run(&["status"]).status.success()
        });
        host.ip("link set eth1 down");
        until("a lane is down", || text(&host.run(&["status"])).contains("down"));
        host.ip("link set eth1 up");
        assert!(daemon.0.try_wait().unwrap().is_none());
    }
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let wrong = Command::new(env!("CARGO_BIN_EXE_headway-lane")).args(["check", "/nothing"]).stderr(full).status();
    assert_eq!(wrong.unwrap().code(), Some(2));
}

#[test]
fn a_pipe_is_no_configuration_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lane.toml");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let check = Command::new(env!("CARGO_BIN_EXE_headway-lane")).arg("check").arg(&path).output().unwrap();
    assert!(check.status.code() == Some(2) && text(&check).contains("this is not a file"), "{}", text(&check));
}

#[test]
fn check_says_ok_or_points_and_exits_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lane.toml");
    let check = |text: &str, more: &[&str]| {
        fs::write(&path, text).unwrap();
        Command::new(env!("CARGO_BIN_EXE_headway-lane")).arg("check").arg(&path).args(more).output().unwrap()
    };
    let least = include_str!("valid/least.toml");
    let good = check(least, &[]);
    let wanted = format!("{}: OK, 2 lanes (1 short, 1 long), both sides, judge link-cost, 0 rules\n", path.display());
    assert_eq!((good.status.code(), text(&good)), (Some(0), wanted));
    let shown = check(least, &["--print-defaults"]);
    let again = check(&String::from_utf8(shown.stdout.clone()).unwrap(), &["--print-defaults"]);
    assert_eq!(again.stdout, shown.stdout);
    let bad = check("sied = 1\n", &[]);
    assert!(bad.status.code() == Some(2) && text(&bad).contains("did you mean `side`?"), "{}", text(&bad));
    let none = Command::new(env!("CARGO_BIN_EXE_headway-lane")).args(["check", "/nothing/there"]).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    let nobody =
        Command::new(env!("CARGO_BIN_EXE_headway-lane")).args(["status", "--socket", "/nothing"]).output().unwrap();
    assert!(
        nobody.status.code() == Some(1) && text(&nobody).contains("no daemon listens on /nothing"),
        "{}",
        text(&nobody)
    );
}
