//! Long lanes that carry nothing are measured by joins.

use headway_capture::packet::{ACK, Content, FIN, RST, SYN, parse};
use headway_capture::{Address, Captures};

use super::ran::{Ran, program};
use super::{Lab, counter, quiet, status, switched};

/// A sender that fills no queue itself, under a daemon that looks and probes often.
const SENDER: &str = "./peer send 10.0.0.2:7000 1000000000 chunk=4000 every=1000 life=700000 end=close";
const DAEMON: &str =
    "policy.lanes.linux={daemon={timing={open-after=\"20ms\",probe-interval=\"40ms\",poll-interval=\"10ms\"}}}";

/// At which age in ms [`SENDER`]'s connection is switched while plain TCP fills the long lane from 100 ms on for `life` µs,
/// and the lane's queueing delay in µs at 300 ms.
fn filled(lab: &Lab, life: u64) -> (f64, f64) {
    let fill = format!("./peer send 10.1.0.2:7000 1000000000 from=10.1.0.1 life={life} end=reset");
    let programs = [
        program("monitor", "0ms", "headway-lane monitor --json"),
        program("send", "0ms", SENDER),
        program("fill", "100ms", &fill),
        program("ask", "300ms", "headway-lane status --json"),
    ];
    let lanes = "policy.lanes.transport.lanes={judge={kind=\"link-cost\",deadline=\"300ms\",alpha=4.0}}";
    let ran = lab.twice(&programs, &[lanes, DAEMON, "duration=720ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    let delay = status(outcome, "ask")["lanes"][1]["queueing_delay_us"].as_f64().expect("it was measured");
    (switched(outcome), delay)
}

#[test]
fn a_full_long_lane_is_waited_for_until_it_is_free_again() {
    let Some(lab) = Lab::new() else { return };
    // with empty lanes at the deadline, and 32 ms later for each ms of queue on the long one (docs/lanes.md)
    let (age, delay) = filled(&lab, 1);
    assert!((280.0..330.0).contains(&age) && delay < 500.0, "free: {age} ms, {delay} us");
    let (age, delay) = filled(&lab, 600_000);
    assert!((530.0..640.0).contains(&age) && delay > 7_000.0, "full: {age} ms, {delay} us");
    // known by the first probe after 400 ms
    let (age, delay) = filled(&lab, 300_000);
    assert!((400.0..480.0).contains(&age) && delay > 7_000.0, "full until 400 ms: {age} ms, {delay} us");
}

/// A segment of TCP at one end of a lane.
struct Seen {
    ms: f64,
    /// Of this end.
    port: u16,
    leaves: bool,
    flags: u8,
    payload: u32,
}

/// What a host's capture has of an address of its.
fn segments(ran: &Ran, host: &str, local: &str) -> Vec<Seen> {
    let local: Address = local.parse().unwrap();
    let file = ran.place.path().join(format!("results/captures/0-0/{host}.pcap"));
    let mut packets = Captures::open(&[file.to_str().unwrap().to_owned()]).unwrap();
    let mut found = Vec::new();
    while let Some(packet) = packets.next_packet() {
        let Content::Tcp(segment) = parse(&packet) else { continue };
        let leaves = segment.source == local;
        if leaves || segment.destination == local {
            let port = if leaves { segment.source_port } else { segment.destination_port };
            let ms = packet.time as f64 / 1e6;
            found.push(Seen { ms, port, leaves, flags: segment.flags, payload: segment.payload });
        }
    }
    assert!(packets.errors().is_empty(), "{:?}", packets.errors());
    found
}

#[test]
fn a_lane_is_measured_by_a_new_join_before_the_old_one_goes() {
    let Some(lab) = Lab::new() else { return };
    let programs = [program("send", "0ms", SENDER), program("ask", "595ms", "headway-lane status --json")];
    let lanes = "policy.lanes.transport.lanes={judge={kind=\"link-cost\",deadline=\"10s\"}}";
    let ran = lab.twice(&programs, &[lanes, DAEMON, "measure.capture=[\"left-host0\"]"]);
    quiet(&ran);
    let seen = segments(&ran, "left-host0", "10.1.0.1");
    assert!(seen.iter().all(|one| one.payload == 0), "the lane carries nothing");
    let joins: Vec<&Seen> = seen.iter().filter(|one| one.leaves && one.flags & SYN != 0).collect();
    let first = |port: u16, flags: u8, leaves: bool| {
        let is = |one: &&Seen| one.port == port && one.leaves == leaves && one.flags & flags == flags;
        seen.iter().find(is).map(|one| one.ms)
    };
    for pair in joins.windows(2) {
        let pause = pair[1].ms - pair[0].ms;
        assert!((40.0..60.0).contains(&pause), "{} and {} ms", pair[0].ms, pair[1].ms);
        let there = first(pair[1].port, SYN | ACK, false).expect("it is answered");
        let over = first(pair[0].port, FIN, true).or(first(pair[0].port, RST, true)).expect("it is ended");
        assert!(over >= there && over < there + 5.0, "made at {there}, broken at {over} ms");
    }
    let status = status(&ran.outcomes[0], "ask");
    assert!(joins.len() >= 10 && counter(&status, "opens") == joins.len() as u64, "{} joins: {status}", joins.len());
    assert_eq!(counter(&status, "probes"), counter(&status, "opens") - 1, "{status}");
    assert_eq!(["switched", "flips", "open_failures"].map(|name| counter(&status, name)), [0, 0, 0], "{status}");
    assert_eq!(status["lanes"][1]["subflows"], 1, "{status}");
}
