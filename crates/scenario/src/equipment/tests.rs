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
    equipment_of(LEAF_SPINE, wanted)
}

fn equipment_of(text: &str, wanted: &Wanted) -> Result<Equipment, PlanError> {
    let document = Document::parse(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
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
        assert_eq!(Some(found.headroom(link)), link.chip_headroom);
        assert!(link.needed() != link.headroom);
        assert_eq!(link.cells, link.needed().get().div_ceil(96));
    }
}

#[test]
fn classes_follow_from_the_traffic_and_shares_add_up() {
    let found = equipment(&Wanted { priorities: vec![3, 5], ..three() }).unwrap();
    let names: Vec<(&str, &[u8])> = found.classes.iter().map(|c| (c.name.as_str(), &c.lossless[..])).collect();
    assert_eq!(names, [("best effort", &[][..]), ("priority 3", &[3]), ("priority 5", &[5])]);
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

/// Shares of 3 and 1, and a strict class behind them, as the highest traffic class goes first; what no class has is in
/// one of its own.
#[test]
fn a_policy_says_its_classes() {
    let found = equipment(&Wanted { policy: Some(1), ..Wanted::default() }).unwrap();
    let classes: Vec<(&str, bool, u32, &[u8])> =
        found.classes.iter().map(|c| (c.name.as_str(), c.strict, c.share, &c.lossless[..])).collect();
    assert_eq!(classes, [("storage", false, 75, &[3][..]), ("others", false, 25, &[]), ("control", true, 0, &[])]);
    assert_eq!((found.lossless(), found.class_of(0).number, found.class_of(7).number), (vec![3], 1, 2));
    assert_eq!(found.settings, Settings::default());
}

/// Of several strict classes the one with the highest priority goes first, which traffic classes do by number.
#[test]
fn strict_classes_go_by_priority() {
    let text = LEAF_SPINE.replace(
        "classes = { ",
        "classes = { high = { priorities = [6, 1], strict = true }, low = { priorities = [5], strict = true }, ",
    );
    let found = equipment_of(&text, &Wanted { policy: Some(1), ..Wanted::default() }).unwrap();
    let names: Vec<&str> = found.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["storage", "others", "low", "high", "control"]);
}

/// Nobody asked for the priorities that are not used, nor for those that share a class with a lossless one.
#[test]
fn lossless_priorities_are_those_that_were_asked_for() {
    for (asked, classes) in [
        (&[0][..], &[(&[1, 2, 4, 5, 6, 7][..], &[][..]), (&[0], &[0]), (&[3], &[])][..]),
        (&[3, 0], &[(&[1, 2, 4, 5, 6, 7], &[]), (&[0], &[0]), (&[3], &[3])]),
    ] {
        let found = equipment(&Wanted { priorities: asked.to_vec(), ..three() }).unwrap();
        let own: Vec<(&[u8], &[u8])> = found.classes.iter().map(|c| (&c.priorities[..], &c.lossless[..])).collect();
        assert_eq!(own, classes);
    }
    let all = equipment(&Wanted { priorities: (0..8).collect(), ..three() }).unwrap();
    assert_eq!(all.lossless(), (0..8).collect::<Vec<u8>>());
    assert_eq!(all.classes.len(), 8);
    let text = LEAF_SPINE.replace("storage = { priorities = [3]", "storage = { priorities = [3, 2]");
    let mixed = equipment_of(&text, &Wanted { policy: Some(1), ..Wanted::default() }).unwrap();
    assert_eq!((mixed.lossless(), &mixed.class_of(2).name), (vec![3], &mixed.class_of(3).name));
}

#[test]
fn a_policy_says_thresholds_headroom_response_and_watchdog() {
    let own = |keys: &str| {
        let text = LEAF_SPINE.replace("priorities = [3]\n", &format!("priorities = [3]\n{keys}\n"));
        equipment_of(&text, &Wanted { policy: Some(1), ..Wanted::default() }).unwrap()
    };
    let plain = own("");
    let frame = 2_282 + 18;
    let fixed = own("xoff = \"60KB\"\nheadroom = \"40KB\"");
    let xoff = Bytes::from_kb(60);
    assert_eq!(fixed.settings.threshold, Some(Threshold::Fixed { xoff, xon: Bytes::new(60_000 - 2 * frame) }));
    let link = &fixed.links[0];
    assert_eq!((fixed.headroom(link), link.cells), (Bytes::from_kb(40), cells(Bytes::from_kb(40), fixed.cell)));
    assert_eq!(link.headroom, plain.links[0].headroom);

    let shared = own("buffer = { size = \"12MB\", alpha = 0.5, reserve = \"2KB\", offset = \"1KB\" }");
    let (reserve, offset) = (Bytes::from_kb(2), Bytes::from_kb(1));
    assert_eq!(shared.settings.threshold, Some(Threshold::Share { alpha: 0.5, reserve, offset }));

    // 100,000 bits of response in place of the bound, 30,720
    let late = own("response = \"10us\"\nwatchdog = { detect = \"400ms\", restore = \"1s\" }");
    assert_eq!(late.links[0].delay_bits, plain.links[0].delay_bits - 30_720 + 100_000);
    assert_eq!(late.links[0].headroom, plain.links[0].headroom + Bytes::new((100_000 - 30_720) / 8));
    assert_eq!(
        late.settings.watchdog.map(|own| (own.detect, own.restore)),
        Some((Span::from_millis(400), Span::from_secs(1)))
    );
}

/// Of classes first, and of the topology's queues.
#[test]
fn marks_are_those_of_the_scenario() {
    let text = LEAF_SPINE
        .replace("limit = \"1MB\"", "limit = \"1MB\", mark = \"90KB\"")
        .replace("share = 3 }", "share = 3, mark = \"50KB\" }");
    let found = equipment_of(&text, &Wanted { policy: Some(1), ..Wanted::default() }).unwrap();
    assert!(found.links.iter().all(|link| link.mark == Some(Bytes::from_kb(90))));
    assert_eq!(found.class_of(3).marks, Some(Marks::Step(Bytes::from_kb(50))));
    assert_eq!(found.class_of(0).marks, None);
}

#[test]
fn a_policy_without_priority_flow_control_has_no_plan() {
    for (keys, words) in [("pause = \"802.3x\"", "stops a whole link"), ("pause = \"none\"", "nothing pauses")] {
        let text = LEAF_SPINE.replace("priorities = [3]\n", &format!("{keys}\n"));
        let wanted = Wanted { policy: Some(1), ..Wanted::default() };
        let message = format!("{:?}", equipment_of(&text, &wanted).unwrap_err());
        assert!(message.contains(words), "{message}");
        let own = equipment_of(&text, &Wanted { priorities: vec![3], ..wanted }).unwrap();
        assert_eq!(own.lossless(), [3]);
    }
}
