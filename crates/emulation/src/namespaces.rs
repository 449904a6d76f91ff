//! Settings that hosts in namespaces of the machine lack, as far as the scenario shows it.

use headway_fabric::Graph;
use headway_lab::{Blueprint, LabError};
use headway_units::Span;

use headway_scenario::plan::Network;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{PolicyRecord, ScenarioRecord, Series};

/// More hosts than this are more than a machine can run in real time.
const MAX_HOSTS: usize = 64;
/// Delays below this are less than the time of forwarding.
const SMALL: Span = Span::from_micros(10);

/// Rejects scenarios that namespaces cannot run; `all` says whether all flows are theirs.
pub(super) fn check(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    number: &str,
    network: &Network,
    all: bool,
) -> Result<(), PlanError> {
    let graph = &network.built.graph;
    if !all {
        let message = "some traffic is of modelled hosts, and others are namespaces of this machine";
        return Err(PlanError::new(&["traffic"], message).help("namespaces are in real time: all hosts are, or none"));
    }
    let hosts = graph.hosts().count();
    if hosts > MAX_HOSTS {
        let message = format!("{hosts} hosts are more than a machine can run in real time");
        return Err(PlanError::new(&["topology"], message).help(format!("at most {MAX_HOSTS} hosts can be namespaces")));
    }
    if !scenario.failure.is_empty() {
        return Err(PlanError::new(&["failure"], "links of namespaces do not go down by themselves"));
    }
    if !scenario.measure.capture.is_empty() {
        let fault = PlanError::new(&["measure", "capture"], "packets of namespaces are not captured");
        return Err(fault.help("a command traffic can run tcpdump"));
    }
    if scenario.measure.waits {
        return Err(PlanError::new(&["measure", "waits"], "how long packets of namespaces wait is not measured"));
    }
    let of_ports =
        [(Series::Queue, "queues"), (Series::Arrivals, "arrivals at ports"), (Series::Marks, "marks at ports")];
    for (series, of) in of_ports {
        if scenario.measure.series.contains(&series) {
            return Err(PlanError::new(&["measure", "series"], format!("{of} of namespaces are not sampled")));
        }
    }
    for (index, claim) in scenario.claim.iter().enumerate() {
        if let Some((place, _)) = claim.operand_places().into_iter().find(|(_, operand)| operand.value == "drops") {
            let index = index.to_string();
            let path: Vec<&str> = ["claim", &index].into_iter().chain(place).chain(["value"]).collect();
            return Err(PlanError::new(&path, "drops of namespaces are not counted"));
        }
    }
    // Settings of a namespace begin with `net`; all others are the whole machine's.
    let own = |name: &str| name.starts_with("net.") || name.starts_with("net/");
    let mut names = policy.linux.iter().flat_map(|linux| linux.sysctl.iter().map(|(name, _)| name));
    if let Some(name) = names.find(|name| !own(name)) {
        let path = ["policy", number, "linux", "sysctl"];
        return Err(PlanError::new(&path, format!("`{name}` is a setting of the whole machine, not of a namespace")));
    }
    for (group, record) in scenario.hosts.iter() {
        let mut names = record.linux.iter().flat_map(|linux| linux.sysctl.iter().map(|(name, _)| name));
        if let Some(name) = names.find(|name| !own(name)) {
            let path = ["hosts", group, "linux", "sysctl"];
            return Err(PlanError::new(
                &path,
                format!("`{name}` is a setting of the whole machine, not of a namespace"),
            ));
        }
    }
    match Blueprint::new(graph, &[], scenario.topology.mtu.get() as u32, 0) {
        Ok(_) => Ok(()),
        Err(LabError::Network(why)) => Err(PlanError::new(&["topology"], why)),
        Err(error) => Err(PlanError::new(&["topology"], error.to_string())),
    }
}

/// The properties of `graph` that namespaces leave out, in words; nothing if they are small.
pub fn left_out(graph: &Graph) -> Option<String> {
    let cable = graph.links().iter().map(|link| link.wire.delay).max().unwrap_or(Span::ZERO);
    let switch = graph.nodes().iter().map(|node| node.latency).max().unwrap_or(Span::ZERO);
    if cable < SMALL && switch < SMALL {
        return None;
    }
    Some(format!(
        "delays are not emulated: cables of up to {cable} and switches of up to {switch} take none, so idle round trips \
         are shorter than the model's, and windows that fill a path smaller"
    ))
}
