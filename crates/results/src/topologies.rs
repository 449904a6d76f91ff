//! `topology.json`: the networks of the runs that have a film.
//!
//! Nodes and links have the places of [`Topology`]; links name their nodes, so that the file is read without counting.

use std::collections::BTreeMap;

use headway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::film::{NodeKind, Topology, TopologyLink, TopologyNode};
use crate::record::Job;

/// The layout of the file; raised when a reader of the old one would go wrong.
const FORMAT: u32 = 1;

/// The networks of a finished folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topologies {
    /// Each different one once, in order of the first run that has it.
    pub networks: Vec<Topology>,
    /// The runs that have a film, with the place of their network.
    pub runs: BTreeMap<Job, usize>,
}

impl Topologies {
    /// The network of a run that has a film.
    pub fn of(&self, job: Job) -> Option<&Topology> {
        self.networks.get(*self.runs.get(&job)?)
    }

    /// Adds the network of a run.
    pub(crate) fn add(&mut self, job: Job, network: &Topology) {
        let place = self.networks.iter().position(|known| known == network).unwrap_or_else(|| {
            self.networks.push(network.clone());
            self.networks.len() - 1
        });
        self.runs.insert(job, place);
    }

    /// The text of the file.
    pub(crate) fn to_text(&self) -> String {
        let run = |(&Job { cell, repeat }, &network): (&Job, &usize)| Run { cell, repeat, network };
        let file = File {
            format: FORMAT,
            networks: self.networks.iter().map(Network::from).collect(),
            runs: self.runs.iter().map(run).collect(),
        };
        let mut text = serde_json::to_string(&file).expect("no map with keys other than text");
        text.push('\n');
        text
    }

    /// Reads what [`Topologies::to_text`] wrote; the error says what does not fit.
    pub(crate) fn from_text(text: &[u8]) -> Result<Topologies, String> {
        let Format { format } = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if format != FORMAT {
            return Err(format!("it has format {format}; this version reads format {FORMAT}"));
        }
        let file: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let networks = file.networks.into_iter().enumerate();
        let read = |(at, network): (usize, Network)| {
            Topology::try_from(network).map_err(|reason| format!("network {at}: {reason}"))
        };
        let networks = networks.map(read).collect::<Result<Vec<_>, _>>()?;
        let mut runs = BTreeMap::new();
        for Run { cell, repeat, network } in file.runs {
            if network >= networks.len() {
                return Err(format!("repeat {repeat} of cell {cell} is of network {network}, which is not there"));
            }
            if runs.insert(Job { cell, repeat }, network).is_some() {
                return Err(format!("repeat {repeat} of cell {cell} is there twice"));
            }
        }
        Ok(Topologies { networks, runs })
    }
}

#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Serialize, Deserialize)]
struct File {
    format: u32,
    networks: Vec<Network>,
    runs: Vec<Run>,
}

#[derive(Serialize, Deserialize)]
struct Run {
    cell: u32,
    repeat: u32,
    network: usize,
}

#[derive(Serialize, Deserialize)]
struct Network {
    nodes: Vec<Node>,
    links: Vec<Link>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Host,
    Switch,
}

#[derive(Serialize, Deserialize)]
struct Node {
    name: String,
    kind: Kind,
    tier: u32,
}

#[derive(Serialize, Deserialize)]
struct Link {
    from: String,
    to: String,
    rate_bps: u64,
    delay_ps: u64,
    limit_bytes: Option<u64>,
}

impl From<&Topology> for Network {
    fn from(topology: &Topology) -> Network {
        let kind = |kind| match kind {
            NodeKind::Host => Kind::Host,
            NodeKind::Switch => Kind::Switch,
        };
        let name = |node: u32| topology.nodes[node as usize].name.clone();
        Network {
            nodes: (topology.nodes.iter())
                .map(|node| Node { name: node.name.clone(), kind: kind(node.kind), tier: node.tier })
                .collect(),
            links: (topology.links.iter())
                .map(|link| Link {
                    from: name(link.from),
                    to: name(link.to),
                    rate_bps: link.rate.bps(),
                    delay_ps: link.delay.picos(),
                    limit_bytes: link.limit.map(Bytes::get),
                })
                .collect(),
        }
    }
}

impl TryFrom<Network> for Topology {
    type Error = String;

    fn try_from(network: Network) -> Result<Topology, String> {
        let mut places = BTreeMap::new();
        for (place, node) in (0u32..).zip(&network.nodes) {
            if places.insert(node.name.clone(), place).is_some() {
                return Err(format!("two nodes are named `{}`", node.name));
            }
        }
        let find =
            |name: &str| places.get(name).copied().ok_or_else(|| format!("a link ends at `{name}`, which is no node"));
        let mut links = Vec::with_capacity(network.links.len());
        for link in &network.links {
            if link.rate_bps == 0 {
                return Err(format!("the link from `{}` to `{}` has rate zero", link.from, link.to));
            }
            links.push(TopologyLink {
                from: find(&link.from)?,
                to: find(&link.to)?,
                rate: Rate::from_bps(link.rate_bps),
                delay: Span::from_picos(link.delay_ps),
                limit: link.limit_bytes.map(Bytes::new),
            });
        }
        let node = |Node { name, kind, tier }| {
            let kind = match kind {
                Kind::Host => NodeKind::Host,
                Kind::Switch => NodeKind::Switch,
            };
            TopologyNode { name, kind, tier }
        };
        Ok(Topology { nodes: network.nodes.into_iter().map(node).collect(), links })
    }
}
