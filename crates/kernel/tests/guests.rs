//! Real guests on small networks: what arithmetic says, the same bytes every time, and guests that fail.
//!
//! These tests need a kernel image (`headway kernel build`) and skip, saying so, where there is none.
#![expect(clippy::disallowed_methods, reason = "threads that are a load, and what tells one process from another")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headway_agent::protocol::Report;
use headway_kernel::image::Image;
use headway_kernel::{EPOCH_NS, Watch};
use headway_units::Span;

mod lab;

use lab::{Lab, SECOND, address, alone, image, output, reports, wire};

/// The round-trip times that `ping` printed, in milliseconds.
fn pings(text: &str) -> Vec<f64> {
    text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn a_ping_takes_what_arithmetic_says() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let delay = Span::from_millis(5);
    for (payload, switch) in [(56, false), (1400, false), (56, true), (1400, true)] {
        let cable = wire(delay, 0.0, 100);
        let mut lab = if switch { Lab::switched(cable, Span::from_micros(25), 2) } else { Lab::pair(&[cable], 2) };
        let shell = format!("ping -c 5 -i 0.2 -s {payload} {}", address(1, 0));
        lab.command("h0", "ping", 100_000_000, None, &shell);
        let (outputs, _, _) = lab.run(&image).unwrap();
        let times = pings(&output(&outputs, "h0", "ping.stdout"));
        // ICMP 8, IPv4 20, Ethernet 14 + 4 and gap 20 bytes, at 80 ns each; with a switch all of it twice
        let frame = f64::from(payload + 66) * 80e-6;
        let expected = if switch { 2.0 * (2.0 * (frame + 5.0) + 0.025) } else { 2.0 * (frame + 5.0) };
        assert_eq!(times.len(), 5);
        for time in times {
            // ping reads the clock twice, at 256 ns each, and prints microseconds
            assert!((time - expected).abs() <= 0.002, "{payload} B, switch {switch}: {time} ms, expected {expected}");
        }
    }
}

#[test]
fn a_long_flow_fills_the_wire() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = Lab::pair(&[wire(Span::from_micros(500), 0.0, 1000)], 3);
    lab.flow(1, 0, None, false);
    lab.host("h1").sample_ns = Some(SECOND);
    let (outputs, work, _) = lab.run(&image).unwrap();
    let arrived: Vec<u64> = reports(&outputs, "h1")
        .iter()
        .filter_map(|report| if let Report::Arrived { bytes, .. } = report { Some(*bytes) } else { None })
        .collect();
    // 1,448 bytes of data in a frame of 1,518, and 20 of gap; a packet more or less at the edges
    let packets = 100e6 / 8.0 / 1538.0;
    let got = (arrived[2] - arrived[1]) as f64 / 1448.0;
    assert!((got - packets).abs() <= 4.0, "{got} packets in a second, expected {packets}");
    assert_eq!((work.cards.overruns, work.cards.malformed), (0, 0));
    // the card holds the sender back instead of dropping
    let sent = reports(&outputs, "h0").iter().find_map(|report| match report {
        Report::Sent { subflows, .. } => Some(subflows[0].retransmissions),
        _ => None,
    });
    assert_eq!(sent, Some(0));
}

#[test]
fn a_short_flow_takes_what_arithmetic_says() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = Lab::pair(&[wire(Span::from_millis(5), 0.0, 100)], 1);
    lab.flow(1, 100_000_000, Some(10 * 1448), false);
    let (outputs, _, _) = lab.run(&image).unwrap();
    let received = reports(&outputs, "h1").iter().find_map(|report| match report {
        Report::Received { bytes, last_ns, ended, .. } => Some((*bytes, *last_ns, *ended)),
        _ => None,
    });
    let (bytes, last, ended) = received.unwrap();
    assert_eq!((bytes, ended), (14_480, true));
    // SYN and SYN-ACK of 74 bytes, the acknowledgement of 66 before the first data, then a window of ten
    let expected = 15e6 + (2.0 * (74.0 + 24.0) + 66.0 + 24.0 + 10.0 * 1538.0) * 80.0;
    let took = (last - EPOCH_NS - 100_000_000) as f64;
    assert!((took - expected).abs() < 3000.0, "{took} ns, expected {expected}");
}

#[test]
fn mptcp_uses_both_cables() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let cable = wire(Span::from_millis(1), 0.0, 100);
    let mut lab = Lab::pair(&[cable, cable], 3);
    lab.flow(1, 0, None, true);
    for (host, kind) in [("h0", "subflow"), ("h1", "signal")] {
        let own = address(usize::from(host == "h1"), 1);
        let shell = format!(
            "ip mptcp limits set subflow 1 add_addr_accepted 1\n{}",
            if kind == "signal" { format!("ip mptcp endpoint add {own} dev eth1 signal") } else { String::new() }
        );
        lab.host(host).setup.push(vec!["/bin/sh".to_owned(), "-c".to_owned(), shell]);
    }
    let (outputs, _, _) = lab.run(&image).unwrap();
    let bytes = reports(&outputs, "h1").iter().find_map(|report| match report {
        Report::Received { bytes, .. } => Some(*bytes),
        _ => None,
    });
    let rate = bytes.unwrap() as f64 * 8.0 / 3.0;
    assert!(rate > 150e6, "{rate} bit/s over two cables of 100 Mb/s");
    let subflows = reports(&outputs, "h0").iter().find_map(|report| match report {
        Report::Sent { subflows, .. } => Some(subflows.iter().map(|s| (s.local.ip(), s.remote.ip())).collect()),
        _ => None,
    });
    let pairs: BTreeSet<_> = (0..2).map(|i| (address(0, i).parse().unwrap(), address(1, i).parse().unwrap())).collect();
    assert_eq!(subflows, Some(pairs));
}

/// A lab with loss, cross traffic in commands and flows, and captures of everything.
fn busy(folder: &Path) -> Lab {
    let mut lab = Lab::switched(wire(Span::from_micros(200), 0.001, 30), Span::from_micros(10), 1);
    for id in 0..20 {
        lab.flow(id, id * 20_000_000, Some(20_000 + 13_337 * id), false);
    }
    lab.command("h1", "ping", 10_000_000, None, &format!("ping -c 9 -i 0.1 {}", address(0, 0)));
    lab.command("h0", "random", 50_000_000, None, "head -c 8 /dev/urandom | od -x; cat /proc/sys/kernel/random/uuid; date; ps; cat /proc/interrupts /proc/net/snmp");
    lab.host("h0").sample_ns = Some(50_000_000);
    let link = lab.graph.interfaces(lab.hosts[0])[0];
    let switch = lab.graph.interfaces(lab.graph.link(link).to)[1];
    lab.captures =
        vec![(Watch::Interface(link), folder.join("h0.pcap")), (Watch::Link(switch), folder.join("switch.pcap"))];
    lab
}

/// Everything that a run leaves, as one text and two captures.
fn everything(lab: &Lab, image: &Image, folder: &Path) -> (String, Vec<u8>, Vec<u8>) {
    let (outputs, work, digest) = lab.run(image).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    (format!("{outputs:#?} {work:?} {digest:x}"), read("h0.pcap"), read("switch.pcap"))
}

#[test]
fn every_run_leaves_the_same_bytes() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut lab = busy(folder.path());
    let first = everything(&lab, &image, folder.path());
    assert!(first.1.len() > 100_000 && first.2.len() > 50_000, "captures hold the traffic");
    assert!(first.0.contains("retransmissions") && first.0.contains("random.stdout"));
    let same = |lab: &Lab, how: &str| {
        let again = everything(lab, &image, folder.path());
        for (one, other) in first.0.lines().zip(again.0.lines()) {
            assert_eq!(one, other, "{how}");
        }
        assert!(first == again, "{how}: captures differ");
    };
    same(&lab, "repeated");
    lab.threads = 2;
    same(&lab, "with two threads");
    lab.processors = vec![0, 1];
    same(&lab, "on two processors");
    lab.threads = 1;
    lab.processors = vec![0];
    same(&lab, "on one processor");
    lab.processors = Vec::new();
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {})
        })
        .collect();
    same(&lab, "beside load");
    stop.store(true, Ordering::Relaxed);
    for thread in load {
        thread.join().unwrap();
    }
}

/// Says to the process that another user runs that it is one.
const AS_ANOTHER: &str = "HEADWAY_TEST_AS_ANOTHER";

/// A number that stands for everything that a run leaves.
fn fingerprint(image: &Image) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let folder = tempfile::tempdir().unwrap();
    let mut hasher = DefaultHasher::new();
    everything(&busy(folder.path()), image, folder.path()).hash(&mut hasher);
    hasher.finish()
}

/// What [`an_ordinary_user_gets_the_same_bytes`] starts as another user; by itself it does nothing.
#[test]
fn another_user() {
    if std::env::var_os(AS_ANOTHER).is_some() {
        let image = Image::find(None).expect("the test's copy of the image");
        println!("fingerprint {:x}", fingerprint(&image));
    }
}

#[test]
fn an_ordinary_user_gets_the_same_bytes() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let Some(image) = image() else { return };
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let _alone = alone();
    // the image and this program, where anybody can read them
    let folder = tempfile::Builder::new().permissions(readable()).tempdir().unwrap();
    let kernels = folder.path().join("kernels");
    std::fs::create_dir(&kernels).unwrap();
    let copy = |from: &Path, to: &Path| {
        let status = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
        assert!(status.success());
    };
    copy(&image.folder, &kernels.join(&image.name));
    let program = folder.path().join("program");
    copy(&std::env::current_exe().unwrap(), &program);
    let output = std::process::Command::new(&program)
        .args(["--exact", "another_user", "--nocapture"])
        .env_clear()
        .env("HEADWAY_CACHE", folder.path())
        .env(AS_ANOTHER, "1")
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let found = text.lines().find_map(|line| line.split("fingerprint ").nth(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(found, Some(&*format!("{:x}", fingerprint(&image))), "{text}{said}");
}

fn readable() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o755)
}

#[test]
fn hosts_in_one_guest_are_hosts_of_their_own() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = Lab::switched(wire(Span::from_millis(1), 0.0, 100), Span::ZERO, 2);
    lab.plans = vec![lab.guest(&[0, 1])];
    lab.command("h0", "ping", 100_000_000, None, &format!("ping -c 3 -i 0.2 {}; hostname", address(1, 0)));
    lab.flow(1, 0, Some(100_000), false);
    let (outputs, _, _) = lab.run(&image).unwrap();
    let text = output(&outputs, "h0", "ping.stdout");
    // twice 1 ms and 122 bytes, there and back
    let expected = 4.0 * (1.0 + 122.0 * 80e-6);
    assert!(pings(&text).iter().all(|time| (time - expected).abs() < 0.002), "{text}, expected {expected}");
    assert!(text.ends_with("h0\n"), "{text}");
    let bytes = reports(&outputs, "h1").iter().find_map(|report| match report {
        Report::Received { bytes, .. } => Some(*bytes),
        _ => None,
    });
    assert_eq!(bytes, Some(100_000));
}

fn refused(lab: &Lab, image: &Image) -> String {
    lab.run(image).expect_err("the guest fails").to_string()
}

#[test]
fn guests_that_fail_say_so() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let cable = wire(Span::from_millis(1), 0.0, 100);
    let lab = || Lab::pair(&[cable], 2);

    let mut broken = lab();
    let program = ["/bin/sh", "-c", "echo does not compute >&2; exit 9"];
    broken.host("h1").setup.push(program.map(str::to_owned).to_vec());
    let error = refused(&broken, &image);
    assert!(error.contains("host `h1`") && error.contains("does not compute"), "{error}");

    let mut slow = lab();
    slow.host("h0").setup.push(["/bin/sh", "-c", "sleep 3"].map(str::to_owned).to_vec());
    let error = refused(&slow, &image);
    assert!(error.contains("host `h0`") && error.contains("first second"), "{error}");

    let mut off = lab();
    off.command("h1", "off", 500_000_000, None, "poweroff -f");
    let error = refused(&off, &image);
    assert!(error.contains("`h1`") && error.contains("switched itself off"), "{error}");

    let mut panics = lab();
    panics.command("h1", "panic", 500_000_000, None, "echo 2 > /proc/sys/vm/panic_on_oom; tail /dev/zero");
    let error = refused(&panics, &image);
    assert!(error.contains("`h1`") && error.contains("Kernel panic - not syncing: Out of memory"), "{error}");

    let mut pipe = lab();
    let shell = "rm /share/out/0/report.jsonl; busybox mkfifo /share/out/0/report.jsonl";
    pipe.command("h0", "pipe", 500_000_000, None, shell);
    let error = refused(&pipe, &image);
    assert!(error.contains("something else stands in the place of its report"), "{error}");

    // the shell's parent is the agent's process for the host
    let mut orphan = lab();
    orphan.command("h0", "parricide", 500_000_000, None, "kill -9 $PPID");
    let error = refused(&orphan, &image);
    assert!(error.contains("host `h0`") && error.contains("was killed"), "{error}");

    let mut spins = lab();
    spins.patience = Duration::from_secs(3);
    spins.command("h0", "spin", 500_000_000, None, "while :; do :; done");
    let error = refused(&spins, &image);
    assert!(error.contains("`h0`") && error.contains("seems to hang"), "{error}");
}

#[test]
fn commands_end_as_they_should() {
    let Some(image) = image() else { return };
    let _alone = alone();
    let mut lab = Lab::pair(&[wire(Span::from_millis(1), 0.0, 100)], 2);
    lab.command("h0", "code", 100_000_000, None, "exit 7");
    lab.command("h0", "endless", 200_000_000, Some(700_000_000), "sleep 1000");
    lab.command("h0", "deaf", 200_000_000, Some(700_000_000), "trap '' TERM; while sleep 0.01; do :; done");
    lab.command("h0", "forgotten", 300_000_000, None, "sleep 1000");
    // more than there is: the kernel kills it, and the host goes on
    lab.command("h0", "greedy", 400_000_000, None, "tail /dev/zero");
    let (outputs, _, _) = lab.run(&image).unwrap();
    let codes: BTreeMap<&str, (i32, u64)> = reports(&outputs, "h0")
        .iter()
        .filter_map(|report| match report {
            Report::Command { name, code, end_ns, .. } => Some((&**name, (*code, (end_ns - EPOCH_NS) / 1_000_000))),
            _ => None,
        })
        .collect();
    assert_eq!(codes["code"].0, 7);
    assert_eq!(codes["endless"], (143, 700));
    assert_eq!(codes["deaf"], (137, 800));
    assert_eq!(codes["forgotten"], (143, 2000));
    assert_eq!(codes["greedy"].0, 137);
}
