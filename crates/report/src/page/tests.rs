//! Whole pages: what is in the file, and what must not be.

use headway_results::{
    Case, Cell, Estimate, FlowRecord, Job, LinkRecord, LinkStep, Manifest, NodeKind, Printed, PublishedCell, Row,
    Sample, Summary, SweepPoint, Topologies, Topology, TopologyLink, TopologyNode, Verdict,
};
use headway_units::{Rate, Span, Time};

use super::*;

/// Names that would do harm as HTML, in a script, in an attribute or as lines of a script.
const HOSTILE: [&str; 6] = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "\" onload=\"alert(1)",
    "a\u{2028}b\u{2029}c",
    "{{app}}{{data}}",
    "&lt;b&gt;' `${alert(1)}`",
];

fn flow(id: u64, traffic: &str, bytes: u64, fct: Option<u64>) -> FlowRecord {
    FlowRecord {
        id,
        traffic: traffic.into(),
        source: "a".into(),
        destination: "b".into(),
        bytes: Some(bytes),
        delivered: bytes,
        start: Time::ZERO,
        end: fct.map(|fct| Time::ZERO + Span::from_nanos(fct)),
        deadline: None,
        ideal: Some(Span::from_nanos(1000)),
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        subflows: 1,
        paths: "0".into(),
        switched: (id == 1).then(|| Time::ZERO + Span::from_nanos(2500)),
        stall: None,
        resets: 0,
        waits: None,
    }
}

fn estimate(value: f64) -> Estimate {
    Estimate { value: Some(value), low: Some(value * 0.9), high: Some(value * 1.1), n: 3 }
}

/// A claim at the point `point` about the policies `a` and `b`, of which the source printed 20 ms and 40 ms.
fn verdict(text: &str, point: &str) -> Verdict {
    let printed = |text: &str, value: f64| Printed { text: text.to_owned(), value: Some(value) };
    let printed = vec![printed("20.0 ms (table 1)", 0.02), printed("40.0 ms (table 1)", 0.04)];
    let case = Case {
        point: point.to_owned(),
        held: true,
        numbers: "a fct.p50 = 21 ms < b fct.p50 = 42 ms".to_owned(),
        first: estimate(0.021),
        second: Some(estimate(0.042)),
        published: Some(PublishedCell { printed, ours: "21 ms".to_owned(), suspect: false }),
    };
    Verdict { text: text.to_owned(), held: true, known: None, printed: Vec::new(), skipped: 0, cases: vec![case] }
}

/// Policies `a` and `b`, called as `names` says, at `points` points, with some flows, samples and steps of links of each.
fn run(names: [&str; 2], traffic: &str, points: u32, repeats: u32) -> Run {
    let mut cells = Vec::new();
    for point in 0..points {
        for policy in names {
            let sweep = SweepPoint::new().with("senders", i64::from(point));
            cells.push(Cell { index: cells.len() as u32, policy: policy.to_owned(), sweep });
        }
    }
    let mut manifest = Manifest::new("scenario", "", 7, repeats, "0.0.0", cells);
    manifest.command = vec!["run".to_owned(), names[0].to_owned()];
    manifest.claims = vec![verdict(names[1], "senders=0").to_json()].into();
    manifest.warnings = vec![names[0].to_owned()];
    let row = |cell: &Cell, metric: &str, value: f64| Row {
        policy: cell.policy.clone(),
        sweep: cell.sweep.clone(),
        traffic: traffic.to_owned(),
        metric: metric.parse().unwrap(),
        estimate: estimate(value),
    };
    let of_cell = |cell: &Cell| [row(cell, "fct.mean", 0.0205), row(cell, "goodput.mean", 1e9)];
    let summary = Summary { sweep: vec!["senders".into()], rows: manifest.cells.iter().flat_map(of_cell).collect() };
    let operand = |policy: &str| {
        let metric = "fct.p50".parse().unwrap();
        Some(Operand { policy: policy.to_owned(), traffic: Some(traffic.to_owned()), metric, at: Vec::new() })
    };
    let topologies = topologies(&manifest, names[0]);
    let mut builder = RunBuilder::new(Facts {
        label: names[0].to_owned(),
        manifest: &manifest,
        summary: &summary,
        against: None,
        topologies: &topologies,
        about: names[1].to_owned(),
        source: Some(names[0].to_owned()),
        toml: format!("name = '{}'\n", names[0]),
        operands: vec![names.map(operand).to_vec()],
        notes: Vec::new(),
        most_points: MOST_POINTS,
    });
    let names = topologies.networks[0].link_names();
    for job in manifest.jobs().filter(|job| job.repeat == 0) {
        for step in 1..=4_u64 {
            let sent = 125 * step.min(2);
            let step = LinkStep { sent, queue: 1000 * step, drops: 1, flows: 2 };
            let time = Time::ZERO + Span::from_nanos(step.queue);
            builder.add_link(job, &LinkRecord { time, link: names[0].as_str().into(), step }).unwrap();
        }
    }
    for job in manifest.jobs() {
        for id in 0..4 {
            builder.add_flow(job, &flow(id, traffic, 70_000, (id != 3).then_some(1000 * (id + 1))));
        }
    }
    for job in manifest.jobs() {
        for time in 0..1000 {
            let value = if time == 500 { 1e6 } else { 1.0 };
            let time = Time::ZERO + Span::from_nanos(time * 1000);
            builder.add_sample(job, &Sample { time, entity: traffic.into(), metric: "queue_bytes".into(), value });
        }
    }
    builder.finish()
}

/// Two hosts at 1 Gb/s, in the first repeat of every cell.
fn topologies(manifest: &Manifest, name: &str) -> Topologies {
    let node = |name: &str| TopologyNode { name: name.to_owned(), kind: NodeKind::Host, tier: 0 };
    let link = |from, to| {
        let (rate, delay) = (Rate::from_bps(1_000_000_000), Span::from_nanos(500));
        TopologyLink { from, to, rate, delay, limit: None }
    };
    let nodes = vec![node(name), node("receiver")];
    let network = Topology { nodes, links: vec![link(0, 1), link(1, 0)] };
    let runs = manifest.jobs().filter(|job| job.repeat == 0).map(|job| (job, 0)).collect();
    Topologies { networks: vec![network], runs }
}

fn page(kind: Kind, runs: Vec<Run>) -> Page {
    Page::new(kind, "title", runs, Vec::new())
}

/// The file without its data and the libraries' own texts.
fn parts(html: &str) -> (String, serde_json::Value) {
    let begin = "id=\"headway-data\">";
    let (before, rest) = html.split_once(begin).expect("the data begin");
    let (data, after) = rest.split_once("</script>").expect("the data end");
    (format!("{before}{begin}</script>{after}"), serde_json::from_str(data).expect("the data are JSON"))
}

#[test]
fn a_run_has_its_results_by_places() {
    let run = run(["a", "b"], "short", 2, 2);
    assert_eq!((run.policies.len(), run.points.len(), run.traffics.as_slice()), (2, 2, &["short".to_owned()][..]));
    // ns and bit/s: 20.5 ms, 1 Gb/s
    let of = |row: &model::Estimate| (row.0, row.1, row.2, row.3, row.4.unwrap().get());
    assert_eq!(of(&run.summary[0]), (0, 0, 0, 0, 20_500_000.0));
    assert_eq!(of(&run.summary[3]), (1, 0, 0, 1, 1e9));
    // p50 is in no summary; the claim has measured it
    assert_eq!(run.metrics[2].name, "fct.p50");
    let measured: Vec<_> = run.summary.iter().filter(|row| row.3 == 2).map(of).collect();
    assert_eq!(measured, [(0, 0, 0, 2, 21_000_000.0), (1, 0, 0, 2, 42_000_000.0)]);
    let published: Vec<_> = run.published.iter().map(|one| (one.policy, one.metric, one.points.clone())).collect();
    let expected = |policy, value| (Some(policy), 2, vec![(0, Number::new(value))]);
    assert_eq!(published, [expected(0, 2e7), expected(1, 4e7)]);
    assert_eq!(run.published[0].source, "table 1");
    assert_eq!((run.claims[0].verdict, run.claims[0].lines[0].ours.as_deref()), (Held::Held, Some("21 ms")));
    assert_eq!(run.claims[0].lines[0].ratios[0].map(Number::get), Some(1.05));
    // of two repeats, one flow of four unfinished
    assert_eq!((run.cdf.len(), run.cdf[0].n, run.cdf[0].unfinished), (4, 8, 2));
    assert_eq!(run.cdf[0].y.last().map(|y| y.get()), Some(0.75));
    assert_eq!((run.series.len(), run.series[0].of), (4, 1000));
    assert_eq!(run.command, "headway run a");
}

/// 125 B in 1 us are the whole rate of 1 Gb/s, and 250 B are no more than that.
#[test]
fn films_have_rates_in_thousandths_and_flows_with_their_moves() {
    let run = run(["a", "b"], "short", 1, 1);
    let film = &run.films[0];
    assert_eq!(film.t.iter().map(|t| t.get()).collect::<Vec<_>>(), [1000.0, 2000.0, 3000.0, 4000.0]);
    assert_eq!(film.links.len(), 1, "the other direction was not used");
    let link = &film.links[0];
    assert_eq!((link.sent.as_slice(), link.queue[3], link.drops[0]), (&[1000, 1000, 1000, 1000][..], 4000, 1));
    let sender = run.topologies[0].nodes.iter().position(|node| node.name == "a");
    assert_eq!(film.switched, [(Number::new(2500.0), 0, sender)]);
    assert!(sender.is_some());
    // flows end at 1, 2 and 3 us, and one does not
    assert_eq!(film.active, [("short".to_owned(), vec![3, 2, 1, 1])]);
}

#[test]
fn nothing_of_a_scenario_is_html_or_script() {
    for (place, name) in HOSTILE.iter().enumerate() {
        let other = HOSTILE[(place + 1) % HOSTILE.len()];
        let page = Page { title: (*name).to_owned(), ..page(Kind::Run, vec![run([name, other], name, 1, 1)]) };
        let html = html(&page);
        let (frame, data) = parts(&html);
        // the data say it as it is, and the frame as text or not at all
        assert_eq!((data["title"].as_str(), data["runs"][0]["policies"][0].as_str()), (Some(*name), Some(*name)));
        for harm in ["<img", "<!--", "onload=\"alert", "\u{2028}"] {
            assert!(!frame.contains(harm), "{name}: {harm}");
        }
        let plain = super::html::html(&Page { title: "title".to_owned(), ..page.clone() });
        for tag in ["<script", "</script", "<style", "</style", "<title"] {
            assert_eq!(html.matches(tag).count(), plain.matches(tag).count(), "{name}: {tag}");
        }
        assert_eq!(html.matches("</script").count(), 3, "{name}");
    }
}

#[test]
fn the_frame_refers_to_nothing_outside() {
    let (frame, _) = parts(&html(&page(Kind::Run, vec![run(["a", "b"], "short", 1, 1)])));
    // Names of XML's kinds of elements are no addresses that anything is loaded from; comments carry licences.
    let known = ["http://www.w3.org/", "http://www.apache.org/licenses/", "https://www.apache.org/licenses/"];
    let addresses = ["http:", "https:"].iter().flat_map(|kind| frame.match_indices(kind));
    for (at, _) in addresses {
        let address: String = frame[at..].chars().take(60).collect();
        assert!(known.iter().any(|known| address.starts_with(known)), "{address}");
    }
    for (at, _) in frame.match_indices("url(") {
        let own = &frame[at + 4..];
        let inside = ["data:", "#", "\"#", "'#", "\"+", "'+", "\" +", "' +"];
        let text: String = own.chars().take(40).collect();
        assert!(inside.iter().any(|start| own.starts_with(start)), "url({text}");
    }
    for word in ["@import", " src=\"", " src='", "<link", "<iframe", "<base", "XMLHttpRequest(", "fetch(", "WebSocket("]
    {
        assert!(!frame.contains(word), "{word}");
    }
    let policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";
    assert!(frame.contains(policy), "the policy that forbids all requests");
}

#[test]
fn pages_stay_within_their_budget_and_say_so() {
    let large = run(["a", "b"], "short", 500, 1);
    assert!(html::size(&large) > BUDGET / 3, "{}", html::size(&large));
    let runs: Vec<Run> = (0..6).map(|i| Run { label: i.to_string(), ..large.clone() }).collect();
    let page = page(Kind::Comparison, runs.clone());
    let size = page.json().len();
    assert!(size <= BUDGET, "{size}");
    // it is not thinned more than it must be
    assert!(size > BUDGET / 2, "{size}");
    for run in &page.runs {
        assert!(!run.notes.is_empty());
        assert!(!run.summary.is_empty() && !run.cdf.is_empty() && !run.claims.is_empty());
        // peaks stay
        assert!(run.series.iter().all(|series| series.v.iter().any(|value| value.get() == 1e6)));
    }
    assert_eq!(page, super::Page::new(Kind::Comparison, "title", runs, Vec::new()), "the same data give the same page");
    assert!(html(&page).len() < 1_500_000, "{}", html(&page).len());
}

#[test]
fn a_small_page_is_not_thinned() {
    let run = run(["a", "b"], "short", 2, 2);
    assert_eq!(page(Kind::Run, vec![run.clone()]).runs[0], run);
}

/// A network of `nodes` hosts with a link between any two of them, as the page has it.
fn mesh(nodes: usize) -> super::Topology {
    let node = |i: usize| {
        let (x, y) = (Number::new(i as f64 / nodes as f64), Number::new(0.5));
        Node { name: format!("host{i}"), kind: "host", tier: 0, x, y, count: 1 }
    };
    let link = |from: usize, to: usize| super::Link { from, to, rate_bps: 1, delay_ns: 1, limit_bytes: None };
    let ends = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    super::Topology { nodes: (0..nodes).map(node).collect(), links: ends.map(|(from, to)| link(from, to)).collect() }
}

/// Networks alone can be larger than a page: they go with their films, and the rest stays.
#[test]
fn large_networks_take_their_share_and_no_more() {
    let mut large = run(["a", "b"], "short", 2, 1);
    large.topologies = vec![mesh(200)];
    assert!(html::size(&large.topologies) > 3 * BUDGET);
    let runs = (0..10).map(|i| Run { label: i.to_string(), ..large.clone() });
    let page = page(Kind::Comparison, runs.collect());
    assert!(page.json().len() <= BUDGET, "{}", page.json().len());
    for run in &page.runs {
        assert!(run.films.is_empty() && run.topologies.is_empty());
        assert!(!run.summary.is_empty() && !run.cdf.is_empty() && !run.claims.is_empty() && !run.toml.is_empty());
        assert!(run.notes.iter().any(|note| note.contains("links over time are shown of 0 of 4 runs")));
    }
}

/// With fewer points their networks go, too, and films find theirs at its new place.
#[test]
fn networks_without_films_are_left_out() {
    let mut own = run(["a", "b"], "short", 2, 1);
    own.topologies = vec![mesh(2), mesh(30), mesh(3)];
    own.films.iter_mut().for_each(|film| film.topology = if film.point == 0 { 0 } else { 2 });
    super::thinning::keep_used_networks(&mut own);
    assert_eq!(own.topologies.iter().map(|topology| topology.nodes.len()).collect::<Vec<_>>(), [2, 3]);
    assert!(own.films.iter().all(|film| film.topology == film.point));
}

/// Whatever is large: texts of a damaged or hostile folder are in no table.
#[test]
fn the_budget_holds_for_everything() {
    let long = "<".repeat(200_000);
    let changes: [fn(&mut Run, &str); 9] = [
        |run, long| run.about = long.to_owned(),
        |run, long| run.warnings = vec![long.to_owned(); 3],
        |run, long| run.left_out = vec![long[..300].to_owned(); 10_000],
        |run, long| run.claims[0].text = long.to_owned(),
        |run, long| run.claims = vec![Claim { text: long[..100].to_owned(), ..run.claims[0].clone() }; 10_000],
        |run, long| run.points[0].text = long.to_owned(),
        |run, long| run.policies[0] = long.to_owned(),
        |run, long| run.label = long.to_owned(),
        |run, long| run.published[0].label = long.to_owned(),
    ];
    for (place, change) in changes.iter().enumerate() {
        let mut own = run(["a", "b"], "short", 2, 1);
        change(&mut own, &long);
        let page = page(Kind::Run, vec![own]);
        assert!(page.json().len() <= BUDGET, "{place}: {}", page.json().len());
        let bare = page.runs[0].summary.is_empty();
        // there is room for the rest, if only one section is too large
        assert_eq!(bare, (5..8).contains(&place), "{place}");
        assert!(!page.runs[0].notes.is_empty() && page.runs[0].notes.iter().all(|note| note.len() < 1000), "{place}");
    }
    let many = vec![run(["a", "b"], "short", 1, 1); 1200];
    let page = page(Kind::Reproduction, many);
    assert!(page.json().len() <= BUDGET && page.runs.len() >= 300, "{}", page.runs.len());
}

/// A queue's or a link's peak in one step of ten thousand is that of the step of the page that it is merged into.
#[test]
fn merged_steps_keep_the_most_of_use_queue_and_flows() {
    let mut peaks = run(["a", "b"], "short", 1, 1);
    let film = &mut peaks.films[0];
    let steps = 3000;
    film.t = (1..=steps).map(|step| Number::new(f64::from(step))).collect();
    let peak = |value: u64| (0..steps).map(|step| if step == 1234 { value } else { 0 }).collect::<Vec<_>>();
    film.links[0].sent = peak(1000).into_iter().map(|sent| sent as u32).collect();
    (film.links[0].queue, film.links[0].drops, film.links[0].flows) = (peak(9), peak(7), peak(5));
    film.active = vec![("short".to_owned(), peak(3))];
    super::thinning::films(&mut peaks, 4000);
    let film = &peaks.films[0];
    assert!(film.t.len() <= 150, "{}", film.t.len());
    let link = &film.links[0];
    let most = |values: &[u64]| values.iter().copied().max();
    assert_eq!(link.sent.iter().max(), Some(&1000));
    assert_eq!([&link.queue, &link.drops, &link.flows, &film.active[0].1].map(|v| most(v)), [9, 7, 5, 3].map(Some));
}

/// The same where a folder has more steps than a film of a page, and a link cannot have more than a scenario can ask for.
#[test]
fn steps_of_a_folder_are_merged_with_their_peaks_and_bounded() {
    let cell = Cell { index: 0, policy: "a".into(), sweep: SweepPoint::new() };
    let manifest = Manifest::new("s", "", 1, 1, "0", vec![cell]);
    let (summary, mut topologies) = (Summary::default(), topologies(&manifest, "sender"));
    // networks of no run are not drawn
    topologies.networks.push(topologies.networks[0].clone());
    let mut builder = RunBuilder::new(Facts {
        label: String::new(),
        manifest: &manifest,
        summary: &summary,
        against: None,
        topologies: &topologies,
        about: String::new(),
        source: None,
        toml: String::new(),
        operands: Vec::new(),
        notes: Vec::new(),
        most_points: 1,
    });
    let job = Job { cell: 0, repeat: 0 };
    let mut add = |step: u64| {
        // 125 B in 1 µs are 1 Gb/s
        let sent = if step == 5000 { 125 } else { 0 };
        let time = Time::ZERO + Span::from_nanos(1000 * step);
        let step = LinkStep { sent, queue: u64::MAX, drops: u32::MAX, flows: u32::MAX };
        builder.add_link(job, &LinkRecord { time, link: "sender>receiver".into(), step })
    };
    (1..=10_000).for_each(|step| add(step).unwrap());
    assert_eq!(add(10_001), Err(TooManySteps));
    // there from 4,999.5 µs to 5,000.5 µs: at the end of one step in 10,000
    let start = Time::ZERO + Span::from_nanos(4_999_500);
    let short = FlowRecord { start, end: Some(start + Span::from_nanos(1000)), ..flow(0, "t", 1, None) };
    builder.add_flow(job, &short);
    // a move to another lane is that of the host that sends
    let moved = FlowRecord { source: "sender".into(), id: 1, ..flow(1, "t", 1, Some(9)) };
    builder.add_flow(job, &FlowRecord { start: Time::ZERO + Span::from_nanos(20_000_000), end: None, ..moved });
    let run = builder.finish();
    let sender = run.topologies[0].nodes.iter().position(|node| node.name == "sender");
    assert_eq!(run.films[0].switched, [(Number::new(2500.0), 0, sender)]);
    assert_eq!((run.topologies.len(), run.films.len()), (1, 1));
    let film = &run.films[0];
    assert!(film.t.len() <= 300, "{}", film.t.len());
    assert_eq!(film.links[0].sent.iter().filter(|sent| **sent == 1000).count(), 1);
    assert_eq!(film.active[0].1.iter().sum::<u64>(), 1, "{:?}", film.active);
}

/// Much text in places that are no tables.
#[test]
fn long_texts_are_cut() {
    let mut run = run(["a", "b"], "short", 1, 1);
    run.toml = "# <<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<\n".repeat(100_000);
    let lines = vec![run.claims[0].lines[0].clone(); 20_000];
    run.claims[0].lines = lines;
    let page = page(Kind::Run, vec![run]);
    assert!(page.json().len() <= BUDGET, "{}", page.json().len());
    let own = &page.runs[0];
    assert!(own.toml.ends_with("the rest is in scenario.toml\n") && own.toml.len() > 1000, "{}", own.toml.len());
    assert!(!own.claims[0].lines.is_empty() && own.notes.len() >= 2, "{:?}", own.notes);
}

#[test]
fn a_scenario_with_no_room_at_all_is_left_out() {
    let mut own = run(["a", "b"], "short", 1, 1);
    own.toml = "name = 'x'\n".repeat(100);
    super::thinning::toml(&mut own, 20);
    assert!(html::size(&own.toml) <= 20, "{}", own.toml);
    assert!(own.notes.last().unwrap().contains("left out"), "{:?}", own.notes);
}

#[test]
fn jobs_that_the_manifest_does_not_have_are_left_out() {
    let manifest =
        Manifest::new("s", "", 1, 1, "0", vec![Cell { index: 0, policy: "a".into(), sweep: SweepPoint::new() }]);
    let (summary, topologies) = (Summary::default(), Topologies::default());
    let mut builder = RunBuilder::new(Facts {
        label: String::new(),
        manifest: &manifest,
        summary: &summary,
        against: None,
        topologies: &topologies,
        about: String::new(),
        source: None,
        toml: String::new(),
        operands: Vec::new(),
        notes: Vec::new(),
        most_points: 1,
    });
    builder.add_flow(Job { cell: 9, repeat: 0 }, &flow(0, "t", 1, Some(1)));
    let run = builder.finish();
    assert_eq!((run.cdf.len(), run.points.len()), (0, 1));
}
