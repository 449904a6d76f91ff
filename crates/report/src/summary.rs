//! A summary as tables.
//!
//! With a sweep, each traffic gets a table for each of a few metrics, by sweep point and policy; without, a
//! single table of policies by metrics. The other numbers are in `summary.csv`.

use std::collections::BTreeMap;

use headway_results::{Estimate, Metric, Percentile, Row, Statistic, Summary, SweepPoint};

use crate::grid::{Align, Cell, Column, render};
use crate::number::{Scale, three_digits};
use crate::{Layout, counted, harmless};

const MEAN: Metric = Metric::Fct(Statistic::Mean);
const P95: Metric = Metric::Fct(Statistic::Percentile(Percentile::whole(95)));
const P99: Metric = Metric::Fct(Statistic::Percentile(Percentile::whole(99)));
const STALL: Metric = Metric::Stall(Statistic::Max);

/// Shown where there is no value.
const NONE: &str = "–";
/// Points to the footnote on unfinished flows.
const UNFINISHED: &str = "*";

/// The numbers of `summary` as tables, one set for each traffic.
///
/// Each table has one unit, named in its title or header. A cell is the mean over the repeats ± half the width
/// of its 95 % interval. What unfinished flows have touched is marked with `*`.
pub fn summary(summary: &Summary, layout: Layout) -> String {
    let view = View::new(summary);
    let texts: Vec<String> = view.traffics.iter().map(|traffic| view.traffic(traffic, layout)).collect();
    if texts.is_empty() { "no flows\n".to_owned() } else { texts.join("\n") }
}

/// A summary, indexed, with everything in order of first appearance.
struct View<'a> {
    names: &'a [String],
    policies: Vec<&'a str>,
    points: Vec<&'a SweepPoint>,
    traffics: Vec<&'a str>,
    /// By policy, point (as text), traffic, metric.
    estimates: BTreeMap<(&'a str, String, &'a str, Metric), Estimate>,
}

impl<'a> View<'a> {
    fn new(summary: &'a Summary) -> View<'a> {
        fn add<T: PartialEq>(to: &mut Vec<T>, new: T) {
            if !to.contains(&new) {
                to.push(new);
            }
        }
        let (mut policies, mut traffics) = (Vec::new(), Vec::new());
        let mut points: Vec<&SweepPoint> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for row in &summary.rows {
            add(&mut policies, row.policy.as_str());
            add(&mut traffics, row.traffic.as_str());
            if seen.insert(row.sweep.to_string()) {
                points.push(&row.sweep);
            }
        }
        let key = |row: &'a Row| (row.policy.as_str(), row.sweep.to_string(), row.traffic.as_str(), row.metric);
        let estimates = summary.rows.iter().map(|row| (key(row), row.estimate)).collect();
        View { names: &summary.sweep, policies, points, traffics, estimates }
    }

    fn get(&self, policy: &str, point: &SweepPoint, traffic: &str, metric: Metric) -> Option<Estimate> {
        self.estimates.get(&(policy, point.to_string(), traffic, metric)).copied()
    }

    /// The estimates of `metric` in all cells.
    fn all<'b>(&'b self, traffic: &'b str, metric: Metric) -> impl Iterator<Item = &'b Estimate> {
        let wanted = move |key: &(&str, String, &str, Metric)| key.2 == traffic && key.3 == metric;
        self.estimates.iter().filter(move |(key, _)| wanted(key)).map(|(_, estimate)| estimate)
    }

    fn values<'b>(&'b self, traffic: &'b str, metric: Metric) -> impl Iterator<Item = f64> + 'b {
        self.all(traffic, metric).filter_map(|estimate| estimate.value)
    }

    fn is_unfinished(&self, policy: &str, point: &SweepPoint, traffic: &str) -> bool {
        let estimate = self.get(policy, point, traffic, Metric::Unfinished);
        estimate.and_then(|estimate| estimate.value).is_some_and(|value| value > 0.0)
    }

    fn traffic(&self, traffic: &str, layout: Layout) -> String {
        let unfinished = self.values(traffic, Metric::Unfinished).any(|value| value > 0.0);
        let sized = unfinished || self.all(traffic, MEAN).next().is_some();
        let mut tables = Vec::new();
        let mut gap = false;
        if self.names.is_empty() {
            tables.push(self.metrics_by_policy(traffic, sized, &mut gap, layout));
        } else if sized {
            if self.values(traffic, Metric::Rate).next().is_some() {
                tables.push(self.by_point(traffic, Metric::Rate, "finished", &mut gap, layout));
            }
            tables.push(self.by_point(traffic, MEAN, "mean FCT", &mut gap, layout));
            tables.push(self.by_point(traffic, P95, "p95 FCT", &mut gap, layout));
            if unfinished {
                tables.push(self.unfinished_by_point(traffic, layout));
            }
        } else {
            tables.push(self.by_point(traffic, Metric::GoodputMean, "mean goodput of a flow", &mut gap, layout));
            tables.push(self.by_point(traffic, Metric::GoodputSum, "goodput of all flows", &mut gap, layout));
        }
        if !self.names.is_empty() && self.values(traffic, Metric::Resets).any(|value| value > 0.0) {
            tables.push(self.by_point(traffic, Metric::Resets, "resets", &mut gap, layout));
        }
        if !self.names.is_empty() && self.values(traffic, STALL).next().is_some() {
            tables.push(self.by_point(traffic, STALL, "longest stall", &mut gap, layout));
        }
        let mut stayed = false;
        if !self.names.is_empty() && self.values(traffic, Metric::SwitchMean).next().is_some() {
            tables.push(self.by_point(traffic, Metric::SwitchMean, "mean time of the switch", &mut stayed, layout));
        }
        let mut text = tables.join("\n");
        if unfinished {
            let note = "*  Not all flows finished. Means are over those that did, hence too low; a percentile that \
                        falls among the\n   unfinished has no value.\n";
            text.push_str(&layout.dim(note));
        }
        if gap {
            text.push_str(&layout.dim("–  No flows.\n"));
        }
        if stayed {
            text.push_str(&layout.dim("–  in the last table: no flow switched.\n"));
        }
        text
    }

    /// What a cell says, and whether it has nothing to say for want of flows.
    fn cell(&self, policy: &str, point: &SweepPoint, traffic: &str, metric: Metric, scale: Scale) -> (Cell, bool) {
        let touched = matches!(metric, Metric::Fct(_)) && self.is_unfinished(policy, point, traffic);
        let mark = if touched { UNFINISHED } else { "" };
        match self.get(policy, point, traffic, metric).and_then(|estimate| scale.show(&estimate)) {
            Some((value, half)) => (Cell { value, half, mark }, false),
            None => (Cell { value: NONE.to_owned(), half: None, mark }, !touched),
        }
    }

    /// The columns that name the rows.
    fn point_columns(&self) -> Vec<Column> {
        let column = |name: &String| {
            let values: Vec<_> = self.points.iter().map(|point| point.get(name)).collect();
            let numbers = values.iter().all(|value| value.is_some_and(|value| value.number.is_some()));
            let cells = values.iter().map(|value| Cell::from(value.map(|v| v.text.clone()).unwrap_or_default()));
            Column::new(&[name.as_str()], if numbers { Align::Right } else { Align::Left }, cells.collect())
        };
        self.names.iter().map(column).collect()
    }

    fn by_point(&self, traffic: &str, metric: Metric, what: &str, gap: &mut bool, layout: Layout) -> String {
        let scale = Scale::fitting(metric, self.values(traffic, metric));
        let mut columns = self.point_columns();
        let labels = columns.len();
        for policy in &self.policies {
            let cells = self.points.iter().map(|point| {
                let (cell, nothing) = self.cell(policy, point, traffic, metric, scale);
                *gap |= nothing;
                cell
            });
            columns.push(Column::new(&[policy], Align::Right, cells.collect()));
        }
        let unit = if scale.name.is_empty() { "a run" } else { scale.name };
        let title = format!("{}: {what} in {unit}, {}", harmless(traffic), repeats(self.all(traffic, metric)));
        format!("{}\n{}", layout.bold(&title), render(&columns, labels, layout))
    }

    fn unfinished_by_point(&self, traffic: &str, layout: Layout) -> String {
        let mut columns = self.point_columns();
        let labels = columns.len();
        for policy in &self.policies {
            let cells = self.points.iter().map(|point| {
                let value = |metric| self.get(policy, point, traffic, metric).and_then(|estimate| estimate.value);
                match (value(Metric::Unfinished), value(Metric::Flows)) {
                    (Some(left), Some(flows)) if left > 0.0 => {
                        Cell::from(format!("{} of {}", count(left), count(flows)))
                    }
                    _ => Cell::from("0".to_owned()),
                }
            });
            columns.push(Column::new(&[policy], Align::Right, cells.collect()));
        }
        let title = format!("{}: unfinished flows in a run, mean over the repeats", harmless(traffic));
        format!("{}\n{}", layout.bold(&title), render(&columns, labels, layout))
    }

    fn metrics_by_policy(&self, traffic: &str, sized: bool, gap: &mut bool, layout: Layout) -> String {
        let none = SweepPoint::new();
        let names = self.policies.iter().map(|policy| Cell::from((*policy).to_owned())).collect();
        let mut columns = vec![Column::new(&["policy"], Align::Left, names)];
        let goodput = [(Metric::GoodputMean, "goodput"), (Metric::GoodputSum, "goodput of all")];
        let (fct, goodput): (&[_], &[_]) = if sized {
            (&[(MEAN, "mean FCT"), (P95, "p95 FCT"), (P99, "p99 FCT")], &goodput[..1])
        } else {
            (&[], &goodput)
        };
        let counts = [(Metric::Retransmissions, "retransmissions"), (Metric::Timeouts, "timeouts")];
        let unfinished: &[_] = if sized { &[(Metric::Unfinished, "unfinished")] } else { &[] };
        let reset = self.values(traffic, Metric::Resets).any(|value| value > 0.0);
        let resets: &[_] = if reset { &[(Metric::Resets, "resets")] } else { &[] };
        let rated = self.values(traffic, Metric::Rate).next().is_some();
        let rate: &[_] = if rated { &[(Metric::Rate, "finished")] } else { &[] };
        let failed = self.values(traffic, STALL).next().is_some();
        let stall: &[_] = if failed { &[(STALL, "longest stall")] } else { &[] };
        for &(metric, name) in
            rate.iter().chain(fct).chain(stall).chain(goodput).chain(&counts).chain(resets).chain(unfinished)
        {
            let scale = Scale::fitting(metric, self.values(traffic, metric));
            let cells = self.policies.iter().map(|policy| {
                let (cell, nothing) = self.cell(policy, &none, traffic, metric, scale);
                *gap |= nothing;
                cell
            });
            let unit = if scale.name.is_empty() { "in a run" } else { scale.name };
            columns.push(Column::new(&[name, unit], Align::Right, cells.collect()));
        }
        let flows: Vec<String> = self.values(traffic, Metric::Flows).map(count).collect();
        let flows = match flows.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other == first) => format!(", flows in a run: {first}"),
            _ => String::new(),
        };
        let repeats = repeats(self.all(traffic, Metric::Flows));
        let title = format!("{}{flows}, {repeats}", harmless(traffic));
        format!("{}\n{}", layout.bold(&title), render(&columns, 1, layout))
    }
}

/// How sure the numbers of a table are.
fn repeats<'a>(estimates: impl Iterator<Item = &'a Estimate>) -> String {
    let with_value = estimates.filter(|estimate| estimate.value.is_some()).map(|estimate| estimate.n);
    let (least, most) = with_value.fold((usize::MAX, 0), |(least, most), n| (least.min(n), most.max(n)));
    match most {
        0 | 1 => "one repeat".to_owned(),
        _ if least == most => format!("± half of the 95 % interval over {}", counted(most, "repeat")),
        _ => format!("± half of the 95 % interval over {least} to {most} repeats"),
    }
}

/// A mean of counts.
pub(crate) fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

#[cfg(test)]
mod tests;
