//! Models of hosts' cards and cores.

use headway_fabric::NodeId;
use headway_transport::{Costs, HostModel};

use super::error::PlanError;
use super::network::Network;
use crate::schema::{HostModelRecord, ScenarioRecord};

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
