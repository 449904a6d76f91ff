//! Outcomes of runs gathered, in any order, into the results of all.

use headway_results::{
    LongestWait, Metric, Outcome, Percentile, Repeats, Statistic, Summary, SummaryBuilder, Verdict, Warning,
};
use headway_scenario::ScenarioRecord;

use crate::claims::Claims;
use crate::experiment::Experiment;
use crate::tally::{Ended, Tally};

/// Of the network, where a policy is lossless.
const LOSSLESS: [Metric; 3] = [Metric::Pauses, Metric::Paused, Metric::HeadroomDrops];

/// Of each traffic, where it is measured how long packets wait.
const WAITS: [Metric; 4] = {
    const P99: Statistic = Statistic::Percentile(Percentile::whole(99));
    [
        Metric::HostWait(Statistic::Mean),
        Metric::HostWait(P99),
        Metric::SwitchWait(Statistic::Mean),
        Metric::SwitchWait(P99),
    ]
};

/// The traffics of datagrams: what is lost of them nobody sends again.
fn datagrams(scenario: &ScenarioRecord) -> Vec<&str> {
    let own = scenario.traffic.iter().filter(|traffic| traffic.datagrams().is_some());
    own.map(|traffic| traffic.name.as_str()).collect()
}

fn is_lossless(scenario: &ScenarioRecord) -> bool {
    scenario.policy.iter().any(|policy| policy.lossless.is_some())
}

/// Whether results of `scenario` have `metric`: in their summary, or taken from their flows, samples and counters.
pub fn is_kept(metric: Metric, scenario: &ScenarioRecord) -> bool {
    let seen = !metric.is_of_ports() && !metric.is_of_waits() && (!metric.is_of_packets() || scenario.measure.waits);
    seen || metric == Metric::Drops || is_lossless(scenario) && LOSSLESS.contains(&metric)
}

/// The results of all runs.
#[derive(Debug)]
pub struct Results {
    /// Estimates by policy, sweep point, traffic and metric.
    pub summary: Summary,
    /// The numbers behind it, one for each repeat.
    pub repeats: Repeats,
    /// The claims.
    pub verdicts: Vec<Verdict>,
    /// By cell the queue where frames waited most.
    pub waits: Vec<LongestWait>,
    /// The commands, in order of cells and repeats.
    pub commands: Vec<Ended>,
    /// Warnings of flows that did not finish, which go before all others.
    pub unfinished: Vec<Warning>,
    /// Reasons to look twice before trusting the results.
    pub warnings: Vec<Warning>,
}

/// What is kept of the outcomes seen so far: numbers for each, not themselves.
#[derive(Debug)]
pub(crate) struct Gathered {
    builder: SummaryBuilder,
    claims: Claims,
    tally: Tally,
    policies: usize,
}

impl Gathered {
    pub fn new(experiment: &Experiment) -> Gathered {
        let builder = SummaryBuilder::new(&experiment.cells, experiment.traffics()).with_rates(experiment.rated());
        let builder = if experiment.measures_waits() { builder.with(&WAITS) } else { builder };
        Gathered {
            builder: if is_lossless(&experiment.scenario) { builder.with(&LOSSLESS) } else { builder },
            claims: experiment.claims.clone(),
            tally: Tally::default(),
            policies: experiment.scenario.policy.len(),
        }
    }

    /// Takes in one run; each once.
    pub fn add(&mut self, outcome: &Outcome) {
        self.builder.add(outcome);
        self.tally.add(outcome);
        let cell = outcome.job.cell as usize;
        self.claims.add(cell % self.policies, cell / self.policies, outcome);
    }

    /// The results of all runs.
    pub fn results(self, experiment: &Experiment) -> Results {
        let (summary, repeats) = (self.builder.build(), self.builder.repeats());
        let unfinished = self.tally.unfinished(&summary, &experiment.cells, &datagrams(&experiment.scenario));
        let waits = self.tally.longest();
        let host_queue = self.tally.host_queue(&experiment.cells, |cell, port| experiment.frame_time(cell, port));
        let (commands, mut warnings) = self.tally.finish(&experiment.cells);
        warnings.extend(host_queue);
        Results { summary, repeats, verdicts: self.claims.verdicts(), waits, commands, unfinished, warnings }
    }
}
