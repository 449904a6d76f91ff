//! What runs leave behind: flow records and time series, the statistics over them, and the files.
//!
//! One policy at one point of the sweep is a [`Cell`]; one repeat of a cell is a [`Job`] and gives an
//! [`Outcome`]: flow records, samples and counters. A [`Metric`] is one number asked of an outcome; a
//! [`Summary`] holds every metric's mean over the repeats with its 95 % confidence interval
//! ([`Estimate`]). A [`Folder`] collects outcomes as they arrive from the worker threads, survives an
//! interruption, and ends as files with one meaning: `manifest.json`, `flows.parquet`, `series.parquet`,
//! `summary.csv` with `repeats.csv` behind it, and of runs that have a [`Film`] `links.parquet` and `topology.json`, of those whose paths were recorded `paths.parquet`. The same outcomes give the same bytes in all but the manifest, in whatever order
//! they arrive. A [`Store`] keeps outcomes by what they depend on, for runs to come.
//!
//! This crate must not know of events, packets or scenarios' keys, and reads no clock: wall times come
//! in as arguments. It leaves out packet captures and report pages.
//!
//! Sources: percentiles as type 7 of Hyndman and Fan, doi:10.1080/00031305.1996.10473566; intervals by
//! Student's t, as in Jain, *The Art of Computer Systems Performance Analysis* (1991), §13.2, on the scale of the
//! metric ([`Estimate`] has the sources); two independent samples as in Welch 1947, doi:10.1093/biomet/34.1-2.28.

mod base_unit;
mod command;
mod comparison;
mod error;
mod file;
mod film;
mod folder;
mod manifest;
mod metric;
mod part;
mod read;
mod record;
mod repeats;
mod shard;
mod stats;
mod store;
mod summary;
mod table;
mod topologies;
mod verdict;
mod waits;
mod warning;

pub use comparison::{Difference, Differences, Filter, Judgement, Method, POLICY, Side, Unknown, differences};
pub use error::Error;
pub use film::{Film, FilmedLink, LinkRecord, LinkStep, NodeKind, Topology, TopologyLink, TopologyNode};
pub use folder::{Finished, Folder, Unfinished};
pub use manifest::{FORMAT, Kernel, Machine, Manifest, RunTotals};
pub use metric::{ALL_TRAFFIC, CONNECTION, Metric, Percentile, Statistic, Subject, UnknownMetric};
pub use read::{FlowReader, LinkReader, SeriesReader};
pub use record::{
    Cell, CommandRecord, Counters, CutCapture, Failed, FlowRecord, Job, Outcome, Output, PathRecord, Pauses,
    PortRecord, Sample, SweepPoint, SweepValue,
};
pub use repeats::Repeats;
pub use shard::{NotAShard, Shard};
pub use stats::{End, Estimate, Support, bound, mean, paired_difference, percentile};
pub use store::{Collected, Entry, Key, KeyBuilder, Layout, Rule, Store, StoredRun};
pub use summary::{Comparison, Pair, Row, Summary, SummaryBuilder, compare};
pub use table::{Column, ParquetFile, RowWriter};
pub use topologies::Topologies;
pub use verdict::{Case, Printed, PublishedCell, Verdict};
pub use waits::{FlowWaits, LongestWait, PortWaits, Waited, Waits};
pub use warning::Warning;
