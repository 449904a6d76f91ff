//! The command line of what sweeps larger than a machine need.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};
use headway_units::Span;

use crate::args::RunOptions;
use crate::tables::TableOptions;

/// The store that is used where no option names one.
pub const VARIABLE: &str = "HEADWAY_STORE";

/// The store of runs, wherever something runs.
#[derive(Debug, Clone, Default, Args)]
pub struct StoreOptions {
    /// Take runs that are in this store from there, and keep those that are computed in it; made if it is not there
    /// [default: $HEADWAY_STORE, otherwise none]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Use no store, whatever $HEADWAY_STORE says
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

impl StoreOptions {
    /// The store, if one is named.
    pub fn path(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
        if self.no_store { None } else { self.store.clone().or_else(variable) }
    }
}

#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders of shards, or a folder that they are in
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath, required = true)]
    pub folders: Vec<PathBuf>,
    /// The folder for the results, which must be new or empty [default: results/NAME with the scenario's name, or the
    /// first of results/NAME-2, results/NAME-3, … that is free]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: Option<PathBuf>,
    /// Write no report.html
    #[arg(long)]
    pub no_report: bool,
    #[command(flatten)]
    pub tables: TableOptions,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Print no notes, only results, warnings and errors
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// A scenario file or the name of a bundled scenario, as the cluster's machines see it
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: PathBuf,
    #[command(flatten)]
    pub how: RunOptions,
    /// Shards, each a task of the array; Slurm takes 1000 at most unless its administrator allows more (MaxArraySize)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub shards: u32,
    /// The folder for the results of all; shards go to DIR-shards
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Processors of a task
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: u16,
    /// An option for both jobs, such as `--sbatch=--partition=short` (may be repeated)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}

#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub command: StoreCommand,
}

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// List what a store has, by scenario and version
    #[command(after_long_help = STORE_LS_EXAMPLES)]
    Ls(StoreLsArgs),
    /// Remove runs that this version cannot use, and on request old ones
    #[command(after_long_help = STORE_GC_EXAMPLES, visible_alias = "prune")]
    Gc(StoreGcArgs),
    /// Read every run of a store, with exit code 1 if one is damaged
    #[command(after_long_help = STORE_VERIFY_EXAMPLES)]
    Verify(StoreLsArgs),
}

#[derive(Debug, Args)]
pub struct StoreLsArgs {
    /// The store [default: $HEADWAY_STORE]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub store: Option<PathBuf>,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct StoreGcArgs {
    #[command(flatten)]
    pub of: StoreLsArgs,
    /// Remove runs that were written longer ago than this, too, such as `30d` or `12h`
    #[arg(long, value_name = "TIME", value_parser = age)]
    pub older_than: Option<Duration>,
    /// Remove runs of scenarios of this name only
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,
    /// Leave runs of other versions' epochs of results alone
    #[arg(long)]
    pub all_epochs: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Days (`30d`), hours (`12h`), or anything that is a time in a scenario.
fn age(text: &str) -> Result<Duration, String> {
    let of = |suffix: char, seconds: u64| {
        let number: u64 = text.strip_suffix(suffix)?.parse().ok()?;
        number.checked_mul(seconds).map(Duration::from_secs)
    };
    let spans = || text.parse::<Span>().ok().map(|span| Duration::from_nanos(span.picos() / 1000));
    of('d', 24 * 3600)
        .or_else(|| of('h', 3600))
        .or_else(spans)
        .ok_or_else(|| format!("`{text}` is no time; write 30d, 12h or 90min"))
}

pub const MERGE_EXAMPLES: &str = "\
Examples:
  headway run my.toml --shard 1/2 --out shards/1
  headway run my.toml --shard 2/2 --out shards/2
  headway merge shards/1 shards/2 --out results/my
  headway merge shards --out results/my

The results are those of `headway run my.toml`, byte for byte.";

pub const SLURM_EXAMPLES: &str = "\
Examples:
  headway slurm my.toml --shards 64 --cpus 4 --out results/my > my.slurm
  bash my.slurm                     # submits the array of shards, and the merge behind it
  headway slurm my.toml --shards 64 --out results/my --sbatch=--partition=short --sbatch=--time=2:00:00

Tasks that were stopped go on where they were when they are submitted again.";

pub const STORE_EXAMPLES: &str = "\
Examples:
  headway run my.toml --store ~/headway-store
  headway store ls ~/headway-store
  headway store gc ~/headway-store --older-than 90d --dry-run";

const STORE_LS_EXAMPLES: &str = "\
Examples:
  headway store ls ~/headway-store
  HEADWAY_STORE=~/headway-store headway store ls --json | jq .bytes";

const STORE_GC_EXAMPLES: &str = "\
Examples:
  headway store gc ~/headway-store
  headway store gc ~/headway-store --scenario my --older-than 30d
  headway store gc ~/headway-store --dry-run";

const STORE_VERIFY_EXAMPLES: &str = "\
Examples:
  headway store verify ~/headway-store";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_units() {
        let cases = [("30d", 30 * 86_400), ("12h", 12 * 3600), ("90s", 90)];
        for (text, seconds) in cases {
            assert_eq!(age(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "30", "d", "-1d", "99999999999999999999d", "999999999999999999d"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
