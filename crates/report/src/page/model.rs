//! The data of a page, as its scripts read them. Indices are places in the lists of the same run.

use serde::{Serialize, Serializer};

use super::number::Number;

/// The layout of the data; raised when a script of the old one would go wrong.
pub const FORMAT: u32 = 1;

/// All that a page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    /// [`FORMAT`].
    pub format: u32,
    /// What the page is about.
    pub kind: Kind,
    /// Its heading.
    pub title: String,
    /// One of [`Kind::Run`], several of the others.
    pub runs: Vec<Run>,
    /// Of [`Kind::Reproduction`] the papers with their experiments; else empty.
    pub groups: Vec<Group>,
}

/// What a page is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One folder of results.
    Run,
    /// Several, side by side.
    Comparison,
    /// Published experiments, one folder each.
    Reproduction,
}

/// Runs that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Its name, as `lanes`.
    pub title: String,
    /// Places in [`Page::runs`].
    pub runs: Vec<usize>,
}

/// The results in one folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Run {
    /// A short name that no other run of the page has.
    pub label: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario says it is.
    pub about: String,
    /// Where the experiment was published, if the scenario says so.
    pub source: Option<String>,
    /// The version that ran it.
    pub version: String,
    /// As text: it may be larger than a browser's numbers.
    pub seed: String,
    /// Repeats of every cell.
    pub repeats: u32,
    /// Whether it was run at quick size.
    pub quick: bool,
    /// When it began, RFC 3339; empty if unknown.
    pub started: String,
    /// When it was finished, RFC 3339; empty if unknown.
    pub finished: String,
    /// How long it took, in seconds.
    pub wall_s: Number,
    /// Where it ran.
    pub machine: Machine,
    /// The kernel of kernel hosts.
    pub kernel: Option<Kernel>,
    /// The command line.
    pub command: String,
    /// The scenario with every default.
    pub toml: String,
    /// Reasons to look twice before trusting the results.
    pub warnings: Vec<String>,
    /// What the page leaves out, thins or could not find.
    pub notes: Vec<String>,
    /// Names of policies.
    pub policies: Vec<String>,
    /// Names of traffics.
    pub traffics: Vec<String>,
    /// Swept parameters.
    pub sweep: Vec<Parameter>,
    /// Points of the sweep; one without a text if nothing is swept.
    pub points: Vec<Point>,
    /// Claims with their verdicts.
    pub claims: Vec<Claim>,
    /// Texts of claims that nothing was run for.
    pub left_out: Vec<String>,
    /// What [`Run::summary`] and [`Run::published`] are about.
    pub metrics: Vec<Metric>,
    /// Estimates.
    pub summary: Vec<Estimate>,
    /// Published numbers.
    pub published: Vec<Published>,
    /// Distributions of flow completion times.
    pub cdf: Vec<Cdf>,
    /// Slowdown by size of flow.
    pub slowdown: Vec<Slowdown>,
    /// Time series.
    pub series: Vec<Series>,
    /// Networks of the films.
    pub topologies: Vec<Topology>,
    /// Links over time.
    pub films: Vec<Film>,
}

/// Where a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// As `linux`.
    pub os: String,
    /// As `x86_64`.
    pub arch: String,
    /// Processors; 0 if unknown.
    pub cpus: usize,
}

/// The kernel of kernel hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// The image's name.
    pub name: String,
    /// The kernel's version.
    pub version: String,
    /// The changes of its source in words; empty if there are none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub changes: String,
}

/// A swept parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its values in the order of the sweep, each once.
    pub values: Vec<ParameterValue>,
}

/// A value of a swept parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterValue {
    /// As the scenario has it.
    pub text: String,
    /// If it is a number without a unit.
    pub number: Option<Number>,
}

/// A point of the sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// As `load=0.6, senders=8`.
    pub text: String,
    /// Of each parameter, the place of its value.
    pub at: Vec<usize>,
}

/// A claim with its verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// The claim in words.
    pub text: String,
    /// Whether it holds.
    pub verdict: Held,
    /// Why it is known not to hold.
    pub known: Option<String>,
    /// What the source printed for all of its points.
    pub published: Vec<String>,
    /// Points that it is about and that were not run.
    pub skipped: usize,
    /// Its points one by one.
    pub lines: Vec<ClaimLine>,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Held {
    /// It holds.
    #[serde(rename = "held")]
    Held,
    /// It does not.
    #[serde(rename = "not held")]
    NotHeld,
    /// It does not, and the scenario says why.
    #[serde(rename = "known")]
    Known,
    /// Nothing judges it.
    #[serde(rename = "undecided")]
    Undecided,
}

/// A claim at one point.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimLine {
    /// The point; empty without a sweep.
    pub at: String,
    /// What was compared with what, with numbers.
    pub text: String,
    /// Whether it holds there; `None` if the published number is doubtful.
    pub held: Option<bool>,
    /// What the source printed for this point.
    pub published: Vec<String>,
    /// What was measured, if the source printed something for this point.
    pub ours: Option<String>,
    /// Measured over published, for each published number.
    pub ratios: Vec<Option<Number>>,
}

/// What a number is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metric {
    /// As in `summary.csv`.
    pub name: String,
    /// For people.
    pub label: String,
    /// `ns`, `bps`, `B`, `1/s`, `share` or `1`.
    pub unit: &'static str,
    /// `less` or `more`, if one of the two is better.
    pub better: Option<&'static str>,
}

/// How an estimate differs from that of the page's first run: this run's minus that one's, ends of its 95 % interval, and
/// what follows: `same`, `differ`, `overlap`, `unjudged` or `one-sided`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Against(pub Option<Number>, pub Option<Number>, pub Option<Number>, pub &'static str);

/// An estimate: policy, point, traffic, metric; value, ends of its 95 % interval; repeats; and, where the first run of the
/// page has it, too, the difference from that. What is not there at the end is left out in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate(
    pub usize,
    pub usize,
    pub usize,
    pub usize,
    pub Option<Number>,
    pub Option<Number>,
    pub Option<Number>,
    pub usize,
    pub Option<Against>,
);

impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Estimate(policy, point, traffic, metric, value, low, high, n, against) = self;
        let whole = (policy, point, traffic, metric, value, low, high, n);
        match against {
            Some(against) => (policy, point, traffic, metric, value, low, high, n, against).serialize(serializer),
            None => whole.serialize(serializer),
        }
    }
}

/// Published numbers of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Published {
    /// The policy that the source's set-up is compared with.
    pub policy: Option<usize>,
    /// The traffic.
    pub traffic: Option<usize>,
    /// The metric.
    pub metric: usize,
    /// Where it is printed.
    pub source: String,
    /// The claim that it belongs to.
    pub label: String,
    /// Points and values.
    pub points: Vec<(usize, Number)>,
}

/// The distribution of flow completion times of a traffic in a cell, over all repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cdf {
    /// The policy.
    pub policy: usize,
    /// The point.
    pub point: usize,
    /// The traffic.
    pub traffic: usize,
    /// Flows, unfinished ones among them.
    pub n: usize,
    /// Flows that did not finish.
    pub unfinished: usize,
    /// Flow completion times, ns, rising.
    pub x: Vec<Number>,
    /// The share of flows that took so long or less.
    pub y: Vec<Number>,
}

/// Slowdown by size of the flows of a traffic in a cell, over all repeats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slowdown {
    /// The policy.
    pub policy: usize,
    /// The point.
    pub point: usize,
    /// The traffic.
    pub traffic: usize,
    /// Sizes.
    pub bins: Vec<SlowdownBin>,
}

/// Flows of similar sizes. A percentile is `None` where there are too few flows, or if it falls among unfinished ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlowdownBin {
    /// The least size, B.
    pub from: u64,
    /// The first size that is too large, B.
    pub to: u64,
    /// Flows, unfinished ones among them.
    pub n: usize,
    /// The median.
    pub p50: Option<Number>,
    /// Of at least 20 flows.
    pub p95: Option<Number>,
    /// Of at least 100 flows.
    pub p99: Option<Number>,
    /// Of at least 1,000 flows.
    pub p999: Option<Number>,
}

/// A series of samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The policy.
    pub policy: usize,
    /// The point.
    pub point: usize,
    /// The repeat.
    pub repeat: u32,
    /// What it was taken of.
    pub entity: String,
    /// As in `series.parquet`.
    pub metric: String,
    /// `bps`, `B`, `ns`, `share` or `1`.
    pub unit: &'static str,
    /// Times, s.
    pub t: Vec<Number>,
    /// Values.
    pub v: Vec<Number>,
    /// Samples before thinning.
    pub of: u64,
}

/// A network as the player draws it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Topology {
    /// Hosts and switches.
    pub nodes: Vec<Node>,
    /// One for each direction.
    pub links: Vec<Link>,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// `host` or `switch`.
    pub kind: &'static str,
    /// 0 for hosts.
    pub tier: u32,
    /// From left (0) to right (1).
    pub x: Number,
    /// From top (0) to bottom (1).
    pub y: Number,
    /// Hosts that are drawn as one.
    pub count: u32,
}

/// A link in one direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Link {
    /// Place of the node that sends.
    pub from: usize,
    /// Place of the node that receives.
    pub to: usize,
    /// Its rate, bit/s.
    pub rate_bps: u64,
    /// Its delay, ns.
    pub delay_ns: u64,
    /// Room of its queue, B.
    pub limit_bytes: Option<u64>,
}

/// Links over time, in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Film {
    /// The policy.
    pub policy: usize,
    /// The point.
    pub point: usize,
    /// The repeat.
    pub repeat: u32,
    /// The network.
    pub topology: usize,
    /// The end of each step, ns.
    pub t: Vec<Number>,
    /// Links that were used.
    pub links: Vec<FilmLink>,
    /// When flows moved to another lane, ns, their traffic, and the place of the node that sends them.
    pub switched: Vec<(Number, usize, Option<usize>)>,
    /// Of each traffic, a short text and how many flows there were at the end of each step; of merged steps the most.
    pub active: Vec<(String, Vec<u64>)>,
}

/// A link over time. In the file each list ends with its last value that is not 0: most links do little most of the time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FilmLink {
    /// Its place in the topology.
    pub link: usize,
    /// What it sent, in thousandths of its rate, of each step; of merged steps the most.
    #[serde(serialize_with = "without_last_zeros")]
    pub sent: Vec<u32>,
    /// The most bytes in its queue in the step.
    #[serde(serialize_with = "without_last_zeros")]
    pub queue: Vec<u64>,
    /// Frames dropped.
    #[serde(serialize_with = "without_last_zeros")]
    pub drops: Vec<u64>,
    /// Flows that sent over it.
    #[serde(serialize_with = "without_last_zeros")]
    pub flows: Vec<u64>,
}

fn without_last_zeros<S, T>(values: &[T], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Serialize + Default + PartialEq,
{
    let length = values.iter().rposition(|value| *value != T::default()).map_or(0, |last| last + 1);
    values[..length].serialize(serializer)
}
