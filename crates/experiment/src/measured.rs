//! Metrics of finished folders that their summaries do not have, from their flows and samples.

use std::collections::BTreeMap;
use std::iter::Peekable;

use headway_results::{Error, Finished, Job, Metric, Outcome, Summary, SummaryBuilder};
use headway_units::Time;
use thiserror::Error;

/// Why a metric cannot be had.
#[derive(Debug, Error)]
pub enum NotMeasured {
    /// It is of what no file of a folder holds.
    #[error("{folder} does not hold what `{metric}` is taken of")]
    NotKept {
        /// The folder.
        folder: String,
        /// The metric.
        metric: Metric,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Results(#[from] Error),
}

/// The summary of `folder` with rows of `metrics`: those that it has not are taken from flows and samples. All others
/// stay as they are.
///
/// # Errors
/// If a metric is of what no file holds (of ports, or [`Metric::Resets`]), or a file cannot be read.
pub fn measured(folder: &Finished, metrics: &[Metric]) -> Result<Summary, NotMeasured> {
    let mut summary = folder.summary.clone();
    let mut traffics: Vec<String> = Vec::new();
    for row in &summary.rows {
        if !traffics.contains(&row.traffic) {
            traffics.push(row.traffic.clone());
        }
    }
    // A summary leaves out what some traffic has no value of.
    let of = |metric: Metric| summary.rows.iter().filter(move |row| row.metric == metric);
    let everywhere = |metric: Metric| traffics.iter().all(|traffic| of(metric).any(|row| row.traffic == *traffic));
    let waits = folder.manifest.packet_waits;
    let is_kept =
        |metric: Metric| !metric.is_of_ports() && metric != Metric::Resets && (waits || !metric.is_of_packets());
    if let Some(&metric) = metrics.iter().find(|&&metric| !is_kept(metric) && of(metric).next().is_none()) {
        return Err(NotMeasured::NotKept { folder: folder.path.display().to_string(), metric });
    }
    let wanted: Vec<Metric> =
        metrics.iter().copied().filter(|&metric| is_kept(metric) && !everywhere(metric)).collect();
    if wanted.is_empty() {
        return Ok(summary);
    }
    let mut builder = SummaryBuilder::of(&folder.manifest.cells, traffics, &wanted);
    let (mut flows, mut samples) = (folder.flows()?.peekable(), folder.series()?.peekable());
    for totals in &folder.manifest.runs {
        builder.add(&Outcome {
            job: totals.job,
            flows: take(&mut flows, totals.job)?,
            samples: take(&mut samples, totals.job)?,
            ports: None,
            cut: Vec::new(),
            waits: None,
            commands: Vec::new(),
            failed: Vec::new(),
            counters: totals.counters,
            deadlock: None,
            digest: 0,
            end: Time::from_picos(totals.end_ps),
            film: None,
            paths: None,
        });
    }
    summary.rows.retain(|row| !wanted.contains(&row.metric));
    summary.rows.extend(builder.build().rows);
    let places: BTreeMap<_, _> =
        folder.manifest.cells.iter().map(|cell| ((cell.policy.clone(), cell.sweep.to_string()), cell.index)).collect();
    summary.rows.sort_by_key(|row| places.get(&(row.policy.clone(), row.sweep.to_string())).copied());
    Ok(summary)
}

/// The next rows, as far as they are of `job`.
fn take<T>(rows: &mut Peekable<impl Iterator<Item = Result<(Job, T), Error>>>, job: Job) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    // An error is taken, too, and returned.
    while let Some(row) = rows.next_if(|row| row.as_ref().map_or(true, |(own, _)| *own == job)) {
        all.push(row?.1);
    }
    Ok(all)
}
