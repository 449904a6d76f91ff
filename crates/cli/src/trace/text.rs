//! A report as tables.

use std::fmt::Write as _;

use headway_capture::{Arrivals, Class, End, Heading, Histogram, Report};
use headway_report::{Layout, table, three_digits};

use super::classes;

/// Where there is no value.
const NONE: &str = "–";

/// Rows of the table over time, at most.
const TIMES: usize = 12;

/// Sizes at which the distribution is shown.
const SIZES: [u64; 10] = [
    1_000,
    10_000,
    100_000,
    110_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
];

fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    let &(name, factor) = units.iter().find(|(_, factor)| value >= *factor * 0.9995).unwrap_or(&units[units.len() - 1]);
    format!("{} {name}", three_digits(value / factor))
}

/// An amount for a person.
pub fn bytes(value: f64) -> String {
    if value < 1000.0 && value.fract() == 0.0 {
        return format!("{value} B");
    }
    scaled(value, &[("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3), ("B", 1.0)])
}

fn time(nanos: f64) -> String {
    scaled(nanos, &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)])
}

fn percent(part: f64) -> String {
    format!("{:.1} %", part * 100.0)
}

fn share(part: u64, whole: u64) -> String {
    if whole == 0 { NONE.to_owned() } else { percent(part as f64 / whole as f64) }
}

fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), show)
}

/// All tables.
pub fn report(report: &Report, layout: Layout) -> String {
    let packets = &report.packets;
    if packets.all == 0 {
        return "no packets\n".to_owned();
    }
    let mut text = overview(report, layout);
    if report.totals.connections == 0 {
        return text;
    }
    for (title, wanted) in views(report) {
        let all = report.sizes(|_, heading| heading_is(wanted, heading));
        let _ = writeln!(text, "\nFlows {title}");
        if all.count() == 0 {
            text.push_str("none\n");
            continue;
        }
        text.push_str(&by_class(report, wanted, layout));
        text.push('\n');
        text.push_str(&distribution(&all, layout));
    }
    let _ = write!(text, "\nOver time\n{}", over_time(report, layout));
    let _ = write!(text, "\nIncast, arrivals, loss, round-trip times\n{}", rest(report, layout));
    text
}

/// The parts that flows are shown in: to, from, others; or all.
fn views(report: &Report) -> Vec<(String, Option<Heading>)> {
    match report.options.host {
        Some(host) => vec![
            (format!("to {host}"), Some(Heading::To)),
            (format!("from {host}"), Some(Heading::From)),
            ("of others".to_owned(), Some(Heading::Other)),
        ],
        None => vec![("(data in one direction of a connection)".to_owned(), None)],
    }
}

fn heading_is(wanted: Option<Heading>, heading: Heading) -> bool {
    wanted.is_none_or(|wanted| wanted == heading)
}

fn overview(report: &Report, layout: Layout) -> String {
    let (packets, totals) = (&report.packets, &report.totals);
    let all = packets.all;
    let mut rows: Vec<[String; 2]> = Vec::new();
    let mut row = |name: &str, value: String| rows.push([name.to_owned(), value]);
    row("from", headway_experiment::clock::rfc3339(report.begin / 1_000_000_000));
    row("for", time(report.duration() as f64));
    row("packets", all.to_string());
    row("bytes on the wire", bytes(packets.bytes as f64));
    row("of them captured", share(packets.captured, packets.bytes));
    row("TCP", share(packets.tcp, all));
    if packets.tunnelled > 0 {
        row("of it in tunnels", share(packets.tunnelled, packets.tcp));
    }
    row("UDP", share(packets.udp, all));
    row("other", share(all - packets.tcp - packets.udp, all));
    row("TCP connections", totals.connections.to_string());
    row("open before the capture", totals.open_before.to_string());
    row("open after it", totals.ended(End::Open).to_string());
    row("ended by FIN", totals.ended(End::Fin).to_string());
    row("by RST", totals.ended(End::Reset).to_string());
    row("by silence", totals.ended(End::Idle).to_string());
    row("by another SYN", totals.ended(End::Reused).to_string());
    row("without an answer", totals.unanswered.to_string());
    if totals.multipath > 0 {
        row("MPTCP connections", totals.multipath.to_string());
        row("with several subflows", totals.with_subflows.to_string());
    }
    row("hosts", format!("{}{}", report.hosts, if report.hosts_left_out { "+" } else { "" }));
    row("most at a time", report.peak_connections().to_string());
    let long = report.longlived;
    let data: u64 = totals.bytes;
    row(
        "long-lived (≥ 90 % of the capture)",
        format!(
            "{}, {} of the data",
            long.connections,
            share(u64::try_from(long.bytes).unwrap_or(u64::MAX).min(data), data)
        ),
    );
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    table(&["capture", "value"], &rows, layout)
}

fn by_class(report: &Report, wanted: Option<Heading>, layout: Layout) -> String {
    let merged = |class: Class| {
        let mut sizes = Histogram::default();
        let (mut durations, mut cut) = (Histogram::default(), 0);
        for heading in Heading::ALL.into_iter().filter(|&heading| heading_is(wanted, heading)) {
            let group = report.group(class, heading);
            sizes.merge(&group.sizes);
            durations.merge(&group.durations);
            cut += group.cut;
        }
        (sizes, durations, cut)
    };
    let parts: Vec<_> = classes().into_iter().map(|class| (class, merged(class))).collect();
    let mut whole = (Histogram::default(), Histogram::default(), 0);
    for (_, (sizes, durations, cut)) in &parts {
        whole.0.merge(sizes);
        whole.1.merge(durations);
        whole.2 += cut;
    }
    let (flows, data) = (whole.0.count(), whole.0.sum());
    let line = |name: &str, (sizes, durations, cut): &(Histogram, Histogram, u64)| {
        let size = |quantile: f64| or_none(sizes.quantile(quantile), |size| bytes(size as f64));
        vec![
            name.to_owned(),
            sizes.count().to_string(),
            share(sizes.count(), flows),
            bytes(sizes.sum() as f64),
            percent(sizes.sum() as f64 / data as f64),
            size(0.5),
            size(0.95),
            or_none(sizes.greatest(), |size| bytes(size as f64)),
            or_none(durations.quantile(0.5), |nanos| time(nanos as f64)),
            cut.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> = parts.iter().map(|(class, part)| line(class.name(), part)).collect();
    rows.push(line("all", &whole));
    table(&["class", "flows", "of all", "data", "of all", "p50", "p95", "largest", "p50 lasts", "cut"], &rows, layout)
}

fn distribution(sizes: &Histogram, layout: Layout) -> String {
    let greatest = sizes.greatest().unwrap_or(0);
    let mut rows = Vec::new();
    for size in SIZES {
        if let Some((flows, data)) = sizes.up_to(size) {
            rows.push(vec![bytes(size as f64), percent(flows), percent(data)]);
        }
        if size >= greatest {
            break;
        }
    }
    table(&["flows up to", "of flows", "of data"], &rows, layout)
}

fn over_time(report: &Report, layout: Layout) -> String {
    let all: Vec<_> = report.series.intervals().collect();
    let together = all.len().div_ceil(TIMES).max(1);
    let rows: Vec<Vec<String>> = all
        .chunks(together)
        .map(|some| {
            let seconds = (some.len() as u64 * report.series.length()) as f64 / 1e9;
            let wire: u64 = some.iter().map(|(.., interval)| interval.bytes).sum();
            vec![
                time((some[0].0 - report.begin) as f64),
                some.iter().map(|(_, open, _)| *open).max().unwrap_or(0).to_string(),
                some.iter().map(|(.., interval)| interval.opened).sum::<u64>().to_string(),
                some.iter().map(|(.., interval)| interval.starts.iter().sum::<u64>()).sum::<u64>().to_string(),
                scaled(wire as f64 * 8.0 / seconds, &[("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3), ("b/s", 1.0)]),
            ]
        })
        .collect();
    table(&["from", "most connections", "opened", "flows started", "on the wire"], &rows, layout)
}

fn rest(report: &Report, layout: Layout) -> String {
    let totals = &report.totals;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: String, value: String| rows.push(vec![name, value]);
    let degrees = &report.degrees;
    let degree = |share: f64| or_none(degrees.quantile(share), |degree| degree.to_string());
    let window = report.options.window;
    row(format!("incast degree within {window}: mean"), or_none(degrees.mean(), three_digits));
    row("p95, p99, most".to_owned(), format!("{}, {}, {}", degree(0.95), degree(0.99), degree(1.0)));
    let bursts: u64 = report.bursts.iter().map(Histogram::count).sum();
    row(format!("incasts of {} senders or more", report.options.burst), bursts.to_string());
    let arrivals = |arrivals: Option<Arrivals>| {
        or_none(arrivals, |a| format!("every {}, {} (CV {})", time(a.mean_ns), a.word(), three_digits(a.variation)))
    };
    row("flows start".to_owned(), arrivals(report.starts));
    row("connections open".to_owned(), arrivals(report.opens));
    for class in classes() {
        if let Some((value, length)) = report.series.dispersion(class as usize) {
            let name = format!("{} flows per {}: variance/mean", class.name(), time(length as f64));
            row(name, format!("{} (Poisson: 1)", three_digits(value)));
        }
    }
    let again = format!("{}, {}", totals.retransmissions, share(totals.retransmissions, totals.data_packets));
    row("segments retransmitted".to_owned(), again);
    if totals.syns_again + totals.fins_again > 0 {
        row("SYNs, FINs sent again".to_owned(), format!("{}, {}", totals.syns_again, totals.fins_again));
    }
    if totals.duplicates > 0 {
        row("captured twice".to_owned(), totals.duplicates.to_string());
    }
    row(
        "out of order".to_owned(),
        format!("{}, {}", totals.out_of_order, share(totals.out_of_order, totals.data_packets)),
    );
    for (name, rtt) in [("RTT of handshakes", &report.handshakes), ("RTT from here to receivers", &report.rtt)] {
        let value = |share: f64| or_none(rtt.quantile(share), |nanos| time(nanos as f64));
        row(format!("{name}: p50, p95, p99"), format!("{}, {}, {}", value(0.5), value(0.95), value(0.99)));
    }
    table(&["", "value"], &rows, layout)
}
