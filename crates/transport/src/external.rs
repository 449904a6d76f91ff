//! Hosts that are not modelled here but send and receive on the same fabric, such as real kernels.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use headway_fabric::LinkId;
use headway_units::Time;

/// A frame that an external host transmits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// When the first bit leaves. Times of one interface increase, each by at least the transmission of the frame before.
    pub time: Time,
    /// The outgoing link of the interface it leaves by.
    pub from: LinkId,
    /// The outgoing link of the interface it is addressed to.
    pub to: LinkId,
    /// What equal-cost switches choose by.
    pub hash: u64,
    /// Bytes of the frame, checksum and padding included.
    pub size: u16,
    /// DSCP and ECN.
    pub tos: u8,
    /// The owner's name for it.
    pub frame: u32,
}

/// Hosts with a clock of their own.
///
/// They may run ahead of the simulation for as long as nothing can reach them: what is sent at `now` or later arrives
/// no earlier than the horizon that [`External::advance`] is given. What they do must depend on these calls alone.
pub trait External: fmt::Debug + std::any::Any {
    /// When the earliest of them wants to act; [`Time::NEVER`] if none does.
    fn next(&self) -> Time;

    /// Lets every host act whose time comes before its horizon. `now` is [`External::next`], and `horizon` gives, for
    /// the outgoing link of an interface, a time before which nothing arrives there. What they transmit, at `now` or
    /// later, goes to `sent`.
    ///
    /// # Errors
    /// If they cannot go on; the run ends.
    fn advance(
        &mut self,
        now: Time,
        horizon: &dyn Fn(LinkId) -> Time,
        sent: &mut Vec<Departure>,
    ) -> Result<(), ExternalError>;

    /// `frame`, with the bits that switches set, leaves the interface with the outgoing link `from`.
    fn departs(&mut self, now: Time, from: LinkId, frame: u32);

    /// `frame` arrives, whole, at the far end of a link that is watched; see [`Simulation::watch`](crate::Simulation::watch).
    fn passes(&mut self, now: Time, link: LinkId, frame: u32, tos: u8);

    /// `frame` arrives at the interface with the outgoing link `to`.
    fn deliver(&mut self, now: Time, to: LinkId, frame: u32, tos: u8);

    /// `frame` was dropped, damaged, or had no path.
    fn discard(&mut self, frame: u32);
}

/// Why external hosts cannot go on, in words.
pub type ExternalError = Box<dyn std::error::Error + Send + Sync>;

/// The external hosts of a run and what they have sent.
#[derive(Debug)]
pub(crate) struct ExternalHosts {
    pub hosts: Box<dyn External>,
    /// Per interface, by its outgoing link: frames to leave, in order of time. The first has its event.
    pub leaving: BTreeMap<u32, VecDeque<Departure>>,
    /// Routes by outgoing links and hash; `None` where there is none.
    pub routes: BTreeMap<(u32, u32, u64), Option<u32>>,
    /// Links at whose far end frames are looked at.
    pub watched: Vec<bool>,
    /// Those of them at which they are shown to the hosts, and to taps.
    pub shown: Vec<bool>,
    /// Frames given to the fabric, and those that left it.
    pub sent: u64,
    pub gone: u64,
    /// Kept for its memory.
    pub scratch: Vec<Departure>,
}

/// In the place of hosts that have been taken away.
#[derive(Debug)]
pub(crate) struct NullHost;

impl External for NullHost {
    fn next(&self) -> Time {
        Time::NEVER
    }
    fn advance(&mut self, _: Time, _: &dyn Fn(LinkId) -> Time, _: &mut Vec<Departure>) -> Result<(), ExternalError> {
        Ok(())
    }
    fn departs(&mut self, _: Time, _: LinkId, _: u32) {}
    fn passes(&mut self, _: Time, _: LinkId, _: u32, _: u8) {}
    fn deliver(&mut self, _: Time, _: LinkId, _: u32, _: u8) {}
    fn discard(&mut self, _: u32) {}
}
