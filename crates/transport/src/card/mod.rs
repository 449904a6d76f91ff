//! Cards that pace: what a host sends waits there until its flow, its class and its interface may send.
//!
//! A host without a card gives its frames to the port as they come. One with a card has, per interface, a queue of frames
//! before the port ([`Schedule`]) from which the port is given one frame at a time, each at its byte of the line.
//!
//! **How frames are held** ([`Release`]). With gap frames the line is never idle while something waits: PAUSE frames that
//! stop nobody fill it, and the first switch port drops them. They cost no events: the time they take is added up, in
//! exactly the frames that would be sent ([`Line::fill`]). [`Release::GapFrames`] sends them, to prove it. The runs are the
//! same but for what the host's own cable does to gap frames: random damage strikes them as well, and so other frames than
//! without them; those on a cable that fails are counted among the frames lost with it. With a timer a
//! frame leaves at the first tick at which it is due, and all that is due leaves back to back.
//!
//! **What is paced.** Data of TCP, MPTCP subflows, two-way connections and datagrams wait for their flow's pace
//! ([`FlowRate`]); SYN and FIN without data have no pace, but wait for what their flow has before them and for the limits of
//! class and interface. Acknowledgements are of a class of their own with half of the shares: they wait for no pace, as
//! packets without a class do in PSPacer. Limits of a class count all that its flows send but acknowledgements, that of the
//! interface everything.
//!
//! **The dynamic rate** is the sender's window over its smoothed round trip when the frame leaves, as PSPacer reads them
//! through the packet (the paper, §2.4). Without an estimate, before the first round trip and for datagrams, the limit
//! stands for it; without a limit such frames wait for no pace.
//!
//! Rates are of bytes on the line, 20 B per frame included, as a port's are: a flow at 500 Mb/s just fills a link of
//! 500 Mb/s.
//!
//! **Order of events.** An interface has one event, of the last class: the next frame or, of gap frames that are sent, the
//! next gap. It sees everything else of its instant.
//!
//! **Left out:** the processor that gap frames cost, and the bus they cross (the paper found a slow bus to be the limit);
//! flow control of the first switch; a limit over several interfaces of a host. Linux' small-queue limit looks at the port,
//! not at what waits in the card: senders of 2005 had none.

use headway_control::pacing::{Burst, FASTEST, LARGEST_MTU, Limit, Pace, Target};
use headway_control::qcn::{ReactionParameters, ReactionPoint};
use headway_engine::EventQueue;
use headway_fabric::{Endpoint, Graph, LinkId, NodeId, Routes};
use headway_units::{Bytes, Rate, Span, Time};

use crate::endpoint::{Side, Tenant, number, side};
use crate::qcn::Told;
use crate::segment::{Frame, flag};

mod interface;
mod line;

pub(crate) use interface::Next;
use interface::{Interface, Outgoing};

/// How a card keeps frames back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// Gap frames fill the line; what they take is computed.
    Gap,
    /// The same, and the gap frames are sent.
    GapFrames,
    /// A timer with this granularity; more than zero.
    Timer(Span),
}

/// The round trip of a dynamic rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoundTrip {
    /// The sender's estimate, smoothed (the paper's). It has the wait in the card in it: a rate of a window a round trip
    /// never works off what waits there, whatever it is.
    #[default]
    Smoothed,
    /// The shortest of the connection: what waits in the card is worked off.
    Least,
}

/// The pace of each flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowRate {
    /// None: flows wait for their turn only.
    Unpaced,
    /// This rate of bytes on the line; more than zero.
    Static(Rate),
    /// Its window a round trip (the paper, eq. 1), at most the limit.
    Dynamic {
        /// The paper's static mode is an estimate with such a limit.
        limit: Option<Rate>,
        /// Which one.
        round_trip: RoundTrip,
    },
}

/// Flows of some kinds of traffic, together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardClass {
    /// Whose flows, by the caller's numbers.
    pub traffics: Vec<u16>,
    /// All of them together send no faster, over an interface.
    pub limit: Option<Limit>,
    /// Their part where classes compete; at least 1. Flows of no class have 1.
    pub share: u32,
    /// The pace of each, if it is another than the card's.
    pub rate: Option<FlowRate>,
}

/// A card that paces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardModel {
    /// How frames are kept back.
    pub release: Release,
    /// The pace of each flow: of each subflow, of each direction of a two-way connection.
    pub rate: FlowRate,
    /// How many frames of a flow leave back to back.
    pub burst: Burst,
    /// All that leaves an interface together.
    pub limit: Option<Limit>,
    /// Classes of flows; a traffic is in one at most.
    pub classes: Vec<CardClass>,
    /// Frames that wait at an interface at most; what finds so many is dropped. At least 1.
    pub queue: u32,
    /// The most data in a gap frame: 46 to 65,500 bytes.
    pub mtu: u32,
}

/// What cards have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CardCounters {
    /// Gap frames that were begun.
    pub gap_frames: u64,
    /// Bytes in them, header to checksum.
    pub gap_bytes: u64,
    /// Frames that found the queue full.
    pub drops: u64,
}

/// Classes before those of the model: acknowledgements, and flows of no class.
const ACKNOWLEDGEMENTS: usize = 0;
const REST: usize = 1;
const NO_INTERFACE: u32 = u32::MAX;

/// What a sender's window says about its pace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Estimate {
    /// The congestion window, bytes of data.
    pub window: u64,
    /// The smoothed round-trip time.
    pub srtt: Option<Span>,
    /// The shortest one.
    pub least: Option<Span>,
    /// Bytes of data in a full frame, and of headers and checksum.
    pub mss: u32,
    pub overhead: u32,
}

/// A frame was offered to a card.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The link has no card.
    Not,
    /// It waits.
    Queued,
    /// The queue is full.
    Dropped,
}

/// A sender whose frames pass cards.
#[derive(Debug, Default)]
struct Owner {
    traffic: u16,
    /// How many senders have had its place before.
    generation: u32,
    /// Its reaction point, once it was told of congestion.
    reaction: Option<Box<ReactionPoint>>,
    /// The interfaces that it has sent over, with the flow that it is there.
    flows: Vec<(u32, interface::Flow)>,
}

/// All cards.
#[derive(Debug, Default)]
pub(crate) struct Cards {
    models: Vec<CardModel>,
    nodes: Vec<NodeId>,
    /// Per link that leaves a host with a card: its interface. Empty if there are none.
    leaving: Vec<u32>,
    interfaces: Vec<Interface>,
    /// By subflow of TCP, and by stream of datagrams.
    owners: [Vec<Owner>; 2],
    /// Flows are slowed down by QCN.
    reaction: Option<ReactionParameters>,
}

/// Where in [`Cards::owners`] the sender of frames to `to` is.
fn owner(to: Endpoint) -> (usize, usize) {
    match Tenant::of(to) {
        Tenant::Datagram => (1, number(to) as usize),
        Tenant::Tcp | Tenant::TwoWayTcp => (0, side(Endpoint(number(to))).0 as usize),
        Tenant::External | Tenant::Roce | Tenant::Gap | Tenant::MacControl | Tenant::Qcn => {
            unreachable!("only TCP and datagrams send through cards")
        }
    }
}

/// Whether a frame is an acknowledgement of what goes the other way.
fn is_acknowledgement(to: Endpoint) -> bool {
    Tenant::of(to) != Tenant::Datagram && side(Endpoint(number(to))).1 == Side::Sender
}

impl Cards {
    /// Whether there are any.
    #[inline]
    pub fn any(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Gives `node` a card.
    ///
    /// # Panics
    /// If it has one, or the model makes no sense: see the fields of [`CardModel`].
    pub fn add(&mut self, graph: &Graph, node: NodeId, model: &CardModel, routes: &mut Routes) {
        assert!(!self.nodes.contains(&node), "a host has one card");
        assert!(model.queue > 0 && (46..=LARGEST_MTU).contains(&model.mtu), "{model:?}");
        assert!(!matches!(model.release, Release::Timer(Span::ZERO)), "a timer ticks: {model:?}");
        self.leaving.resize(graph.links().len(), NO_INTERFACE);
        for &link in graph.interfaces(node) {
            let number = self.interfaces.len() as u32;
            self.leaving[link.index()] = number;
            let wire = &graph.links()[link.index()].wire;
            assert!(wire.rate <= FASTEST, "a card knows rates up to {FASTEST}");
            let route = routes.insert(&[link], Tenant::Gap.endpoint(number));
            self.interfaces.push(Interface::new(number, self.models.len(), wire, model, route));
        }
        self.models.push(model.clone());
        self.nodes.push(node);
    }

    /// Frames that wait in cards.
    pub fn waiting(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.waiting() as u64).sum()
    }

    /// Gap frames on the wire, of cards that send them.
    pub fn gaps_in_flight(&self) -> u64 {
        self.interfaces.iter().map(|interface| interface.gaps_in_flight).sum()
    }

    /// What the cards of `node`, or of all hosts, have done until `now`.
    pub fn counters(&self, node: Option<NodeId>, now: Time) -> CardCounters {
        let of = |interface: &&Interface| node.is_none_or(|node| self.nodes[interface.card] == node);
        self.interfaces.iter().filter(of).fold(CardCounters::default(), |sum, interface| {
            let CardCounters { gap_frames, gap_bytes, drops } = interface.counters(now);
            CardCounters {
                gap_frames: sum.gap_frames + gap_frames,
                gap_bytes: sum.gap_bytes + gap_bytes,
                drops: sum.drops + drops,
            }
        })
    }

    /// The sender of frames to `to` is of this kind of traffic.
    pub fn open(&mut self, to: Endpoint, traffic: u16) {
        let (tenant, at) = owner(to);
        let owners = &mut self.owners[tenant];
        if at >= owners.len() {
            owners.resize_with(at + 1, Owner::default);
        }
        let generation = owners[at].generation.wrapping_add(1);
        owners[at] = Owner { traffic, generation, reaction: None, flows: Vec::new() };
    }

    /// Which sender of frames to `to` there is: another number than of those that had its place before.
    pub fn generation(&self, to: Endpoint) -> u32 {
        let (tenant, at) = owner(to);
        self.owners[tenant].get(at).map_or(0, |owner| owner.generation)
    }

    /// The sender of frames to `to` has sent everything, and all of it has left.
    pub fn close(&mut self, to: Endpoint) {
        let (tenant, at) = owner(to);
        for (interface, flow) in std::mem::take(&mut self.owners[tenant][at].flows) {
            self.interfaces[interface as usize].close(flow);
        }
    }

    /// Takes in a frame that leaves over `first`, if that has a card.
    pub fn take_in(&mut self, now: Time, first: LinkId, to: Endpoint, frame: Frame, events: &mut EventQueue) -> Taken {
        let Some(&number) = self.leaving.get(first.index()).filter(|&&number| number != NO_INTERFACE) else {
            return Taken::Not;
        };
        let interface = &mut self.interfaces[number as usize];
        let model = &self.models[interface.card];
        if interface.is_full(model) {
            interface.count_drop();
            return Taken::Dropped;
        }
        let outgoing = Outgoing { to, frame };
        if is_acknowledgement(to) {
            interface.push(now, None, false, outgoing, events);
            return Taken::Queued;
        }
        let (tenant, at) = owner(to);
        let reacts = self.reaction.is_some();
        let Owner { traffic, flows, .. } = &mut self.owners[tenant][at];
        let flow = if let Some(&(_, flow)) = flows.iter().find(|&&(of, _)| of == number) {
            flow
        } else {
            let class = model.classes.iter().position(|class| class.traffics.contains(traffic));
            let flow = interface.open(class, model);
            flows.push((number, flow));
            flow
        };
        let data = frame.body.amount > 0 && frame.tag & flag::SYN == 0;
        interface.push(now, Some(flow), data && (reacts || flow.rate != FlowRate::Unpaced), outgoing, events);
        Taken::Queued
    }

    /// Handles the event of an interface, which must be the earliest.
    pub fn fire(&mut self, now: Time, interface: u32, sequence: u32, events: &mut EventQueue) -> Next {
        self.interfaces[interface as usize].fire(now, sequence, events)
    }

    /// Whose the frame is that [`fire`](Self::fire) has chosen.
    pub fn chosen(&self, interface: u32) -> Endpoint {
        self.interfaces[interface as usize].chosen().to
    }

    /// Takes the frame that [`fire`](Self::fire) has chosen; `estimate` is what its sender says now.
    pub fn leave(
        &mut self,
        now: Time,
        interface: u32,
        estimate: Option<Estimate>,
        events: &mut EventQueue,
    ) -> (Endpoint, Frame) {
        let own = &mut self.interfaces[interface as usize];
        let to = own.chosen().to;
        let rate = if is_acknowledgement(to) {
            FlowRate::Unpaced
        } else {
            let (tenant, at) = owner(to);
            let flows = &self.owners[tenant][at].flows;
            flows.iter().find(|&&(of, _)| of == interface).expect("a flow was opened").1.rate
        };
        let mut pace = pace(rate, estimate, own.overhead());
        if self.reaction.is_some() && !is_acknowledgement(to) {
            let (tenant, at) = owner(to);
            let bytes = Bytes::new(u64::from(own.chosen().frame.size) + u64::from(own.overhead()));
            if let Some(reaction) = &mut self.owners[tenant][at].reaction {
                reaction.on_sent(now, bytes);
                if reaction.is_active() {
                    let slowed = Target::of_rate(reaction.rate());
                    pace.target = Some(pace.target.map_or(slowed, |target| target.min(slowed)));
                }
            }
        }
        let Outgoing { to, frame } = own.leave(now, pace, events);
        (to, frame)
    }

    /// Flows whose frames pass cards listen to QCN.
    pub fn set_reaction(&mut self, reaction: ReactionParameters) {
        self.reaction = Some(reaction);
    }

    /// A sender, over a line of this rate, is told of congestion, if it is still there. Nobody slows acknowledgements down.
    pub fn on_feedback(&mut self, now: Time, told: &Told, line: Rate) {
        let Some(parameters) = self.reaction.filter(|_| !is_acknowledgement(told.flow)) else { return };
        let (tenant, at) = owner(told.flow);
        let owner = self.owners[tenant].get_mut(at).filter(|owner| owner.generation == told.generation);
        let Some(owner) = owner else { return };
        let reaction = owner.reaction.get_or_insert_with(|| Box::new(ReactionPoint::new(parameters, line)));
        reaction.on_feedback(now, told.code);
    }

    /// A gap frame has left the wire.
    pub fn gap_gone(&mut self, interface: u32) {
        self.interfaces[interface as usize].gaps_in_flight -= 1;
    }
}

/// The pace of a frame of a sender with this estimate, where frames take `between` bytes of the line beyond their size.
fn pace(rate: FlowRate, estimate: Option<Estimate>, between: u32) -> Pace {
    match rate {
        FlowRate::Unpaced => Pace::default(),
        FlowRate::Static(rate) => Pace { target: Some(Target::of_rate(rate)), window: None },
        FlowRate::Dynamic { limit, round_trip } => {
            let window = line_window(estimate, between);
            let span = estimate.and_then(|estimate| match round_trip {
                RoundTrip::Smoothed => estimate.srtt,
                RoundTrip::Least => estimate.least,
            });
            let srtt = span.unwrap_or_default();
            // the paper, eq. 1
            let own = window.and_then(|window| Target::of_window(window, srtt));
            let limit = limit.map(Target::of_rate);
            let target = match (own, limit) {
                (Some(own), Some(limit)) => Some(own.min(limit)),
                (own, limit) => own.or(limit),
            };
            Pace { target, window }
        }
    }
}

/// The bytes of the line that a window of data takes: `cwnd · pkt_size` of eq. 1, in what rates count.
fn line_window(estimate: Option<Estimate>, between: u32) -> Option<u64> {
    let Estimate { window, mss, overhead, .. } = estimate?;
    let frame = u128::from(mss) + u128::from(overhead) + u128::from(between);
    Some(u64::try_from(u128::from(window) * frame / u128::from(mss)).unwrap_or(u64::MAX))
}
