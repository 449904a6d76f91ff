//! The very binary on the machine's own kernel: two network namespaces, two paths between them, and connections of
//! programs that know nothing of lanes.
//!
//! Needs root and a kernel with MPTCP's userspace path manager; says so and does nothing otherwise.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

mod common;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Hosts, PATIENCE, Transfer, at, backup, bytes_from, carries, ip, on_long, subflows, until, within};
use headway_lane::snapshot::SubflowStatus;
use headway_linux::diag::{Diag, States};
use headway_linux::mptcp::ManagedBy;
use headway_linux::mptcp_socket;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

/// Everything is long after a moment.
const SOON: &str = "kind = \"deadline\"\ndeadline = \"100ms\"";
/// Nothing is long by itself.
const NEVER: &str = "kind = \"deadline\"\ndeadline = \"1h\"";

/// A long transfer is switched, and a short one costs nothing.
fn client_side(address: &str, long: [&str; 2]) {
    let Some(hosts) = Hosts::new() else { return };
    // long enough for a short transfer on a busy machine
    hosts.configure("kind = \"deadline\"\ndeadline = \"1s\"", "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let mut events = daemon.events();
    let listener = hosts.listen(at(address, 5001));
    let (mut near, mut far) = hosts.connect(&listener, at(address, 5001));
    near.write_all(&[7; 10_000]).unwrap();
    drop(near);
    let mut got = Vec::new();
    far.read_to_end(&mut got).unwrap();
    assert_eq!(got, [7; 10_000]);
    drop(far);
    let short = daemon.wait("the short transfer's end", |now| {
        (now.managed == 0 && now.counters.managed == 1).then_some(now.counters)
    });
    assert_eq!((short.opens, short.flips, short.switched), (0, 0, 0));
    assert_eq!(events.find(|event| event["event"] == "over").unwrap()["long"], false);

    let transfer = hosts.upload(at(address, 5002));
    let one = daemon.switched();
    assert!(!one.adopted && !one.server_side && one.remote == at(address, 5002), "{one:#?}");
    let event = events.find(|event| event["event"] == "switched").unwrap();
    assert!(event["token"] == one.token.as_str() && event["age_s"].as_f64().unwrap() >= 1.0, "{event}");
    carries(&hosts.client, long[0]);
    let bulk = one.subflows.iter().find(|subflow| subflow.lane.as_deref() == Some("bulk")).unwrap();
    assert_eq!([bulk.local.ip(), bulk.remote.ip()], long.map(|ip| ip.parse::<std::net::IpAddr>().unwrap()));
    assert!(backup(&hosts.client, &one.local.ip().to_string()) && !backup(&hosts.client, long[0]));
    transfer.finish();
    assert_eq!(events.find(|event| event["event"] == "over").unwrap()["long"], true);
}

#[test]
fn a_long_transfer_gets_a_long_lane_and_a_short_one_none() {
    client_side("10.0.1.2", ["10.0.2.1", "10.0.2.2"]);
}

#[test]
fn the_same_over_ipv6() {
    client_side("fd00:1::2", ["fd00:2::1", "fd00:2::2"]);
}

#[test]
fn a_server_announces_its_long_lane_and_listens_there_for_an_application_that_does_not() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.server]);
    let listener = hosts.listen(at("10.0.1.2", 5001));
    let (near, far) = hosts.connect(&listener, at("10.0.1.2", 5001));
    let transfer = Transfer::start(far, near);
    let one = daemon.switched();
    assert!(one.server_side && one.local == at("10.0.1.2", 5001), "{one:#?}");
    carries(&hosts.server, "10.0.2.2");
    assert!(backup(&hosts.server, "10.0.1.2") && !backup(&hosts.server, "10.0.2.2"));
    // Nobody but the daemon listens there.
    let listening = within(&hosts.server, || {
        let mut found = Vec::new();
        Diag::open().unwrap().tcp_all(States::LISTENING, |tcp| found.push(tcp.pair.local)).unwrap();
        found
    });
    assert!(listening.contains(&at("10.0.2.2", 5001)), "{listening:?}");
    transfer.finish();
}

#[test]
fn one_process_serves_both_ends() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.client, &hosts.server]);
    let listener = hosts.listen(at("10.0.1.2", 5001));
    let (near, far) = hosts.connect(&listener, at("10.0.1.2", 5001));
    let up = Transfer::start(near.try_clone().unwrap(), far.try_clone().unwrap());
    let down = Transfer::start(far, near);
    until("a switch at both ends", || {
        let both = daemon.status();
        assert_eq!(
            both.iter().map(|one| one.netns.as_deref()).collect::<Vec<_>>(),
            [Some(hosts.client.as_str()), Some(hosts.server.as_str())]
        );
        both.iter().all(|one| one.connections.iter().any(on_long)).then_some(())
    });
    carries(&hosts.client, "10.0.2.1");
    carries(&hosts.server, "10.0.2.2");
    up.finish();
    down.finish();
}

#[test]
fn what_the_kernel_manages_itself_is_left_alone() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let managed_by = |who: ManagedBy| within(&hosts.client, || who.write().unwrap());
    managed_by(ManagedBy::Kernel);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    transfer.goes_on();
    managed_by(ManagedBy::Userspace);
    let daemon = hosts.daemon(&[&hosts.client]);
    daemon.wait("it is given up", |now| (now.counters.left == 1 && now.managed == 0).then_some(()));
    let counters = daemon.snapshot().counters;
    assert_eq!((counters.adopted, counters.opens, counters.flips), (1, 0, 0));
    transfer.goes_on();
    transfer.finish();
}

#[test]
fn a_killed_daemon_harms_nothing_and_the_next_one_takes_over() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    daemon.switched();
    daemon.kill();
    assert!(backup(&hosts.client, "10.0.1.1") && !backup(&hosts.client, "10.0.2.1"));
    transfer.goes_on();
    carries(&hosts.client, "10.0.2.1");
    // and one that nobody has judged
    let other = hosts.upload(at("10.0.1.2", 5002));
    let daemon = hosts.daemon(&[&hosts.client]);
    let one = daemon.wait("the long one", |now| now.connections.iter().find(|c| c.remote.port() == 5001).cloned());
    assert!(one.adopted && on_long(&one), "{one:#?}");
    daemon.wait("a switch of the other one", |now| {
        now.connections.iter().any(|one| one.remote.port() == 5002 && one.adopted && on_long(one)).then_some(())
    });
    let counters = daemon.snapshot().counters;
    // those of the other one: the long one's are as they were
    assert_eq!((counters.adopted, counters.switched, counters.opens, counters.flips), (2, 1, 1, 1));
    transfer.goes_on();
    transfer.finish();
    other.finish();
}

#[test]
fn a_transfer_outlives_its_long_lane_and_goes_back_to_it() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    daemon.switched();
    carries(&hosts.client, "10.0.2.1");
    ip(&format!("-n {} link set p2 down", hosts.client)).unwrap();
    daemon.wait("the short lane", |now| {
        let one = now.connections.first()?;
        (!now.lanes[1].up && one.subflows.iter().all(|s| s.lane.as_deref() == Some("fast") && !s.backup)).then_some(())
    });
    carries(&hosts.client, "10.0.1.1");
    transfer.goes_on();
    ip(&format!("-n {} link set p2 up", hosts.client)).unwrap();
    daemon.switched();
    carries(&hosts.client, "10.0.2.1");
    transfer.finish();
}

#[test]
fn a_transfer_outlives_its_short_lane_before_it_is_long() {
    let Some(hosts) = Hosts::new() else { return };
    // it is not the judge who opens a long lane
    hosts.configure(NEVER, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    transfer.goes_on();
    ip(&format!("-n {} link set p1 down", hosts.client)).unwrap();
    daemon.wait("a long lane", |now| {
        let one = now.connections.first()?;
        one.subflows.iter().any(|s| s.lane.as_deref() == Some("bulk") && s.alive && !s.backup).then_some(())
    });
    carries(&hosts.client, "10.0.2.1");
    transfer.goes_on();
    ip(&format!("-n {} link set p1 up", hosts.client)).unwrap();
    // and it is short as before
    carries(&hosts.client, "10.0.1.1");
    assert!(!daemon.snapshot().connections[0].long);
    hosts.configure(SOON, "");
    daemon.signal(Signal::HUP);
    daemon.switched();
    carries(&hosts.client, "10.0.2.1");
    transfer.finish();
}

#[test]
fn a_reload_takes_what_is_right_and_nothing_else() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(NEVER, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    daemon.wait("a connection", |now| now.connections.first().map(|_| ()));
    fs::write(hosts.config(), "sied = 1\n").unwrap();
    daemon.signal(Signal::HUP);
    daemon.wait("a refusal", |now| (now.counters.reload_failures == 1).then_some(()));
    let kept = daemon.snapshot();
    assert!(kept.counters.reloads == 0 && kept.lanes.len() == 2 && !kept.connections[0].adopted, "{kept:#?}");
    hosts.configure(SOON, "");
    daemon.signal(Signal::HUP);
    let one = daemon.switched();
    assert!(one.adopted);
    let counters = daemon.snapshot().counters;
    assert_eq!((counters.reloads, counters.reload_failures), (1, 1));
    carries(&hosts.client, "10.0.2.1");
    transfer.finish();
}

#[test]
fn rules_go_by_port_and_user() {
    let Some(hosts) = Hosts::new() else { return };
    let uid = rustix::process::getuid().as_raw();
    hosts.configure(
        NEVER,
        &format!(
            "[[rule]]\nname = \"left\"\nport = 5001\nlanes = \"leave\"\n\n\
             [[rule]]\nname = \"bulk\"\nport = \"5002\"\nlanes = \"long\"\n\n\
             [[rule]]\nname = \"others\"\nuser = {}\nlanes = \"long\"\n\n\
             [[rule]]\nname = \"mine\"\nuser = {uid}\nport = 5003\njudge = {{ kind = \"bytes-sent\" }}\n\n\
             [timing]\nopen-after = \"20ms\"\n",
            uid + 1
        ),
    );
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfers: Vec<Transfer> = (5001..=5004).map(|port| hosts.upload(at("10.0.1.2", port))).collect();
    daemon.wait("two switches", |now| (now.connections.iter().filter(|one| on_long(one)).count() == 2).then_some(()));
    transfers.iter().for_each(Transfer::goes_on);
    let now = daemon.snapshot();
    let mut found: Vec<_> = now.connections.iter().map(|c| (c.remote.port(), c.rule.as_deref(), c.long)).collect();
    found.sort_unstable();
    assert_eq!(found, [(5002, Some("bulk"), true), (5003, Some("mine"), true), (5004, None, false)]);
    assert_eq!((now.counters.left, now.counters.opens), (1, 2));
    for transfer in transfers {
        transfer.finish();
    }
}

/// A cgroup of version 2; it and what runs in it are gone with this.
struct Cgroup(PathBuf);

impl Cgroup {
    /// If one can be made.
    fn new(name: &str) -> Option<Cgroup> {
        let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let mount = mounts.into_iter().find(|mount| mount.join("cgroup.procs").exists())?;
        let folder = mount.join(name);
        fs::create_dir(&folder).ok().map(|()| Cgroup(folder))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let inside = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        // the kernel takes a moment to end them
        let start = Instant::now();
        while fs::remove_dir(&self.0).is_err() && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_rule_goes_by_cgroup() {
    let Some(hosts) = Hosts::new() else { return };
    let name = format!("lanelive-{}", std::process::id());
    let Some(cgroup) = Cgroup::new(&name) else {
        eprintln!("skipped: no cgroup (v2) can be made");
        return;
    };
    hosts.configure(NEVER, &format!("[[rule]]\nname = \"ours\"\ncgroup = \"/{name}\"\nlanes = \"long\"\n"));
    let daemon = hosts.daemon(&[&hosts.client]);
    let listener = hosts.listen(at("0.0.0.0", 5001));
    // a process of its own, because a whole process is in a cgroup
    let mut inside = Command::new("sh")
        .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
        .arg(&cgroup.0)
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "connects_and_writes"])
        .env("LANELIVE_NAMESPACE", &hosts.client)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let read = thread::spawn(move || std::io::copy(&mut far, &mut std::io::sink()));
    let outside = hosts.upload(at("10.0.1.2", 5002));
    let one = daemon.switched();
    assert_eq!((one.remote.port(), one.rule.as_deref()), (5001, Some("ours")));
    outside.goes_on();
    let all = daemon.snapshot().connections;
    assert!(all.iter().any(|one| one.remote.port() == 5002 && one.rule.is_none() && !one.long), "{all:#?}");
    outside.finish();
    drop(cgroup);
    inside.wait().unwrap();
    let _ = read.join();
}

#[test]
#[ignore = "what a_rule_goes_by_cgroup runs in the cgroup"]
fn connects_and_writes() {
    let Ok(namespace) = std::env::var("LANELIVE_NAMESPACE") else { return };
    let mut stream = within(&namespace, || mptcp_socket::connect(at("10.0.1.2", 5001), None).unwrap());
    while stream.write_all(&[0; 10_000]).is_ok() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn lost_events_are_made_up_for() {
    const MOST: usize = 8_000;
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let gone = hosts.upload(at("10.0.1.2", 5001));
    let there = hosts.upload(at("10.0.1.2", 5002));
    daemon.wait("both", |now| (now.connections.iter().filter(|one| on_long(one)).count() == 2).then_some(()));
    daemon.signal(Signal::STOP);
    let listener = hosts.listen(at("10.0.1.2", 5003));
    let (start, mut made) = (Instant::now(), 0);
    while made < MOST && start.elapsed() < Duration::from_secs(10) {
        within(&hosts.client, || {
            for _ in 0..500 {
                let near = mptcp_socket::connect(at("10.0.1.2", 5003), None).unwrap();
                drop((listener.accept().unwrap(), near));
            }
        });
        made += 500;
    }
    gone.finish();
    // of this one no event may have had room
    let new = hosts.upload(at("10.0.1.2", 5004));
    new.goes_on();
    daemon.signal(Signal::CONT);
    let now = daemon.wait("what there is", |now| {
        let mut ports: Vec<u16> = now.connections.iter().filter(|o| on_long(o)).map(|o| o.remote.port()).collect();
        ports.sort_unstable();
        (now.managed == 2 && ports == [5002, 5004]).then(|| now.clone())
    });
    if made == MOST {
        assert!(now.counters.overruns > 0, "{:#?}", now.counters);
    } else if now.counters.overruns == 0 {
        eprintln!("skipped: the machine makes too few connections for an overrun, {made} in 10 s");
    }
    there.goes_on();
    there.finish();
    new.finish();
}

/// Processor time that the daemon took so far.
fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // behind the name: user and system time are the 12th and 13th, in hundredths of a second
    let times = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
    Duration::from_millis(10 * times.map(|time| time.parse::<u64>().unwrap()).sum::<u64>())
}

#[test]
fn without_file_descriptors_it_waits_and_goes_on() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure(SOON, "");
    let daemon = hosts.daemon(&[&hosts.client]);
    let pid = Pid::from_raw(daemon.pid().cast_signed()).unwrap();
    let open = |fd: &u64| fs::symlink_metadata(format!("/proc/{}/fd/{fd}", daemon.pid())).is_ok();
    let free = (0..4096).find(|fd| !open(fd)).unwrap();
    let limit = |current| Rlimit { current, maximum: Some(4096) };
    prlimit(Some(pid), Resource::Nofile, limit(Some(free))).unwrap();
    let waits: Vec<UnixStream> = (0..20).map(|_| UnixStream::connect(daemon.socket()).unwrap()).collect();
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    let (start, before) = (Instant::now(), processor_time(daemon.pid()));
    // the connection is switched all the same
    until("the long lane", || {
        let long = subflows(&hosts.client).iter().any(|tcp| tcp.pair.local.ip() == at("10.0.2.1", 0).ip());
        (long && backup(&hosts.client, "10.0.1.1") && !backup(&hosts.client, "10.0.2.1")).then_some(())
    });
    thread::sleep(Duration::from_secs(1));
    let spent = processor_time(daemon.pid()).saturating_sub(before);
    assert!(spent < start.elapsed() / 4, "{spent:?} of {:?}", start.elapsed());
    prlimit(Some(pid), Resource::Nofile, limit(Some(4096))).unwrap();
    drop(waits);
    let start = Instant::now();
    let failures = loop {
        if let Some(now) = daemon.try_status() {
            break now.namespaces[0].counters.accept_failures;
        }
        assert!(start.elapsed() < PATIENCE);
        thread::sleep(Duration::from_millis(50));
    };
    assert!(failures > 0);
    assert_eq!(daemon.log().matches("can be accepted now").count(), 1, "{}", daemon.log());
    transfer.finish();
}

#[test]
fn link_cost_measures_the_long_lane_and_switches() {
    let Some(hosts) = Hosts::new() else { return };
    // by the deadline alone: what queues there are is the machine's affair
    let judge = |deadline| format!("kind = \"link-cost\"\nalpha = 0\ndeadline = \"{deadline}\"");
    let timing = "[timing]\nopen-after = \"20ms\"\nprobe-interval = \"20ms\"\n";
    hosts.configure(&judge("1h"), timing);
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    daemon.wait("probes", |now| (now.counters.probes >= 5).then_some(()));
    let now = daemon.snapshot();
    assert!(!now.connections[0].long && now.lanes[1].queueing_delay_us.is_some(), "{now:#?}");
    // what the probes left: one subflow, which carries nothing
    daemon.wait("one subflow", |now| (now.lanes[1].subflows == 1 && now.lanes[0].subflows == 1).then_some(()));
    transfer.goes_on();
    // a SYN counts as a byte
    assert!(bytes_from(&hosts.client, "10.0.2.1") <= 1);
    hosts.configure(&judge("100ms"), timing);
    daemon.signal(Signal::HUP);
    daemon.switched();
    carries(&hosts.client, "10.0.2.1");
    transfer.finish();
}

#[test]
fn a_long_lane_that_is_opened_early_carries_nothing_before_its_time() {
    let Some(hosts) = Hosts::new() else { return };
    hosts.configure_lanes("open = \"early\"", NEVER, "[timing]\nopen-after = \"20ms\"\n");
    let daemon = hosts.daemon(&[&hosts.client]);
    let transfer = hosts.upload(at("10.0.1.2", 5001));
    daemon.wait("a backup", |now| {
        let bulk = |one: &&SubflowStatus| one.lane.as_deref() == Some("bulk");
        now.connections.first()?.subflows.iter().find(bulk).filter(|one| one.backup).map(|_| ())
    });
    // not every kernel heeds the wish at once: the daemon may have had to mark it
    until("a mark in the kernel", || backup(&hosts.client, "10.0.2.1").then_some(()));
    transfer.goes_on();
    let before = bytes_from(&hosts.client, "10.0.2.1");
    transfer.goes_on();
    assert_eq!(bytes_from(&hosts.client, "10.0.2.1"), before);
    transfer.finish();
}
