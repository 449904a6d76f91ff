//! What endpoints share: the fabric, the event queue, and the few things packets point to.

use headway_engine::EventQueue;
use headway_fabric::{Endpoint, Fabric, LinkId};
use headway_units::Time;

use crate::card::{Cards, Taken};
use crate::host::{Hosts, arriving};
use crate::priority::Priorities;
use crate::sack_pool::{Piggyback, SackPool};
use crate::segment::{Frame, Segment};
use crate::tap::{TapPlace, Taps};
use crate::trace::Trace;
use crate::waits::Waits;

/// The network as endpoints use it.
#[derive(Debug)]
pub(crate) struct Network {
    pub fabric: Fabric<Segment>,
    pub queue: EventQueue,
    pub extras: SackPool,
    /// Hosts with a model.
    pub hosts: Hosts,
    /// Cards that pace.
    pub cards: Cards,
    /// Priorities of frames.
    pub priorities: Priorities,
    /// Frames on their way to each endpoint; a closed subflow's place is reused when both its counts are zero.
    pub inbound: Vec<u32>,
    /// What controls' random choices follow from.
    pub seed: u64,
    /// Frames sent, those that wait for a core or in a card of their sender's included.
    pub sent: u64,
    /// Frames that reached an endpoint.
    pub delivered: u64,
    /// Frames dropped or damaged.
    pub discarded: u64,
    /// What passes senders, if that is asked for.
    pub trace: Option<Box<Trace>>,
    /// Taps at interfaces and links, if there are any.
    pub taps: Option<Box<Taps>>,
    /// How long packets waited, if that is asked for.
    pub waits: Option<Box<Waits>>,
    /// The acknowledgement that data segments of a two-way connection carry while they are sent, and whether one did.
    pub riding: Option<(Piggyback, bool)>,
    /// Frames may need more than the fabric: there are hosts with a model, cards, priorities, echoes, taps, waits, or a trace.
    pub slow_path: bool,
}

impl Network {
    /// An empty one over `fabric`; controls' random choices follow from `seed`.
    pub fn new(fabric: Fabric<Segment>, seed: u64) -> Network {
        Network {
            fabric,
            queue: EventQueue::new(),
            extras: SackPool::default(),
            hosts: Hosts::default(),
            cards: Cards::default(),
            priorities: Priorities::default(),
            inbound: Vec::new(),
            seed,
            sent: 0,
            delivered: 0,
            discarded: 0,
            trace: None,
            taps: None,
            waits: None,
            riding: None,
            slow_path: false,
        }
    }

    /// From now on frames to `to` echo these bits, as any stack with timestamps echoes the last one it saw (RFC 7323
    /// §4.3).
    pub fn set_echo(&mut self, to: Endpoint, bits: u8) {
        self.slow_path = true;
        self.extras.set_echo(to, bits);
    }

    /// Notes a frame that is sent to `to`, or has reached it, if that is wanted.
    #[inline]
    pub fn note(&mut self, now: Time, to: Endpoint, out: bool, frame: &Frame) {
        if self.trace.is_some() {
            self.note_traced(now, to, out, frame);
        }
    }

    #[cold]
    fn note_traced(&mut self, now: Time, to: Endpoint, out: bool, frame: &Frame) {
        if let Some(trace) = &mut self.trace {
            trace.note(now, to, out, frame, self.extras.peek(frame.body.extra));
        }
    }

    /// Shows the taps a frame on its way to `to` that has passed `link`, or has arrived over it at an interface.
    #[cold]
    pub fn tap(&mut self, now: Time, place: TapPlace, to: Endpoint, frame: &Frame) {
        let Some(taps) = &mut self.taps else { return };
        let wanted = match place {
            TapPlace::Sent(interface) | TapPlace::Received(interface) => taps.has(interface),
            TapPlace::Passed(_) => true,
        };
        if wanted {
            taps.see(now, place, to, frame, &self.extras);
        }
    }

    /// Sends a frame on its route.
    #[expect(clippy::inline_always, reason = "once for every packet: a call costs half as much as the work")]
    #[inline(always)]
    pub fn send(&mut self, now: Time, to: Endpoint, mut frame: Frame) {
        self.sent += 1;
        if self.slow_path && self.prepare(now, to, &mut frame) {
            return;
        }
        match self.fabric.send(&mut self.queue, now, frame) {
            Ok(()) => self.inbound[to.0 as usize] += 1,
            Err((_, frame)) => {
                self.discarded += 1;
                self.extras.discard(frame.body.extra);
            }
        }
    }

    /// Does with a frame that is sent what is not the fabric's; says whether its host's core or card has it.
    #[inline(never)]
    fn prepare(&mut self, now: Time, to: Endpoint, frame: &mut Frame) -> bool {
        if let Some((ack, rode)) = &mut self.riding {
            *rode = true;
            frame.body.extra = self.extras.put_riding(*ack);
        }
        frame.tag |= self.extras.echo(to);
        frame.tos |= self.priorities.of(to);
        self.note(now, to, true, frame);
        if self.taps.is_some() {
            self.tap(now, TapPlace::Sent(self.first_link(frame)), to, frame);
        }
        let taken = self.hosts.any() && self.hand_to_core(now, to, *frame)
            || self.cards.any() && self.hand_to_card(now, to, *frame);
        if !taken {
            self.note_sent(now);
        }
        taken
    }

    /// The next frame that the fabric gets begins to wait now, if that is asked for.
    fn note_sent(&mut self, now: Time) {
        if let Some(waits) = &mut self.waits {
            waits.sent(now, self.fabric.next_place());
        }
    }

    /// Gives the fabric a frame of another tenant than TCP, or one that a core or a card had.
    ///
    /// # Errors
    /// As [`Fabric::send`].
    pub fn put_in(&mut self, now: Time, frame: Frame) -> Result<(), (Endpoint, Frame)> {
        self.note_sent(now);
        self.fabric.send(&mut self.queue, now, frame)
    }

    /// The link that a frame leaves over.
    fn first_link(&self, frame: &Frame) -> LinkId {
        self.fabric.routes.ports(frame.hop).next().expect("a route has a link")
    }

    /// Offers a frame to the card of the interface that it leaves, if there is one.
    pub fn offer_to_card(&mut self, now: Time, to: Endpoint, frame: Frame) -> Taken {
        let first = self.first_link(&frame);
        self.cards.take_in(now, first, to, frame, &mut self.queue)
    }

    /// Gives a frame to the card that it leaves through, if there is one; says whether there is.
    fn hand_to_card(&mut self, now: Time, to: Endpoint, frame: Frame) -> bool {
        match self.offer_to_card(now, to, frame) {
            Taken::Not => return false,
            Taken::Queued => self.inbound[to.0 as usize] += 1,
            Taken::Dropped => {
                self.discarded += 1;
                self.extras.discard(frame.body.extra);
            }
        }
        true
    }

    /// Gives a frame to the core that sends it, if its host has a model; says whether it did.
    fn hand_to_core(&mut self, now: Time, to: Endpoint, frame: Frame) -> bool {
        let first = self.first_link(&frame);
        let Some(interface) = self.hosts.interface(arriving(first)) else { return false };
        self.inbound[to.0 as usize] += 1;
        self.hosts.send(now, interface, to, frame, &mut self.queue);
        true
    }
}
