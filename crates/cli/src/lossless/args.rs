//! The command line of `headway lossless`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use headway_units::{Bytes, Span};

pub const PLAN_EXAMPLES: &str = "\
Examples:
  headway lossless plan my.toml --priority 3
  headway lossless plan my.toml --policy dcb --chip spectrum --as sonic --switch leaf0 > qos.json
  headway lossless plan my.toml --priority 3 --as dcb --device eth1
";

#[derive(Debug, Args)]
pub struct LosslessArgs {
    #[command(subcommand)]
    pub command: LosslessCommand,
}

#[derive(Debug, Subcommand)]
pub enum LosslessCommand {
    /// Print the settings of switches and cards that follow from a scenario
    ///
    /// Headroom, thresholds, classes and ECN marks for each kind of cable: as a table, as commands for Linux cards, or as a
    /// fragment of a SONiC configuration.
    #[command(after_long_help = PLAN_EXAMPLES)]
    Plan(PlanArgs),
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    /// The scenario: a file, the name of a bundled one, or - for the standard input
    #[arg(value_name = "SCENARIO", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    /// Change a value of the scenario, such as `topology.mtu=9000B` (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The policy whose `lossless` is planned [default: the only one that has it]
    #[arg(long, value_name = "NAME")]
    pub policy: Option<String>,
    /// A lossless priority (may be repeated) [default: those of the policy]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub priority: Vec<u8>,
    /// The chip of the switches, whose constants are published [default: worst cases of IEEE 802.3]
    #[arg(long, value_name = "CHIP")]
    pub chip: Option<ChipName>,
    /// The cell of the switches' memory [default: the chip's, otherwise 208B]
    #[arg(long, value_name = "BYTES")]
    pub cell: Option<Bytes>,
    /// The largest packet of any priority, which a pause may have to wait for [default: the topology's mtu]
    #[arg(long, value_name = "BYTES")]
    pub mtu: Option<Bytes>,
    /// The round trip by which queues mark [default: the longest between groups of hosts, idle]
    #[arg(long, value_name = "TIME")]
    pub rtt: Option<Span>,
    /// How it is printed
    #[arg(long = "as", value_name = "FORM", default_value = "table")]
    pub form: Form,
    /// Of `dcb`: the card's name [default: eth0]
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Of `sonic`: the switch [default: the first with hosts]
    #[arg(long, value_name = "NAME")]
    pub switch: Option<String>,
    /// Of `sonic`: names of ports count in steps of this, as many as they have lanes [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub lanes: Option<u32>,
    /// Of `sonic`: marks for this congestion control [default: those of the scenario, otherwise dcqcn]
    #[arg(long, value_name = "CONTROL")]
    pub marks: Option<Marks>,
}

/// How settings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people
    Table,
    /// A JSON object
    Json,
    /// Commands of iproute2 for cards of Linux hosts
    Dcb,
    /// A fragment of config_db.json
    Sonic,
}

/// Chips with published constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChipName {
    /// Mellanox Spectrum
    Spectrum,
    /// Mellanox Spectrum-2
    #[value(name = "spectrum-2")]
    Spectrum2,
    /// Mellanox Spectrum-3
    #[value(name = "spectrum-3")]
    Spectrum3,
}

/// Whom queues mark for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Marks {
    /// At random between two thresholds
    Dcqcn,
    /// All beyond one threshold
    Dctcp,
    /// Nobody
    None,
}
