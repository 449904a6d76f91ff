//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use headway_results::Shard;
use headway_scenario::Overrides;
use headway_scenario::schema::HostKind;
use headway_units::{Bytes, Span};

use crate::lossless::args::{LosslessArgs, PLAN_EXAMPLES};
use crate::model::args::{MODEL_EXAMPLES, ModelArgs};
use crate::sweeps::args::{
    MERGE_EXAMPLES, MergeArgs, SLURM_EXAMPLES, STORE_EXAMPLES, SlurmArgs, StoreArgs, StoreOptions,
};
use crate::tables::TableOptions;

/// Simulates data-centre TCP: which way of sending makes my flows finish sooner, and by how much?
#[derive(Debug, Parser)]
#[command(name = "headway", version, max_term_width = 100, after_long_help = ROOT_EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and keep its results in a folder
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Make results of the shards of a run
    #[command(after_long_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Print a script that runs a scenario on a cluster with Slurm
    #[command(after_long_help = SLURM_EXAMPLES)]
    Slurm(SlurmArgs),
    /// List, clear up and check a store of runs
    #[command(after_long_help = STORE_EXAMPLES)]
    Store(StoreArgs),
    /// Check a scenario and, on request, the claims it makes
    #[command(after_long_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Print a scenario with every default written out, or the tables of a folder of results
    #[command(after_long_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Print the JSON schema of scenario files
    #[command(after_long_help = SCHEMA_EXAMPLES)]
    Schema,
    /// Repeat published experiments and hold what they claim against what comes out
    #[command(after_long_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// List the scenarios that come with Headway
    #[command(after_long_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Compare the results in two folders
    #[command(after_long_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Make the report of a folder of results again, or one of several side by side
    #[command(after_long_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Count switches, ports and cables of topologies and what they cost
    #[command(after_long_help = COST_EXAMPLES)]
    Cost(CostArgs),
    /// Compute throughput by formulae: of a connection over a long path, and split by relays
    #[command(after_long_help = MODEL_EXAMPLES)]
    Model(ModelArgs),
    /// Print the settings of real switches and cards that follow from a scenario of lossless Ethernet
    #[command(after_long_help = PLAN_EXAMPLES)]
    Lossless(LosslessArgs),
    /// Measure how far modelled hosts are from real Linux kernels
    #[command(after_long_help = FIDELITY_EXAMPLES)]
    Fidelity(FidelityArgs),
    /// Analyse packet captures: the sizes, times and classes of their flows, as numbers and as a scenario's traffic
    #[command(after_long_help = TRACE_EXAMPLES)]
    Trace(TraceArgs),
    /// Build and list the kernels of kernel hosts, and see what this machine lacks for them
    #[command(after_long_help = KERNEL_EXAMPLES)]
    Kernel(KernelArgs),
    /// Print completions for a shell
    #[command(after_long_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
}

/// How to change a scenario and how to run it; the same wherever something runs.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RunOptions {
    /// Change a value of the scenario, such as `duration=2s` or `topology.link.rate=10Gbps` (may be repeated)
    ///
    /// Keys are written with dots. Elements of lists are addressed by name or by number: `policy.tcp.transport.ecn`.
    /// Values are as in the file; quotes around text may be left out.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// What all hosts are: models, or real Linux kernels in virtual time [default: as the scenario says]
    #[arg(long, value_name = "KIND")]
    pub hosts: Option<Hosts>,
    /// The kernel of kernel hosts, see `headway kernel list` [default: the scenario's `kernel`, otherwise
    /// $HEADWAY_KERNEL, otherwise the newest unpatched one]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Smaller sizes, as the scenario's `[quick]` says; without it a fifth of the repeats
    #[arg(long)]
    pub quick: bool,
    /// Run only these policies of the scenario (names with commas between, or repeated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Where all random numbers start from [default: the scenario's `seed`, which is 1 if it does not say]
    // As far as the whole numbers of TOML go, so that it can be kept in a scenario.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Repeats of every sweep point [default: the scenario's `repeats`, which is 10 if it does not say]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeats: Option<u32>,
    /// Runs at the same time; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Make every run twice and fail with exit code 1 if they differ in anything
    #[arg(long)]
    pub verify: bool,
    #[command(flatten)]
    pub store: StoreOptions,
    /// Write no report.html
    #[arg(long)]
    pub no_report: bool,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no notes, only results, warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// What hosts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Hosts {
    /// Modelled by Headway
    Modelled,
    /// Real Linux kernels
    Linux,
    /// Network namespaces of this machine's own kernel, in real time; needs root
    Namespaces,
}

impl RunOptions {
    /// What they change in the scenario.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            sets: self.set.clone(),
            hosts: self.hosts.map(|kind| match kind {
                Hosts::Modelled => HostKind::Modelled,
                Hosts::Linux => HostKind::Linux,
                Hosts::Namespaces => HostKind::Namespaces,
            }),
            policies: self.policy.clone(),
            kernel: self.kernel.clone(),
            quick: self.quick,
        }
    }

    /// The options that decide which runs there are, as words of a command line.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([format!("--{name}"), value]);
            }
        };
        for set in &self.set {
            option("set", Some(set.clone()));
        }
        let kind = self.hosts.and_then(|kind| kind.to_possible_value());
        option("hosts", kind.map(|kind| kind.get_name().to_owned()));
        option("kernel", self.kernel.clone());
        option("policy", (!self.policy.is_empty()).then(|| self.policy.join(",")));
        option("seed", self.seed.map(|seed| seed.to_string()));
        option("repeats", self.repeats.map(|repeats| repeats.to_string()));
        for (name, is_set) in [("--quick", self.quick), ("--verify", self.verify)] {
            words.extend(is_set.then(|| name.to_owned()));
        }
        words
    }
}

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A scenario file, the name of a bundled scenario (see `headway list`), or `-` for the standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required_unless_present = "resume")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub how: RunOptions,
    #[command(flatten)]
    pub tables: TableOptions,
    /// The folder for the results, which must be new or empty [default: results/NAME with the
    /// scenario's name, or the first of results/NAME-2, results/NAME-3, … that is free]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Go on with the interrupted run in this folder
    ///
    /// Without FILE, with the scenario kept there. Seed and repeats are those of the interrupted run. Fewer
    /// `--repeats` finish it early, more extend it; a finished run stays as it is. The results are the same as without the interruption.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "out")]
    pub resume: Option<PathBuf>,
    /// Run only the Ith of N parts of all runs, into a folder (--out) for `headway merge`, or into a store (--store)
    ///
    /// The same command goes on with what is in the folder. Parts are of equal numbers of runs, and every part has runs of all
    /// policies.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A scenario file, the name of a bundled scenario (see `headway list`), or `-` for the standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Run the scenario, too, and fail with exit code 1 if a claim is not held
    #[arg(long)]
    pub run: bool,
    #[command(flatten)]
    pub how: RunOptions,
    /// With --run, keep the results in this folder, which must be new or empty [default: they are not kept]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, requires = "run")]
    pub out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct ReproduceArgs {
    /// Experiments: a group (`lanes`), an identifier (`l7`, `lanes l7`), or the name of a scenario [default: all]
    #[arg(value_name = "EXPERIMENT")]
    pub experiments: Vec<String>,
    /// Smaller sizes, as each scenario's `[quick]` says: some minutes in all
    #[arg(long)]
    pub quick: bool,
    /// Print the experiments and how many runs they are, and run nothing
    #[arg(long)]
    pub list: bool,
    /// Results go to DIR/NAME and DIR/NAME-kernel-hosts; what is finished there is not run again, what was interrupted
    /// is gone on with [default: results/reproduce, with --quick results/reproduce-quick]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Fail if kernel hosts, where a scenario asks for them, cannot be run [default: go on without them]
    #[arg(long, conflicts_with = "no_kernel_hosts")]
    pub kernel_hosts: bool,
    /// Run no kernel hosts
    #[arg(long)]
    pub no_kernel_hosts: bool,
    /// The kernel of kernel hosts, see `headway kernel list` [default: $HEADWAY_KERNEL, otherwise the newest unpatched one]
    #[arg(long, value_name = "NAME", conflicts_with = "no_kernel_hosts")]
    pub kernel: Option<String>,
    /// Run only these policies (names with commas between, or repeated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Runs at the same time; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write no report.html, neither of each experiment nor of all of them
    #[arg(long)]
    pub no_report: bool,
    /// Print a JSON object instead of text, when all are done
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// A scenario file, the name of a bundled scenario (see `headway list`), `-` for the standard input; or a folder with
    /// finished results
    #[arg(value_name = "FILE or DIR", value_hint = ValueHint::AnyPath)]
    pub file: PathBuf,
    /// Of a scenario: change a value, such as `duration=2s` (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The scenario in its quick size
    #[arg(long)]
    pub quick: bool,
    /// Of results: print only these policies (names with commas between, or repeated)
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub policy: Vec<String>,
    #[command(flatten)]
    pub tables: TableOptions,
    /// Of results: print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Print a JSON array instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A folder with finished results; or its rows at one value of swept names: DIR:NAME=VALUE[,NAME=VALUE…], where
    /// `policy` is a name, too
    #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
    pub a: OsString,
    /// Another, or the same folder at other values; differences are B − A
    #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
    pub b: OsString,
    /// Only this metric, as in summary.csv; may be given several times, or with commas
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Only this traffic; may be given several times, or with commas
    #[arg(long, value_name = "TRAFFIC", value_delimiter = ',')]
    pub traffic: Vec<String>,
    /// Only this policy; may be given several times, or with commas
    #[arg(long, value_name = "POLICY", value_delimiter = ',')]
    pub policy: Vec<String>,
    /// Show rows that do not differ, too
    #[arg(long)]
    pub all: bool,
    /// Print a JSON object instead of text; it has every row
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders with finished results; of several, all are put on one page
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub folders: Vec<PathBuf>,
    /// The file to write, which is replaced if it is there [default: DIR/report.html of one folder; of several
    /// comparison.html here, or the first of comparison-2.html, … that is free]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Show it in the browser
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, Args)]
pub struct CostArgs {
    /// Topologies (names with commas between, or repeated) [default: all that the size can be said of]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub topology: Vec<CostTopology>,
    /// Of fat-trees of all sorts: pods, and ports of a switch; even
    #[arg(long, value_name = "K", conflicts_with = "hosts", value_parser = clap::value_parser!(u32).range(2..))]
    pub k: Option<u32>,
    /// Of bcube: ports of a switch; with --hosts the levels follow from it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(3..))]
    pub n: Option<u32>,
    /// Of bcube: interfaces of a server; with --hosts the ports follow from it [default with --hosts: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub levels: Option<u32>,
    /// Of leaf-spine: leaf switches
    #[arg(long, value_name = "N", conflicts_with = "hosts", value_parser = clap::value_parser!(u32).range(1..))]
    pub leaves: Option<u32>,
    /// Of leaf-spine: spine switches [default: as many as a leaf has hosts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub spines: Option<u32>,
    /// Of leaf-spine: hosts on each leaf [default: 24]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub hosts_per_leaf: Option<u32>,
    /// The smallest of each topology with so many hosts, or a table over a range such as `1000..30000` [default: 27648,
    /// unless the size is given]
    #[arg(long, value_name = "N or A..B", value_parser = hosts_range)]
    pub hosts: Option<(u64, u64)>,
    /// A price list [default: that of `--show-prices`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub prices: Option<PathBuf>,
    /// Print the default price list, the thesis' figure 7.6, to begin one's own with
    #[arg(long, exclusive = true)]
    pub show_prices: bool,
    /// Print a JSON array instead of text
    #[arg(long)]
    pub json: bool,
}

/// Topologies whose cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CostTopology {
    /// Three tiers of k-port switches
    FatTree,
    /// The same with hosts on all edge switches of their pod
    #[value(alias = "dhft")]
    DualHomedFatTree,
    /// k-MHFT: hosts with k/2 interfaces in as many planes
    #[value(alias = "mhft")]
    MultiHomedFatTree,
    /// Servers that forward
    Bcube,
    /// Two tiers
    #[value(alias = "two-tier")]
    LeafSpine,
}

/// `N` or `A..B`.
fn hosts_range(text: &str) -> Result<(u64, u64), String> {
    const MOST: u64 = headway_scenario::cost::Design::MAX_HOSTS;
    let number = |part: &str| match part.trim().replace('_', "").parse::<u64>() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("`{part}` is no number of hosts, 1 to {MOST}")),
    };
    let Some((from, to)) = text.split_once("..") else {
        let hosts = number(text)?;
        return Ok((hosts, hosts));
    };
    let (from, to) = (number(from)?, number(to)?);
    if from < to { Ok((from, to)) } else { Err(format!("the range ends at {to}, which is not above {from}")) }
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct FidelityArgs {
    /// Only points whose names contain one of these [default: all]
    #[arg(value_name = "POINT")]
    pub points: Vec<String>,
    /// Only a few cheap points of every family
    #[arg(long)]
    pub quick: bool,
    /// Run kernel hosts again, too [default: only where there are no numbers of theirs]
    #[arg(long, conflicts_with = "model_only")]
    pub kernel_hosts: bool,
    /// Never run kernel hosts
    #[arg(long)]
    pub model_only: bool,
    /// Change a value of the scenarios on the model's side, such as `policy.linux.transport.min-rto=1s` (may be
    /// repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The kernel of kernel hosts [default: $HEADWAY_KERNEL, otherwise the newest unpatched one]
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Fail with exit code 1 if a number is further from the kernel than the baseline says
    #[arg(long)]
    pub check: bool,
    /// Make the errors found the new baseline
    #[arg(long, conflicts_with_all = ["check", "set"])]
    pub accept: bool,
    /// Where scenarios, kernels' numbers and the baseline are; without such a folder those that come with the command
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "fidelity")]
    pub data: PathBuf,
    /// Where `fidelity.md` and its plots are written when all points were compared
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, default_value = "docs")]
    pub docs: PathBuf,
    /// Write neither the page nor new numbers of kernels
    #[arg(long)]
    pub no_files: bool,
    /// Instead of comparing numbers, write the segments that pass the senders on both sides to this folder, and say
    /// where the first differs
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with_all = ["check", "accept", "json"])]
    pub trace: Option<PathBuf>,
    /// Runs at the same time; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print a JSON object for each number instead of the table
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Captures, pcap or pcapng, also compressed with gzip or zstd; several are read as one, in order of time. `-` is the
    /// standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath, required = true)]
    pub files: Vec<String>,
    /// A host whose flows are told apart: to it, from it, and others
    #[arg(long, value_name = "ADDRESS")]
    pub host: Option<std::net::IpAddr>,
    /// A connection that is silent for longer is over; what follows is another
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub idle: Span,
    /// Flows of up to this are short
    #[arg(long, value_name = "SIZE", default_value = "100KB")]
    pub short: Bytes,
    /// Flows of more than this are long
    #[arg(long, value_name = "SIZE", default_value = "1MB")]
    pub long: Bytes,
    /// Flows to one destination that start within this time are an incast
    #[arg(long, value_name = "TIME", default_value = "1ms")]
    pub window: Span,
    /// The distinct senders of an incast that make it a burst
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(2..))]
    pub burst: u16,
    /// Connections in memory, some 350 bytes each; of more, those that are silent the longest are closed early
    #[arg(long, value_name = "N", default_value = "1000000", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub max_flows: u32,
    /// The intervals of the series; they become ten times as long as often as there are over 20,000
    #[arg(long, value_name = "TIME", default_value = "10us")]
    pub interval: Span,
    /// Keep connections, series, sizes and a scenario in this folder, which must be new or empty
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Print a JSON object instead of tables
    #[arg(long)]
    pub json: bool,
    /// Print no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct KernelArgs {
    #[command(subcommand)]
    pub command: KernelCommand,
}

#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Build a kernel with its first files, some minutes on the first time
    #[command(after_long_help = KERNEL_BUILD_EXAMPLES)]
    Build(KernelBuildArgs),
    /// List the kernels that are built
    #[command(after_long_help = KERNEL_LIST_EXAMPLES)]
    List(ListArgs),
    /// Say what this machine lacks for building and running kernel hosts, with exit code 1 if something is needed
    #[command(after_long_help = KERNEL_DOCTOR_EXAMPLES)]
    Doctor(ListArgs),
}

#[derive(Debug, Args)]
pub struct KernelBuildArgs {
    /// A Linux source tree, 6.12 or newer; it is copied, not changed [default: Debian's package linux-source-6.12]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub source: Option<PathBuf>,
    /// What to call it; one of the same name is replaced [default: linux-VERSION, with patches linux-VERSION-patched]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Lines as in `.config`, which are added to the kernel's configuration and win over it
    #[arg(long, value_name = "FRAGMENT", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// A patch of the source, for `patch -p1` (may be repeated)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub patch: Vec<PathBuf>,
    /// A program of this machine that kernel hosts shall have, with its libraries (may be repeated)
    ///
    /// A name from PATH, or the path of a file or a folder. What is under /usr, /opt, /etc or /var keeps its place;
    /// programs from elsewhere go to /bin. All of it takes memory of every kernel host; what a scenario gives to its
    /// hosts as files does not.
    #[arg(long, value_name = "PROGRAM")]
    pub add: Vec<String>,
    /// Compilers at the same time [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub jobs: Option<u32>,
    /// Build even if there is one made of the same
    #[arg(long)]
    pub force: bool,
    /// Print no progress and no notes
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

const ROOT_EXAMPLES: &str = "\
Examples:
  headway list
  headway run lanes-l7-queue-buildup --repeats 2
  headway run my.toml --set duration=2s --seed 7 --out results/mine
  headway compare results/a results/b

Exit codes:
  0    fine
  1    it ran, but a check failed (a claim of `check --run` or `reproduce`, or `--verify`)
  2    the command line or the scenario is wrong
  3    the machine does not let us: a folder that cannot be written, a full disk
  130  interrupted; what is complete is kept";

const RUN_EXAMPLES: &str = "\
Examples:
  headway run scenarios/lanes-l7-queue-buildup.toml
  headway run lanes-l7-queue-buildup --repeats 2 --set topology.queue.limit=64KB
  headway run my.toml --seed 7 --out results/seed-7
  headway run my.toml --json | jq .claims
  headway run my.toml --metric fct.mean,fct.p99 --traffic search
  headway run my.toml --hosts linux --policy tcp,mptcp
  headway run --resume results/my
  headway run my.toml --store ~/headway-store
  headway run my.toml --shard 1/4 --out shards/1

Ctrl-C finishes the runs under way and keeps all that are complete; press it again to end at once.
A claim that is not held is printed as such; only `headway check --run` and `headway reproduce` make it a failure.";

const CHECK_EXAMPLES: &str = "\
Examples:
  headway check my.toml
  headway check my.toml --run --quick
  headway check lanes-l7-queue-buildup --set topology.queue.limit=64KB";

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  headway reproduce --list
  headway reproduce lanes --quick
  headway reproduce l6 l7 --out results/lanes
  headway reproduce l7 --kernel-hosts --policy tcp,mptcp
  headway reproduce lanes --quick --json | jq '.experiments[] | select(.held == false) | .name'

Exit code 1 if a claim does not hold and its scenario does not say why that is known (`known`).
An experiment that cannot be run does not stop the others; the exit code is then that of the first failure.
Ctrl-C keeps what is complete; the same command goes on with the rest.";

const SHOW_EXAMPLES: &str = "\
Examples:
  headway show lanes-l7-queue-buildup
  headway show my.toml --set duration=2s > changed.toml
  headway show results/my
  headway show results/my --metric fct.p99,timeouts --policy tcp,mptcp
  headway show results/my --by size --traffic search";

const SCHEMA_EXAMPLES: &str = "\
Examples:
  headway schema > scenario.schema.json";

const LIST_EXAMPLES: &str = "\
Examples:
  headway list
  headway list --json | jq -r '.[].name'";

const COMPARE_EXAMPLES: &str = "\
Examples:
  headway compare results/before results/after
  headway compare results/a:buffer=200KB results/a:buffer=4MB --metric fct.p99
  headway compare results/a:policy=cubic results/a:policy=dctcp
  headway compare results/a results/b --json | jq '.rows[] | select(.judgement == \"differ\")'";

const REPORT_EXAMPLES: &str = "\
Examples:
  headway report results/mine --open
  headway report results/before results/after --out change.html

The path of the page is printed. It is one file, which opens without a network. docs/reports.md says how to read it.";

const COST_EXAMPLES: &str = "\
Examples:
  headway cost --topology mhft --k 48
  headway cost --topology fat-tree,mhft --hosts 1000..30000
  headway cost --topology bcube --n 8 --levels 4
  headway cost --topology leaf-spine --leaves 128 --spines 24 --hosts-per-leaf 24
  headway cost --show-prices > prices.toml
  headway cost --hosts 10000 --prices prices.toml --json

What is counted, and what is not, is in docs/cost.md.";

const FIDELITY_EXAMPLES: &str = "\
Examples:
  headway fidelity                       # all points; writes docs/fidelity.md
  headway fidelity --quick --check
  headway fidelity bulk-100m --set policy.linux.transport.initial-window=4
  headway fidelity incast --kernel-hosts
  headway fidelity short-alone:size=100KB,control=cubic --trace /tmp/trace

What kernel hosts did is kept in fidelity/kernel.jsonl and used again as long as their scenario is the same.";

const TRACE_EXAMPLES: &str = "\
Examples:
  headway trace capture.pcap
  headway trace rotated-*.pcap.gz --host 10.0.0.1 --out results/captured
  headway run results/captured/scenario.toml
  tcpdump -i eth0 -s 128 -w - tcp | headway trace - --out live
  headway trace capture.pcapng --json | jq '.flows[].classes'

A capture of headers is enough: bytes are counted by sequence numbers. Of a file that is damaged or cut, what is before
that is reported, and the exit code is 1.";

const KERNEL_EXAMPLES: &str = "\
Examples:
  headway kernel doctor
  headway kernel build
  headway kernel list

Kernels are kept in $HEADWAY_CACHE, $XDG_CACHE_HOME/headway or ~/.cache/headway, in the folder `kernels`.";

const KERNEL_BUILD_EXAMPLES: &str = "\
Examples:
  headway kernel build
  headway kernel build --name with-nginx --add nginx --add /etc/nginx
  headway kernel build --source ~/src/linux --name mine --patch my-control.patch

Ctrl-C leaves nothing behind. Where nothing has changed, nothing is built; where only programs have, it takes seconds.";

const KERNEL_LIST_EXAMPLES: &str = "\
Examples:
  headway kernel list
  headway kernel list --json | jq -r '.[] | select(.default).controls[]'";

const KERNEL_DOCTOR_EXAMPLES: &str = "\
Examples:
  headway kernel doctor
  headway kernel doctor --json | jq '.[] | select(.state == \"missing\")'";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  headway completions bash > ~/.local/share/bash-completion/completions/headway
  headway completions zsh > \"${fpath[1]}/_headway\"
  headway completions fish > ~/.config/fish/completions/headway.fish";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_an_about_and_examples() {
        for command in Cli::command().get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.contains('\n'), "{}: {about}", command.get_name());
            let after = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(after.contains("Examples:\n  headway "), "{}", command.get_name());
        }
    }
}
