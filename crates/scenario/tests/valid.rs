//! What right scenarios mean, and that printing and reading them are inverse.

use headway_levers::lanes::JudgeRecord;
use headway_scenario::schema::{FlowsRecord, HostKind, Pairs, Protocol, SizeKind};
use headway_scenario::{Amount, Document, Overrides, Quantity, QueueLimit, Scalar, ScenarioRecord};
use headway_units::{Bytes, Rate, Span};

const ALL: [(&str, &str); 15] = [
    ("lanes.toml", include_str!("valid/lanes.toml")),
    ("dumbbell.toml", include_str!("valid/dumbbell.toml")),
    ("graph.toml", include_str!("valid/graph.toml")),
    ("fat-tree.toml", include_str!("valid/fat-tree.toml")),
    ("kernels.toml", include_str!("valid/kernels.toml")),
    ("queues.toml", include_str!("valid/queues.toml")),
    ("stacks.toml", include_str!("valid/stacks.toml")),
    ("multi-homed-fat-tree.toml", include_str!("valid/multi-homed-fat-tree.toml")),
    ("bcube.toml", include_str!("valid/bcube.toml")),
    ("tree.toml", include_str!("valid/tree.toml")),
    ("vl2.toml", include_str!("valid/vl2.toml")),
    ("pacing.toml", include_str!("valid/pacing.toml")),
    ("relay.toml", include_str!("valid/relay.toml")),
    ("roce.toml", include_str!("valid/roce.toml")),
    ("variants.toml", VARIANTS),
];

const VARIANTS: &str = include_str!("valid/variants.toml");

fn flows(scenario: &ScenarioRecord, index: usize) -> &FlowsRecord {
    scenario.traffic[index].flows().expect("it is of flows")
}

fn parse(text: &str, sets: &[&str]) -> Document {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    Document::parse(text, "test.toml", &sets).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn valid_scenarios_are_accepted_at_every_point() {
    for (name, text) in ALL {
        let document = Document::parse(text, name, &[]).unwrap_or_else(|problems| panic!("{problems}"));
        document.check_all().unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn what_is_shown_reads_back_equal_at_every_point() {
    for (_, text) in ALL {
        let document = parse(text, &[]);
        let shown = document.show().unwrap();
        let again = parse(&shown, &[]);
        assert_eq!(document.sweep(), again.sweep());
        for point in document.points() {
            assert_eq!(document.scenario(&point).unwrap(), again.scenario(&point).unwrap(), "{shown}");
        }
        assert_eq!(again.show().unwrap(), shown);
    }
}

/// Sides of a relay are Linux' if they do not say otherwise; the window of the long one grows up to the buffer.
#[test]
fn sides_of_a_relay_have_defaults_of_their_own() {
    use headway_scenario::schema::{ReceiveWindow, Stack};
    let document = parse(include_str!("valid/relay.toml"), &[]);
    let scenario = document.scenario(&document.points()[0]).unwrap();
    let most = |window: &Option<ReceiveWindow>| match window {
        Some(ReceiveWindow::Growing(window)) => window.most.unwrap(),
        other => panic!("{other:?}"),
    };
    let relay = scenario.policy[1].relay.as_ref().unwrap();
    assert_eq!((relay.access.0.stack, relay.long.0.stack), (Stack::Linux, Stack::Linux));
    assert_eq!(most(&relay.long.0.receive_window), Bytes::from_kb(64_000));
    assert_eq!(most(&relay.access.0.receive_window), Bytes::from_kb(6_000));
    assert_eq!(relay.long.0.send_buffer, None);
    let relay = scenario.policy[2].relay.as_ref().unwrap();
    assert_eq!(relay.access.0.stack, Stack::Linux, "a control alone names no stack");
    assert_eq!(most(&relay.long.0.receive_window), Bytes::from_kb(32_000));
}

#[test]
fn values_defaults_and_short_forms_are_read() {
    let document = parse(ALL[0].1, &[]);
    let scenario = document.scenario(&document.points()[0]).unwrap();
    assert_eq!(scenario.duration, Span::from_secs(10));
    assert_eq!(scenario.topology.link.rate, Rate::from_mbps(100));
    assert_eq!(scenario.topology.link.delay, Span::from_nanos(500));
    assert_eq!(scenario.topology.link.gap, Bytes::new(20));
    assert_eq!(flows(&scenario, 0).pairs, Pairs::EachDestination);
    assert_eq!(flows(&scenario, 1).pairs, Pairs::Random);
    assert!(matches!(flows(&scenario, 1).size.0, SizeKind::Unlimited(_)));
    let Protocol::Tcp(tcp) = &scenario.policy[1].transport.protocol else { panic!("not TCP") };
    assert_eq!(tcp.control.as_deref(), Some("new-reno"));
    assert_eq!(scenario.policy[1].transport.initial_window, Some(10));
    let Protocol::Mptcp(mptcp) = &scenario.policy[2].transport.protocol else { panic!("not MPTCP") };
    assert_eq!(mptcp.control, "lia");
    let JudgeRecord::Deadline(judge) = &mptcp.lanes.as_ref().unwrap().common.judge else { panic!("not a deadline") };
    assert_eq!(judge.deadline, Span::from_millis(300));
    let between = scenario.claim[1].between.as_ref().unwrap();
    assert_eq!(between.low, Quantity::Span(Span::from_millis(5)));
    assert_eq!(scenario.claim[0].at.get("senders").unwrap().get(0), Some(Scalar::Integer(8)));
}

#[test]
fn the_sweep_is_the_cross_product_with_the_last_name_fastest() {
    let document = parse(ALL[0].1, &[]);
    let points = document.points();
    assert_eq!(points.len(), 11 * 3);
    let shown: Vec<String> = points.iter().take(4).map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["senders = 0, alpha = 0.5", "senders = 0, alpha = 1", "senders = 0, alpha = 2", "senders = 1, alpha = 0.5"]
    );
    let scenario = document.scenario(&points[32]).unwrap();
    assert_eq!(flows(&scenario, 1).senders, Some(10));
    assert_eq!(points[32].get("alpha"), Some(&Scalar::Float(2.0)));
}

fn points(document: &Document) -> Vec<String> {
    document.points().iter().map(ToString::to_string).collect()
}

#[test]
fn variants_set_several_names_and_vary_as_one() {
    let document = parse(VARIANTS, &[]);
    let expected = [
        "size = 10KB, link = slow",
        "size = 10KB, link = fast",
        "size = 10KB, link = fast-shallow",
        "size = 50KB, link = slow",
        "size = 50KB, link = fast",
        "size = 50KB, link = fast-shallow",
    ];
    assert_eq!(points(&document), expected);
    let fast = &document.points()[1];
    assert_eq!(fast.get("buffer"), Some(&Scalar::Text("300KB".into())));
    let scenario = document.scenario(fast).unwrap();
    assert_eq!(scenario.topology.link.rate, Rate::from_gbps(10));
}

#[test]
fn changes_choose_variants_in_their_order_and_change_what_they_set() {
    let chosen = |sets: &[&str]| points(&parse(VARIANTS, &[&["sweep.size=10KB", "claim=[]"], sets].concat()));
    assert_eq!(chosen(&["sweep.link=fast"]), ["size = 10KB, link = fast"]);
    let back = ["size = 10KB, link = fast-shallow", "size = 10KB, link = slow"];
    assert_eq!(chosen(&["sweep.link=fast", "sweep.link=[\"fast-shallow\", \"slow\"]"]), back, "the last one counts");
    let own = "sweep.link={other={rate=\"5Gbps\",buffer=\"9KB\",window=2}}";
    assert_eq!(chosen(&["sweep.link=fast", own]), ["size = 10KB, link = other"]);
    let sets = ["claim=[]", "sweep.link=fast", "sweep.link.fast.rate=5Gbps"];
    for sets in [[sets[0], sets[1], sets[2]], [sets[0], sets[2], sets[1]]] {
        let document = parse(VARIANTS, &sets);
        let scenario = document.scenario(&document.points()[0]).unwrap();
        assert_eq!(scenario.topology.link.rate, Rate::from_gbps(5), "{sets:?}");
    }
}

#[test]
fn a_quick_run_chooses_variants_and_keeps_the_claims_about_them() {
    let quick = |sets: &[&str]| {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        Document::parse_with(VARIANTS, "x.toml", &Overrides { sets, quick: true, ..Overrides::default() })
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let document = quick(&["sweep.size=50KB"]);
    assert_eq!(points(&document), ["size = 50KB, link = fast", "size = 50KB, link = slow"]);
    assert_eq!(document.left_out_claims(), ["Few are unfinished behind shallow buffers"]);
    assert_eq!(points(&quick(&["sweep.size=50KB", "sweep.link=slow"])), ["size = 50KB, link = slow"]);
}

#[test]
fn a_policy_that_is_left_out_takes_what_it_alone_used_out_of_variants() {
    let overrides = |name: &str| Overrides { policies: vec![name.to_owned()], ..Overrides::default() };
    let document = Document::parse_with(VARIANTS, "x.toml", &overrides("plain")).unwrap();
    assert_eq!(document.points().len(), 6);
    assert_eq!(document.points()[0].get("window"), None);
    assert_eq!(document.left_out_claims().len(), 0, "they are about the names that still vary");
    let only = VARIANTS.replace("\"$rate\"", "\"1Gbps\"").replace("\"$buffer\"", "\"30KB\"");
    let only = only.replace("rate = \"1Gbps\", buffer = \"30KB\", window", "window");
    let only = only.replace("rate = \"10Gbps\", buffer = \"300KB\", window", "window");
    let only = only.replace("rate = \"10Gbps\", buffer = \"30KB\", window", "window");
    let document = Document::parse_with(&only, "x.toml", &overrides("plain")).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(points(&document), ["size = 10KB", "size = 50KB"], "nothing is left of the variants");
}

#[test]
fn ranges_include_both_ends_and_take_steps() {
    let values = |range: &str| {
        let document = parse(ALL[0].1, &[&format!("sweep.senders={range}"), "claim=[]"]);
        document.sweep().names().get("senders").map(|all| (0..all.len()).filter_map(|index| all.get(index)).collect())
    };
    let integers = |numbers: &[i64]| Some(numbers.iter().map(|&number| Scalar::Integer(number)).collect::<Vec<_>>());
    assert_eq!(values("0..3"), integers(&[0, 1, 2, 3]));
    assert_eq!(values("\"1..10 step 4\""), integers(&[1, 5, 9]));
    assert_eq!(values("4"), integers(&[4]));
    assert_eq!(values("[7, 2]"), integers(&[7, 2]));
}

#[test]
fn overrides_reach_defaults_names_and_indices() {
    let sets = [
        "policy.mptcp.transport.initial-window=3",
        "traffic.0.size=1MB",
        "topology.queue={ kind = \"drop-tail\", limit = \"100pkt\" }",
        "measure.interval=1ms",
        "sweep.senders=[2]",
        "sweep.alpha=1",
        "claim=[]",
        "repeats=2",
        "repeats=3",
    ];
    let document = parse(ALL[0].1, &sets);
    assert_eq!(document.points().len(), 1);
    let scenario = document.scenario(&document.points()[0]).unwrap();
    assert_eq!(scenario.policy[0].transport.initial_window, Some(3));
    assert!(matches!(&flows(&scenario, 0).size.0, SizeKind::Fixed(size) if size.bytes == Bytes::from_kb(1000)));
    let headway_scenario::schema::QueueRecord::DropTail(queue) = &scenario.topology.queue else {
        panic!("another kind of queue");
    };
    assert_eq!(queue.limit, QueueLimit::AtMost(Amount::Packets(100)));
    assert_eq!(scenario.measure.interval, Span::from_millis(1));
    assert_eq!(scenario.repeats, 3);
}

#[test]
fn defaults_that_follow_from_a_swept_choice_are_not_shown() {
    let shown = parse(ALL[1].1, &[]).show().unwrap();
    let chosen = shown.split("[[policy]]").nth(1).unwrap();
    assert!(chosen.contains("kind = \"$kind\"") && !chosen.contains("\ncontrol ="), "{shown}");
    assert!(shown.contains("initial-rto = \"1s\""), "{shown}");
}

#[test]
fn links_differ_from_the_common_one_in_what_is_written() {
    let document = parse(ALL[1].1, &[]);
    let scenario = document.scenario(&document.points()[0]).unwrap();
    let headway_scenario::schema::ShapeRecord::Dumbbell(dumbbell) = &scenario.topology.shape else {
        panic!("not a dumbbell")
    };
    let bottleneck = dumbbell.bottleneck.over(&scenario.topology.link);
    assert_eq!((bottleneck.rate, bottleneck.delay), (Rate::from_mbps(100), Span::from_millis(5)));
    assert_eq!((bottleneck.loss, bottleneck.gap), (scenario.topology.link.loss, Bytes::new(20)));
}

#[test]
fn kernel_hosts_and_their_settings_are_read() {
    let document = parse(include_str!("valid/kernels.toml"), &[]);
    let scenario = document.scenario(&document.points()[0]).unwrap();
    assert_eq!(scenario.host_kind, HostKind::Modelled);
    let left = scenario.hosts.get("left").unwrap();
    assert_eq!(left.kind, Some(HostKind::Linux));
    let linux = left.linux.as_ref().unwrap();
    assert_eq!((linux.hosts_per_guest, linux.memory), (2, Bytes::from_kb(64_000)));
    let settings: Vec<_> = linux.sysctl.iter().collect();
    assert_eq!(settings, [("net.ipv4.tcp_ecn", "1"), ("net.ipv4.tcp_slow_start_after_idle", "0")]);
    let command = scenario.traffic[1].command().unwrap();
    assert_eq!((&*command.on, command.start), ("right", Span::ZERO));
    let policy = &scenario.policy[0];
    assert_eq!(policy.linux.as_ref().unwrap().qdisc.as_deref(), Some("fq"));
    assert_eq!(policy.transport.linux.as_ref().unwrap().control.as_deref(), Some("cubic"));
}

#[test]
fn all_hosts_can_be_made_kernels_and_back() {
    let text = include_str!("valid/kernels.toml");
    for (kind, word) in [(HostKind::Linux, "linux"), (HostKind::Modelled, "modelled")] {
        let overrides = Overrides { hosts: Some(kind), ..Overrides::default() };
        let document = Document::parse_with(text, "x.toml", &overrides).unwrap();
        let scenario = document.scenario(&document.points()[0]).unwrap();
        assert_eq!(scenario.host_kind, kind);
        assert!(scenario.hosts.iter().all(|(_, group)| group.kind.is_none()));
        assert!(document.show().unwrap().contains(&format!("host-kind = \"{word}\"\n")), "kept with the results");
    }
}

#[test]
fn policies_can_be_left_out_with_the_claims_and_the_sweep_that_are_about_them() {
    let text = include_str!("valid/kernels.toml");
    let overrides = |names: &[&str]| Overrides {
        policies: names.iter().map(|&name| name.to_owned()).collect(),
        ..Overrides::default()
    };
    let document = Document::parse_with(text, "x.toml", &overrides(&["multi", "plain"])).unwrap();
    assert_eq!((document.points().len(), document.left_out_claims().len()), (2, 0));
    let document = Document::parse_with(text, "x.toml", &overrides(&["plain"])).unwrap();
    assert_eq!(document.left_out_claims().len(), 1);
    assert_eq!(document.points().len(), 1, "nothing uses the swept name any more");
    let scenario = document.scenario(&document.points()[0]).unwrap();
    assert_eq!(scenario.policy.len(), 1);
    let again = parse(&document.show().unwrap(), &[]);
    assert_eq!(again.scenario(&again.points()[0]).unwrap(), scenario);
    let unknown = Document::parse_with(text, "x.toml", &overrides(&["plian"])).unwrap_err().to_string();
    assert!(unknown.contains("there is no policy `plian`") && unknown.contains("did you mean `plain`?"), "{unknown}");
}

#[test]
fn a_quick_run_is_what_its_table_says_and_the_command_line_goes_before_it() {
    let text = &include_str!("small.toml").replace("repeats = 2", "repeats = 10");
    let quick = |sets: &[&str]| {
        let sets = sets.iter().map(|&set| set.to_owned()).collect();
        Document::parse_with(text, "x.toml", &Overrides { sets, quick: true, ..Overrides::default() }).unwrap()
    };
    let first = |document: &Document| document.scenario(&document.points()[0]).unwrap();
    let whole = parse(text, &[]);
    let document = quick(&[]);
    let scenario = first(&document);
    assert_eq!(scenario.quick, None, "it is one");
    assert_eq!((scenario.repeats, first(&whole).repeats), (2, 10), "a fifth");
    assert_eq!(scenario.duration, first(&whole).duration);
    let table = "quick={repeats=3,duration=\"20ms\",drain=\"5ms\",set=[\"topology.link.rate=20Gbps\"]}";
    let scenario = first(&quick(&[table]));
    assert_eq!((scenario.repeats, scenario.duration), (3, Span::from_millis(20)));
    assert_eq!((scenario.drain, scenario.topology.link.rate), (Span::from_millis(5), Rate::from_gbps(20)));
    let scenario = first(&quick(&[table, "repeats=4", "topology.link.rate=1Gbps"]));
    assert_eq!((scenario.repeats, scenario.topology.link.rate), (4, Rate::from_gbps(1)));
    let again = parse(&document.show().unwrap(), &[]);
    assert_eq!(first(&again), first(&document), "what is kept with the results");
}

#[test]
fn a_quick_sweep_narrows_claims() {
    let text = include_str!("valid/lanes.toml");
    let sets = vec!["quick={sweep={senders=[0,1,8]}}".to_owned()];
    let document = Document::parse_with(text, "x.toml", &Overrides { sets, quick: true, ..Overrides::default() });
    let document = document.unwrap();
    assert_eq!((document.points().len(), document.left_out_claims().len()), (3 * 3, 0));
    document.check_all().unwrap();
}
