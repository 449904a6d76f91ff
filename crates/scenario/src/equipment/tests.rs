use super::*;
use crate::Document;

/// 10 Gb/s cables of 100 m at 5 ns/m, as in the published example of the worst-case sum; spines at 100 Gb/s.
const LEAF_SPINE: &str = r#"
name = "lossless"
about = "A leaf and a spine"
duration = "1s"
[topology]
kind = "two-tier"
leaves = 2
spines = 1
hosts-per-leaf = 4
link = { rate = "10Gbps", delay = "500ns" }
uplink = { rate = "100Gbps", delay = "10ns" }
queue = { kind = "drop-tail", limit = "1MB" }
mtu = "2282B"
[hosts]
a = { count = 4 }
b = { count = 4 }
[[traffic]]
name = "storage"
from = "a"
to = "b"
size = "1MB"
arrival = { kind = "once" }
priority = 3
[[policy]]
name = "plain"
transport = { kind = "tcp" }
[[policy]]
name = "dcb"
transport = { kind = "tcp" }
[policy.lossless]
priorities = [3]
classes = { control = { priorities = [7], strict = true }, storage = { priorities = [3], share = 3 } }
"#;

fn equipment(wanted: &Wanted) -> Result<Equipment, PlanError> {
    let document = Document::parse(LEAF_SPINE, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
    Equipment::new(&scenario, &Network::build(&scenario).unwrap(), wanted)
}

fn three() -> Wanted {
    Wanted { priorities: vec![3], mtu: Some(Bytes::new(9_198)), ..Wanted::default() }
}

/// 9,216 and 2,300 B on 100 m at 10 Gb/s: 150,224 bits (the source is at the formula).
#[test]
fn headroom_is_that_of_the_published_example() {
    let found = equipment(&three()).unwrap();
    let hosts: Vec<&Link> = found.links.iter().filter(|link| link.from == NodeKind::Host).collect();
    let [host] = hosts[..] else { panic!("{hosts:?}") };
    assert_eq!((host.headroom, host.count, host.metres()), (Bytes::new(150_224 / 8), 8, 99));
    // cable, interfaces and response alone, in bits: 2 · 5,000 + 2 · 8,192 + 30,720
    assert_eq!(host.delay_bits, 57_104);
    assert_eq!(host.cells, cells(host.headroom, Bytes::new(208)));
    assert_eq!(host.chip_headroom, None);
    // leaf to spine, and back
    let up: Vec<usize> = found.links.iter().filter(|l| l.from == NodeKind::Switch).map(|l| l.count).collect();
    assert_eq!(up, [4]);
}

#[test]
fn a_chip_has_headroom_of_its_own() {
    let found = equipment(&Wanted { chip: Chip::find("spectrum"), ..three() }).unwrap();
    assert_eq!(found.cell, Bytes::new(96));
    for link in &found.links {
        assert_eq!(Some(link.chosen()), link.chip_headroom);
        assert!(link.chosen() != link.headroom);
        assert_eq!(link.cells, link.chosen().get().div_ceil(96));
    }
}

#[test]
fn classes_follow_from_the_traffic_and_shares_add_up() {
    let found = equipment(&Wanted { priorities: vec![3, 5], ..three() }).unwrap();
    let names: Vec<(&str, bool)> = found.classes.iter().map(|c| (c.name.as_str(), c.lossless)).collect();
    assert_eq!(names, [("priority 0", false), ("priority 3", true), ("priority 5", true)]);
    assert_eq!(found.classes.iter().map(|class| class.share).sum::<u32>(), 100);
    assert_eq!(found.lossless(), [3, 5]);
    let mut all: Vec<u8> = found.classes.iter().flat_map(|class| class.priorities.clone()).collect();
    all.sort_unstable();
    assert_eq!(all, (0..8).collect::<Vec<u8>>(), "each priority once");
    assert_eq!((found.class_of(3).number, found.class_of(7).number), (1, 0));
}

/// Three hops: 2,300 and 64 B with 20 B between at 10, 100 and 100 and 10 Gb/s, and four cables each way.
#[test]
fn the_round_trip_is_that_of_the_longest_path() {
    let found = equipment(&three()).unwrap();
    let nanos = 2.0 * 2_404.0 * 0.8 + 2.0 * 2_404.0 * 0.08 + 2.0 * (2.0 * 500.0 + 2.0 * 10.0);
    assert!((found.rtt.as_secs_f64() * 1e9 - nanos).abs() < 0.01, "{} and {nanos} ns", found.rtt);
    let own = equipment(&Wanted { rtt: Some(Span::from_millis(1)), ..three() }).unwrap();
    assert_eq!(own.links[0].dctcp, dctcp_mark(own.links[0].rate, Span::from_millis(1)));
}

#[test]
fn switches_have_their_ports() {
    let found = equipment(&three()).unwrap();
    let ports: Vec<(&str, usize)> = found.switches.iter().map(|(name, ports)| (name.as_str(), ports.len())).collect();
    let mut sorted = ports.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, [("leaf0", 5), ("leaf1", 5), ("spine0", 2)]);
    for (name, all) in &found.switches {
        for port in all {
            let host = port.peer.contains("host");
            assert_eq!(found.links[port.link].from == NodeKind::Host, host, "{name} {port:?}");
        }
    }
}

#[test]
fn mistakes_are_told() {
    let message = |wanted: &Wanted| format!("{:?}", equipment(wanted).unwrap_err());
    assert!(message(&Wanted::default()).contains("which priorities are lossless"));
    assert!(message(&Wanted { priorities: vec![8], ..three() }).contains("8 is none"));
    assert!(message(&Wanted { mtu: Some(Bytes::new(1500)), ..three() }).contains("2.282KB"));
}

/// Shares of 3 and 1 behind a strict class; what no class has is in one of its own.
#[test]
fn a_policy_says_its_classes() {
    let found = equipment(&Wanted { policy: Some(1), ..Wanted::default() }).unwrap();
    let classes: Vec<(&str, bool, u32, bool)> =
        found.classes.iter().map(|c| (c.name.as_str(), c.strict, c.share, c.lossless)).collect();
    assert_eq!(classes, [("control", true, 0, false), ("storage", false, 75, true), ("others", false, 25, false)]);
    assert_eq!((found.lossless(), found.class_of(0).number, found.class_of(7).number), (vec![3], 2, 0));
}

#[test]
fn shares_are_whole() {
    assert_eq!(shares(&[1, 1, 1]), [34, 33, 33]);
    assert_eq!(shares(&[3, 1]), [75, 25]);
    assert_eq!(shares(&[]), Vec::<u32>::new());
}
