//! The agent on the machine it is built on: hosts that send to themselves over loopback, in real time.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use headway_agent::protocol::{self, CONFIG, Config, Flow, Host, Listener, OUT, REPORT, Report};
use rustix::net::{AddressFamily, SocketType, ipproto};
use rustix::time::{ClockId, clock_gettime};
use tempfile::TempDir;

const MS: u64 = 1_000_000;
/// From the start of the agent to the epoch: enough for its set-up on a busy machine.
const BEFORE: u64 = 1000 * MS;
/// No run here takes longer.
const PATIENCE_NS: u64 = 60_000 * MS;

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1000 * MS + time.tv_nsec.cast_unsigned()
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A port that nothing listens at.
fn free_port() -> u16 {
    TcpListener::bind(local(0)).and_then(|listener| listener.local_addr()).expect("a free port").port()
}

fn listener(port: u16) -> Listener {
    Listener { port, mptcp: false, control: None }
}

/// A flow over one connection.
fn flow(start_ns: u64, id: u64, size: Option<u64>, to: u16) -> Flow {
    Flow {
        id,
        start_ns,
        size,
        sampled: true,
        mptcp: false,
        control: None,
        max_pacing_rate: None,
        connections: vec![(local(0), local(to))],
    }
}

/// A command that is not stopped.
fn command(start_ns: u64, name: &str, shell: &str) -> protocol::Command {
    protocol::Command { name: name.to_owned(), shell: shell.to_owned(), start_ns, stop_ns: None }
}

/// One host that does nothing for `ms` milliseconds.
fn config(ms: u64) -> Config {
    let epoch_ns = now() + BEFORE;
    let host = Host {
        name: "here".to_owned(),
        interfaces: 0,
        setup: Vec::new(),
        daemons: Vec::new(),
        listeners: Vec::new(),
        expected: Vec::new(),
        flows: Vec::new(),
        commands: Vec::new(),
        sample_ns: None,
    };
    Config { epoch_ns, end_ns: epoch_ns + ms * MS, files: false, names: BTreeMap::new(), hosts: vec![host] }
}

/// An agent at work, and its folder; both are gone when it is dropped.
struct Agent {
    process: Child,
    folder: TempDir,
}

impl Agent {
    fn start(config: &Config) -> Self {
        Self::start_with(&serde_json::to_string(config).expect("JSON"))
    }

    fn start_with(config: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join(CONFIG), config).expect("the configuration is written");
        let process = Command::new(env!("CARGO_BIN_EXE_headway-agent"))
            .arg(folder.path())
            .stderr(Stdio::null())
            .spawn()
            .expect("the agent starts");
        Self { process, folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(OUT).join("0").join(file)
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).expect("the file is there")
    }

    /// Waits until it is done; whether it says that all went well, and the first host's report.
    fn finish(&mut self) -> (bool, Vec<Report>) {
        let latest = now() + PATIENCE_NS;
        let status = loop {
            if let Some(status) = self.process.try_wait().expect("it can be waited for") {
                break status;
            }
            assert!(now() < latest, "the agent does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let parse = |line: &str| serde_json::from_str(line).expect("a report");
        (status.success(), self.text(REPORT).lines().map(parse).collect())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// The reports of a run in which all goes well, without its first and last line.
fn run(config: &Config) -> Vec<Report> {
    whole(Agent::start(config).finish())
}

fn whole((success, mut reports): (bool, Vec<Report>)) -> Vec<Report> {
    assert!(success, "{reports:?}");
    assert_eq!(reports.pop(), Some(Report::Done));
    assert!(matches!(reports.remove(0), Report::Ready { .. }));
    reports
}

/// What the agent says that went wrong.
fn failure((success, reports): (bool, Vec<Report>)) -> String {
    assert!(!success);
    match reports.last() {
        Some(Report::Failed { message }) => message.clone(),
        other => panic!("{other:?} instead of a failure"),
    }
}

/// Flow, error and subflows of what was sent.
fn sent(reports: &[Report]) -> Vec<(u64, Option<String>, Vec<protocol::Subflow>)> {
    let pick = |report: &Report| match report {
        Report::Sent { flow, error, subflows, .. } => Some((*flow, error.clone(), subflows.clone())),
        _ => None,
    };
    reports.iter().filter_map(pick).collect()
}

/// Other end, bytes, time of the last and whether it ended, of what was received.
fn received(reports: &[Report]) -> Vec<(SocketAddr, u64, u64, bool)> {
    let pick = |report: &Report| match report {
        Report::Received { peer, bytes, last_ns, ended, .. } => Some((*peer, *bytes, *last_ns, *ended)),
        _ => None,
    };
    reports.iter().filter_map(pick).collect()
}

/// Exit code, start and end of a command.
fn ran(reports: &[Report], command: &str) -> (i32, u64, u64) {
    let pick = |report: &Report| match report {
        Report::Command { name, start_ns, end_ns, code } if name == command => Some((*code, *start_ns, *end_ns)),
        _ => None,
    };
    reports.iter().find_map(pick).expect("the command was reported")
}

#[test]
fn a_flow_arrives_byte_for_byte() {
    let mut config = config(500);
    let port = free_port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows.push(flow(config.epoch_ns, 7, Some(1_000_000), port));
    config.hosts[0].flows.push(flow(config.epoch_ns, 8, Some(0), port));
    let reports = run(&config);
    let mut all = sent(&reports);
    all.sort_by_key(|(flow, ..)| *flow);
    let [(7, None, first), (8, None, second)] = &all[..] else { panic!("{all:?}") };
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!(first[0].remote, local(port));
    let mut arrived = received(&reports);
    arrived.sort_by_key(|(_, bytes, ..)| *bytes);
    let [empty, full] = arrived[..] else { panic!("{arrived:?}") };
    assert_eq!((empty.0, empty.1, empty.3), (second[0].local, 0, true));
    assert_eq!((full.0, full.1, full.3), (first[0].local, 1_000_000, true));
    assert!((config.epoch_ns..config.end_ns).contains(&full.2));
}

#[test]
fn an_endless_flow_is_reported_and_sampled_up_to_the_end() {
    let mut config = config(600);
    let port = free_port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows.push(flow(config.epoch_ns, 7, None, port));
    config.hosts[0].sample_ns = Some(100 * MS);
    let reports = run(&config);
    let due: Vec<u64> = (1..=6).map(|k| config.epoch_ns + k * 100 * MS).collect();
    let mut samples = Vec::new();
    let mut arrivals = Vec::new();
    for report in &reports {
        match report {
            Report::Sample { at_ns, flow: 7, connection: 0, subflow: 0, cwnd_bytes, srtt_ns } => {
                samples.push(*at_ns);
                assert!(*cwnd_bytes > 0 && *srtt_ns > 0);
            }
            Report::Arrived { at_ns, bytes, .. } => arrivals.push((*at_ns, *bytes)),
            _ => {}
        }
    }
    assert_eq!(samples, due);
    assert_eq!(arrivals.iter().map(|(at, _)| *at).collect::<Vec<_>>(), due);
    assert!(arrivals.is_sorted_by(|a, b| a.1 < b.1));
    assert!(matches!(&sent(&reports)[..], [(7, None, subflows)] if subflows.len() == 1));
    let arrived = received(&reports);
    assert!(matches!(arrived[..], [(_, bytes, last, false)] if bytes >= arrivals[5].1 && last > config.epoch_ns));
    assert!(matches!(reports[reports.len() - 2..], [Report::Sent { .. }, Report::Received { .. }]));
}

#[test]
fn what_is_not_asked_for_is_not_sampled() {
    let mut config = config(200);
    let port = free_port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows.push(Flow { sampled: false, ..flow(config.epoch_ns, 7, None, port) });
    config.hosts[0].sample_ns = Some(100 * MS);
    assert!(!run(&config).iter().any(|report| matches!(report, Report::Sample { .. })));
}

#[test]
fn a_flow_that_cannot_connect_says_why() {
    let mut config = config(100);
    config.hosts[0].flows.push(flow(config.epoch_ns, 7, Some(1), free_port()));
    config.hosts[0].flows.push(Flow { control: Some("none".to_owned()), ..flow(config.epoch_ns, 8, Some(1), 1) });
    config.hosts[0].flows.push(Flow {
        connections: vec![(SocketAddr::from(([192, 0, 2, 1], 0)), local(1))],
        ..flow(config.epoch_ns, 9, Some(1), 1)
    });
    let mut errors: Vec<_> = sent(&run(&config)).into_iter().map(|(flow, error, _)| (flow, error)).collect();
    errors.sort();
    let expected = [
        (7, "cannot connect: Connection refused"),
        (8, "no such congestion control: No such file or directory"),
        (9, "cannot bind: Cannot assign requested address"),
    ];
    assert_eq!(errors, expected.map(|(flow, error)| (flow, Some(error.to_owned()))));
}

#[test]
fn a_connection_that_the_other_end_breaks_off_has_not_ended() {
    let mut config = config(600);
    let port = free_port();
    let outside = TcpListener::bind(local(0)).expect("a port");
    let to = outside.local_addr().expect("an address").port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows.push(flow(config.epoch_ns, 7, None, to));
    let mut agent = Agent::start(&config);
    // To close what has data unread resets it.
    let (taken, _) = outside.accept().expect("the flow connects");
    std::thread::sleep(Duration::from_millis(20));
    drop(taken);
    let mut stream = TcpStream::connect(local(port)).expect("it listens");
    stream.write_all(&[1; 1000]).expect("it reads");
    std::thread::sleep(Duration::from_millis(50));
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).expect("linger");
    let peer = stream.local_addr().expect("an address");
    drop(stream);
    let reports = whole(agent.finish());
    let all = sent(&reports);
    assert!(matches!(&all[..], [(7, Some(error), _)] if error.starts_with("broken off: ")), "{all:?}");
    assert!(matches!(received(&reports)[..], [(from, 1000, _, false)] if from == peer));
}

#[test]
fn thousands_of_flows_at_a_time_arrive() {
    const FLOWS: u64 = 3000;
    let mut config = config(5000);
    let port = free_port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows = (0..FLOWS).map(|id| flow(config.epoch_ns, id, Some(10_000), port)).collect();
    let reports = run(&config);
    let done = sent(&reports);
    let failed: Vec<_> = done.iter().filter(|(_, error, _)| error.is_some()).collect();
    assert_eq!((done.len() as u64, failed.first()), (FLOWS, None));
    let arrived = received(&reports);
    assert_eq!(arrived.len() as u64, FLOWS);
    assert!(arrived.iter().all(|(_, bytes, _, ended)| *bytes == 10_000 && *ended));
}

#[test]
fn a_command_has_its_output_code_and_times() {
    let mut config = config(1000);
    config.hosts[0].commands.push(command(config.epoch_ns, "words", "echo out; echo err >&2; exit 4"));
    let mut agent = Agent::start(&config);
    let reports = whole(agent.finish());
    let (code, start, end) = ran(&reports, "words");
    assert_eq!((agent.text("words.stdout").as_str(), agent.text("words.stderr").as_str(), code), ("out\n", "err\n", 4));
    assert!(config.epoch_ns <= start && start < end && end < config.end_ns);
}

#[test]
fn commands_are_told_to_end_and_killed_if_they_do_not() {
    // long enough that a busy machine has started all of them by then
    let mut config = config(3000);
    let epoch = config.epoch_ns;
    let stop = Some(epoch + 1500 * MS);
    let commands = [
        protocol::Command { stop_ns: stop, ..command(config.epoch_ns, "obeys", "sleep 100") },
        protocol::Command {
            stop_ns: stop,
            ..command(config.epoch_ns, "ignores", "trap '' TERM; sleep 100; sleep 100")
        },
        command(config.epoch_ns, "lasts", "sleep 100"),
        command(config.epoch_ns, "leaves", "sleep 100 & echo $!"),
    ];
    config.hosts[0].commands.extend(commands);
    let mut agent = Agent::start(&config);
    let reports = whole(agent.finish());
    let (code, _, end) = ran(&reports, "obeys");
    assert!(code == 128 + 15 && end >= epoch + 1500 * MS, "{code} at {end}");
    let (code, _, end) = ran(&reports, "ignores");
    assert!(code == 128 + 9 && end >= epoch + 1600 * MS, "{code} at {end}");
    let (code, _, end) = ran(&reports, "lasts");
    assert!(code == 128 + 15 && end >= config.end_ns);
    let (code, _, end) = ran(&reports, "leaves");
    assert!(code == 0 && end < config.end_ns);
    let left = agent.text("leaves.stdout");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "what the command left behind is there still: {state}");
}

#[test]
fn an_mptcp_flow_arrives_and_tells_of_its_subflow() {
    if rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::MPTCP)).is_err() {
        eprintln!("skipped: this kernel has no MPTCP");
        return;
    }
    let mut config = config(500);
    let (port, plain) = (free_port(), free_port());
    config.hosts[0].listeners = vec![Listener { mptcp: true, ..listener(port) }, listener(plain)];
    config.hosts[0].flows.push(Flow { mptcp: true, ..flow(config.epoch_ns, 7, Some(1_000_000), port) });
    config.hosts[0].flows.push(Flow { mptcp: true, ..flow(config.epoch_ns, 8, Some(1_000_000), plain) });
    config.hosts[0].flows.push(Flow { mptcp: true, ..flow(config.epoch_ns, 9, None, port) });
    config.hosts[0].sample_ns = Some(100 * MS);
    let reports = run(&config);
    let all = sent(&reports);
    assert_eq!(all.len(), 3);
    for (flow, error, subflows) in &all {
        assert_eq!((error, subflows.len()), (&None, 1), "flow {flow}");
        assert_eq!(subflows[0].remote, local(if *flow == 8 { plain } else { port }));
        let arrived = received(&reports);
        let (_, bytes, _, ended) = arrived.iter().find(|(peer, ..)| *peer == subflows[0].local).expect("it arrived");
        assert!(if *flow == 9 { !ended && *bytes > 0 } else { *ended && *bytes == 1_000_000 });
    }
    let samples = reports.iter().filter(|r| matches!(r, Report::Sample { flow: 9, cwnd_bytes: 1.., .. })).count();
    assert_eq!(samples, 5);
}

#[test]
fn what_goes_wrong_is_reported() {
    let with = |change: fn(&mut Config)| {
        let mut config = config(100);
        change(&mut config);
        failure(Agent::start(&config).finish())
    };
    assert!(with(|config| config.hosts.clear()).contains("no hosts"));
    let setup =
        with(|config| config.hosts[0].setup.push(["sh", "-c", "echo no >&2; exit 3"].map(str::to_owned).into()));
    assert!(setup.ends_with("ended with exit status: 3: no"), "{setup}");
    let late = with(|config| config.epoch_ns = 1);
    assert!(late.starts_with("set-up ended ") && late.ends_with(" ms after the epoch"), "{late}");
    let listen = with(|config| config.hosts[0].listeners = vec![listener(1), listener(1)]);
    assert!(listen.contains("cannot listen at port 1"), "{listen}");
    let name = with(|config| config.hosts[0].commands.push(command(config.epoch_ns, "no/such/folder", "true")));
    assert!(name.contains("`no/such/folder`"), "{name}");
    let died = with(|config| config.hosts[0].commands.push(command(config.epoch_ns, "ends-it", "kill -KILL $PPID")));
    assert!(died.starts_with("the process of host `here` was killed"), "{died}");
    assert!(failure(Agent::start_with("{\"epoch_ns\": true}").finish()).contains("is not valid"));
}

#[test]
fn two_hosts_need_not_know_of_each_other() {
    let mut config = config(300);
    let port = free_port();
    config.hosts[0].listeners.push(listener(port));
    config.hosts[0].flows.push(flow(config.epoch_ns, 7, Some(1000), port));
    config.hosts.push(config.hosts[0].clone());
    let mut agent = Agent::start(&config);
    let (success, reports) = agent.finish();
    if !success && failure((success, reports.clone())).starts_with("no network namespace") {
        eprintln!("skipped: no right to make network namespaces");
        return;
    }
    // Both listen at the same port, and each receives its own flow only.
    for text in [agent.text(REPORT), agent.text(&format!("../1/{REPORT}"))] {
        let reports = text.lines().map(|line| serde_json::from_str(line).expect("a report")).collect();
        assert!(matches!(received(&whole((true, reports)))[..], [(_, 1000, _, true)]));
    }
}

/// Not a test: what the tests below start as a daemon, since a shell cannot write to the socket. It does what the file
/// `play` in its folder says, line by line.
#[test]
#[ignore = "is a daemon"]
fn plays_a_daemon() {
    let Some(folder) = std::env::var_os("RUNTIME_DIRECTORY").map(PathBuf::from) else { return };
    let socket = UnixDatagram::unbound().expect("a socket");
    for line in std::fs::read_to_string(folder.join("play")).expect("its part").lines() {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("notify", text) => {
                let to = std::env::var_os("NOTIFY_SOCKET").expect("a place for notices");
                socket.send_to(text.replace(';', "\n").as_bytes(), to).expect("it is heard");
            }
            ("say", text) => println!("{text}"),
            ("complain", text) => eprintln!("{text}"),
            ("sleep", ms) => std::thread::sleep(Duration::from_millis(ms.parse().expect("a number"))),
            ("exit", code) => std::process::exit(code.parse().expect("a number")),
            other => panic!("{other:?}"),
        }
    }
}

/// A daemon that does this, wrapped into a line for a shell where it is `@`.
fn daemon(wrapped: &str, play: &str) -> protocol::Daemon {
    let own = std::env::current_exe().expect("this program");
    let line = wrapped.replace('@', &format!("'{}' --exact plays_a_daemon --ignored --nocapture", own.display()));
    let words = ["sh", "-c", &line].map(str::to_owned).into();
    protocol::Daemon { name: "lane".to_owned(), words, files: vec![("play".to_owned(), play.to_owned())] }
}

#[test]
fn a_daemon_runs_to_the_end_and_is_told_to_end_then() {
    let mut config = config(300);
    // More notices than a socket holds: someone must read them.
    let notices = "notify STATUS=more\n".repeat(40);
    let play = format!("say begin\nnotify STATUS=soon\nnotify STATUS=x;READY=1\n{notices}say all\nsleep 100000");
    config.hosts[0].daemons.push(daemon("exec @", &play));
    let mut agent = Agent::start(&config);
    let reports = whole(agent.finish());
    let (code, start, end) = ran(&reports, "daemon.lane");
    assert_eq!(code, 128 + 15);
    assert!(start < config.epoch_ns && end >= config.end_ns);
    let said = agent.text("daemon.lane.stdout");
    assert!(said.contains("begin\n") && said.contains("all\n"), "{said}");
}

#[test]
fn a_daemon_that_does_not_obey_is_killed() {
    let mut config = config(200);
    config.hosts[0].daemons.push(daemon("trap '' TERM; @; sleep 100; sleep 100", "notify READY=1"));
    let (code, _, end) = ran(&run(&config), "daemon.lane");
    assert!(code == 128 + 9 && end >= config.end_ns + 100 * MS);
}

#[test]
fn a_daemon_may_end_early() {
    let mut config = config(3000);
    config.hosts[0].daemons.push(daemon("exec @", "notify READY=1\nsleep 100000"));
    let mut agent = Agent::start(&config);
    let pid = agent.folder.path().join("run/0/lane.pid");
    while now() < config.epoch_ns + 100 * MS {
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = std::fs::read_to_string(pid).expect("its process is known").trim().parse().expect("a number");
    let id = rustix::process::Pid::from_raw(id).expect("a process");
    rustix::process::kill_process(id, rustix::process::Signal::KILL).expect("it is there");
    let (code, _, end) = ran(&whole(agent.finish()), "daemon.lane");
    assert!(code == 128 + 9 && end < config.end_ns);
}

#[test]
fn a_daemon_that_is_not_ready_ends_the_set_up_with_its_last_words() {
    let fails = |wrapped: &str, play: &str| {
        let mut config = config(100);
        config.hosts[0].daemons.push(daemon(wrapped, play));
        failure(Agent::start(&config).finish())
    };
    let early = fails("exec @", "complain no such lane\nexit 3");
    assert_eq!(early, "daemon `lane` ended with code 3 before it was ready: no such lane");
    let silent = fails("echo waiting; exec sleep 100", "");
    let (begin, end) = ("daemon `lane` did not say within ", " ms that it is ready: waiting");
    assert!(silent.starts_with(begin) && silent.ends_with(end), "{silent}");
    let other = fails("exec @", "notify READY=0\nsleep 100000");
    assert!(other.starts_with(begin), "{other}");
    let mut config = config(100);
    config.hosts[0].daemons.push(protocol::Daemon { words: vec!["no-such-program".to_owned()], ..daemon("", "") });
    let missing = failure(Agent::start(&config).finish());
    assert_eq!(missing, "command `daemon.lane` cannot be started: No such file or directory");
    config.hosts[0].daemons[0].files[0].0 = "../play".to_owned();
    let outside = failure(Agent::start(&config).finish());
    assert_eq!(outside, "daemon `lane`: `../play` is not a file's name");
}
