//! Routes as flat runs of ports in one array.

use crate::LinkId;

/// The far end of a route: an index that means something to the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint(pub u32);

/// What a packet meets next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hop {
    Port(u32),
    End(Endpoint),
}

const END: u32 = 1 << 31;

/// All routes in use. A route is the ports a packet passes, then its endpoint; it is written once when a subflow
/// opens, and a packet needs no more than a position in it.
#[derive(Debug, Default)]
pub struct Routes {
    cells: Vec<u32>,
    /// Starts of freed routes, by number of cells.
    free: Vec<Vec<u32>>,
}

impl Routes {
    /// Stores a route and returns the position of its first hop.
    ///
    /// # Panics
    /// If it has no port, or the endpoint's index needs more than 31 bits.
    pub fn insert(&mut self, ports: &[LinkId], end: Endpoint) -> u32 {
        assert!(!ports.is_empty() && end.0 < END);
        let cells = ports.len() + 1;
        let start = if let Some(start) = self.free.get_mut(cells).and_then(Vec::pop) {
            start as usize
        } else {
            let start = self.cells.len();
            self.cells.resize(start + cells, 0);
            start
        };
        for (cell, port) in self.cells[start..].iter_mut().zip(ports) {
            *cell = port.0;
        }
        self.cells[start + ports.len()] = end.0 | END;
        u32::try_from(start).expect("routes fit 32 bits")
    }

    /// Gives a route's place back. No packet may still be on it.
    pub fn remove(&mut self, start: u32) {
        let cells = self.ports(start).count() + 1;
        if self.free.len() <= cells {
            self.free.resize(cells + 1, Vec::new());
        }
        self.free[cells].push(start);
    }

    /// The ports of the route that starts at `start`.
    pub fn ports(&self, start: u32) -> impl Iterator<Item = LinkId> + '_ {
        self.cells[start as usize..].iter().take_while(|&&cell| cell & END == 0).map(|&cell| LinkId(cell))
    }

    #[inline]
    pub(crate) fn hop(&self, at: u32) -> Hop {
        let cell = self.cells[at as usize];
        if cell & END == 0 { Hop::Port(cell) } else { Hop::End(Endpoint(cell & !END)) }
    }

    /// The link over which a frame has come that stands at the port before position `at` of its route; `None` at its
    /// first port.
    pub(crate) fn came_over(&self, at: u32) -> Option<LinkId> {
        let before = self.cells[at.checked_sub(2)? as usize];
        (before & END == 0).then_some(LinkId(before))
    }

    /// The start of the route on which `at` is a position.
    pub fn start(&self, at: u32) -> u32 {
        self.cells[..at as usize].iter().rposition(|cell| cell & END != 0).map_or(0, |end| end as u32 + 1)
    }

    /// The links over which a frame has come that stands at the port before position `at` of its route, in their order.
    pub(crate) fn before(&self, at: u32) -> Vec<LinkId> {
        let port = at.saturating_sub(1) as usize;
        let start = self.cells[..port].iter().rposition(|cell| cell & END != 0).map_or(0, |end| end + 1);
        self.cells[start..port].iter().map(|&cell| LinkId(cell)).collect()
    }

    /// The endpoint of the route on which `at` is a position.
    ///
    /// # Panics
    /// If `at` is not on a route.
    pub fn end(&self, at: u32) -> Endpoint {
        let cell = self.cells[at as usize..].iter().find(|&&cell| cell & END != 0);
        Endpoint(cell.expect("every route ends") & !END)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_knows_the_links_before_it() {
        let mut routes = Routes::default();
        for end in 0..2 {
            let start = routes.insert(&[LinkId(3), LinkId(4), LinkId(5)], Endpoint(end));
            // the position after the port at which a frame stands
            assert_eq!(routes.before(start + 1), []);
            assert_eq!(routes.before(start + 2), [LinkId(3)]);
            assert_eq!(routes.before(start + 3), [LinkId(3), LinkId(4)]);
            assert_eq!([0, 1, 3].map(|at| routes.start(start + at)), [start; 3]);
        }
    }

    #[test]
    fn a_freed_route_is_reused_by_one_of_its_length() {
        let mut routes = Routes::default();
        let ports = [LinkId(3), LinkId(4)];
        let a = routes.insert(&ports, Endpoint(7));
        let b = routes.insert(&ports[..1], Endpoint(8));
        assert_eq!(routes.ports(a).collect::<Vec<_>>(), ports);
        assert_eq!(routes.hop(a), Hop::Port(3));
        assert_eq!((routes.end(a), routes.hop(a + 2)), (Endpoint(7), Hop::End(Endpoint(7))));
        routes.remove(a);
        assert_eq!(routes.insert(&ports, Endpoint(9)), a);
        assert_eq!([1, 2, 4].map(|at| routes.came_over(at)), [None, Some(LinkId(3)), None]);
        assert_eq!(routes.end(b), Endpoint(8));
    }
}
