//! Failures: from names to links.

use headway_fabric::{Graph, LinkId, NodeId, NodeKind};
use headway_transport::Failure;
use headway_units::Time;

use super::{Fault, Network};
use crate::schema::{Direction, FailureRecord, ScenarioRecord};
use headway_language::suggest_help;

/// The failures of the scenario, in the order of the file.
pub(super) fn build(scenario: &ScenarioRecord, network: &Network) -> Result<Vec<Failure>, Fault> {
    let each = |(index, record): (usize, &FailureRecord)| {
        let links = links(record, &index.to_string(), &network.built.graph)?;
        Ok(Failure {
            links,
            at: Time::ZERO + record.at,
            until: record.until.map(|until| Time::ZERO + until),
            reroute: record.reroute.get(),
            carrier: record.carrier,
        })
    };
    scenario.failure.iter().enumerate().map(each).collect()
}

/// The path of a key of failure number `index`.
fn key<'a>(index: &'a str, keys: &[&'a str]) -> Vec<&'a str> {
    [&["failure", index], keys].concat()
}

/// What `record` names, in the directions it names.
fn links(record: &FailureRecord, index: &str, graph: &Graph) -> Result<Vec<LinkId>, Fault> {
    let forth: Vec<LinkId> = if let Some([one, other]) = &record.link {
        let from = find(graph, one, None, &key(index, &["link", "0"]))?;
        let to = find(graph, other, None, &key(index, &["link", "1"]))?;
        let all = graph.interfaces(from).iter().copied().filter(|&link| graph.link(link).to == to).collect::<Vec<_>>();
        if all.is_empty() {
            let fault = Fault::new(&key(index, &["link"]), format!("there is no cable between `{one}` and `{other}`"));
            return Err(fault.help(neighbours(graph, from)));
        }
        all
    } else if let Some(name) = &record.host {
        let host = find(graph, name, Some(NodeKind::Host), &key(index, &["host"]))?;
        let all = graph.interfaces(host);
        match record.interface.map(|interface| interface as usize) {
            None => all.to_vec(),
            Some(interface) => {
                let Some(&link) = all.get(interface) else {
                    let message = format!("host `{name}` has no interface {interface}");
                    let help = format!("it has {}, counted from 0", all.len());
                    return Err(Fault::new(&key(index, &["interface"]), message).help(help));
                };
                vec![link]
            }
        }
    } else if let Some(name) = &record.switch {
        graph.interfaces(find(graph, name, Some(NodeKind::Switch), &key(index, &["switch"]))?).to_vec()
    } else {
        Vec::new()
    };
    let ways = |link: LinkId| match record.direction {
        Direction::Both => vec![link, link.reverse()],
        Direction::Forth => vec![link],
        Direction::Back => vec![link.reverse()],
    };
    Ok(forth.into_iter().flat_map(ways).collect())
}

/// The node called `name`, which must be of `kind` if one is given.
fn find(graph: &Graph, name: &str, kind: Option<NodeKind>, at: &[&str]) -> Result<NodeId, Fault> {
    let what = match kind {
        Some(NodeKind::Host) => "host",
        Some(NodeKind::Switch) => "switch",
        None => "switch or host",
    };
    let right = |node: &headway_fabric::Node| kind.is_none_or(|kind| node.kind == kind);
    if let Some(node) = graph.find(name).filter(|&node| right(graph.node(node))) {
        return Ok(node);
    }
    // switches first: there are fewer, and it is mostly they that are meant
    let mut names: Vec<&headway_fabric::Node> = graph.nodes().iter().filter(|node| right(node)).collect();
    names.sort_by_key(|node| node.kind == NodeKind::Host);
    let plural = if kind == Some(NodeKind::Switch) { "switches here" } else { "names here" };
    let help = suggest_help(name, names.iter().map(|node| node.name.as_str()), plural);
    Err(Fault::new(at, format!("there is no {what} `{name}`")).help(help))
}

/// Who is at the other ends of the cables of `node`, in words.
fn neighbours(graph: &Graph, node: NodeId) -> String {
    let names: Vec<&str> =
        graph.interfaces(node).iter().map(|&link| graph.node(graph.link(link).to).name.as_str()).collect();
    let more = names.len().saturating_sub(12);
    let shown = names[..names.len() - more].join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("the cables of `{}` go to {shown}{more}", graph.node(node).name)
}
