//! All that the kernel hosts of a policy are planned from.

use std::path::Path;

use headway_scenario::ScenarioRecord;
use headway_scenario::plan::{FlowsPlan, Network, PlanError};
use headway_scenario::schema::{PolicyRecord, Series, TransportRecord};

use crate::policy::Resolved;

/// A policy of a scenario on its network.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub scenario: &'a ScenarioRecord,
    pub policy: &'a PolicyRecord,
    /// The policy's place, as key paths have it.
    pub number: &'a str,
    pub network: &'a Network,
    /// Where files that the scenario names are.
    pub folder: &'a Path,
}

impl<'a> Context<'a> {
    /// The transport of `traffic`, and where it stands.
    pub fn transport(&self, traffic: &str) -> (&'a TransportRecord, Vec<String>) {
        let at = |path: &[&str]| path.iter().map(|&part| part.to_owned()).collect();
        match self.policy.traffic.get(traffic) {
            Some(own) => (own, at(&["policy", self.number, "traffic", traffic])),
            None => (&self.policy.transport, at(&["policy", self.number, "transport"])),
        }
    }

    /// The transport of `traffic` as a kernel is told of it.
    pub fn resolve(&self, traffic: &str) -> Result<Resolved, PlanError> {
        let (record, at) = self.transport(traffic);
        let at: Vec<&str> = at.iter().map(String::as_str).collect();
        Resolved::new(self.policy, record, &at, self.folder)
    }

    /// The transport of flows as kernels are told of it, if their hosts can have it.
    pub fn resolve_flows(&self, traffic: &FlowsPlan) -> Result<Resolved, PlanError> {
        let resolved = self.resolve(&traffic.name)?;
        if let Some(own) = &resolved.mptcp
            && let Some(wanted) = own.subflows
            && let Some(fewest) = traffic.fewest_interfaces
            && wanted as usize > fewest
        {
            let message = format!(
                "policy `{}` has {wanted} subflows, and hosts of traffic `{}` have {fewest} interfaces: a kernel opens \
                 one for each pair",
                self.policy.name, traffic.name
            );
            let (_, mut path) = self.transport(&traffic.name);
            path.push("subflows".to_owned());
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            let help = "for kernel hosts, put linux = { subflows = … } into the transport";
            return Err(PlanError::new(&path, message).help(help));
        }
        let untold = [
            (Series::LinkCost, "the link cost"),
            (Series::Ssthresh, "the slow-start threshold"),
            (Series::Alpha, "the average of marks"),
        ];
        for (series, of) in untold {
            if self.scenario.measure.series.contains(&series) && self.is_measured(&traffic.name) {
                let message = format!("{of} of traffic `{}` cannot be recorded: kernels do not tell it", traffic.name);
                return Err(PlanError::new(&["measure", "series"], message));
            }
        }
        Ok(resolved)
    }

    /// Whether the flows of `traffic` are recorded over time.
    pub fn is_measured(&self, traffic: &str) -> bool {
        let names = self.scenario.measure.traffic.as_ref();
        names.is_none_or(|names| names.iter().any(|name| name.as_str() == traffic))
    }
}
