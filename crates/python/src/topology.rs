//! The network of a scenario as JSON: nodes and directed links.

use headway_fabric::{Limit, NodeKind};
use headway_scenario::plan::Network;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors::Failure;
use crate::source::Source;

/// Nodes, links and groups of hosts at the scenario's first sweep point, as JSON.
#[pyfunction]
pub fn topology(py: Python<'_>, source: &Source) -> PyResult<String> {
    let build = || {
        let document = source.document()?;
        let record = document.scenario(&document.points()[0])?;
        let network = Network::build(&record).map_err(|error| document.locate(error))?;
        Ok::<_, headway_language::Problems>(describe(&network))
    };
    Ok(py.detach(|| build().map_err(Failure::from))?)
}

fn describe(network: &Network) -> String {
    let graph = &network.built.graph;
    let node = |node: &headway_fabric::Node| {
        let kind = match node.kind {
            NodeKind::Host => "host",
            NodeKind::Switch => "switch",
        };
        json!([node.name, kind])
    };
    let link = |link: &headway_fabric::Link| {
        let limit = match link.wire.queue.limit() {
            Some(Limit::Bytes(bytes)) => json!(bytes.to_string()),
            Some(Limit::Packets(packets)) => json!(format!("{packets}pkt")),
            None => Value::Null,
        };
        let wire = &link.wire;
        json!([link.from.0, link.to.0, wire.rate.to_string(), wire.delay.to_string(), limit])
    };
    let groups: serde_json::Map<_, _> = network
        .groups()
        .map(|(name, hosts)| (name.to_owned(), hosts.iter().map(|host| host.0).collect::<Vec<_>>().into()))
        .collect();
    json!({
        "nodes": graph.nodes().iter().map(node).collect::<Vec<_>>(),
        "links": graph.links().iter().map(link).collect::<Vec<_>>(),
        "groups": groups,
    })
    .to_string()
}
