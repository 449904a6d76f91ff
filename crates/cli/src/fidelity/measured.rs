//! What is kept of the runs of a point, for models and kernels alike.

use std::collections::BTreeMap;

use headway_results::{Outcome, mean, percentile};
use headway_units::Span;
use serde::{Deserialize, Serialize};

/// What a point gave, by traffic.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measured(pub BTreeMap<String, Traffic>);

/// What the flows of one traffic did.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Traffic {
    /// For each repeat, its flows.
    pub flows: Vec<Vec<Flow>>,
    /// How long each repeat ran, µs.
    pub end_us: Vec<u64>,
    /// Of all samples of the congestion window of all subflows, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd: Option<Spread>,
    /// Of all samples of the smoothed round-trip time of all subflows, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Spread>,
    /// The window of the first flow's subflows in the first repeat, bytes, at every interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cwnds: Vec<Series>,
    /// Likewise its round-trip times, µs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rtts: Vec<Series>,
}

/// Values at whole multiples of the interval, from the first; none where nothing was sampled.
pub type Series = Vec<Option<u64>>;

/// A flow: bytes delivered, start in µs, completion time in µs if it finished, retransmissions, timeouts, whether it
/// has a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow(pub u64, pub u64, pub Option<u64>, pub u32, pub u32, pub bool);

/// Mean and 95th percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread(pub f64, pub f64);

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Spread> {
        // Six digits are kept, so that what is read back is what was written.
        let round = |value: f64| format!("{value:.5e}").parse().unwrap_or(value);
        values.sort_unstable_by(f64::total_cmp);
        Some(Spread(round(mean(&values)?), round(percentile(&values, 0, 0.95)?)))
    }
}

fn micros(picos: u64) -> u64 {
    (picos + 500_000) / 1_000_000
}

impl Measured {
    /// Of the repeats of a point in order; samples were taken every `interval`.
    pub fn new(outcomes: &[Outcome], interval: Span) -> Measured {
        let mut all = Measured::default();
        for outcome in outcomes {
            let mut flows: BTreeMap<&str, Vec<Flow>> = BTreeMap::new();
            for flow in &outcome.flows {
                let fct = flow.fct().map(|fct| micros(fct.picos()));
                let start = micros(flow.start.picos());
                let sized = flow.bytes.is_some();
                let row = Flow(flow.delivered, start, fct, flow.retransmissions, flow.timeouts, sized);
                flows.entry(&flow.traffic).or_default().push(row);
            }
            for (traffic, flows) in flows {
                let traffic = all.0.entry(traffic.to_owned()).or_default();
                traffic.flows.push(flows);
                traffic.end_us.push(micros(outcome.end.picos()));
            }
        }
        all.samples(outcomes, interval);
        all
    }

    fn samples(&mut self, outcomes: &[Outcome], interval: Span) {
        for (name, traffic) in &mut self.0 {
            let own = |entity: &str| entity.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('/'));
            let of = |metric: &str, scale: f64| {
                let samples = outcomes.iter().flat_map(|outcome| &outcome.samples);
                let values = samples.filter(|sample| &*sample.metric == metric && own(&sample.entity));
                Spread::of(values.map(|sample| sample.value * scale).collect())
            };
            traffic.cwnd = of("cwnd_bytes", 1.0);
            traffic.rtt = of("rtt_ns", 1e-3);
            let Some(first) = outcomes.first() else { continue };
            let series = |metric: &str, scale: f64| {
                let mut all: BTreeMap<&str, Series> = BTreeMap::new();
                let prefix = format!("{name}/0/");
                let of_first = |entity: &str| entity.starts_with(&prefix);
                for sample in first.samples.iter().filter(|s| &*s.metric == metric && of_first(&s.entity)) {
                    let index = (sample.time.picos() / interval.picos().max(1)) as usize;
                    let series = all.entry(&sample.entity).or_default();
                    if let Some(place) = index.checked_sub(1) {
                        series.resize(series.len().max(place + 1), None);
                        series[place] = Some((sample.value * scale).round() as u64);
                    }
                }
                all.into_values().collect()
            };
            traffic.cwnds = series("cwnd_bytes", 1.0);
            traffic.rtts = series("rtt_ns", 1e-3);
        }
    }
}

impl Traffic {
    /// Whether its flows go on for ever.
    pub fn is_unlimited(&self) -> bool {
        self.flows.iter().flatten().any(|flow| !flow.5)
    }

    /// For each repeat, what its flows delivered from the first start to the end of the run, bit/s.
    pub fn throughput(&self) -> Vec<f64> {
        let of = |(flows, &end): (&Vec<Flow>, &u64)| {
            let first = flows.iter().map(|flow| flow.1).min().unwrap_or(0);
            let bytes: u64 = flows.iter().map(|flow| flow.0).sum();
            bytes as f64 * 8e6 / end.saturating_sub(first).max(1) as f64
        };
        self.flows.iter().zip(&self.end_us).map(of).collect()
    }

    /// For each repeat, Jain's index of fairness over what its flows delivered (Jain, Chiu and Hawe, DEC-TR-301):
    /// (Σx)² / (n·Σx²). Nothing with less than two flows.
    pub fn fairness(&self) -> Vec<f64> {
        let of = |flows: &Vec<Flow>| {
            let sum: f64 = flows.iter().map(|flow| flow.0 as f64).sum();
            let squares: f64 = flows.iter().map(|flow| (flow.0 as f64).powi(2)).sum();
            (flows.len() > 1 && squares > 0.0).then(|| sum * sum / (flows.len() as f64 * squares))
        };
        self.flows.iter().filter_map(of).collect()
    }

    /// Completion times of all repeats in µs, sorted, and how many flows did not finish.
    pub fn times(&self) -> (Vec<f64>, usize) {
        let sized = || self.flows.iter().flatten().filter(|flow| flow.5);
        let mut times: Vec<f64> = sized().filter_map(|flow| flow.2).map(|fct| fct as f64).collect();
        times.sort_unstable_by(f64::total_cmp);
        let unfinished = sized().count() - times.len();
        (times, unfinished)
    }

    /// For each repeat, segments retransmitted.
    pub fn retransmissions(&self) -> Vec<f64> {
        self.flows.iter().map(|flows| flows.iter().map(|flow| f64::from(flow.3)).sum()).collect()
    }

    /// For each repeat, expiries of retransmission timers.
    pub fn timeouts(&self) -> Vec<f64> {
        self.flows.iter().map(|flows| flows.iter().map(|flow| f64::from(flow.4)).sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(delivered: &[u64]) -> Traffic {
        let flows = delivered.iter().map(|&bytes| Flow(bytes, 1_000_000, None, 0, 0, false)).collect();
        Traffic { flows: vec![flows], end_us: vec![3_000_000], ..Traffic::default() }
    }

    #[test]
    fn throughput_is_over_the_time_from_the_first_start() {
        // 3 MB in 2 s are 12 Mb/s
        assert_eq!(traffic(&[1_000_000, 2_000_000]).throughput(), [12e6]);
    }

    #[test]
    fn fairness_is_one_for_equals_and_the_share_of_those_who_get_something() {
        // DEC-TR-301: if k of n get all, the index is k/n
        assert_eq!(traffic(&[5, 5, 5]).fairness(), [1.0]);
        assert_eq!(traffic(&[8, 0, 0, 0]).fairness(), [0.25]);
        assert!(traffic(&[8]).fairness().is_empty());
    }

    #[test]
    fn unfinished_flows_are_counted_apart() {
        let flow = |fct| Flow(1, 0, fct, 0, 0, true);
        let flows = vec![vec![flow(Some(30)), flow(None)], vec![flow(Some(10))]];
        let traffic = Traffic { flows, end_us: vec![100, 100], ..Traffic::default() };
        assert_eq!(traffic.times(), (vec![10.0, 30.0], 1));
        assert!(!traffic.is_unlimited());
    }
}
