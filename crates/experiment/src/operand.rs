//! The values that claims are about.

use headway_results::{ALL_TRAFFIC, Estimate, Metric, Outcome, Statistic, Subject, Support};
use headway_scenario::plan::{Network, PlanError};
use headway_scenario::schema::{OperandRecord, ScenarioRecord, Series, TrafficRecord};
use headway_units::{Span, Time};

/// A value that a claim is about, in one repeat of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Operand {
    pub policy: usize,
    /// The policy whose value is taken off.
    pub minus: Option<usize>,
    traffic: String,
    pub metric: Metric,
    window: Option<(Time, Time)>,
    port: Option<String>,
    over: Option<Span>,
    /// `lanes-link-cost short fct.p95`, for people.
    pub text: String,
}

impl Operand {
    /// Its value in `outcome`, whether of its policy or of the one that is taken off.
    pub fn value(&self, outcome: &Outcome) -> Option<f64> {
        // A mean over finished flows would speak for whoever leaves the slow ones unfinished.
        let unfinished = Metric::Unfinished.evaluate(outcome, &self.traffic, self.window);
        let of_finished = matches!(
            self.metric,
            Metric::Fct(Statistic::Mean | Statistic::Deviation)
                | Metric::Slowdown(Statistic::Mean | Statistic::Deviation)
        );
        let partial = of_finished && unfinished.is_some_and(|n| n > 0.0);
        let (port, over) = (self.port.as_deref(), self.over);
        let subject = Subject { traffic: &self.traffic, window: self.window, port, over };
        self.metric.evaluate_of(outcome, &subject).filter(|_| !partial)
    }

    /// The values it can take: a difference has any sign.
    pub fn support(&self) -> Support {
        if self.minus.is_some() { Support::Real } else { self.metric.support() }
    }

    /// Its estimate from one value for each repeat.
    pub fn estimate(&self, values: &[f64]) -> Estimate {
        Estimate::within(self.support(), values)
    }

    pub fn show(&self, estimate: &Estimate) -> String {
        match (estimate.value, estimate.low, estimate.high) {
            (Some(value), Some(low), Some(high)) => {
                let show = |v| self.metric.display(v);
                format!("{} [{}, {}]", show(value), show(low), show(high))
            }
            (Some(value), ..) => self.metric.display(value),
            _ => match self.metric {
                Metric::Reach(_) => "no value (never reached, or no flows)".to_owned(),
                Metric::Recovery(_) => "no value (not back by the end, or never reached)".to_owned(),
                _ => "no value (no flows, or unfinished ones)".to_owned(),
            },
        }
    }
}

/// The operand of `record`, which stands at `path` of the file.
pub(crate) fn operand(record: &OperandRecord, path: &[&str], scenario: &ScenarioRecord) -> Result<Operand, PlanError> {
    let at = |key| [path, &[key]].concat();
    let metric: Metric = record.value.parse().map_err(|error| PlanError::new(&at("value"), format!("{error}")))?;
    let policy = |key: &str, name: &str| {
        let index = scenario.policy.iter().position(|policy| *policy.name == *name);
        index.ok_or_else(|| PlanError::new(&[path, &[key]].concat(), format!("there is no policy `{name}`")))
    };
    let own = policy("policy", &record.policy)?;
    let minus = record.minus.as_ref().map(|name| policy("minus", name)).transpose()?;
    let reported = scenario.traffic.iter().flat_map(|traffic| {
        let names = traffic.reported().into_iter();
        names.map(move |name| (name, traffic))
    });
    let reported: Vec<(String, &TrafficRecord)> = reported.collect();
    let traffic = match (&record.traffic, &reported[..]) {
        // It is of the network.
        _ if metric.is_of_network() => "",
        (Some(name), _) => name.as_str(),
        (None, [(only, _)]) => only.as_str(),
        (None, []) => return Err(PlanError::new(path, "this scenario has no flows that a claim could be about")),
        _ => return Err(PlanError::new(path, "this scenario has several kinds of traffic: say which with `traffic`")),
    };
    check_keys(record, metric, path)?;
    check_series(record, metric, traffic, &reported, path, scenario)?;
    // Without an end it is the run's, which the sweep may vary.
    let window = (record.from.is_some() || record.to.is_some())
        .then(|| (Time::ZERO + record.from.unwrap_or_default(), record.to.map_or(Time::NEVER, |to| Time::ZERO + to)));
    let text = describe(record, metric, traffic);
    let (port, over) = (record.port.clone(), record.over);
    Ok(Operand { policy: own, minus, traffic: traffic.to_owned(), metric, window, port, over, text })
}

/// The operand for people.
fn describe(record: &OperandRecord, metric: Metric, traffic: &str) -> String {
    let mut words = vec![record.policy.to_string()];
    words.extend(record.minus.as_ref().map(|minus| format!("− {minus}")));
    words.extend((!traffic.is_empty()).then(|| traffic.to_owned()));
    words.push(metric.to_string());
    words.extend(record.port.as_ref().map(|port| format!("at {port}")));
    words.extend(record.over.map(|over| format!("over {over}")));
    words.extend(match (record.from, record.to) {
        (None, None) => None,
        (from, None) => Some(format!("from {}", from.unwrap_or_default())),
        (from, Some(to)) => Some(format!("{} to {to}", from.unwrap_or_default())),
    });
    let place: Vec<String> = record.at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    words.extend((!place.is_empty()).then(|| format!("at {}", place.join(", "))));
    words.join(" ")
}

/// Keys that say nothing of a metric are mistakes.
fn check_keys(record: &OperandRecord, metric: Metric, path: &[&str]) -> Result<(), PlanError> {
    let of_rates = matches!(metric, Metric::Reach(_) | Metric::Recovery(_));
    let of_network = metric.is_of_network();
    let wrong = |key: &str, of: &str| {
        let message = format!("`{key}` says nothing of `{metric}`");
        Err(PlanError::new(&[path, &[key]].concat(), message).help(format!("it is for {of}")))
    };
    if record.port.is_some() && !of_rates && !metric.is_of_ports() {
        return wrong("port", "`drops`, pauses of ports, `reach.RATE` and `recovery.RATE`");
    }
    if record.over.is_some() && !of_rates {
        return wrong("over", "`reach.RATE` and `recovery.RATE`");
    }
    for (key, given) in
        [("from", record.from.is_some()), ("to", record.to.is_some()), ("traffic", record.traffic.is_some())]
    {
        if of_network && given {
            return wrong(key, "metrics of flows; ports and cards count for all traffic and the whole run");
        }
    }
    Ok(())
}

/// Metrics of samples need them, and metrics of failures those.
fn check_series(
    record: &OperandRecord,
    metric: Metric,
    traffic: &str,
    reported: &[(String, &TrafficRecord)],
    path: &[&str],
    scenario: &ScenarioRecord,
) -> Result<(), PlanError> {
    let at = |key| [path, &[key]].concat();
    let measure = &scenario.measure;
    let of_rates = matches!(metric, Metric::Reach(_) | Metric::Recovery(_));
    let series = if of_rates && record.port.is_some() { Series::Arrivals } else { Series::Goodput };
    let measured = measure.traffic.as_ref().is_none_or(|names| {
        let of = reported.iter().find(|(name, _)| name == traffic).map(|(_, of)| &of.name);
        names.iter().any(|name| Some(name) == of)
    });
    if traffic == ALL_TRAFFIC && (of_rates || matches!(metric, Metric::Throughput | Metric::ThroughputDeviation)) {
        let message = format!("`{metric}` is of one traffic, not of all");
        return Err(PlanError::new(&at("traffic"), message).help("all together have `goodput.sum`"));
    }
    let recorded = measure.series.contains(&series) && (measured || series == Series::Arrivals);
    let of_samples = matches!(metric, Metric::Throughput | Metric::ThroughputDeviation);
    if (of_samples || of_rates) && !recorded {
        if let Some(port) = record.port.as_ref().filter(|_| of_rates) {
            let message = format!("`{metric}` at `{port}` is taken from the series `arrivals`, which is not recorded");
            return Err(PlanError::new(&at("port"), message).help("add [measure] with series = [\"arrivals\"]"));
        }
        let name = if of_rates { "reach and recovery" } else { "throughput" };
        let verb = if of_rates { "are" } else { "is" };
        let message =
            format!("`{name}` {verb} taken from the series, which this scenario does not record of `{traffic}`");
        let fault = PlanError::new(&at("value"), message);
        return Err(fault.help("add [measure] with series = [\"goodput\"], and the traffic if it lists any"));
    }
    let interval = measure.interval_of(series);
    if let Some(over) = record.over.filter(|over| *over < interval) {
        let message = format!("`over` = {over} is shorter than the {interval} between two samples");
        return Err(PlanError::new(&at("over"), message).help("sample more often with `measure.intervals`"));
    }
    if let Some(over) = record.over.filter(|over| !over.picos().is_multiple_of(interval.picos())) {
        let message = format!("`over` = {over} is no multiple of the {interval} between two samples");
        return Err(PlanError::new(&at("over"), message).help("rates are means over whole intervals of the series"));
    }
    if metric.is_of_packets() && !measure.waits {
        let message = format!("`{metric}` is taken of packets' waits, which this scenario does not measure");
        return Err(PlanError::new(&at("value"), message).help("add [measure] with waits = true"));
    }
    if matches!(metric, Metric::Stall(_)) && scenario.failure.is_empty() {
        let fault = PlanError::new(&at("value"), format!("`{metric}` is of failures, which this scenario has none of"));
        return Err(fault.help("add a [[failure]]: flows stand still only while something is down"));
    }
    Ok(())
}

/// Ports that claims name have to be there, and to be looked at if their arrivals are wanted.
pub(crate) fn check_ports(scenario: &ScenarioRecord, network: &Network) -> Vec<PlanError> {
    let mut faults = Vec::new();
    for (index, claim) in scenario.claim.iter().enumerate() {
        let index = index.to_string();
        for (place, record) in claim.operand_places() {
            let Some(port) = &record.port else { continue };
            let path: Vec<&str> = ["claim", &index].into_iter().chain(place).chain(["port"]).collect();
            let links = network.links_called(port);
            let drops = record.value.parse::<Metric>().is_ok_and(Metric::is_of_ports);
            if links.is_empty() {
                let fault = PlanError::new(&path, format!("there is no link `{port}`"));
                faults.push(fault.help(network.suggest_link(port)));
            } else if !drops && links.len() > 1 {
                let message = format!("{} parallel cables are `{port}`, and each has arrivals of its own", links.len());
                faults.push(
                    PlanError::new(&path, message).help("metrics of ports count them together; no other metric does"),
                );
            } else if !drops
                && !match &scenario.measure.links {
                    Some(names) => names.contains(port),
                    None => links.iter().all(|link| network.switch_ports().contains(link)),
                }
            {
                let message = format!("arrivals at `{port}` are not recorded");
                faults.push(PlanError::new(&path, message).help("add it to `measure.links`"));
            }
        }
    }
    faults
}
