//! Failures: from names to links.

use std::collections::{BTreeMap, BTreeSet};

use headway_fabric::{Graph, LinkId, NodeId, NodeKind};
use headway_transport::{Crash, CrashKind, Failure};
use headway_units::Time;

use super::error::PlanError;
use super::network::Network;
use crate::schema::{CrashRecord, Direction, FailureRecord, ScenarioRecord};
use headway_language::suggest_help;

/// The failures of the scenario, in the order of the file.
///
/// # Errors
/// If a name or an interface is not there.
pub fn build(scenario: &ScenarioRecord, network: &Network) -> Result<Vec<Failure>, PlanError> {
    // a process that crashes takes no cable along
    let cables = |(_, record): &(usize, &FailureRecord)| record.crash != Some(CrashRecord::Process);
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
    scenario.failure.iter().enumerate().filter(cables).map(each).collect()
}

/// The crashes of relays that the scenario has, in the order of the file.
///
/// # Errors
/// If a host is not there, or policies have relays, and none has it for one.
pub(super) fn crashes(scenario: &ScenarioRecord, network: &Network) -> Result<Vec<Crash>, PlanError> {
    let mut crashes = Vec::new();
    for (index, record) in scenario.failure.iter().enumerate() {
        let (Some(crash), Some(name)) = (record.crash, &record.host) else { continue };
        let index = index.to_string();
        let host = find(&network.built.graph, name, Some(NodeKind::Host), &key(&index, &["host"]))?;
        let mut relays = scenario.policy.iter().filter_map(|policy| policy.relay.as_ref()).peekable();
        // With no policy that relays there is nothing to mistake: so it is with `direct` alone of a file of both.
        if relays.peek().is_some()
            && !relays.any(|relay| relay.hosts.iter().any(|group| network.group(group).contains(&host)))
        {
            let message = format!("host `{name}` cannot crash: it is no relay of any policy");
            let help = "only relays crash; leave `crash` out, and the host's cables go down";
            return Err(PlanError::new(&key(&index, &["crash"]), message).help(help));
        }
        crashes.push(Crash {
            host,
            kind: match crash {
                CrashRecord::Host => CrashKind::Host,
                CrashRecord::Process => CrashKind::Process,
            },
            at: Time::ZERO + record.at,
            until: record.until.map(|until| Time::ZERO + until),
        });
    }
    Ok(crashes)
}

/// By outgoing link of a host: the times at which its carrier goes, comes back, …, in order and before `end`.
pub fn carriers(failures: &[Failure], end: Time) -> BTreeMap<LinkId, Vec<Time>> {
    // per link: how many failures begin or end there
    let mut changes: BTreeMap<LinkId, BTreeMap<Time, i32>> = BTreeMap::new();
    for failure in failures.iter().filter(|failure| failure.carrier) {
        let links: BTreeSet<LinkId> = failure.links.iter().copied().collect();
        for &link in links.iter().filter(|link| links.contains(&link.reverse())) {
            let own = changes.entry(link).or_default();
            *own.entry(failure.at).or_default() += 1;
            if let Some(until) = failure.until {
                *own.entry(until).or_default() -= 1;
            }
        }
    }
    let times = |changes: BTreeMap<Time, i32>| {
        let mut dark = 0;
        let mut turns = |(time, change)| {
            let before = dark > 0;
            dark += change;
            (before != (dark > 0)).then_some(time)
        };
        changes.into_iter().take_while(|&(time, _)| time < end).filter_map(&mut turns).collect()
    };
    changes.into_iter().map(|(link, changes)| (link, times(changes))).collect()
}

/// The path of a key of failure number `index`.
fn key<'a>(index: &'a str, keys: &[&'a str]) -> Vec<&'a str> {
    [&["failure", index], keys].concat()
}

/// The links that `record` names, in the directions it names.
fn links(record: &FailureRecord, index: &str, graph: &Graph) -> Result<Vec<LinkId>, PlanError> {
    let forth: Vec<LinkId> = if let Some([one, other]) = &record.link {
        let from = find(graph, one, None, &key(index, &["link", "0"]))?;
        let to = find(graph, other, None, &key(index, &["link", "1"]))?;
        let all = graph.interfaces(from).iter().copied().filter(|&link| graph.link(link).to == to).collect::<Vec<_>>();
        if all.is_empty() {
            let fault =
                PlanError::new(&key(index, &["link"]), format!("there is no cable between `{one}` and `{other}`"));
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
                    return Err(PlanError::new(&key(index, &["interface"]), message).help(help));
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
fn find(graph: &Graph, name: &str, kind: Option<NodeKind>, at: &[&str]) -> Result<NodeId, PlanError> {
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
    Err(PlanError::new(at, format!("there is no {what} `{name}`")).help(help))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_go_and_come_back_once_however_many_failures_overlap() {
        let ms = |at: u64| Time::from_picos(at * 1_000_000_000);
        let links = |forth: u32| vec![LinkId(forth), LinkId(forth).reverse()];
        let failure = |links: Vec<LinkId>, at: u64, until: Option<u64>| Failure {
            links,
            at: ms(at),
            until: until.map(ms),
            reroute: None,
            carrier: true,
        };
        let all = [
            failure(links(0), 10, Some(30)),
            failure(links(0), 20, Some(50)),
            failure(links(0), 50, Some(60)),
            failure(links(0), 80, None),
            failure(links(0), 90, Some(95)),
            failure(vec![LinkId(2)], 1, None),
            Failure { carrier: false, ..failure(links(4), 1, None) },
            failure(links(6), 1, Some(200)),
        ];
        let found = carriers(&all, ms(100));
        let both = |times: &[u64]| times.iter().map(|&at| ms(at)).collect::<Vec<_>>();
        for (link, times) in [(0, both(&[10, 60, 80])), (1, both(&[10, 60, 80])), (6, both(&[1])), (7, both(&[1]))] {
            assert_eq!(found[&LinkId(link)], times, "link {link}");
        }
        assert_eq!(found.len(), 4);
    }
}
