use headway_control::lossless::Chip;
use headway_scenario::Document;
use headway_scenario::equipment::{Equipment, Wanted};
use headway_scenario::plan::Network;
use serde_json::Value;

use super::args::Marks;
use super::{linux, sonic, table};

const SCENARIO: &str = r#"
name = "lossless"
about = "Four hosts on a switch"
duration = "1s"
[topology]
kind = "two-tier"
leaves = 1
spines = 1
hosts-per-leaf = 4
link = { rate = "10Gbps", delay = "25ns" }
queue = { kind = "drop-tail", limit = "1MB" }
[hosts]
a = { count = 3 }
b = { count = 1 }
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
"#;

fn equipment(chip: Option<&str>) -> Equipment {
    let wanted = Wanted { priorities: vec![3, 4], chip: chip.and_then(Chip::find), ..Wanted::default() };
    equipment_of(SCENARIO, &wanted)
}

fn equipment_of(text: &str, wanted: &Wanted) -> Equipment {
    let document = Document::parse(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
    Equipment::new(&scenario, &Network::build(&scenario).unwrap(), wanted).unwrap()
}

/// Commands by hand from the grammar of `dcb ets help` and the others.
#[test]
fn commands_are_those_of_iproute2() {
    let text = linux::commands(&equipment(None), "eth1").unwrap_or_else(|_| panic!("it has cards"));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "# 4 hosts at 10Gbps, 5 m");
    assert_eq!(
        lines[1],
        "dcb ets set dev eth1 willing off tc-tsa all:strict 0:ets 1:ets 2:ets tc-bw all:0 0:34 1:33 2:33 \
         prio-tc 0:0 1:0 2:0 3:1 4:2 5:0 6:0 7:0"
    );
    // 2 · 250 bits of cable, 2 · 8,192 and 30,720
    assert_eq!(lines[2], "dcb pfc set dev eth1 prio-pfc all:off 3:on 4:on delay 47604");
    let headroom = equipment(None).links[0].headroom.get();
    assert_eq!(
        lines[3],
        format!(
            "dcb buffer set dev eth1 prio-buffer 0:0 1:0 2:0 3:1 4:2 5:0 6:0 7:0 buffer-size 1:{headroom} 2:{headroom}"
        )
    );
    assert_eq!(lines[4], "dcb app replace dev eth1 dscp-prio 0:0");
    assert_eq!(lines[11], "dcb app replace dev eth1 dscp-prio 56:7");
    for wrong in ["", "a b", "$(reboot)", "a-name-of-16-byte"] {
        assert!(linux::commands(&equipment(None), wrong).is_err(), "{wrong}");
    }
}

/// Every value is text, every name that is referred to is there, and the headroom is that of a published profile:
/// `pg_lossless_10000_5m_profile` of Spectrum has 49,152 B, 19,456 of them XON (sonic-utilities, version 1.0.4; computed
/// for packets of 9,100 B).
#[test]
fn the_fragment_is_whole() {
    let own = equipment(Some("spectrum"));
    let (_, ports) = own.switches.iter().find(|(name, _)| name == "leaf0").unwrap();
    for marks in [Marks::Dcqcn, Marks::Dctcp, Marks::None] {
        let all = sonic::fragment(&own, ports, 4, Some(marks)).unwrap();
        only_text(&all);
        let keys = |table: &str| -> Vec<String> {
            all[table].as_object().unwrap_or_else(|| panic!("{table}")).keys().cloned().collect()
        };
        let names = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12", "Ethernet16"];
        let mut found = keys("PORT_QOS_MAP");
        found.sort_by_key(|name| name[8..].parse::<u32>().unwrap());
        assert_eq!(found, names);
        for (port, map) in all["PORT_QOS_MAP"].as_object().unwrap() {
            assert_eq!((&map["pfc_enable"], &map["pfcwd_sw_enable"]), (&"3,4".into(), &"3,4".into()), "{port}");
            for (field, table) in [
                ("dscp_to_tc_map", "DSCP_TO_TC_MAP"),
                ("tc_to_queue_map", "TC_TO_QUEUE_MAP"),
                ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
                ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
            ] {
                assert!(all[table][map[field].as_str().unwrap()].is_object(), "{field}");
            }
        }
        assert_eq!(keys("BUFFER_PG").len(), 2 * names.len());
        for (_, group) in all["BUFFER_PG"].as_object().unwrap() {
            let profile = &all["BUFFER_PROFILE"][group["profile"].as_str().unwrap()];
            let number = |key: &str| profile[key].as_str().unwrap().parse::<u64>().unwrap();
            assert_eq!(number("size"), number("xon") + number("xoff"));
            assert_eq!(number("xon"), 19_456);
            assert!(all["BUFFER_POOL"][profile["pool"].as_str().unwrap()].is_object());
        }
        for (_, queue) in all["QUEUE"].as_object().unwrap() {
            assert!(all["SCHEDULER"][queue["scheduler"].as_str().unwrap()].is_object());
            if let Some(marks) = queue.get("wred_profile") {
                let own = &all["WRED_PROFILE"][marks.as_str().unwrap()];
                let number = |key: &str| own[key].as_str().unwrap().parse::<u64>().unwrap();
                assert!(number("green_min_threshold") <= number("green_max_threshold"));
                assert!(number("green_drop_probability") <= 100);
            }
        }
        assert_eq!(all.get("WRED_PROFILE").is_some(), marks != Marks::None);
        for (_, watchdog) in all["PFC_WD"].as_object().unwrap() {
            // sonic-pfcwd.yang: 100..5000 and 100..60000 ms
            for (key, most) in [("detection_time", 5_000), ("restoration_time", 60_000)] {
                let ms: u64 = watchdog[key].as_str().unwrap().parse().unwrap();
                assert!((100..=most).contains(&ms));
            }
        }
        assert_eq!(all["DSCP_TO_TC_MAP"]["HEADWAY"]["26"], "3");
        assert_eq!(all["TC_TO_PRIORITY_GROUP_MAP"]["HEADWAY"]["5"], "0");
    }
}

fn only_text(value: &Value) {
    match value {
        Value::Object(all) => all.values().for_each(only_text),
        other => assert!(other.is_string(), "{other}"),
    }
}

#[test]
fn tables_and_json_have_all_cables_and_classes() {
    let own = equipment(None);
    let text = table::text(&own);
    for word in ["10Gbps", "5 m", "priority 3", "34 %", "best effort", "208B"] {
        assert!(text.contains(word), "{word} is not in\n{text}");
    }
    let json = table::json(&own);
    assert_eq!(json["links"].as_array().unwrap().len(), own.links.len());
    assert_eq!(json["links"][0]["headroom_bytes"], own.links[0].headroom.get());
    assert_eq!(json["classes"].as_array().unwrap().len(), 3);
}

/// The fragment of `leaf0`.
fn fragment(own: &Equipment) -> Value {
    let (_, ports) = own.switches.iter().find(|(name, _)| name == "leaf0").unwrap();
    sonic::fragment(own, ports, 4, None).unwrap_or_else(|failure| panic!("{}", failure.render(false)))
}

/// The watchdog takes the bits of its mask for queues, so a lossless priority is in the queue of its number; no lossless
/// group has what may be lost.
#[test]
fn lossless_queues_have_the_number_of_their_priority() {
    for asked in [&[3, 4][..], &[0], &[0, 3], &[7, 1], &[0, 1, 2, 3, 4, 5, 6, 7]] {
        let own = equipment_of(SCENARIO, &Wanted { priorities: asked.to_vec(), ..Wanted::default() });
        let all = fragment(&own);
        let map =
            |table: &str, own: u8| all[table]["HEADWAY"][own.to_string()].as_str().unwrap().parse::<u8>().unwrap();
        let mut sorted = asked.to_vec();
        sorted.sort_unstable();
        let list = sorted.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        assert_eq!(all["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], list.as_str());
        for priority in 0..8 {
            assert_eq!(map("MAP_PFC_PRIORITY_TO_QUEUE", priority), priority);
            let (queue, group) = (map("TC_TO_QUEUE_MAP", priority), map("TC_TO_PRIORITY_GROUP_MAP", priority));
            if asked.contains(&priority) {
                assert_eq!((queue, group), (priority, priority));
            } else {
                assert!(
                    !asked.contains(&queue) && !asked.contains(&group),
                    "{asked:?}: {priority} in {queue}, {group}"
                );
            }
            let scheduler = &all["QUEUE"][format!("Ethernet0|{queue}")]["scheduler"];
            assert!(all["SCHEDULER"][scheduler.as_str().unwrap()].is_object());
        }
    }
}

/// Without a class of its own for priority 0, or for any, commands stay in the ranges of `dcb`.
#[test]
fn buffers_of_cards_are_0_to_7() {
    let commands = |asked: &[u8]| {
        linux::commands(&equipment_of(SCENARIO, &Wanted { priorities: asked.to_vec(), ..Wanted::default() }), "eth0")
    };
    let text = commands(&[0]).unwrap_or_else(|_| panic!("it has cards"));
    assert!(text.contains("prio-pfc all:off 0:on"), "{text}");
    assert!(!text.contains("1:on") && text.contains("prio-buffer 0:1 1:0 2:0 3:0"), "{text}");
    let seven = commands(&[0, 1, 2, 3, 4, 5, 6]).unwrap_or_else(|_| panic!("it has cards"));
    assert!(seven.contains("6:7 7:0 buffer-size 1:"), "{seven}");
    let failure = commands(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap_err().render(false);
    assert!(failure.contains("eight lossless priorities"), "{failure}");
}

fn with_policy(keys: &str) -> Equipment {
    let text = format!("{SCENARIO}[policy.lossless]\npriorities = [3]\n{keys}\n");
    equipment_of(&text, &Wanted { policy: Some(0), ..Wanted::default() })
}

#[test]
fn the_fragment_has_the_settings_of_the_policy() {
    let own = with_policy(
        "xoff = \"60KB\"\nxon = \"20KB\"\nheadroom = \"40KB\"\n\
         watchdog = { detect = \"300ms\", restore = \"2s\", action = \"forward\" }\n\
         classes = { rdma = { priorities = [3, 4], share = 3, ecn = { min = \"5KB\", max = \"200KB\", probability = 0.01 } }, \
         control = { priorities = [6, 7], strict = true } }",
    );
    let all = fragment(&own);
    only_text(&all);
    assert_eq!(all["BUFFER_POOL"]["ingress_lossless_pool"]["mode"], "static");
    for (name, profile) in all["BUFFER_PROFILE"].as_object().unwrap() {
        let own = ["xon", "static_th", "xoff", "size"].map(|key| profile[key].as_str().unwrap());
        assert_eq!(own, ["20000", "40000", "40000", "60000"], "{name}");
        assert!(profile.get("dynamic_th").is_none());
    }
    let watchdog = &all["PFC_WD"]["Ethernet0"];
    let times = ["detection_time", "restoration_time", "action"].map(|key| watchdog[key].as_str().unwrap());
    assert_eq!(times, ["300", "2000", "forward"]);
    // 3 of 4 parts for two queues, of which one may be lost; priority 6 is behind 7
    let weight = |queue: u8| all["SCHEDULER"][format!("scheduler.{queue}")]["weight"].as_str();
    assert_eq!((weight(3), weight(4), weight(0), weight(7)), (Some("37"), Some("37"), Some("25"), None));
    assert_eq!(all["TC_TO_QUEUE_MAP"]["HEADWAY"]["6"], "7");
    let marks = all["QUEUE"]["Ethernet0|3"]["wred_profile"].as_str().unwrap();
    let marks = &all["WRED_PROFILE"][marks];
    let own = ["green_min_threshold", "green_max_threshold", "green_drop_probability"].map(|key| marks[key].as_str());
    assert_eq!(own, [Some("5000"), Some("200000"), Some("1")]);
    assert!(all["QUEUE"]["Ethernet0|0"].get("wred_profile").is_none());
}

#[test]
fn shares_of_a_buffer_are_powers_of_two() {
    let of = |alpha: &str| {
        with_policy(&format!("buffer = {{ size = \"20MB\", alpha = {alpha}, reserve = \"5KB\", offset = \"1KB\" }}"))
    };
    for (alpha, exponent) in [("0.5", "-1"), ("0.4", "-2"), ("64.0", "6")] {
        let all = fragment(&of(alpha));
        let (_, profile) = all["BUFFER_PROFILE"].as_object().unwrap().iter().next().unwrap();
        let own = ["dynamic_th", "xon", "xon_offset"].map(|key| profile[key].as_str());
        assert_eq!(own, [Some(exponent), Some("5000"), Some("1000")]);
    }
    let own = of("0.001");
    assert!(sonic::fragment(&own, &own.switches[0].1, 4, None).is_err());
}

#[test]
fn watchdogs_have_times_that_sonic_knows() {
    for (times, fine) in
        [("1ms\", restore = \"1s", false), ("100ms\", restore = \"61s", false), ("5s\", restore = \"60s", true)]
    {
        let own = with_policy(&format!("watchdog = {{ detect = \"{times}\" }}"));
        assert_eq!(sonic::fragment(&own, &own.switches[0].1, 4, None).is_ok(), fine, "{times}");
    }
}

/// 1 ns and 5 ns are both a metre of cable: the profile has the headroom of the longer one, whichever comes last.
#[test]
fn a_profile_has_the_largest_headroom_of_its_name() {
    let text =
        SCENARIO.replace("delay = \"25ns\" }", "delay = \"5ns\" }\nuplink = { rate = \"10Gbps\", delay = \"1ns\" }");
    let own = equipment_of(&text, &Wanted { priorities: vec![3], ..Wanted::default() });
    let all = fragment(&own);
    let profiles = all["BUFFER_PROFILE"].as_object().unwrap();
    assert_eq!(profiles.len(), 1);
    let most = own.links.iter().map(|link| link.headroom.get()).max().unwrap();
    assert!(own.links.iter().any(|link| link.headroom.get() < most));
    assert_eq!(profiles.values().next().unwrap()["xoff"], most.to_string().as_str());
}
