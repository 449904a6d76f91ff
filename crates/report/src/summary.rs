//! A summary as tables.
//!
//! Where a name is swept and there are several policies, each traffic gets a table for each metric, by sweep point and
//! policy; otherwise a single table, of policies or of sweep points by metrics. Without a [`Choice`] the metrics are
//! those that answer most questions; the other numbers are in `summary.csv`.

mod choice;
mod labels;
mod metrics;
mod view;

pub use choice::Choice;

use std::collections::BTreeSet;

use headway_results::{Estimate, Metric, Percentile, Statistic, Summary, SweepPoint};

use crate::grid::{Align, Cell, Column, render};
use crate::number::{Scale, three_digits};
use crate::text::wrapped;
use crate::{Layout, counted, harmless};

use labels::Rows;
use metrics::{column_header, is_network, none_of, title};
use view::View;

/// Shown where there is no value.
const NONE: &str = "–";
/// Points to the footnote on unfinished flows.
const UNFINISHED: &str = "*";

/// The numbers of `summary` that `choice` asks for as tables, one set for each traffic, and one for the network.
///
/// Each table has one unit, named in its title or header. A cell is the mean over the repeats with its 95 % interval. What unfinished flows have touched is marked with `*`. No line is wider than the layout, unless
/// a single number with its row's name is.
pub fn summary(summary: &Summary, choice: &Choice, layout: Layout) -> String {
    tables(summary, choice, None, layout)
}

/// As [`summary`]; where `pooled`, numbers are of all repeats together, and a percentile that has too few flows has none.
pub(crate) fn tables(summary: &Summary, choice: &Choice, pooled: Option<&'static str>, layout: Layout) -> String {
    let view = View::new(summary, choice);
    let rows = Rows::new(&view, layout);
    let mut texts: Vec<String> = Vec::new();
    for traffic in &view.traffics {
        let metrics = metrics::of_traffic(&view, traffic, choice);
        texts.push(
            Set::new(&view, &rows, (traffic, traffic), pooled, layout).text(&metrics, !choice.metrics.is_empty()),
        );
    }
    if let Some((traffic, metrics)) = metrics::of_network(&view, choice) {
        texts.push(
            Set::new(&view, &rows, (traffic, "network"), pooled, layout).text(&metrics, !choice.metrics.is_empty()),
        );
    }
    texts.retain(|text| !text.is_empty());
    if texts.is_empty() {
        return if choice.is_all() { "no flows\n".to_owned() } else { "no numbers\n".to_owned() };
    }
    texts.splice(0..0, rows.legend.clone());
    texts.join("\n")
}

/// The tables of one traffic, or of the network.
struct Set<'a> {
    view: &'a View<'a>,
    rows: &'a Rows<'a>,
    /// Whose numbers.
    traffic: &'a str,
    /// As titles call it, and without its part.
    name: String,
    short: String,
    /// Over what numbers are, where that is not the repeats.
    pooled: Option<&'static str>,
    layout: Layout,
    /// Footnotes on cells without a value.
    missing: BTreeSet<(usize, String)>,
    /// Whether a cell is marked with [`UNFINISHED`].
    marked: bool,
}

impl<'a> Set<'a> {
    fn new(
        view: &'a View<'a>,
        rows: &'a Rows<'a>,
        (traffic, name): (&'a str, &str),
        pooled: Option<&'static str>,
        layout: Layout,
    ) -> Set<'a> {
        let short = harmless(name);
        let name = match view.only_part(traffic) {
            Some(part) => format!("{short} (all of it {})", harmless(part)),
            None => short.clone(),
        };
        Set { view, rows, traffic, name, short, pooled, layout, missing: BTreeSet::new(), marked: false }
    }

    /// Counts that are 0 everywhere are a sentence, unless they were `asked` for.
    fn text(mut self, metrics: &[Metric], asked: bool) -> String {
        let is_none =
            |metric: &Metric| !asked && none_of(*metric).is_some() && self.view.is_zero(self.traffic, *metric);
        let (zeros, shown): (Vec<Metric>, Vec<Metric>) = metrics.iter().partition(|metric| is_none(metric));
        let mut tables: Vec<String> = Vec::new();
        if self.rows.by_policy {
            tables.extend(shown.iter().map(|metric| self.by_policy(*metric)));
        } else if !shown.is_empty() {
            tables.push(self.by_metric(&shown));
        }
        let mut text = tables.join("\n");
        let note = |text: &mut String, note: &str| {
            for line in wrapped(note, self.layout.width, 3) {
                text.push_str(&self.layout.dim(&line));
                text.push('\n');
            }
        };
        if self.marked {
            note(
                &mut text,
                "*  Not all flows finished. Means are over those that did, hence too low; a percentile that falls \
                 among the unfinished has no value.",
            );
        }
        for (_, missing) in &self.missing {
            note(&mut text, missing);
        }
        if !zeros.is_empty() {
            if !text.is_empty() {
                text.push('\n');
            }
            let zeros: Vec<&str> = zeros.iter().filter_map(|metric| none_of(*metric)).collect();
            for line in wrapped(&format!("{}: no {}", self.short, zeros.join(", no ")), self.layout.width, 3) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text
    }

    /// A cell, and what its place means where it has none.
    fn cell(&mut self, policy: &str, point: &SweepPoint, metric: Metric, scale: Scale) -> Cell {
        let estimate = self.view.get(policy, point, self.traffic, metric);
        if metric == Metric::Unfinished
            && let Some(text) = self.unfinished(policy, point, estimate)
        {
            return Cell::from(text);
        }
        let shown = estimate.and_then(|estimate| scale.show(&estimate));
        // A percentile that has a value has the right one.
        let touched = match metric {
            Metric::Fct(Statistic::Mean | Statistic::Deviation)
            | Metric::Slowdown(Statistic::Mean | Statistic::Deviation) => true,
            Metric::Fct(_) | Metric::Slowdown(_) => shown.is_none(),
            _ => false,
        };
        let touched = touched && self.view.is_unfinished(policy, point, self.traffic);
        self.marked |= touched;
        let mark = if touched { UNFINISHED } else { "" };
        if let Some((value, half)) = shown {
            return Cell { value, half, mark };
        }
        if !touched {
            self.missing.insert(if self.pooled.is_some() { few_flows() } else { missing(metric) });
        }
        Cell { value: NONE.to_owned(), half: None, mark }
    }

    /// `3.40 of 240`.
    fn unfinished(&self, policy: &str, point: &SweepPoint, left: Option<Estimate>) -> Option<String> {
        let left = left?.value?;
        let flows = self.view.get(policy, point, self.traffic, Metric::Flows)?.value?;
        Some(if left > 0.0 { format!("{} of {}", count(left), count(flows)) } else { "0".to_owned() })
    }

    /// Sweep points by policies.
    fn by_policy(&mut self, metric: Metric) -> String {
        let scale = Scale::fitting(metric, self.view.values(self.traffic, metric));
        let mut columns = self.rows.columns.clone();
        let labels = columns.len();
        for (policy, header) in self.view.policies.iter().zip(&self.rows.headers) {
            let points = self.rows.cells.iter().map(|(_, point)| *point);
            let cells = points.map(|point| self.cell(policy, point, metric, scale)).collect();
            columns.push(Column::new(&header.iter().map(String::as_str).collect::<Vec<_>>(), Align::Right, cells));
        }
        let what = if self.pooled.is_some() { metrics::name(metric) } else { title(metric, scale.name) };
        let sure = match metric {
            Metric::Unfinished => "mean over the repeats".to_owned(),
            _ => self.sure(self.view.all(self.traffic, metric)),
        };
        format!("{}{}", self.title(&format!("{what}, {sure}")), render(&columns, labels, self.layout))
    }

    /// Policies, or sweep points of the only policy, by metrics.
    fn by_metric(&mut self, metrics: &[Metric]) -> String {
        let mut columns = self.rows.columns.clone();
        let labels = columns.len();
        for &metric in metrics {
            let scale = Scale::fitting(metric, self.view.values(self.traffic, metric));
            let rows = self.rows.cells.iter();
            let cells = rows.map(|(policy, point)| self.cell(policy, point, metric, scale)).collect();
            let (name, unit) = column_header(metric, scale.name);
            columns.push(Column::new(&[&name, unit], Align::Right, cells));
        }
        let flows: Vec<String> = self.view.values(self.traffic, Metric::Flows).map(count).collect();
        let mut what = match flows.split_first() {
            Some((first, rest))
                if rest.iter().all(|other| other == first) && !metrics.iter().all(|m| is_network(*m)) =>
            {
                format!("flows in a run: {first}, ")
            }
            _ => String::new(),
        };
        let of = |metric: &Metric| self.view.all(self.traffic, *metric).collect::<Vec<_>>();
        what.push_str(&self.sure(metrics.iter().flat_map(of)));
        format!("{}{}", self.title_with(", ", &what), render(&columns, labels, self.layout))
    }

    /// How sure the numbers of a table are.
    fn sure<'b>(&self, estimates: impl IntoIterator<Item = &'b Estimate>) -> String {
        self.pooled.map_or_else(|| repeats(estimates), str::to_owned)
    }

    fn title(&self, what: &str) -> String {
        self.title_with(": ", what)
    }

    fn title_with(&self, gap: &str, what: &str) -> String {
        let of = if self.rows.of.is_empty() { String::new() } else { format!(" ({})", self.rows.of) };
        let lines = wrapped(&format!("{}{of}{gap}{what}", self.name), self.layout.width, 2);
        lines.iter().map(|line| self.layout.bold(line) + "\n").collect()
    }
}

/// Why a cell may have no value, and in which order that is told.
fn missing(metric: Metric) -> (usize, String) {
    match metric {
        Metric::SwitchMean => (2, format!("{NONE}  in {}: no flow switched.", metrics::name(metric))),
        Metric::Fct(Statistic::Percentile(p)) if p > Percentile::whole(99) => {
            let flows = p.enough();
            (1, format!("{NONE}  in {}: runs with fewer than {flows} flows have none.", metrics::name(metric)))
        }
        Metric::HostWait(_) | Metric::SwitchWait(_) => {
            (3, format!("{NONE}  in {}: not measured, or no packet with data arrived.", metrics::name(metric)))
        }
        _ => (0, format!("{NONE}  No flows.")),
    }
}

/// Why a percentile of flows of one size may have no value.
fn few_flows() -> (usize, String) {
    let [p95, p99] = [95, 99].map(|percent| Percentile::whole(percent).enough());
    let p999 = Percentile::P999.enough();
    let text = format!(
        "{NONE}  Too few flows (p95 is taken of {p95} and more, p99 of {p99}, p99.9 of {p999}), or among those that did \
         not finish."
    );
    (0, text)
}

/// Of numbers over repeats.
fn repeats<'a>(estimates: impl IntoIterator<Item = &'a Estimate>) -> String {
    let (mut least, mut most, mut sure) = (usize::MAX, 0, false);
    for estimate in estimates.into_iter().filter(|estimate| estimate.value.is_some()) {
        (least, most) = (least.min(estimate.n), most.max(estimate.n));
        sure |= estimate.low.is_some();
    }
    let what = if sure { "95 % intervals" } else { "means" };
    match most {
        0 => "no values".to_owned(),
        1 => "one repeat".to_owned(),
        _ if least == most => format!("{what} over {}", counted(most, "repeat")),
        _ => format!("{what} over {least} to {most} repeats"),
    }
}

/// A mean of counts.
pub(crate) fn count(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { three_digits(value) }
}

#[cfg(test)]
mod tests;
