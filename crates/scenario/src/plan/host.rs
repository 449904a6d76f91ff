//! Models of hosts' cards and cores.

use headway_fabric::NodeId;
use headway_transport::{Costs, HostModel, ServerCost, ServerModel};
use headway_units::Span;

use super::error::PlanError;
use super::network::Network;
use crate::schema::{AcceptOverflow, HostKind, HostModelRecord, PolicyRecord, ScenarioRecord, ServerRecord};

/// More cores and queues than this are a mistake.
const MAX_UNITS: u64 = 1_000_000;

/// The hosts that have a model. Kernel hosts need none, whatever their group says: they are processors of their own.
pub(super) fn models(scenario: &ScenarioRecord, network: &Network) -> Result<Vec<(NodeId, HostModel)>, PlanError> {
    let graph = &network.built.graph;
    let mut models = Vec::new();
    let mut units = 0;
    for ((name, hosts), (_, group)) in network.groups().zip(scenario.hosts.iter()) {
        let Some(model) = group.model.as_ref().map(model) else { continue };
        let interfaces: u64 = hosts.iter().map(|&host| graph.interfaces(host).len() as u64).sum();
        units += u64::from(model.cores) * hosts.len() as u64 + u64::from(model.queues) * interfaces;
        if units > MAX_UNITS {
            let message = format!("the models of hosts have more than {MAX_UNITS} cores and queues");
            return Err(PlanError::new(&["hosts", name, "model"], message).help("take fewer hosts, cores or queues"));
        }
        models.extend(hosts.iter().map(|&host| (host, model)));
    }
    Ok(models)
}

/// The modelled hosts whose packets take a random time, and the longest.
pub(super) fn processing(
    scenario: &ScenarioRecord,
    policy: &PolicyRecord,
    network: &Network,
) -> Result<Vec<(NodeId, Span)>, PlanError> {
    let graph = &network.built.graph;
    let mut all = Vec::new();
    for ((name, hosts), (_, group)) in network.groups().zip(scenario.hosts.iter()) {
        let Some(most) = group.random_processing else { continue };
        if group.kind.unwrap_or(scenario.host_kind) != HostKind::Modelled {
            continue;
        }
        let fault = |message: String| PlanError::new(&["hosts", name, "random-processing"], message);
        if policy.lossless.is_some() {
            let message = format!(
                "under policy `{}` hosts' ports are lossless, and their frames do not wait in one line",
                policy.name
            );
            return Err(fault(message).help("take `random-processing` or `lossless` out"));
        }
        let links = || hosts.iter().flat_map(|&host| graph.interfaces(host));
        if let Some(queue) = links().map(|&link| graph.link(link).wire.queue).find(|queue| !queue.is_fifo()) {
            let message = format!(
                "the queues of these hosts' ports are {}, and what is processed one by one waits in one line",
                queue.name()
            );
            return Err(
                fault(message).help("give hosts a queue that is first in, first out, such as `drop-tail` or `red`")
            );
        }
        all.extend(hosts.iter().map(|&host| (host, most)));
    }
    Ok(all)
}

/// The hosts that serve, and how.
pub(super) fn servers(scenario: &ScenarioRecord, network: &Network) -> Vec<(NodeId, ServerModel)> {
    let groups = network.groups().zip(scenario.hosts.iter());
    let each = groups.filter_map(|((_, hosts), (_, group))| {
        let model = group.server.as_ref().map(server)?;
        Some(hosts.iter().map(move |&host| (host, model)))
    });
    each.flatten().collect()
}

fn server(record: &ServerRecord) -> ServerModel {
    ServerModel {
        workers: record.workers,
        connections: record.worker_connections,
        backlog: record.backlog,
        syn_queue: record.syn_queue.unwrap_or(record.backlog.max(1)),
        syn_cookies: record.syn_cookies,
        refuse: record.overflow == AcceptOverflow::Refuse,
        cost: ServerCost {
            connection: record.cpu_per_connection,
            request: record.cpu_per_request,
            open: record.cpu_per_open,
        },
    }
}

fn model(record: &HostModelRecord) -> HostModel {
    HostModel {
        cores: record.cores,
        queues: record.queues,
        ring: record.ring,
        coalesce_time: record.rx_usecs,
        coalesce_frames: record.rx_frames,
        budget: record.budget,
        softirq_budget: record.netdev_budget,
        softirq_time: record.netdev_budget_usecs,
        gro: record.gro,
        rps: record.rps,
        backlog: record.netdev_max_backlog,
        segmentation: record.segmentation,
        costs: Costs {
            interrupt: record.cpu_per_interrupt,
            packet: record.cpu_per_packet,
            byte: record.cpu_per_byte,
            segment: record.cpu_per_segment,
            ipi: record.cpu_per_ipi,
            burst: record.cpu_per_burst,
        },
    }
}
