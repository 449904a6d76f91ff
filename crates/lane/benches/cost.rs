//! What the daemon costs: its processor time with a thousand MPTCP connections, and what 10 kB flows take without and
//! with it, on the machine's own kernel.
//!
//! `benches/lane-cost` runs it (root). It prints one line of JSON per figure, takes at most 90 s, and removes what it
//! makes. Nothing else should run meanwhile. `-- CONNECTIONS FLOWS` (`-- 100 50`) makes it smaller. Not a test: nothing
//! depends on the figures.

#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{Daemon, Hosts, at, on_long, subflows, within};
use headway_linux::mptcp_socket;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};

/// After so long no round of flows begins.
const BUDGET: Duration = Duration::from_secs(75);
/// Processor time is taken over so long.
const WINDOW: Duration = Duration::from_secs(5);
/// A busy connection writes so often; with a thousand, those that are not judged yet are looked at four times a second.
const CYCLE: Duration = Duration::from_millis(100);
const ROUNDS: usize = 7;
const FLOW: usize = 10_000;
const JUDGES: [(&str, &str); 2] = [
    ("deadline", "kind = \"deadline\"\ndeadline = \"300ms\""),
    ("link-cost", "kind = \"link-cost\"\ndeadline = \"300ms\""),
];

fn main() {
    let mut sizes = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (connections, flows) = (sizes.next().unwrap_or(1_000), sizes.next().unwrap_or(400));
    let start = Instant::now();
    // two for each connection
    let most = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).expect("the limit may be reached");
    for (judge, text) in JUDGES {
        let Some(hosts) = Hosts::new() else { return };
        hosts.configure(text, "");
        processor(&hosts, judge, connections);
    }
    for (judge, text) in JUDGES {
        let Some(hosts) = Hosts::new() else { return };
        hosts.configure(text, "");
        receiving_elsewhere(&hosts, judge, connections);
    }
    short_flows(flows, start);
}

/// Seconds of processor time that the daemon, which has one thread, has used, of its own and in the kernel.
fn used(daemon: &Daemon) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/schedstat", daemon.pid())).expect("it runs");
    let nanos = stat.split_whitespace().next().and_then(|first| first.parse::<u64>().ok());
    nanos.expect("time on a processor comes first (Documentation/scheduler/sched-stats.rst)") as f64 / 1e9
}

fn percent_of_a_core(judge: &str, state: &str, connections: usize, daemon: &Daemon) {
    let (start, before) = (Instant::now(), used(daemon));
    thread::sleep(WINDOW);
    let percent = (used(daemon) - before) / start.elapsed().as_secs_f64() * 100.0;
    println!(
        "{{\"measure\": \"processor\", \"judge\": \"{judge}\", \"state\": \"{state}\", \"connections\": {connections}, \
         \"percent_of_a_core\": {percent:.2}}}"
    );
}

/// Connections with data on them, or none.
struct Crowd {
    /// The servers' ends, which only have to be there: what is sent fits into their buffers.
    far: Vec<TcpStream>,
    near: Vec<TcpStream>,
    busy: AtomicBool,
    ended: AtomicBool,
}

impl Crowd {
    fn new(hosts: &Hosts, connections: usize) -> Crowd {
        let listener = hosts.listen(at("0.0.0.0", 5001));
        let (near, far) = within(&hosts.client, || {
            let one = || {
                let near = mptcp_socket::connect(at("10.0.1.2", 5001), None).expect("connect");
                near.set_nonblocking(true).unwrap();
                (near, listener.accept().expect("accept").0)
            };
            (0..connections).map(|_| one()).unzip()
        });
        // joins need a listener for as long as this lives
        std::mem::forget(listener);
        Crowd { far, near, busy: AtomicBool::new(false), ended: AtomicBool::new(false) }
    }

    fn write(&self) {
        while !self.ended.load(Ordering::Relaxed) {
            let next = Instant::now() + CYCLE;
            if self.busy.load(Ordering::Relaxed) {
                for mut stream in &self.near {
                    // full: busy enough
                    let _ = stream.write(&[0; 100]);
                }
            }
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }
}

fn processor(hosts: &Hosts, judge: &str, connections: usize) {
    let daemon = hosts.daemon(&[&hosts.client]);
    let crowd = Crowd::new(hosts, connections);
    thread::scope(|scope| {
        scope.spawn(|| crowd.write());
        // all of them rest by now
        thread::sleep(Duration::from_secs(2));
        // at first long lanes are opened, too
        switch(judge, "opened-and-switched", hosts, &crowd, &daemon);
        percent_of_a_core(judge, "busy-and-switched", connections, &daemon);
        crowd.busy.store(false, Ordering::Relaxed);
        thread::sleep(Duration::from_secs(3));
        percent_of_a_core(judge, "idle", connections, &daemon);
        switch(judge, "switched", hosts, &crowd, &daemon);
        crowd.ended.store(true, Ordering::Relaxed);
    });
    let now = daemon.snapshot();
    assert_eq!(now.counters.overruns, 0, "the figures are of something else");
    assert_eq!(crowd.far.len(), now.managed);
}

/// The first switch as on a host whose network card interrupts another processor: what arrives in either namespace is
/// taken in there. Otherwise the whole of a handshake, the far end's part included, is done inside the daemon's system
/// call, and is counted as its time.
fn receiving_elsewhere(hosts: &Hosts, judge: &str, connections: usize) {
    if thread::available_parallelism().is_ok_and(|processors| processors.get() < 2) {
        eprintln!("skipped: receiving elsewhere needs two processors");
        return;
    }
    for namespace in [&hosts.client, &hosts.server] {
        let write = "for queue in /sys/class/net/p?/queues/rx-*/rps_cpus; do echo 2 > $queue; done";
        let done = Command::new("ip").args(["netns", "exec", namespace, "sh", "-c", write]).status();
        assert!(done.is_ok_and(|status| status.success()), "receive packet steering can be set");
    }
    let daemon = hosts.daemon(&[&hosts.client]);
    let mut own = CpuSet::new();
    own.set(0);
    let pid = Pid::from_raw(daemon.pid() as i32).expect("a process has a number");
    sched_setaffinity(Some(pid), &own).expect("the daemon may be kept on a processor");
    let crowd = Crowd::new(hosts, connections);
    thread::scope(|scope| {
        scope.spawn(|| crowd.write());
        thread::sleep(Duration::from_secs(2));
        switch(judge, "opened-and-switched-receiving-elsewhere", hosts, &crowd, &daemon);
        crowd.ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(daemon.snapshot().counters.overruns, 0, "the figures are of something else");
}

/// All begin to write, and all are switched.
fn switch(judge: &str, state: &str, hosts: &Hosts, crowd: &Crowd, daemon: &Daemon) {
    let all = crowd.near.len();
    // not asked of the daemon, which answers would cost
    let backups = || {
        let of = |found: Vec<headway_linux::diag::Tcp>| {
            let local = "10.0.1.1".parse::<std::net::IpAddr>().unwrap();
            found.iter().filter(|t| t.pair.local.ip() == local && t.subflow.unwrap().backup_local).count()
        };
        of(subflows(&hosts.client))
    };
    let left_over = backups();
    let start = Instant::now();
    let sample = || (start.elapsed().as_secs_f64(), used(daemon));
    let beginning = sample();
    crowd.busy.store(true, Ordering::Relaxed);
    // before the first one was switched
    let mut first = beginning;
    let last = loop {
        let now = sample();
        let switched = backups();
        if switched <= left_over {
            first = now;
        }
        if switched >= all || start.elapsed() > Duration::from_secs(8) {
            break sample();
        }
        thread::sleep(Duration::from_millis(20));
    };
    let percent = |since: (f64, f64)| (last.1 - since.1) / (last.0 - since.0) * 100.0;
    println!(
        "{{\"measure\": \"processor\", \"judge\": \"{judge}\", \"state\": \"{state}\", \"connections\": {all}, \
         \"percent_of_a_core\": {:.2}, \"processor_s\": {:.3}, \"within_s\": {:.3}, \
         \"percent_since_first_data\": {:.2}, \"since_first_data_s\": {:.3}, \"left_over\": {left_over}, \
         \"switched\": {}}}",
        percent(first),
        last.1 - first.1,
        last.0 - first.0,
        percent(beginning),
        last.0 - beginning.0,
        daemon.snapshot().connections.iter().filter(|one| on_long(one)).count(),
    );
}

/// Flows one after the other, each on a connection of its own; the time of each until the server has all of it and said so.
fn flows(hosts: &Hosts, count: usize) -> Vec<Duration> {
    let listener = hosts.listen(at("0.0.0.0", 5001));
    let server = thread::spawn(move || -> io::Result<()> {
        let mut all = [0; FLOW];
        for _ in 0..count {
            let (mut stream, _) = listener.accept()?;
            stream.read_exact(&mut all)?;
            stream.write_all(&[1])?;
        }
        Ok(())
    });
    let mut times: Vec<Duration> = within(&hosts.client, || {
        let one = || {
            let start = Instant::now();
            let mut stream = mptcp_socket::connect(at("10.0.1.2", 5001), None)?;
            stream.set_nodelay(true)?;
            stream.write_all(&[0; FLOW])?;
            stream.read_exact(&mut [0])?;
            Ok::<_, io::Error>(start.elapsed())
        };
        (0..count).map(|_| one().expect("a flow")).collect()
    });
    server.join().unwrap().expect("flows arrive");
    times.sort_unstable();
    times
}

fn short_flows(count: usize, start: Instant) {
    let variants = [("none", ""), JUDGES[0], JUDGES[1]];
    let mut sites = Vec::new();
    for (name, judge) in variants {
        let Some(hosts) = Hosts::new() else { return };
        hosts.configure(judge, "");
        let daemon = (!judge.is_empty()).then(|| hosts.daemon(&[&hosts.client]));
        // the first ones resolve addresses and fill caches
        flows(&hosts, count.min(50));
        sites.push((name, hosts, daemon, Vec::new()));
    }
    // in turn, so that what changes on the machine meanwhile concerns all
    for round in 0..ROUNDS {
        if start.elapsed() > BUDGET {
            eprintln!("{round} of {ROUNDS} rounds: the time is over");
            break;
        }
        for (_, hosts, _, rounds) in &mut sites {
            let times = flows(hosts, count);
            let us = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
            rounds.push([us(50), us(90)]);
        }
    }
    let without = sites[0].3.clone();
    for (name, _, _, rounds) in &sites {
        let figures = |which: usize| {
            let own: Vec<f64> = rounds.iter().map(|round| round[which]).collect();
            let ratios: Vec<f64> = rounds.iter().zip(&without).map(|(own, base)| own[which] / base[which]).collect();
            (median(own), median(ratios))
        };
        let ((p50, p50_ratio), (p90, p90_ratio)) = (figures(0), figures(1));
        println!(
            "{{\"measure\": \"short-flows\", \"daemon\": \"{name}\", \"rounds\": {}, \"flows_per_round\": {count}, \
             \"bytes\": {FLOW}, \"p50_us\": {p50:.1}, \"p90_us\": {p90:.1}, \"p50_ratio\": {p50_ratio:.3}, \
             \"p90_ratio\": {p90_ratio:.3}}}",
            rounds.len()
        );
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
