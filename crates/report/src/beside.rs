//! Modelled hosts and kernel hosts side by side.

use headway_results::{Estimate, Metric, Pair, Percentile, Statistic, Summary, compare};
use serde_json::{Value, json};

use crate::Layout;
use crate::grid::{Align, Cell, Column, render};
use crate::number::{Scale, three_digits};

const TIMES: [Metric; 2] = [Metric::Fct(Statistic::Mean), Metric::Fct(Statistic::Percentile(Percentile::whole(95)))];

/// What both have: mean and 95th percentile of completion times, and the goodput of flows without them.
fn pairs(model: &Summary, kernels: &Summary) -> Vec<Pair> {
    let timed = |pair: &Pair| TIMES.contains(&pair.a.metric);
    let mut all = compare(model, kernels).both;
    let with_times: Vec<String> = all.iter().filter(|pair| timed(pair)).map(|pair| pair.a.traffic.clone()).collect();
    all.retain(|pair| timed(pair) || pair.a.metric == Metric::GoodputMean && !with_times.contains(&pair.a.traffic));
    all
}

/// The kernel's value over the model's.
fn ratio(pair: &Pair) -> Option<f64> {
    Some(pair.b.value? / pair.a.estimate.value?).filter(|ratio| ratio.is_finite())
}

/// A table of completion times (or goodputs, of flows without end) on modelled hosts and on kernel hosts, for what was
/// run on both; nothing if there is nothing. Values are means over the repeats ± half the width of their 95 % intervals.
pub fn beside(model: &Summary, kernels: &Summary, layout: Layout) -> String {
    let pairs = pairs(model, kernels);
    if pairs.is_empty() {
        return String::new();
    }
    let shown = |pair: &Pair| ratio(pair).map_or_else(|| "–".to_owned(), three_digits);
    table(&pairs.iter().collect::<Vec<_>>(), ["model", "kernel", "kernel/model"], &shown, layout)
}

/// A row for each of `pairs`: the two estimates under the first two of `names`, how they differ under the third.
fn table(pairs: &[&Pair], names: [&str; 3], differ: &dyn Fn(&Pair) -> String, layout: Layout) -> String {
    let column = |name: &str, align: Align, of: &dyn Fn(&Pair) -> Cell| {
        Column::new(&[name], align, pairs.iter().map(|pair| of(pair)).collect())
    };
    let scale =
        |pair: &Pair| Scale::fitting(pair.a.metric, [pair.a.estimate.value, pair.b.value].into_iter().flatten());
    let value = |pair: &Pair, estimate: &Estimate| match scale(pair).show(estimate) {
        Some((value, half)) => Cell { value, half, mark: "" },
        None => Cell::from("–".to_owned()),
    };
    let mut columns = vec![column("policy", Align::Left, &|pair| Cell::from(pair.a.policy.clone()))];
    if pairs.iter().any(|pair| !pair.a.sweep.is_empty()) {
        columns.push(column("at", Align::Left, &|pair| Cell::from(pair.a.sweep.to_string())));
    }
    columns.push(column("traffic", Align::Left, &|pair| Cell::from(pair.a.traffic.clone())));
    columns.push(column("metric", Align::Left, &|pair| Cell::from(pair.a.metric.to_string())));
    let labels = columns.len();
    columns.push(column(names[0], Align::Right, &|pair| value(pair, &pair.a.estimate)));
    columns.push(column(names[1], Align::Right, &|pair| value(pair, &pair.b)));
    columns.push(column("", Align::Left, &|pair| Cell::from(scale(pair).name.to_owned())));
    columns.push(column(names[2], Align::Right, &|pair| Cell::from(differ(pair))));
    columns.push(column("intervals", Align::Left, &|pair| {
        let text = match pair.overlap() {
            Some(true) => "overlap",
            Some(false) => "apart",
            None => "none",
        };
        Cell::from(text.to_owned())
    }));
    render(&columns, labels, layout)
}

/// The rows of [`beside`] for programs.
pub fn beside_json(model: &Summary, kernels: &Summary) -> Value {
    let row = |pair: &Pair| {
        let mut kernel = pair.a.clone();
        kernel.estimate = pair.b;
        json!({
            "model": crate::row_json(&pair.a),
            "kernel": crate::row_json(&kernel),
            "kernel_over_model": ratio(pair),
            "intervals_overlap": pair.overlap(),
        })
    };
    pairs(model, kernels).iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use headway_results::{Row, SweepPoint};

    use super::*;

    fn summary(rows: &[(&str, &str, &str, f64)]) -> Summary {
        let row = |&(policy, traffic, metric, value): &(&str, &str, &str, f64)| Row {
            policy: policy.into(),
            sweep: SweepPoint::new(),
            traffic: traffic.into(),
            metric: metric.parse().unwrap(),
            estimate: Estimate { value: Some(value), low: Some(value * 0.9), high: Some(value * 1.1), n: 3 },
        };
        Summary { sweep: Vec::new(), rows: rows.iter().map(row).collect() }
    }

    #[test]
    fn what_both_ran_is_shown_with_the_ratio() {
        let model = summary(&[
            ("tcp", "short", "fct.mean", 0.010),
            ("tcp", "short", "fct.p99", 0.030),
            ("tcp", "short", "goodput.mean", 50e6),
            ("tcp", "long", "goodput.mean", 90e6),
            ("lanes", "short", "fct.mean", 0.005),
        ]);
        let kernels = summary(&[
            ("tcp", "short", "fct.mean", 0.015),
            ("tcp", "short", "fct.p99", 0.030),
            ("tcp", "short", "goodput.mean", 40e6),
            ("tcp", "long", "goodput.mean", 81e6),
        ]);
        let text = beside(&model, &kernels, Layout::PLAIN);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = text.lines().map(words).collect();
        let expected = [
            "policy traffic metric model kernel kernel/model intervals",
            "tcp short fct.mean 10.0 ± 1.0 15.0 ± 1.5 ms 1.50 apart",
            "tcp long goodput.mean 90.0 ± 9.0 81.0 ± 8.1 Mb/s 0.900 overlap",
        ];
        assert_eq!(lines, expected, "\n{text}");
        let json = beside_json(&model, &kernels);
        assert_eq!(json.as_array().unwrap().len(), 2);
        assert_eq!(json[1]["kernel_over_model"], 0.9);
        assert_eq!(beside(&model, &summary(&[]), Layout::PLAIN), "");
    }
}
