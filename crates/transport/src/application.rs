//! What starts flows: a list made beforehand, or an application that waits for flows to complete.

use std::iter::Peekable;

use headway_units::Time;

use crate::flows::FlowStart;
use crate::socket::{Socket, SocketEvent};
use crate::sockets::Sockets;

/// What starts flows; see [`Simulation::run_application`](crate::Simulation::run_application). What it does must depend
/// on these calls alone.
pub trait Application {
    /// When it next wants to act; [`Time::NEVER`] if not before a flow completes.
    fn next(&mut self) -> Time;

    /// Acts: gives a flow that starts `now`, or nothing if only time had to pass. `now` is not before
    /// [`Application::next`], which is asked again afterwards.
    fn act(&mut self, now: Time) -> Option<FlowStart>;

    /// Opens, writes, reads and closes two-way connections. Called when the time of [`Application::next`] has come,
    /// before [`Application::act`].
    fn act_on_sockets(&mut self, now: Time, sockets: &mut Sockets<'_>) {
        let _ = (now, sockets);
    }

    /// Something has happened at one end of a two-way connection, and the network has done all else of this instant.
    /// [`Application::next`] is asked again afterwards.
    fn on_socket(&mut self, now: Time, socket: Socket, event: SocketEvent, sockets: &mut Sockets<'_>) {
        let _ = (now, socket, event, sockets);
    }

    /// Work that it gave a host's core is done ([`Sockets::work`]), called `tag`.
    fn worked(&mut self, now: Time, tag: u64, sockets: &mut Sockets<'_>) {
        let _ = (now, tag, sockets);
    }

    /// Whether [`Application::completed`] is to be called.
    fn listens(&self) -> bool {
        false
    }

    /// The last byte of the flow called `id` was delivered at `at`, or a reset ended it without ([`Crash`](crate::Crash)). It is told a picosecond later, so that all that
    /// happens at `at` has happened, and of flows in the order in which they completed.
    fn completed(&mut self, at: Time, id: u64) {
        let _ = (at, id);
    }
}

/// Flows whose times are known, in order of time.
pub(crate) struct Listed<I: Iterator<Item = FlowStart>>(pub Peekable<I>);

impl<I: Iterator<Item = FlowStart>> Application for Listed<I> {
    fn next(&mut self) -> Time {
        self.0.peek().map_or(Time::NEVER, |start| start.time)
    }

    fn act(&mut self, _now: Time) -> Option<FlowStart> {
        self.0.next()
    }
}
