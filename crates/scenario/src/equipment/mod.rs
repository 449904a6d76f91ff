//! The settings of real switches and cards that follow from a scenario: headroom, thresholds, classes and marks.
//!
//! Headroom follows from rates, cables and frames; [`headway_control::lossless`] has the formulae. What the simulator
//! does not know of equipment is left to its maker: how much memory there is, and the share of it that is lossless.

use std::collections::BTreeMap;

use headway_control::lossless::{
    Cable, Chip, Ramp, cable_metres, cells, dcqcn_ramp, dctcp_mark, interface_delay, standard_headroom,
    standard_response,
};
pub use headway_fabric::NodeKind;
use headway_fabric::{Choice, Graph, Limit, LinkId, NodeId, Paths, QueueSpec};
use headway_levers::lossless::{Headroom, LosslessRecord};
pub use headway_levers::lossless::{StuckFrames, WatchdogRecord};
use headway_units::{Bytes, Rate, Span};

use crate::plan::{Network, PlanError, fixed_thresholds};
use crate::schema::ScenarioRecord;

mod classes;
#[cfg(test)]
mod tests;

pub use classes::Class;
pub use headway_fabric::Marks;

/// Ethernet's header and checksum.
const ETHERNET: u64 = 14 + 4;

/// What is asked for beyond the scenario.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wanted {
    /// The policy whose `lossless` says what is, by its place.
    pub policy: Option<usize>,
    /// The priorities that are lossless; those of the policy if there is none here.
    pub priorities: Vec<u8>,
    /// The chip of the switches, if it is one with published constants.
    pub chip: Option<Chip>,
    /// The cell of their memory, if not the chip's.
    pub cell: Option<Bytes>,
    /// The largest packet of any priority; that of the topology if there is none here.
    pub mtu: Option<Bytes>,
    /// The round trip by which queues mark; the longest of the traffic on an idle network if there is none here.
    pub rtt: Option<Span>,
}

/// When a lossless priority of an input asks for a pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// By what is free of a shared buffer.
    Share {
        /// It may take so many times what is free.
        alpha: f64,
        /// It has this for itself.
        reserve: Bytes,
        /// The sender goes on so much below the threshold.
        offset: Bytes,
    },
    /// At a number of bytes.
    Fixed {
        /// It pauses beyond this.
        xoff: Bytes,
        /// It goes on at this.
        xon: Bytes,
    },
}

/// What the policy says beside its classes; the equipment has defaults for the rest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// When a pause is asked for.
    pub threshold: Option<Threshold>,
    /// Ends pauses that last for too long.
    pub watchdog: Option<WatchdogRecord>,
    /// Headroom on every cable.
    pub headroom: Option<Bytes>,
    /// From a pause frame until no frame begins, in place of the bound of IEEE 802.3.
    pub response: Option<Span>,
}

/// Cables that are alike, from senders to switches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// What sends: a host's card, or a switch.
    pub from: NodeKind,
    /// Its rate.
    pub rate: Rate,
    /// One way.
    pub delay: Span,
    /// How many there are.
    pub count: usize,
    /// The worst-case sum ([`standard_headroom`]), for each lossless priority.
    pub headroom: Bytes,
    /// The same by the chip's constants.
    pub chip_headroom: Option<Bytes>,
    /// Where the topology's queues from the switch into this cable mark: the least of all.
    pub mark: Option<Bytes>,
    /// Cells that the chosen headroom takes at worst.
    pub cells: u64,
    /// What a card is told (`dcb pfc … delay`): round trip of the cable, both interfaces and response, in bits.
    pub delay_bits: u64,
    /// Where DCTCP's queues mark.
    pub dctcp: Bytes,
    /// Where DCQCN's do.
    pub dcqcn: Ramp,
}

impl Link {
    /// The length of its cable, rounded up to a metre.
    pub fn metres(&self) -> u64 {
        cable_metres(self.delay).ceil() as u64
    }

    /// The headroom that follows from the cable: by the switch's chip, if that is known.
    pub fn needed(&self) -> Bytes {
        self.chip_headroom.unwrap_or(self.headroom)
    }
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Port {
    /// Who is at the other end.
    pub peer: String,
    /// Its place in [`Equipment::links`].
    pub link: usize,
}

/// The settings of equipment for one scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Equipment {
    /// The largest packet.
    pub mtu: Bytes,
    /// The cell of the switches' memory.
    pub cell: Bytes,
    /// Their chip.
    pub chip: Option<Chip>,
    /// Cables to switches, by kind.
    pub links: Vec<Link>,
    /// Classes of every port, by number.
    pub classes: Vec<Class>,
    /// The round trip that marks are for.
    pub rtt: Span,
    /// Switches with their ports, in the order of the topology.
    pub switches: Vec<(String, Vec<Port>)>,
    /// What the policy says.
    pub settings: Settings,
}

impl Equipment {
    /// The settings for `scenario` on `network`.
    ///
    /// # Errors
    /// If nothing is lossless, there is no switch, or a number is none.
    pub fn new(scenario: &ScenarioRecord, network: &Network, wanted: &Wanted) -> Result<Equipment, PlanError> {
        let graph = &network.built.graph;
        let mtu = wanted.mtu.unwrap_or(scenario.topology.mtu);
        let own = scenario.topology.mtu;
        if mtu < own {
            let message = format!("packets of the topology have up to {own}, more than the {mtu} of any priority");
            return Err(PlanError::new(&["topology", "mtu"], message).help("take a larger --mtu"));
        }
        let cell = wanted.cell.or(wanted.chip.map(|chip| chip.cell)).unwrap_or(Bytes::new(208));
        let record = wanted.policy.and_then(|place| Some((place, scenario.policy.get(place)?.lossless.as_ref()?)));
        let settings = record.map(|(place, own)| settings(scenario, place, own)).transpose()?.unwrap_or_default();
        let classes = classes::classes(scenario, wanted, record.map(|(_, own)| own))?;
        let rtt = wanted.rtt.map_or_else(|| longest_round_trip(scenario, network), Ok)?;
        let frames = [mtu, own].map(|packet| Bytes::new(packet.get().saturating_add(ETHERNET)));
        let mut kinds: BTreeMap<(bool, u64, u64), Vec<LinkId>> = BTreeMap::new();
        for (number, link) in graph.links().iter().enumerate() {
            if graph.node(link.to).kind == NodeKind::Switch {
                let host = graph.node(link.from).kind == NodeKind::Host;
                let key = (!host, link.wire.rate.bps(), link.wire.delay.picos());
                kinds.entry(key).or_default().push(LinkId(number as u32));
            }
        }
        if kinds.is_empty() {
            let message = "no cable of this topology leads to a switch, so nothing can ask for a pause";
            return Err(PlanError::new(&["topology"], message));
        }
        let chip = wanted.chip;
        let links = kinds.values().map(|all| link(graph, all, frames, (chip, cell), (rtt, &settings))).collect();
        let by_link = kinds.values().enumerate().flat_map(|(kind, all)| all.iter().map(move |id| (id.0, kind)));
        let kind_of: BTreeMap<u32, usize> = by_link.collect();
        let port = |&out: &LinkId| Port {
            peer: network.name(graph.link(out).to).to_string(),
            // what comes in over the same cable
            link: kind_of[&out.reverse().0],
        };
        let switch =
            |id: NodeId| (network.name(id).to_string(), graph.interfaces(id).iter().map(port).collect::<Vec<Port>>());
        let switches = graph.switches().map(switch).collect();
        Ok(Equipment { mtu, cell, chip, links, classes, rtt, switches, settings })
    }

    /// The headroom that a switch is to have for `link`: the policy's, or what is needed.
    pub fn headroom(&self, link: &Link) -> Bytes {
        self.settings.headroom.unwrap_or(link.needed())
    }

    /// The lossless priorities, in order.
    pub fn lossless(&self) -> Vec<u8> {
        let mut all: Vec<u8> = self.classes.iter().flat_map(|class| class.lossless.clone()).collect();
        all.sort_unstable();
        all
    }

    /// The class that a priority is in.
    pub fn class_of(&self, priority: u8) -> &Class {
        let own = self.classes.iter().find(|class| class.priorities.contains(&priority));
        own.unwrap_or(&self.classes[0])
    }
}

/// What follows from cables that are alike.
fn link(
    graph: &Graph,
    all: &[LinkId],
    [back_frame, frame]: [Bytes; 2],
    (chip, cell): (Option<Chip>, Bytes),
    (rtt, settings): (Span, &Settings),
) -> Link {
    let own = graph.link(all[0]);
    let (rate, delay) = (own.wire.rate, own.wire.delay);
    let back_rate = graph.link(all[0].reverse()).wire.rate;
    let (forth, back_delay, standard) = standard_response(rate, delay);
    let response = settings.response.unwrap_or(standard);
    let gap = own.wire.gap;
    let cable = Cable { rate, back_rate, delay: forth, back_delay, response, frame, back_frame, gap };
    let headroom = standard_headroom(&cable);
    let chip_headroom = chip.map(|chip| chip.xoff(rate, delay, back_frame, frame));
    let around = [delay, delay, interface_delay(rate), interface_delay(rate), response];
    let mark = |&id: &LinkId| match graph.link(id.reverse()).wire.queue {
        QueueSpec::DropTail { mark: Some(Limit::Bytes(bytes)), .. } => Some(bytes),
        QueueSpec::DropTail { mark: Some(Limit::Packets(packets)), .. } => {
            Some(Bytes::new(frame.get().saturating_mul(u64::from(packets))))
        }
        _ => None,
    };
    Link {
        from: graph.node(own.from).kind,
        rate,
        delay,
        count: all.len(),
        headroom,
        chip_headroom,
        mark: all.iter().filter_map(mark).min(),
        cells: match (settings.headroom, chip_headroom) {
            // a chip's formula counts its cells
            (None, Some(bytes)) => bytes.get().div_ceil(cell.get().max(1)),
            (own, _) => cells(own.unwrap_or(headroom), cell),
        },
        delay_bits: bits_in(rate, around.into_iter().fold(Span::ZERO, |sum, span| sum + span)),
        dctcp: dctcp_mark(rate, rtt),
        dcqcn: dcqcn_ramp(rate),
    }
}

/// Bits that pass in `span`, rounded up.
fn bits_in(rate: Rate, span: Span) -> u64 {
    let bits = (u128::from(rate.bps()) * u128::from(span.picos())).div_ceil(1_000_000_000_000);
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// The thresholds and the watchdog of a policy.
fn settings(scenario: &ScenarioRecord, place: usize, record: &LosslessRecord) -> Result<Settings, PlanError> {
    let threshold = if let Some(buffer) = &record.buffer {
        Some(Threshold::Share { alpha: buffer.alpha, reserve: buffer.reserve, offset: buffer.offset })
    } else if record.xoff.is_some() || record.xon.is_some() {
        let frame = Bytes::new(scenario.topology.mtu.get().saturating_add(ETHERNET));
        let (xoff, xon) = fixed_thresholds(record, frame, &["policy", &place.to_string(), "lossless"])?;
        Some(Threshold::Fixed { xoff, xon })
    } else {
        None
    };
    let headroom = match record.headroom {
        Headroom::Auto => None,
        Headroom::Fixed(bytes) => Some(bytes),
    };
    let response = (!record.response.is_zero()).then_some(record.response);
    Ok(Settings { threshold, watchdog: record.watchdog.clone(), headroom, response })
}

/// The longest round trip of a full packet and its acknowledgement between hosts of the traffic, on an idle network.
fn longest_round_trip(scenario: &ScenarioRecord, network: &Network) -> Result<Span, PlanError> {
    let graph = &network.built.graph;
    let mut paths = Paths::new(graph);
    let groups: Vec<&[NodeId]> = network.groups().map(|(_, hosts)| hosts).filter(|hosts| !hosts.is_empty()).collect();
    let mut longest = Span::ZERO;
    let mut path = Vec::new();
    for (one, hosts) in groups.iter().enumerate() {
        for others in &groups[one..] {
            // the first and the last of a group are as far apart as topologies lay them out
            let (Some(&from), Some(&to)) = (hosts.first(), others.last()) else { continue };
            let (Some(&ours), Some(&theirs)) = (graph.interfaces(from).first(), graph.interfaces(to).first()) else {
                continue;
            };
            if from == to || paths.path(ours, theirs, Choice::Ecmp(0), &mut path).is_err() {
                continue;
            }
            longest = longest.max(round_trip(graph, &path, scenario.topology.mtu));
        }
    }
    if longest.is_zero() {
        let message = "no two groups of hosts have a path, so there is no round trip for marks";
        return Err(PlanError::new(&["hosts"], message).help("say it with --rtt"));
    }
    Ok(longest)
}

/// There with a packet of `mtu`, and back with the smallest frame.
fn round_trip(graph: &Graph, path: &[LinkId], mtu: Bytes) -> Span {
    path.iter().fold(Span::ZERO, |sum, &id| {
        let wire = &graph.link(id).wire;
        let frame = |bytes: u64| wire.rate.transmission(Bytes::new(bytes + wire.gap.get()));
        let latency = graph.node(graph.link(id).to).latency;
        sum + frame(mtu.get() + ETHERNET) + frame(64) + wire.delay + wire.delay + latency + latency
    })
}
