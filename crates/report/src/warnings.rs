//! What to look at before trusting the numbers.

use headway_results::{Metric, Row, Summary};

use crate::harmless;
use crate::summary::count;

/// Sentences (without a full stop) on what makes numbers of `summary` less than they seem: flows that did not
/// finish, for each traffic.
pub fn warnings(summary: &Summary) -> Vec<String> {
    let mut traffics: Vec<&str> = Vec::new();
    for row in &summary.rows {
        if !traffics.contains(&row.traffic.as_str()) {
            traffics.push(&row.traffic);
        }
    }
    traffics.into_iter().filter_map(|traffic| unfinished(summary, traffic)).collect()
}

fn unfinished(summary: &Summary, traffic: &str) -> Option<String> {
    let value = |row: &Row| row.estimate.value.unwrap_or(0.0);
    let of = |metric| summary.rows.iter().filter(move |row| row.traffic == traffic && row.metric == metric);
    let cells = of(Metric::Unfinished).count();
    let touched: Vec<&Row> = of(Metric::Unfinished).filter(|row| value(row) > 0.0).collect();
    let worst = *touched.iter().max_by(|a, b| value(a).total_cmp(&value(b)))?;
    let flows = of(Metric::Flows).find(|row| row.policy == worst.policy && row.sweep == worst.sweep).map_or(0.0, value);
    let place = |row: &Row| {
        let at = if row.sweep.is_empty() { String::new() } else { format!(" at {}", row.sweep) };
        format!("policy {}{at}", row.policy)
    };
    let text = format!(
        "traffic {traffic}: not all flows finished in {} of {cells} cells, worst with {}: {} of {} flows in a run; a \
         longer `drain` gives them time",
        touched.len(),
        place(worst),
        count(value(worst)),
        count(flows),
    );
    Some(harmless(&text))
}

#[cfg(test)]
mod tests {
    use headway_results::{Estimate, SweepPoint};

    use super::*;

    #[test]
    fn unfinished_flows_are_pointed_out_where_they_are_worst() {
        let row = |policy: &str, n: i64, traffic: &str, metric: Metric, value: f64| Row {
            policy: policy.into(),
            sweep: SweepPoint::new().with("n", n),
            traffic: traffic.into(),
            metric,
            estimate: Estimate::of(&[value]),
        };
        let mut rows = vec![row("tcp", 1, "long", Metric::Unfinished, 0.0)];
        for (policy, n, left) in [("tcp", 1, 0.0), ("tcp", 2, 3.5), ("mptcp", 2, 1.0)] {
            rows.push(row(policy, n, "short", Metric::Flows, 240.0));
            rows.push(row(policy, n, "short", Metric::Unfinished, left));
        }
        let expected = "traffic short: not all flows finished in 2 of 3 cells, worst with policy tcp at n=2: 3.50 of \
                        240 flows in a run; a longer `drain` gives them time";
        assert_eq!(warnings(&Summary { sweep: vec!["n".into()], rows }), [expected]);
    }
}
