//! Captures that a scenario asks for.

use headway_kernel::Watch;
use headway_scenario::plan::PlanError;

use crate::context::Context;
use crate::roster::Roster;

/// Captures by name: the links and interfaces that each watches.
pub(crate) fn captures(context: &Context<'_>, roster: &Roster<'_>) -> Result<Vec<(String, Vec<Watch>)>, PlanError> {
    let (scenario, network) = (context.scenario, context.network);
    let graph = &network.built.graph;
    let mut captures: Vec<(String, Vec<Watch>)> = Vec::new();
    for (index, name) in scenario.measure.capture.iter().enumerate() {
        let fault = |message: String| PlanError::new(&["measure", "capture", &index.to_string()], message);
        let watches = if name.contains('>') {
            let links = network.links_called(name);
            if links.is_empty() {
                let message = format!("there is no link `{name}` to capture");
                return Err(fault(message).help("links are named from>to, as in the series of queues"));
            }
            if roster.kernels.is_empty() {
                let message = format!("`{name}` cannot be captured: packets of modelled hosts have no content");
                return Err(fault(message).help("only what kernel hosts send is captured"));
            }
            links.into_iter().map(Watch::Link).collect()
        } else {
            let Some(host) = graph.find(name).filter(|&node| !graph.interfaces(node).is_empty()) else {
                return Err(fault(format!("there is no host `{name}` to capture")));
            };
            if !roster.kernels.contains_key(&host) {
                let message = format!("`{name}` cannot be captured: packets of modelled hosts have no content");
                return Err(fault(message).help("capture kernel hosts, or links that their packets pass"));
            }
            graph.interfaces(host).iter().map(|&link| Watch::Interface(link)).collect()
        };
        if captures.iter().any(|(known, _)| known == name) {
            return Err(fault(format!("`{name}` is captured twice")));
        }
        captures.push((name.clone(), watches));
    }
    Ok(captures)
}
