//! Traffic that is listed, and traffic on connections that are there already.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use headway_experiment::{Destination, Experiment, Interruption, Planned, Request, Source, measured};
use headway_results::{FlowRecord, Folder};
use headway_scenario::Document;
use headway_units::Span;

const SMALL: &str = include_str!("../../scenario/tests/small.toml");

/// Runs `text` and keeps its results in `place`; gives the flows of repeat 0 of each policy.
fn run(text: &str, folder: &Path, place: &Path) -> Vec<Vec<FlowRecord>> {
    let source = Source { name: "list.toml".into(), text: text.to_owned(), folder: folder.to_path_buf() };
    let request = Request { threads: Some(1), no_report: true, ..Request::default() };
    let planned = Planned::new(&source, Destination::New(place.to_path_buf()), &request);
    let opened = planned.unwrap_or_else(|error| panic!("{error}")).open(&mut |_| {}).unwrap();
    opened.run(&Interruption::default(), &mut |_, _| {}).unwrap();
    let mut flows = vec![Vec::new(); 2];
    for (job, flow) in Folder::open(place).unwrap().flows().unwrap().map(Result::unwrap) {
        if job.repeat == 0 {
            flows[job.cell as usize].push(flow);
        }
    }
    flows
}

/// [`SMALL`] with a list in place of its traffic.
fn replaying(keys: &str) -> String {
    let (head, tail) = (SMALL.find("[[traffic]]").unwrap(), SMALL.find("[[policy]]").unwrap());
    format!("{}[[traffic]]\nname = \"list\"\nkind = \"replay\"\n{keys}\n\n{}", &SMALL[..head], &SMALL[tail..])
}

fn problem(text: &str, folder: &Path) -> String {
    match Document::parse(text, "list.toml", &[]) {
        Ok(document) => Experiment::new(&document, folder).expect_err("it is wrong").to_string(),
        Err(problems) => problems.to_string(),
    }
}

/// What says of a flow how it went.
fn course(flow: &FlowRecord) -> (u64, &str, &str, Option<u64>, Option<u64>, u32, u32) {
    let FlowRecord { source, destination, bytes, retransmissions, timeouts, .. } = flow;
    (
        flow.start.picos(),
        source,
        destination,
        *bytes,
        flow.end.map(headway_units::Time::picos),
        *retransmissions,
        *timeouts,
    )
}

/// On one path nothing but the list decides: a run's own flows, replayed, end when they ended.
#[test]
fn the_flows_of_a_run_replayed_from_any_form_are_that_run_again() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let drawn = run(SMALL, folder, &folder.join("drawn"));
    assert!(drawn[0].len() > 10, "{}", drawn[0].len());
    fs::copy(folder.join("drawn/flows.parquet"), folder.join("flows.parquet")).unwrap();
    let mut csv = String::from("start_ps,source,destination,bytes\n");
    let mut matrix = format!("Nodes 5\nConnections {}\n", drawn[0].len());
    for flow in &drawn[0] {
        let (start, bytes) = (flow.start.picos(), flow.bytes.unwrap());
        writeln!(csv, "{start},{},{},{bytes}", flow.source, flow.destination).unwrap();
        let index = |name: &str| {
            if name == "right-host0" { 4 } else { name.strip_prefix("left-host").unwrap().parse().unwrap() }
        };
        writeln!(matrix, "{}->{} start {start} size {bytes}", index(&flow.source), index(&flow.destination)).unwrap();
    }
    fs::write(folder.join("flows.csv"), csv).unwrap();
    fs::write(folder.join("flows.cm"), matrix).unwrap();
    for (nth, keys) in [
        "file = \"flows.csv\"",
        "file = \"flows.cm\"",
        "file = \"flows.parquet\"\nselect = { policy = \"plain\", repeat = 0 }",
    ]
    .into_iter()
    .enumerate()
    {
        let replayed = run(&replaying(keys), folder, &folder.join(format!("replayed-{nth}")));
        for (before, after) in drawn.iter().zip(&replayed) {
            let [before, after] = [before, after].map(|flows| flows.iter().map(course).collect::<Vec<_>>());
            assert_eq!(before, after, "{keys}");
        }
    }
}

#[test]
fn times_count_from_the_start_and_sizes_are_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let text = "start,source,destination,size\n0s,1,4,1KB\n10ms,0,4,20KB\n60ms,0,4,1KB\n";
    fs::write(folder.join("flows.csv"), text).unwrap();
    let keys = "file = \"flows.csv\"\nstart = \"5ms\"\nstop = \"50ms\"\nshort = \"1KB\"";
    let flows = &run(&replaying(keys), folder, &folder.join("out"))[0];
    let found: Vec<_> = flows.iter().map(|flow| (flow.start.picos() / 1_000_000_000, &*flow.traffic)).collect();
    assert_eq!(found, [(5, "list/short"), (15, "list/long")]);
}

#[test]
fn lists_that_are_none_are_refused_with_file_and_line() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    write("bad.csv", b"start_us,source,destination,bytes\n0,left-host0,right-host0,5\n0,left-host0,right-host,5\n");
    write("late.csv", b"start_s,source,destination,bytes\n7,0,4,5\n");
    write("cut.parquet", b"PAR1 and no more");
    fs::create_dir(folder.join("folder")).unwrap();
    for (keys, message) in [
        ("file = \"bad.csv\"", "bad.csv: line 3: there is no host `right-host`"),
        ("file = \"bad.csv\"", "did you mean `right-host0`?"),
        (
            "file = \"late.csv\"",
            "late.csv: no flow starts within 200ms, the time from `start` to the end: the first starts at 7s",
        ),
        ("file = \"cut.parquet\"", "cut.parquet: "),
        ("file = \"none.csv\"", "none.csv: No such file"),
        ("file = \"folder\"", "folder: it is a folder, not a file"),
        ("file = \"bad.csv\"\nhosts = \"middle\"", "there is no host group `middle`"),
    ] {
        let found = problem(&replaying(keys), folder);
        assert!(found.contains(message), "{found}");
        assert!(found.contains("list.toml:"), "{found}");
    }
}

/// [`SMALL`] with these keys of its traffic in place of size and arrival.
fn small(keys: &str) -> String {
    let text = SMALL.replace("size = \"50KB\"\narrival = { kind = \"poisson\", mean = \"50ms\" }\n", keys);
    assert_ne!(text, SMALL);
    text
}

fn flows_of(text: &str) -> Vec<Vec<FlowRecord>> {
    let place = tempfile::tempdir().unwrap();
    run(text, place.path(), &place.path().join("out"))
}

fn named<'a>(flows: &'a [FlowRecord], name: &str) -> Vec<&'a FlowRecord> {
    flows.iter().filter(|flow| &*flow.traffic == name).collect()
}

/// A single frame on an idle path: over 30 us of cables, at 100, 20 and 100 Mb/s. A request is one frame more the other
/// way; who opens a connection first waits for SYN and SYN-ACK.
#[test]
fn a_message_on_a_warm_connection_takes_what_its_frames_take() {
    let one = "size = \"1KB\"\narrival = \"once\"\nstart = \"20ms\"\nsenders = 1\n";
    let times = |connections: &str| {
        let flows = flows_of(&small(&format!("{one}{connections}")));
        let own = named(&flows[0], "flows");
        assert_eq!(own.len(), 1, "{connections}");
        (own[0].fct().unwrap(), own[0].ideal.unwrap())
    };
    let (apart, ideal) = times("");
    let (warm, own_ideal) = times("connections = {}\n");
    assert_eq!((warm, own_ideal), (ideal, ideal), "no handshake, no other frame");
    let (asked, with_request) = times("connections = { request = \"100B\" }\n");
    // the acknowledgement of the request leaves before the program hears of it and answers: 84 B at 100 Mb/s
    let one_ack = Span::from_nanos(6_720);
    assert_eq!(asked, with_request + one_ack);
    assert!(asked > warm + warm / 10, "{asked} {warm}");
    // as with a connection of its own, but that the third part of the handshake leaves first
    let first_use = times("connections = { open = \"first-use\" }\n").0;
    assert_eq!(first_use, apart + one_ack);
    assert!(apart > ideal);
}

/// Connections change nothing of what is sent, and carry all of it.
#[test]
fn messages_are_the_flows_that_there_are_without_connections() {
    let keys = "size = { kind = \"uniform\", min = \"1KB\", max = \"60KB\" }\narrival = { kind = \"poisson\", mean = \"40ms\" }\nstart = \"10ms\"\n";
    let sent = |flows: &[FlowRecord]| -> Vec<(u64, String, Option<u64>)> {
        let own = named(flows, "flows");
        own.iter().map(|flow| (flow.start.picos(), flow.source.to_string(), flow.bytes)).collect()
    };
    let apart = flows_of(&small(keys));
    for connections in ["per-pair = 2", "open = \"first-use\", per-pair = 3", "request = \"2KB\""] {
        let pooled = flows_of(&small(&format!("{keys}connections = {{ {connections} }}\n")));
        for (apart, pooled) in apart.iter().zip(&pooled) {
            assert_eq!(sent(apart), sent(pooled), "{connections}");
        }
        let own = named(&pooled[0], "flows");
        assert!(own.len() > 10 && own.iter().all(|flow| flow.end.is_some() && Some(flow.delivered) == flow.bytes));
        let kept = named(&pooled[0], "flows/connection");
        let (most, least) = if connections.contains("request") {
            (4, 4)
        } else if connections.contains("first") {
            (12, 4)
        } else {
            (8, 8)
        };
        assert!((least..=most).contains(&kept.len()), "{connections}: {}", kept.len());
        assert!(kept.iter().all(|flow| flow.end.is_none() && flow.bytes.is_none()), "they stay open");
        // every byte went over one of them
        let requests = if connections.contains("request") { 2000 * own.len() as u64 } else { 0 };
        let [carried, delivered] = [&kept, &own].map(|flows| flows.iter().map(|flow| flow.delivered).sum::<u64>());
        assert_eq!(carried, delivered + requests, "{connections}");
        let [all, charged] = [&kept, &own].map(|flows| flows.iter().map(|flow| flow.retransmissions).sum::<u32>());
        assert!(charged <= all, "{connections}: {charged} of {all}");
    }
}

/// 50 KB are 35 packets. A host's line is five times as fast as the bottleneck, so they wait there, but for the first of a
/// burst; the line's own queue has what its windows have at once. Messages have the packets of their connections, each
/// once, and with a request one more.
#[test]
fn waits_of_flows_are_told_apart_by_hosts_and_switches() {
    let measuring = |text: &str| format!("{text}\n[measure]\nwaits = true\n");
    let size = "size = \"50KB\"\narrival = { kind = \"poisson\", mean = \"50ms\" }\nstart = \"10ms\"\n";
    let plain = flows_of(&small(size));
    let flows = flows_of(&measuring(&small(size)));
    assert!(plain[0].iter().all(|flow| flow.waits.is_none()));
    assert!(plain[0].iter().map(course).eq(flows[0].iter().map(course)), "results are the same");
    for flow in &flows[0] {
        let waits = flow.waits.expect("it was measured");
        assert!(waits.packets >= 35 && waits.switches > waits.hosts && !waits.hosts.is_zero(), "{flow:?}");
        // what the last packet waited is a part of the flow's time
        let mean = waits.mean(true).unwrap() + waits.mean(false).unwrap();
        assert!(mean < flow.fct().expect("it ended").as_secs_f64(), "{flow:?}");
    }
    for (connections, request) in [("{}", 0), ("{ request = \"100B\" }", 1)] {
        // without losses and early time-outs nothing comes after the end of its message
        let text = small(&format!("{size}connections = {connections}\nsenders = 1\n")).replace("30KB", "none");
        let all = flows_of(&measuring(&text));
        let sum = |name: &str| named(&all[1], name).iter().map(|flow| flow.waits.unwrap().packets).sum::<u64>();
        let messages = named(&all[1], "flows");
        assert!(messages.len() > 1 && messages.iter().all(|one| one.waits.unwrap().packets >= 35 + request));
        assert_eq!(sum("flows"), sum("flows/connection"), "{connections}");
    }
}

#[test]
fn waits_of_flows_are_metrics_of_runs_that_measure_them() {
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str, text: &str| {
        run(text, place.path(), &place.path().join(name));
        Folder::open(place.path().join(name)).unwrap()
    };
    let (with, without) = (folder("with", &format!("{SMALL}\n[measure]\nwaits = true\n")), folder("without", SMALL));
    let kept = |name: &str| with.summary.rows.iter().find(|row| row.metric.to_string() == name);
    let [hosts, switches] =
        ["host-wait.mean", "switch-wait.mean"].map(|name| kept(name).unwrap().estimate.value.unwrap());
    assert!(0.0 < hosts && hosts < switches, "{hosts} {switches}");
    // from flows.parquet, in which all repeats are
    let taken = measured(&with, &["switch-wait.mean", "switch-wait.max"].map(|name| name.parse().unwrap())).unwrap();
    let value = |name: &str| {
        let row = taken.rows.iter().find(|row| row.policy == "plain" && row.metric.to_string() == name);
        row.unwrap().estimate.value.unwrap()
    };
    assert!(value("switch-wait.mean") == switches && value("switch-wait.max") > switches);
    assert!(without.summary.rows.iter().all(|row| !row.metric.is_of_packets()));
    let refused = measured(&without, &["host-wait.p99".parse().unwrap()]).unwrap_err().to_string();
    assert!(refused.contains("does not hold what `host-wait.p99` is taken of"), "{refused}");
}

/// A closed loop asks, thinks and asks again: each flow starts after the one before it on the only connection.
#[test]
fn a_closed_loop_asks_over_one_connection() {
    let keys = "size = \"5KB\"\narrival = { kind = \"closed-loop\", think = \"1ms\" }\nsenders = 1\nstart = \"10ms\"\nconnections = { request = \"200B\" }\n";
    let flows = flows_of(&small(keys));
    let own = named(&flows[0], "flows");
    assert!(own.len() > 20, "{}", own.len());
    assert!(own.windows(2).all(|pair| pair[0].end.is_some_and(|end| end < pair[1].start)));
    assert_eq!(named(&flows[0], "flows/connection").len(), 1);
}

#[test]
fn connections_that_cannot_stay_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let keys = "size = \"5KB\"\narrival = \"once\"\nstart = \"10ms\"\nconnections = {}\n";
    let plain = "transport = { kind = \"tcp\", min-rto = \"10s\", initial-rto = \"10s\" }";
    for (from, to, message) in [
        ("5KB", "unlimited", "traffic `flows` has flows without end, which are no messages on connections"),
        ("start = \"10ms\"\n", "", "the connections of `traffic.flows` have no time to open before its flows start"),
        (
            plain,
            "transport = { kind = \"mptcp\", control = \"lia\" }",
            "policy `patient` has MPTCP for traffic `flows`, whose connections stay open",
        ),
        (
            plain,
            &format!("{plain}\nreplicate = {{ below = \"9KB\", copies = 2 }}"),
            "policy `patient` sends copies of flows, and those of traffic `flows` are messages",
        ),
        ("right = { count = 1 }", "right = { count = 1, kind = \"linux\" }", "a modelled host cannot talk to a kernel"),
    ] {
        let text = small(keys).replace(from, to);
        assert_ne!(text, small(keys), "{from}");
        let found = problem(&text, place.path());
        assert!(found.contains(message), "{found}");
    }
    let kernels = small(keys).replace("{ count = 1 }", "{ count = 1, kind = \"linux\" }");
    let kernels = kernels.replace("{ count = 4 }", "{ count = 4, kind = \"linux\" }");
    let found = problem(&kernels, place.path());
    assert!(found.contains("kernel hosts open a connection for each flow of `flows`"), "{found}");
}

/// 500 KB are 340 frames of up to 1,518 B: 103 ms at 40 Mb/s. In that time 20 Mb/s take 254 KB of frames (20 B of preamble
/// and gap between them), and the queue holds 30 KB in the end: 276 KB of data, whatever the policy.
#[test]
fn datagrams_keep_their_rate_and_lose_what_does_not_fit() {
    let keys = "size = \"500KB\"\narrival = \"once\"\nsenders = 1\ndatagrams = { rate = \"40Mbps\" }\n";
    let flows = flows_of(&small(keys));
    let [plain, patient] = [&flows[0], &flows[1]].map(|flows| named(flows, "flows")[0]);
    assert_eq!(course(plain), course(patient), "they have no transport");
    let share = plain.delivered as f64 / 500_000.0;
    assert!((0.53..0.57).contains(&share), "{share}");
    assert_eq!((plain.end, plain.retransmissions, plain.bytes), (None, 0, Some(500_000)));
    let slow = flows_of(&small(&keys.replace("40Mbps", "10Mbps")));
    let own = named(&slow[0], "flows")[0];
    assert_eq!(own.delivered, 500_000);
    // the last of 340 frames leaves 339·1,518·8 bit later, and takes less than a millisecond
    let seconds = own.fct().unwrap().as_secs_f64();
    assert!((0.411..0.4135).contains(&seconds), "{seconds}");
}

#[test]
fn datagrams_that_cannot_be_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let keys = "size = \"5KB\"\narrival = \"once\"\nstart = \"10ms\"\ndatagrams = { rate = \"1Mbps\" }\n";
    for (from, to, message) in [
        ("1Mbps\"", "1Mbps\", payload = \"1473B\"", "datagrams of traffic `flows` do not fit into a frame"),
        (
            "\"once\"",
            "\"closed-loop\"",
            "traffic `flows` waits for flows to complete, and datagrams that are lost never do",
        ),
        ("start =", "connections = {}\nstart =", "traffic `flows` has both `connections` and `datagrams`"),
        (
            "count = ",
            "kind = \"linux\", count = ",
            "`traffic.flows.datagrams` is for modelled hosts, and its hosts are not",
        ),
        (
            "name = \"patient\"\n",
            "name = \"patient\"\ntraffic = { flows = \"tcp\" }\n",
            "policy `patient` has a transport for traffic `flows`, which is datagrams",
        ),
    ] {
        let text = small(keys).replace(from, to);
        assert_ne!(text, small(keys), "{from}");
        let found = problem(&text, place.path());
        assert!(found.contains(message), "{found}");
    }
}

/// The bundled scenario's claims at its quick size.
#[test]
fn kept_connections_spare_an_incast_its_handshakes() {
    let text = include_str!("../../../scenarios/example-connections.toml");
    let place = tempfile::tempdir().unwrap();
    let source = Source { name: "example.toml".into(), text: text.into(), folder: place.path().into() };
    let mut request = Request { no_report: true, ..Request::default() };
    request.overrides.quick = true;
    let planned = Planned::new(&source, Destination::New(place.path().join("out")), &request);
    let opened = planned.unwrap_or_else(|error| panic!("{error}")).open(&mut |_| {}).unwrap();
    let finished = opened.run(&Interruption::default(), &mut |_, _| {}).unwrap();
    let summary = fs::read_to_string(finished.path.join("summary.csv")).unwrap();
    let verdicts = &finished.results.verdicts;
    assert!(
        !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.is_judged() && !verdict.failed()),
        "{verdicts:#?}\n{summary}"
    );
}
