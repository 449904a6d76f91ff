//! Paths of connections are given, or written down.

use std::sync::Arc;

use headway_units::Time;

use super::Simulation;
use crate::paths::{GivenPaths, PathBook, PathTaken};

impl Simulation {
    /// Gives connections their paths: among the shortest ones they take those that pass the nodes given. A connection of
    /// plain TCP, of datagrams or of RoCE takes interfaces between which there is such a path. While routing knows that a
    /// link of it is down, the hash chooses among what is left.
    ///
    /// Where there is no such path the flow cannot start, and the run ends with [`NoPath::NotOver`](headway_fabric::NoPath);
    /// of MPTCP, further subflows are then not opened.
    ///
    /// # Panics
    /// If a flow has started.
    pub fn give_paths(&mut self, given: Arc<GivenPaths>) {
        self.begin_paths().given = given;
    }

    /// Writes down from now on which paths connections take, see [`Simulation::paths_taken`]. It changes nothing else.
    ///
    /// # Panics
    /// If a flow has started.
    pub fn keep_paths(&mut self) {
        self.begin_paths().keeps = true;
    }

    /// The paths that connections have taken, in order of flows' ids, connections, subflows and times, if they were kept.
    pub fn paths_taken(&mut self) -> Option<Vec<PathTaken>> {
        self.env.book.take_if(|book| book.keeps).map(|book| book.finish())
    }

    fn begin_paths(&mut self) -> &mut PathBook {
        assert!(self.env.net.sent == 0 && self.env.now == Time::ZERO, "paths are given and kept from the start");
        self.env.book.get_or_insert_default()
    }
}
