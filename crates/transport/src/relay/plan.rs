//! How flows are relayed: what hosts and relays have, and what each direction of each segment follows from that.

use std::sync::Arc;

use headway_fabric::NodeId;
use headway_units::{Bytes, Span};

use crate::tcp::profile::{Profile, Recovery, Reduction};

/// The most relays on the way of a flow.
pub const MOST_RELAYS: usize = 2;
/// What timestamps take of a segment (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;

/// Flows that are not one connection but a chain of two or three over relays.
#[derive(Debug, Clone)]
pub struct Relayed {
    /// What the flow's source and destination have.
    pub hosts: Profile,
    /// The relays. Kinds of flows that share it share its pool, too.
    pub relay: Arc<Relay>,
}

/// One relay, or a pair with a long link between them.
#[derive(Debug, Clone)]
pub struct Relay {
    /// The relay hosts, one or two; a flow takes them in the order of their distance from its source.
    pub hosts: Vec<NodeId>,
    /// What they have towards the flow's source and destination. Of a single relay the nearer one of both.
    pub access: Profile,
    /// What they have towards each other; a single relay, towards the end that is further away.
    pub long: Profile,
    /// What a relay holds at most of one direction of a connection: read from one side and not acknowledged by the
    /// other. It takes the place of the send buffers of `access` and `long`.
    pub buffer: Bytes,
    /// When a relay answers SYN.
    pub open: RelayOpen,
    /// Connections from each relay to the other that are open from the start of the run and kept for later flows; zero:
    /// every flow opens one of its own.
    pub warm: u32,
    /// What the work of a relay takes.
    pub cost: RelayCost,
}

/// When a relay answers SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayOpen {
    /// When the next hop has answered, so that the handshake is one of source and destination.
    EndToEnd,
    /// At once; it opens the next connection when the first is there.
    AtOnce,
}

/// What the work of a relay takes of its one processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RelayCost {
    /// For each byte that is forwarded.
    pub byte: Span,
    /// For each connection that is taken in.
    pub connection: Span,
}

impl RelayCost {
    /// Whether anything takes time.
    pub fn any(self) -> bool {
        !self.byte.is_zero() || !self.connection.is_zero()
    }
}

/// Who is at an end of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Party {
    Host,
    Access,
    Long,
}

/// Who may send to whom, in the order of [`Relayed::directions`].
const DIRECTIONS: [(Party, Party); 5] = [
    (Party::Host, Party::Access),
    (Party::Access, Party::Host),
    (Party::Long, Party::Long),
    (Party::Host, Party::Long),
    (Party::Long, Party::Host),
];

/// The place of a direction among [`Relayed::directions`].
pub(super) fn direction(from: Party, to: Party) -> u16 {
    DIRECTIONS.iter().position(|&own| own == (from, to)).expect("parties of a segment") as u16
}

impl Relayed {
    /// The profiles of all directions that a segment can have.
    pub(crate) fn directions(&self) -> impl Iterator<Item = Profile> {
        let of = |party| match party {
            Party::Host => self.hosts.clone(),
            Party::Access => Profile { send_buffer: Some(self.relay.buffer), ..self.relay.access.clone() },
            Party::Long => Profile { send_buffer: Some(self.relay.buffer), ..self.relay.long.clone() },
        };
        DIRECTIONS.map(|(from, to)| of(from).towards(&of(to))).into_iter()
    }
}

impl Profile {
    /// What a connection's direction is set up with whose sender is `self` and whose receiver is `other`: the sender's half
    /// of one, the receiver's of the other, and what both have of what they negotiate (selective acknowledgements,
    /// timestamps, ECN, the size of a segment).
    ///
    /// Leaves out: the time-out for SYN-ACK is the sender's, and window scaling is one of the receiver's settings.
    #[must_use]
    pub fn towards(&self, other: &Profile) -> Profile {
        let timestamps = self.timestamps && other.timestamps;
        let options = |profile: &Profile| if profile.timestamps { TIMESTAMPS } else { 0 };
        let own = if timestamps { TIMESTAMPS } else { 0 };
        let room = |profile: &Profile| profile.mss + options(profile);
        let rest = |profile: &Profile| profile.overhead - options(profile);
        let blocks = (self.sack_blocks, other.sack_blocks);
        Profile {
            recovery: match self.recovery {
                Recovery::Linux(linux) if !other.recovery.uses_sack() => {
                    Recovery::NewReno { prr: linux.reduction == Reduction::Proportional }
                }
                Recovery::Sack if !other.recovery.uses_sack() => Recovery::NEW_RENO,
                own => own,
            },
            mss: room(self).min(room(other)) - own,
            overhead: rest(self).max(rest(other)) + own,
            timestamps,
            sack_blocks: if timestamps { blocks.0.min(blocks.1) } else { blocks.0.max(blocks.1) },
            delayed_ack: other.delayed_ack,
            receive_window: other.receive_window,
            autotuning: other.autotuning,
            linux_receiver: Some(other.has_linux_receiver()),
            ecn: self.ecn && other.ecn,
            multipath: None,
            replicate: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::stack::Stack;

    /// Linux sends to Windows XP without timestamps, in segments of 1460 bytes, into its window; what comes back follows
    /// Windows' sender and Linux' receiver.
    #[test]
    fn a_direction_has_the_half_of_each_end() {
        let linux = Profile { mss: 1448, overhead: 70, ..Stack::Linux.profile() };
        let windows = Profile { mss: 1460, overhead: 58, ..Stack::WindowsXp.profile() };
        let forth = linux.towards(&windows);
        assert_eq!((forth.mss, forth.overhead, forth.timestamps), (1460, 58, false));
        assert_eq!(forth.receive_window, windows.receive_window);
        assert_eq!(forth.delayed_ack, windows.delayed_ack);
        assert_eq!((forth.rto_rule, forth.send_buffer), (linux.rto_rule, linux.send_buffer));
        let back = windows.towards(&linux);
        assert_eq!((back.mss, back.overhead, back.timestamps), (1460, 58, false));
        assert_eq!((back.receive_window, back.autotuning), (linux.receive_window, linux.autotuning));
        assert_eq!((back.initial_window, back.min_rto), (windows.initial_window, windows.min_rto));
        let alike = linux.towards(&linux);
        assert_eq!((alike.mss, alike.overhead, alike.timestamps), (1448, 70, true));
    }

    /// What comes to Linux is received by Linux, whoever sends: with selective acknowledgements its duplicates are reported.
    #[test]
    fn receivers_are_of_the_end_that_receives() {
        let linux = Profile::linux();
        let letter = Profile { recovery: Recovery::Sack, ..Profile::default() };
        let without = Profile { recovery: Recovery::NEW_RENO, ..Profile::default() };
        let kinds = |sender: &Profile, receiver: &Profile| {
            let own = sender.towards(receiver);
            (own.has_linux_receiver(), own.reports_duplicates())
        };
        assert_eq!(kinds(&letter, &linux), (true, true));
        assert_eq!(kinds(&linux, &letter), (false, false));
        assert_eq!(kinds(&without, &linux), (true, false));
        assert_eq!(kinds(&linux, &linux), (true, true));
        assert_eq!(kinds(&letter, &letter), (false, false));
    }

    #[test]
    fn what_one_end_lacks_is_not_used() {
        let linux = Profile { mss: 1448, overhead: 70, ecn: true, ..Stack::Linux.profile() };
        let without = Profile { recovery: Recovery::NEW_RENO, ..Profile::default() };
        let forth = linux.towards(&without);
        assert_eq!((forth.recovery, forth.ecn), (Recovery::NewReno { prr: true }, false));
        assert_eq!(without.towards(&linux).recovery, Recovery::NEW_RENO);
    }
}
