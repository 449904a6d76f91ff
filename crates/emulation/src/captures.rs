//! Captures that a scenario asks for.

use headway_fabric::NodeKind;
use headway_kernel::Watch;
use headway_kernel::setup::MAX_HOSTS;
use headway_scenario::ScenarioRecord;
use headway_scenario::plan::{Network, PlanError};

use crate::context::Context;
use crate::roster::Roster;

/// Captures by name: the links and interfaces that each watches.
pub type Captures = Vec<(String, Vec<Watch>)>;

/// Those that kernel hosts write: of their interfaces, and, where there are such hosts, of links.
pub(crate) fn captures(context: &Context<'_>, roster: &Roster<'_>) -> Result<Captures, PlanError> {
    Ok(all(context.scenario, context.network, roster)?
        .into_iter()
        .filter(|one| one.kernels)
        .map(Capture::named)
        .collect())
}

/// Those of modelled hosts, and of links where all hosts are modelled.
///
/// # Errors
/// If a place is not there or named twice, or the network has more hosts than addresses.
pub fn of_models(scenario: &ScenarioRecord, network: &Network) -> Result<Captures, PlanError> {
    if scenario.measure.capture.is_empty() {
        return Ok(Captures::new());
    }
    let roster = Roster::new(scenario, network)?;
    let modelled = all(scenario, network, &roster)?.into_iter().filter(|one| !one.kernels);
    let modelled: Captures = modelled.map(Capture::named).collect();
    let hosts = network.built.graph.hosts().count();
    if !modelled.is_empty() && hosts > MAX_HOSTS as usize {
        let message = format!("a network of {hosts} hosts cannot be captured: there are addresses for {MAX_HOSTS}");
        return Err(PlanError::new(&["measure", "capture"], message));
    }
    Ok(modelled)
}

/// A capture.
struct Capture {
    name: String,
    watches: Vec<Watch>,
    /// Whether kernel hosts write it.
    kernels: bool,
}

impl Capture {
    fn named(self) -> (String, Vec<Watch>) {
        (self.name, self.watches)
    }
}

fn all(scenario: &ScenarioRecord, network: &Network, roster: &Roster<'_>) -> Result<Vec<Capture>, PlanError> {
    let graph = &network.built.graph;
    let mut captures: Vec<Capture> = Vec::new();
    for (index, name) in scenario.measure.capture.iter().enumerate() {
        let fault = |message: String| PlanError::new(&["measure", "capture", &index.to_string()], message);
        let (watches, kernels) = if name.contains('>') {
            let links = network.links_called(name);
            if links.is_empty() {
                let message = format!("there is no link `{name}` to capture");
                return Err(fault(message).help("links are named from>to, as in the series of queues"));
            }
            (links.into_iter().map(Watch::Link).collect(), !roster.kernels.is_empty())
        } else {
            let Some(host) = graph.find(name).filter(|&node| !graph.interfaces(node).is_empty()) else {
                return Err(fault(format!("there is no host `{name}` to capture")));
            };
            if graph.node(host).kind == NodeKind::Switch {
                let message = format!("`{name}` is a switch, and captures are of hosts and links");
                return Err(fault(message).help("name its links: from>to, as in the series of queues"));
            }
            let watches = graph.interfaces(host).iter().map(|&link| Watch::Interface(link)).collect();
            (watches, roster.kernels.contains_key(&host))
        };
        if captures.iter().any(|known| known.name == *name) {
            return Err(fault(format!("`{name}` is captured twice")));
        }
        captures.push(Capture { name: name.clone(), watches, kernels });
    }
    Ok(captures)
}
