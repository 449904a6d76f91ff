//! Two sets of results, row by row: which rows differ, by how much, and how sure that is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use thiserror::Error;

use crate::folder::Finished;
use crate::metric::Metric;
use crate::record::SweepPoint;
use crate::repeats::{Index, Repeats};
use crate::stats::{Estimate, Sample, paired_difference, same, welch_difference};
use crate::summary::Row;

/// In a [`Side`]'s choice: the policy, where no parameter has that name.
pub const POLICY: &str = "policy";

/// A name or value that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unknown {
    /// Nothing is swept under this name.
    #[error("nothing is swept under the name `{name}` in {}", folder.display())]
    Name {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The name has no such value.
    #[error("`{name}` has no value `{value}` in {}", folder.display())]
    Value {
        /// The folder.
        folder: PathBuf,
        /// The name.
        name: String,
        /// What was asked for.
        value: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No row has this metric, traffic or policy.
    #[error("no row has the {what} `{name}`")]
    Filter {
        /// `metric`, `traffic` or `policy`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The two sides are of other parameters, so that no row of one can match one of the other.
    #[error("nothing can be compared: A has rows by {}, and B by {}", names(a), names(b))]
    Apart {
        /// Names of A that its rows are told apart by.
        a: Vec<String>,
        /// Names of B.
        b: Vec<String>,
    },
}

fn names(all: &[String]) -> String {
    all.join(", ")
}

impl Unknown {
    /// What may stand in place of it.
    pub fn known(&self) -> &[String] {
        match self {
            Unknown::Name { known, .. } | Unknown::Value { known, .. } | Unknown::Filter { known, .. } => known,
            Unknown::Apart { .. } => &[],
        }
    }
}

/// One of two sets of results: a folder, or its rows at one value of some swept names.
#[derive(Debug)]
pub struct Side<'a> {
    /// The folder.
    pub folder: &'a Finished,
    /// Names with the value that they are taken at; rows are not told apart by them.
    pub choice: Vec<(String, String)>,
    repeats: Option<&'a Repeats>,
}

impl<'a> Side<'a> {
    /// The rows of `folder` that have the values of `choice`: pairs of a swept name, or [`POLICY`], and its value as it is
    /// printed. `repeats` is what [`Finished::repeats`] gave.
    ///
    /// # Errors
    /// If there is no such name or value.
    pub fn new(
        folder: &'a Finished,
        repeats: Option<&'a Repeats>,
        choice: Vec<(String, String)>,
    ) -> Result<Side<'a>, Unknown> {
        let (rows, path) = (&folder.summary.rows, || folder.path.clone());
        for (name, value) in &choice {
            let of_policy = name == POLICY && !folder.summary.sweep.contains(name);
            if !of_policy && !folder.summary.sweep.contains(name) {
                let known = folder.summary.sweep.iter().cloned().chain([POLICY.to_owned()]).collect();
                return Err(Unknown::Name { folder: path(), name: name.clone(), known });
            }
            let values = rows.iter().filter_map(|row| value_of(row, name));
            let known = distinct(values);
            if !known.contains(value) {
                return Err(Unknown::Value { folder: path(), name: name.clone(), value: value.clone(), known });
            }
        }
        Ok(Side { folder, choice, repeats })
    }

    /// Whether differences can be taken repeat by repeat: the numbers of single repeats are there.
    pub fn has_repeats(&self) -> bool {
        self.repeats.is_some()
    }

    fn chosen(&self, row: &Row) -> bool {
        self.choice.iter().all(|(name, value)| value_of(row, name).is_some_and(|own| own == value))
    }

    /// The names that rows are still told apart by.
    fn names(&self) -> Vec<String> {
        let fixed = |name: &String| self.choice.iter().any(|(other, _)| other == name);
        let policy = POLICY.to_owned();
        std::iter::once(&policy).chain(&self.folder.summary.sweep).filter(|name| !fixed(name)).cloned().collect()
    }

    /// `row` without what is chosen.
    fn label(&self, row: &Row) -> Row {
        let fixed = |name: &str| self.choice.iter().any(|(other, _)| other == name);
        let rest = row.sweep.iter().filter(|(name, _)| !fixed(name));
        let sweep = rest.fold(SweepPoint::new(), |point, (name, value)| point.with(name, value.clone()));
        let policy = if fixed(POLICY) && row.sweep.get(POLICY).is_none() { String::new() } else { row.policy.clone() };
        Row { policy, sweep, ..row.clone() }
    }
}

fn value_of<'a>(row: &'a Row, name: &str) -> Option<&'a String> {
    let swept = row.sweep.get(name).map(|value| &value.text);
    swept.or_else(|| (name == POLICY).then_some(&row.policy))
}

/// In order of first appearance.
fn distinct<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    all.filter(|one| seen.insert(one.as_str())).cloned().collect()
}

/// Which rows are wanted; all where a list is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names of metrics.
    pub metrics: Vec<String>,
    /// Traffics.
    pub traffics: Vec<String>,
    /// Policies.
    pub policies: Vec<String>,
}

impl Filter {
    fn has(&self, row: &Row) -> bool {
        let has = |wanted: &[String], own: &str| wanted.is_empty() || wanted.iter().any(|one| one == own);
        has(&self.metrics, &row.metric.to_string())
            && has(&self.traffics, &row.traffic)
            && has(&self.policies, &row.policy)
    }

    /// That every name is one of some row.
    fn check(&self, rows: &[&Row]) -> Result<(), Unknown> {
        let metrics: Vec<String> = rows.iter().map(|row| row.metric.to_string()).collect();
        let traffics: Vec<String> = rows.iter().map(|row| row.traffic.clone()).collect();
        let policies: Vec<String> = rows.iter().map(|row| row.policy.clone()).collect();
        for (what, wanted, all) in [
            ("metric", &self.metrics, metrics),
            ("traffic", &self.traffics, traffics),
            ("policy", &self.policies, policies),
        ] {
            if let Some(name) = wanted.iter().find(|name| !all.contains(name)) {
                return Err(Unknown::Filter { what, name: name.clone(), known: distinct(all.iter()) });
            }
        }
        Ok(())
    }
}

/// How a difference was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Repeat by repeat, of those that both have: the same random numbers are on both sides.
    Paired,
    /// Between the means of two independent samples (Welch).
    Independent,
}

/// What a row says about whether the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The two are the same, up to rounding.
    Same,
    /// They differ: the interval of the difference leaves out zero, or nothing varies.
    Differ,
    /// The interval of the difference has zero in it: these repeats do not tell the two apart.
    Overlap,
    /// They are not the same, and one repeat has no interval.
    Unjudged,
    /// One of the two has no value.
    OneSided,
}

/// A row that both sides have.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The row of A, without what was chosen (then the policy is empty); of paired ones the estimate is over the pairs.
    pub a: Row,
    /// The estimate of B.
    pub b: Estimate,
    /// B − A with its interval; `None` if one has no value. `n` is the number of pairs, or of the smaller sample.
    pub difference: Option<Estimate>,
    /// How it was taken.
    pub method: Method,
    /// What follows.
    pub judgement: Judgement,
}

impl Difference {
    /// How much larger B is, as a share of A; `None` if one has no value or A is 0.
    pub fn relative(&self) -> Option<f64> {
        let a = self.a.estimate.value.filter(|a| *a != 0.0)?;
        Some(self.difference?.value? / a.abs())
    }

    /// Whether an interval judged it, so that chance alone may do so wrongly, in 5 of 100 cases.
    pub fn by_interval(&self) -> bool {
        self.difference.is_some_and(|difference| difference.low.is_some())
    }
}

/// Two sides, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Differences {
    /// The rows that both have, in A's order.
    pub both: Vec<Difference>,
    /// The rows that only A has.
    pub only_a: Vec<Row>,
    /// The rows that only B has.
    pub only_b: Vec<Row>,
}

/// B against A, in the rows that `filter` wants.
///
/// Of the same seed the difference is paired: random numbers depend on seed and repeat alone. Otherwise, and of folders
/// without single repeats, the two are taken as independent.
///
/// # Errors
/// If a name of `filter` is in no row, or no row of A can match one of B.
pub fn differences(a: &Side<'_>, b: &Side<'_>, filter: &Filter) -> Result<Differences, Unknown> {
    let chosen = |side: &Side<'_>| side.folder.summary.rows.iter().filter(|row| side.chosen(row)).cloned().collect();
    let (rows_a, rows_b): (Vec<Row>, Vec<Row>) = (chosen(a), chosen(b));
    filter.check(&rows_a.iter().chain(&rows_b).collect::<Vec<_>>())?;
    let (names_a, names_b) = (a.names(), b.names());
    if names_a.iter().collect::<BTreeSet<_>>() != names_b.iter().collect::<BTreeSet<_>>() {
        return Err(Unknown::Apart { a: names_a, b: names_b });
    }
    let indices = a.repeats.zip(b.repeats).map(|(a, b)| [a.index(), b.index()]);
    let same_seed = a.folder.manifest.seed == b.folder.manifest.seed;
    let taken = Taken { same_seed, repeats: indices.as_ref() };
    let mut of_b: BTreeMap<Key, &Row> = rows_b.iter().map(|row| (key(&b.label(row)), row)).collect();
    let mut found = Differences::default();
    for row in rows_a.iter().filter(|row| filter.has(row)) {
        let label = a.label(row);
        match of_b.remove(&key(&label)) {
            Some(other) => found.both.push(taken.difference(label, row, other)),
            None => found.only_a.push(label),
        }
    }
    let left = |row: &&Row| filter.has(row) && of_b.contains_key(&key(&b.label(row)));
    found.only_b = rows_b.iter().filter(left).map(|row| b.label(row)).collect();
    Ok(found)
}

/// Policy, sweep (in order of names), traffic, metric.
type Key = (String, BTreeMap<String, String>, String, Metric);

fn key(row: &Row) -> Key {
    let sweep = row.sweep.iter().map(|(name, value)| (name.to_owned(), value.text.clone())).collect();
    (row.policy.clone(), sweep, row.traffic.clone(), row.metric)
}

/// What differences are taken from.
struct Taken<'a> {
    same_seed: bool,
    /// Of A and of B.
    repeats: Option<&'a [Index<'a>; 2]>,
}

impl Taken<'_> {
    fn difference(&self, label: Row, a: &Row, b: &Row) -> Difference {
        let values = |side: usize, row: &Row| {
            let values = self.repeats.map(|both| both[side].values(row));
            values.filter(|values| !values.is_empty())
        };
        let (of_a, of_b) = (values(0, a), values(1, b));
        match (of_a, of_b) {
            (Some(of_a), Some(of_b)) if self.same_seed => paired(label, b.estimate, &of_a, &of_b),
            (of_a, of_b) => {
                let sample = |values: Option<BTreeMap<u32, f64>>, estimate: &Estimate| match values {
                    Some(values) => Sample::of(&values.into_values().collect::<Vec<_>>()),
                    None => Sample::behind(estimate),
                };
                let samples = sample(of_a, &a.estimate).zip(sample(of_b, &b.estimate));
                independent(label, b.estimate, samples)
            }
        }
    }
}

fn paired(a: Row, b: Estimate, of_a: &BTreeMap<u32, f64>, of_b: &BTreeMap<u32, f64>) -> Difference {
    let method = Method::Paired;
    let (Some(_), Some(_)) = (a.estimate.value, b.value) else { return without(a, b, method) };
    let pairs = of_a.iter().filter_map(|(repeat, a)| Some((*a, *of_b.get(repeat)?)));
    let (values_a, values_b): (Vec<f64>, Vec<f64>) = pairs.unzip();
    if values_a.is_empty() {
        return independent(a, b, None);
    }
    let support = a.metric.support();
    let (estimate, b) = (Estimate::within(support, &values_a), Estimate::within(support, &values_b));
    let difference = paired_difference(&values_b, &values_a);
    let judgement = judged(&difference);
    Difference { a: Row { estimate, ..a }, b, difference: Some(difference), method, judgement }
}

fn independent(a: Row, b: Estimate, samples: Option<(Sample, Sample)>) -> Difference {
    let method = Method::Independent;
    let (Some(value_a), Some(value_b)) = (a.estimate.value, b.value) else { return without(a, b, method) };
    let difference = if let Some((of_a, of_b)) = samples {
        welch_difference(of_b, of_a)
    } else {
        let value = if same(value_a, value_b) { 0.0 } else { value_b - value_a };
        Estimate { value: Some(value), low: None, high: None, n: 1 }
    };
    let judgement = judged(&difference);
    Difference { a, b, difference: Some(difference), method, judgement }
}

/// Where at least one of the two has no value.
fn without(a: Row, b: Estimate, method: Method) -> Difference {
    let judgement = if a.estimate.value.or(b.value).is_none() { Judgement::Same } else { Judgement::OneSided };
    Difference { a, b, difference: None, method, judgement }
}

fn judged(difference: &Estimate) -> Judgement {
    match (difference.low, difference.high) {
        (Some(low), Some(high)) if low <= 0.0 && 0.0 <= high => Judgement::Overlap,
        (Some(_), Some(_)) => Judgement::Differ,
        _ if difference.value == Some(0.0) => Judgement::Same,
        // the same in every repeat
        _ if difference.n >= 2 => Judgement::Differ,
        _ => Judgement::Unjudged,
    }
}

#[cfg(test)]
mod tests;
