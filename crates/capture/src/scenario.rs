//! A report as traffic of a scenario file.

use std::fmt::Write as _;

use headway_units::{Bytes, Rate, Span};

use crate::analysis::{FlowGroup, Report};
use crate::flow::{Class, Heading};
use crate::histogram::Histogram;
use crate::packet::Address;

/// Hosts of the scenario, at most: what one can wait for.
const MAX_HOSTS: u64 = 64;

/// The longest time that the scenario runs for.
const LONGEST: Span = Span::from_secs(10);

/// Rates of links that one can buy, in Mb/s.
const RATES: [u64; 9] = [100, 1_000, 10_000, 25_000, 40_000, 100_000, 200_000, 400_000, 800_000];

/// The largest size that a table of sizes may have.
const MAX_SIZE: u64 = 1 << 53;

/// The traffic of a capture for a scenario: flows of each class with their measured sizes, at random times of the
/// measured frequency (Poisson), and incasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficSection {
    /// `[hosts]` and `[[traffic]]`, to paste into a scenario.
    pub traffic: String,
    /// A complete scenario with them; its network is a guess.
    pub scenario: String,
    /// The tables of sizes that both refer to: file names and contents.
    pub sizes: Vec<(String, String)>,
}

struct Traffic<'a> {
    name: String,
    from: &'a str,
    to: &'a str,
    group: &'a FlowGroup,
    class: Class,
    /// Of an incast: the windows.
    bursts: Option<&'a Histogram>,
}

impl TrafficSection {
    /// Of `report`, or `None` if it has no flow (to or from the chosen host, if one was).
    pub fn new(report: &Report) -> Option<TrafficSection> {
        let mut traffics: Vec<Traffic<'_>> = Vec::new();
        let receiver = receiver(report);
        let mut add = |heading: Heading, prefix: &str, from, to| {
            for class in Class::ALL {
                let group = report.group(class, heading);
                let windows = &report.bursts[heading as usize];
                // From the host to an incast somewhere else, it is but one of the senders.
                let incast = class == Class::Burst && heading != Heading::From && windows.count() > 0;
                let from = if incast && from == to { "burst-sender" } else { from };
                // Many to one stays so: with several receivers there would be no queue where it was.
                let single = receiver.is_some() && many_to_one(group) == receiver;
                let to = if heading == Heading::Other && single { "receiver" } else { to };
                if group.sizes.count() > 0 {
                    let name = format!("{prefix}{}", class.name());
                    traffics.push(Traffic { name, from, to, group, class, bursts: incast.then_some(windows) });
                }
            }
        };
        if report.options.host.is_some() {
            add(Heading::To, "to-host-", "peer", "host");
            add(Heading::From, "from-host-", "host", "peer");
        } else {
            add(Heading::Other, "", "host", "host");
        }
        if traffics.is_empty() {
            return None;
        }
        let hosts = report.hosts.clamp(2, MAX_HOSTS);
        let peers = peers(report);
        let degree = |windows: &Histogram| (windows.mean().unwrap_or(1.0) + 0.5) as u64;
        let mut groups = Vec::new();
        if report.options.host.is_some() {
            let senders = degree(&report.bursts[Heading::To as usize]);
            groups.extend([("host", 1), ("peer", peers.min(MAX_HOSTS).max(senders.min(10_000)))]);
        } else {
            let uses = |name: &str| traffics.iter().any(|traffic| traffic.from == name || traffic.to == name);
            let single = uses("receiver");
            if uses("host") {
                groups.push(("host", hosts - u64::from(single)));
            }
            if single {
                groups.push(("receiver", 1));
            }
            if let Some(windows) = traffics.iter().find_map(|traffic| traffic.bursts) {
                groups.push(("burst-sender", degree(windows).clamp(1, 10_000)));
            }
        }
        let mut text = section_head(report);
        text.push_str("[hosts]\n");
        for (name, count) in &groups {
            let _ = writeln!(text, "{name} = {{ count = {count} }}");
        }
        for traffic in &traffics {
            // The load of the chosen host stays, and otherwise that of every host, with however many the scenario has.
            let sources = match traffic.from {
                "peer" => groups[1].1,
                "host" if report.options.host.is_some() => 1,
                // The load of the receiver is that of the capture.
                "host" if traffic.to == "receiver" => hosts - 1,
                _ => report.hosts,
            };
            write_traffic(&mut text, report, traffic, sources);
        }
        let total = groups.iter().map(|(_, count)| count).sum();
        let scenario = format!("{}{text}\n{POLICY}", scenario_head(report, total));
        let table = |traffic: &Traffic<'_>| (format!("{}.csv", traffic.name), size_table(&traffic.group.sizes));
        Some(TrafficSection { traffic: text, scenario, sizes: traffics.iter().map(table).collect() })
    }
}

const POLICY: &str = "\
[[policy]]
name = \"tcp\"
transport = \"tcp\"
";

/// `1 flow`, `2 flows`.
fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn section_head(report: &Report) -> String {
    let mut text = format!(
        "# Traffic of a capture of {:.6} s with {}, by `headway trace`.\n",
        seconds(report.duration()),
        counted(report.hosts, "host")
    );
    text.push_str(match report.options.host {
        Some(_) => "# The load to and from the host is that of the capture; change `mean` with the number of peers.\n",
        None => "# The load of each host is that of the capture, however many there are.\n",
    });
    if let Some(receiver) = receiver(report).filter(|_| report.options.host.is_none()) {
        let _ = writeln!(text, "# Many send to one, {receiver}: the host group `receiver`.");
    }
    if let Some(starts) = report.starts {
        let _ = writeln!(
            text,
            "# Flows start {}: their gaps vary by {:.2} of their mean (Poisson: 1).",
            starts.word(),
            starts.variation
        );
    }
    text
}

/// The receiver of `group`, if it is one, of several senders.
fn many_to_one(group: &FlowGroup) -> Option<Address> {
    group.receiver.filter(|_| group.receivers == 1 && group.senders > 1)
}

/// The host that alone receives the flows of a class from several, without a chosen host; of the class of most data.
fn receiver(report: &Report) -> Option<Address> {
    let groups = Class::ALL.into_iter().map(|class| report.group(class, Heading::Other));
    let single = groups.filter_map(|group| Some((group.sizes.sum(), many_to_one(group)?)));
    single.max_by_key(|(bytes, _)| *bytes).map(|(_, receiver)| receiver)
}

/// Hosts that the chosen one talks to, at least.
fn peers(report: &Report) -> u64 {
    let of = |class| [report.group(class, Heading::To).senders, report.group(class, Heading::From).receivers];
    Class::ALL.into_iter().flat_map(of).max().unwrap_or(0).max(1)
}

/// How often each of `sources` starts a flow, or all together an incast.
fn mean_gap(report: &Report, traffic: &Traffic<'_>, sources: u64) -> Span {
    let picos = u128::from(report.duration()) * 1000;
    let mean = match traffic.bursts {
        Some(windows) => picos / u128::from(windows.count()),
        None => picos * u128::from(sources) / u128::from(traffic.group.sizes.count()),
    };
    // Down to what prints shortly; the third of a per mille is far below what a capture can say.
    let digits = mean.checked_ilog10().unwrap_or(0).saturating_sub(3);
    let unit = 10u128.pow(digits);
    Span::from_picos(u64::try_from(mean / unit * unit).unwrap_or(u64::MAX).max(1))
}

fn write_traffic(text: &mut String, report: &Report, traffic: &Traffic<'_>, sources: u64) {
    let Traffic { name, from, to, group, class, bursts } = traffic;
    let sizes = &group.sizes;
    let _ = write!(
        text,
        "\n# {} of {} bytes in all, from {} to {}",
        counted(sizes.count(), "flow"),
        sizes.sum(),
        counted(group.senders, "sender"),
        counted(group.receivers, "receiver")
    );
    if group.cut > 0 {
        let _ = write!(text, "; {} of them began before the capture or ended after it, so may be larger", group.cut);
    }
    text.push_str(".\n");
    if let Some((dispersion, time)) = report.series.dispersion(*class as usize) {
        let _ = writeln!(
            text,
            "# Flows of this class per {} s: variance over mean {dispersion:.2} (Poisson: 1).",
            seconds(time)
        );
    }
    let _ = writeln!(text, "[[traffic]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"");
    if let Some(windows) = bursts {
        let _ = writeln!(
            text,
            "pairs = \"incast\" # {} times, with {:.1} senders on average",
            windows.count(),
            windows.mean().unwrap_or(0.0)
        );
        if *from == "peer" {
            let _ = writeln!(text, "senders = {}", (windows.mean().unwrap_or(1.0) + 0.5) as u64);
        }
    }
    let _ = writeln!(text, "size = {{ kind = \"cdf\", file = \"{name}.csv\" }}");
    let _ = writeln!(text, "arrival = {{ kind = \"poisson\", mean = \"{}\" }}", mean_gap(report, traffic, sources));
}

fn scenario_head(report: &Report, hosts: u64) -> String {
    let duration = Span::from_nanos(report.duration().clamp(1_000_000, LONGEST.nanos()) / 1000 * 1000);
    let mbps = report.peak_rate() / 1_000_000;
    let rate = RATES.iter().find(|&&rate| rate >= mbps).unwrap_or(&RATES[RATES.len() - 1]);
    let rate = Rate::from_mbps(*rate);
    format!(
        "name = \"captured\"
about = \"Traffic of a capture on a network that is a guess: change the topology to yours\"
duration = \"{duration}\"
drain = \"{duration}\"
repeats = 3

[topology]
kind = \"two-tier\"
leaves = 2
spines = 1
hosts-per-leaf = {}
link = {{ rate = \"{rate}\", delay = \"1us\" }}
queue = {{ kind = \"drop-tail\", limit = \"{}\" }}

",
        hosts.div_ceil(2),
        Bytes::from_kb(512)
    )
}

/// A distribution of sizes as scenarios read it (`size = { kind = "cdf", file = … }`): in each bucket of the histogram
/// evenly between its least and its greatest size, and none between buckets.
pub fn size_table(sizes: &Histogram) -> String {
    let mut text = format!("# {} flows of a capture, by `headway trace`\nbytes,cumulative\n", sizes.count());
    let mut below = 0.0;
    for step in sizes.steps() {
        let share = step.count as f64 / sizes.count() as f64;
        let _ = writeln!(text, "{},{below}\n{},{share}", step.least.min(MAX_SIZE), step.greatest.min(MAX_SIZE));
        below = share;
    }
    text
}
