//! Paths of connections as results know them.

use std::collections::BTreeMap;
use std::sync::Arc;

use headway_fabric::LinkId;
use headway_results::PathRecord;
use headway_scenario::plan::Network;
use headway_transport::{FlowEnd, PathTaken};

/// The paths `taken` by those connections that are of the flows `ends`, in the order of these.
pub(crate) fn records(taken: &[PathTaken], ends: &[FlowEnd], network: &Network) -> Vec<PathRecord> {
    let places: BTreeMap<u64, u32> = (0..).zip(ends).map(|(place, end)| (end.start.id, place)).collect();
    let mut texts: BTreeMap<Arc<[LinkId]>, Arc<str>> = BTreeMap::new();
    let mut named = |links: &Arc<[LinkId]>| {
        let text = texts.entry(Arc::clone(links)).or_insert_with(|| text(links, network).into());
        Arc::clone(text)
    };
    let record = |path: &PathTaken| {
        Some(PathRecord {
            flow: *places.get(&path.of.flow)?,
            connection: path.of.connection,
            subflow: path.of.subflow,
            time: path.time,
            path: named(&path.forth),
            back: named(&path.back),
        })
    };
    let mut records: Vec<PathRecord> = taken.iter().filter_map(record).collect();
    records.sort_by_key(|path| (path.flow, path.connection, path.subflow, path.time));
    records
}

/// The nodes of a path with blanks between them; `#N` behind those to which there are several cables from the node before.
fn text(links: &[LinkId], network: &Network) -> String {
    let graph = &network.built.graph;
    let mut text = links.first().map_or_else(String::new, |&first| network.name(graph.link(first).from).to_string());
    for &link in links {
        text.push(' ');
        text.push_str(&network.name(graph.link(link).to));
        if let (number, 2..) = graph.cable(link) {
            text.push('#');
            text.push_str(&number.to_string());
        }
    }
    text
}
