//! Which of a port's queues a frame joins.
//!
//! A flow is a route: modelled subflows have one per direction, frames of external hosts one per pair of interfaces
//! and hash of protocol, addresses and ports. So a frame's position in its route, which is the same for all frames of
//! a flow at one port, stands for the five-tuple. A hash with the port's own salt spreads flows over the queues; two
//! flows may share one, as with stochastic fair queueing (McKenney 1990). Queues are created when first used.

use headway_engine::mix64;

/// No queue yet.
const NONE: u32 = u32::MAX;

/// Queues by hash.
#[derive(Debug)]
pub(crate) struct Flows<Q> {
    salt: u64,
    buckets: u32,
    /// Per bucket its queue; empty before the first frame.
    index: Vec<u32>,
    queues: Vec<Q>,
}

impl<Q> Flows<Q> {
    pub fn new(buckets: u32, salt: u64) -> Flows<Q> {
        assert!(buckets > 0, "flows need a queue");
        Flows { salt, buckets, index: Vec::new(), queues: Vec::new() }
    }

    /// The queue of the flow whose frames stand at `hop` of their routes, `new` if its bucket has none.
    pub fn of(&mut self, hop: u32, new: impl FnOnce() -> Q) -> u32 {
        if self.index.is_empty() {
            self.index = vec![NONE; self.buckets as usize];
        }
        let hash = mix64(self.salt ^ u64::from(hop));
        // the upper bits of the product: uniform for any number of buckets
        let bucket = (u128::from(hash) * u128::from(self.buckets)) >> 64;
        let place = &mut self.index[bucket as usize];
        if *place == NONE {
            *place = self.queues.len() as u32;
            self.queues.push(new());
        }
        *place
    }

    pub fn get(&mut self, queue: u32) -> &mut Q {
        &mut self.queues[queue as usize]
    }

    /// All queues ever used, in order of their first frame.
    pub fn iter(&self) -> impl Iterator<Item = &Q> + '_ {
        self.queues.iter()
    }

    /// All queues ever used, to change them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Q> + '_ {
        self.queues.iter_mut()
    }

    /// The queue for which `bytes` is largest; the first of equals.
    pub fn fattest(&self, bytes: impl Fn(&Q) -> u64) -> Option<u32> {
        let (mut most, mut fattest) = (0, None);
        for (i, queue) in self.queues.iter().enumerate() {
            if bytes(queue) > most {
                (most, fattest) = (bytes(queue), Some(i as u32));
            }
        }
        fattest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-square over 16 queues, 15 degrees of freedom: 37.7 is exceeded with probability 0.001. Hops as routes of
    /// four cells have them.
    #[test]
    fn flows_spread_evenly_and_stay_where_they_are() {
        let mut flows = Flows::new(16, 7);
        for hop in (0..16_000).step_by(4) {
            let queue = flows.of(hop, || 0u32);
            *flows.get(queue) += 1;
            assert_eq!(flows.of(hop, || unreachable!("it has one")), queue);
        }
        let chi: f64 = flows.iter().map(|&n| (f64::from(n) - 250.0).powi(2) / 250.0).sum();
        assert_eq!(flows.iter().count(), 16);
        assert!(chi < 37.7, "chi-square {chi}");
    }

    #[test]
    fn the_fattest_is_the_first_of_the_largest() {
        let mut flows = Flows::new(1 << 20, 1);
        for (hop, bytes) in [(1, 5u64), (2, 9), (3, 9), (4, 0)] {
            flows.of(hop, || bytes);
        }
        assert_eq!(flows.fattest(|&bytes| bytes), Some(1));
        assert_eq!(Flows::<u64>::new(4, 1).fattest(|&bytes| bytes), None);
    }
}
