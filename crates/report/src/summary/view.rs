//! A summary, indexed.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{Estimate, Metric, Row, Summary, SweepPoint};

use super::Choice;

/// A summary, indexed, with everything in order of first appearance.
pub(super) struct View<'a> {
    /// Swept names.
    pub names: &'a [String],
    pub policies: Vec<&'a str>,
    pub points: Vec<&'a SweepPoint>,
    /// Without those that are the only part of another one.
    pub traffics: Vec<&'a str>,
    /// By traffic: its only part.
    only_parts: BTreeMap<&'a str, &'a str>,
    /// By policy, point (as text), traffic, metric.
    estimates: BTreeMap<(&'a str, String, &'a str, Metric), Estimate>,
}

impl<'a> View<'a> {
    pub fn new(summary: &'a Summary, choice: &Choice) -> View<'a> {
        fn add<T: PartialEq>(to: &mut Vec<T>, new: T) {
            if !to.contains(&new) {
                to.push(new);
            }
        }
        let (mut policies, mut traffics) = (Vec::new(), Vec::new());
        let mut points: Vec<&SweepPoint> = Vec::new();
        let mut seen = BTreeSet::new();
        let rows = || {
            let asked = |row: &&Row| choice.has_traffic(&row.traffic) && choice.has_policy(&row.policy);
            summary.rows.iter().filter(asked)
        };
        for row in rows() {
            add(&mut policies, row.policy.as_str());
            add(&mut traffics, row.traffic.as_str());
            if seen.insert(row.sweep.to_string()) {
                points.push(&row.sweep);
            }
        }
        let key = |row: &'a Row| (row.policy.as_str(), row.sweep.to_string(), row.traffic.as_str(), row.metric);
        let estimates = rows().map(|row| (key(row), row.estimate)).collect();
        let only_parts = if choice.traffics.is_empty() { only_parts(&traffics) } else { BTreeMap::new() };
        traffics.retain(|traffic| !only_parts.values().any(|part| part == traffic));
        View { names: &summary.sweep, policies, points, traffics, only_parts, estimates }
    }

    pub fn get(&self, policy: &str, point: &SweepPoint, traffic: &str, metric: Metric) -> Option<Estimate> {
        self.estimates.get(&(policy, point.to_string(), traffic, metric)).copied()
    }

    /// The estimates of `metric` in all cells.
    pub fn all<'b>(&'b self, traffic: &'b str, metric: Metric) -> impl Iterator<Item = &'b Estimate> {
        let wanted = move |key: &(&str, String, &str, Metric)| key.2 == traffic && key.3 == metric;
        self.estimates.iter().filter(move |(key, _)| wanted(key)).map(|(_, estimate)| estimate)
    }

    pub fn values<'b>(&'b self, traffic: &'b str, metric: Metric) -> impl Iterator<Item = f64> + 'b {
        self.all(traffic, metric).filter_map(|estimate| estimate.value)
    }

    /// Whether some cell has this metric, with a value or without.
    pub fn has(&self, traffic: &str, metric: Metric) -> bool {
        self.all(traffic, metric).next().is_some()
    }

    /// Whether some cell has more than 0.
    pub fn is_positive(&self, traffic: &str, metric: Metric) -> bool {
        self.values(traffic, metric).any(|value| value > 0.0)
    }

    /// Whether all cells have 0.
    pub fn is_zero(&self, traffic: &str, metric: Metric) -> bool {
        self.has(traffic, metric) && self.all(traffic, metric).all(|estimate| estimate.value == Some(0.0))
    }

    pub fn is_unfinished(&self, policy: &str, point: &SweepPoint, traffic: &str) -> bool {
        let estimate = self.get(policy, point, traffic, Metric::Unfinished);
        estimate.and_then(|estimate| estimate.value).is_some_and(|value| value > 0.0)
    }

    /// The part that is all of `traffic`, which has no tables of its own.
    pub fn only_part(&self, traffic: &str) -> Option<&str> {
        self.only_parts.get(traffic).copied()
    }
}

/// Of traffics that have one part, `web/GROUP` of `web`, that part: its numbers are those of the whole.
fn only_parts<'a>(traffics: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    let parts_of = |whole: &str| {
        let is_part = |own: &&&str| {
            own.strip_prefix(whole).is_some_and(|rest| rest.starts_with('/') && rest != headway_results::CONNECTION)
        };
        traffics.iter().filter(is_part).copied().collect::<Vec<&'a str>>()
    };
    let of = |whole: &&'a str| match parts_of(whole)[..] {
        [part] => Some((*whole, part)),
        _ => None,
    };
    traffics.iter().filter_map(of).collect()
}
