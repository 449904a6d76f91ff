//! Frames that wait for a gate, for tests alone: the plainest scheduler whose frames may not leave yet.

use headway_units::Time;

use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Waiting};
use super::fifo::{Backlog, Fifo};
use super::limit::Limit;
use crate::pool::{FrameHandle, Pool};

/// First in, first out, through a gate that is open at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateSpec;

impl Spec for GateSpec {
    type Discipline = Gate;
    const NAME: &'static str = "gate";

    fn discipline(&self, _port: &PortParameters) -> Gate {
        Gate { fifo: Fifo::EMPTY, opens: Time::ZERO }
    }

    fn limit(&self) -> Option<Limit> {
        None
    }
}

/// The queue of a port.
#[derive(Debug)]
pub(crate) struct Gate {
    fifo: Fifo,
    /// No frame leaves before this.
    pub opens: Time,
}

impl Scheduler for Gate {
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        waiting.push(&mut self.fifo, frame);
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        if waiting.now < self.opens {
            return None;
        }
        let taken = waiting.pop(&mut self.fifo)?;
        Some(Chosen { frame: taken.frame, size: taken.size, marked: false })
    }

    fn ready(&self, backlog: &Backlog) -> Time {
        if backlog.frames > 0 { self.opens } else { Time::NEVER }
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        waiting.flush(&mut self.fifo);
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.fifo.count(pool)
    }
}

#[cfg(test)]
mod tests {
    use headway_engine::{EventClass, EventQueue, Streams};
    use headway_units::{Bytes, Rate, Span, Time};
    use proptest::prelude::*;

    use super::super::AnyScheduler;
    use super::GateSpec;
    use crate::{Endpoint, Fabric, Graph, LinkId, Packet, QueueSpec, Step, Wire};

    /// A port with a gate: 1 Gb/s, so 8 ns a byte, and no delay.
    struct Bench {
        fabric: Fabric<()>,
        queue: EventQueue,
        link: LinkId,
        hop: u32,
        /// When the last bit of each frame has left.
        left: Vec<Time>,
    }

    fn at(nanos: u64) -> Time {
        Time::ZERO + Span::from_nanos(nanos)
    }

    impl Bench {
        fn new() -> Bench {
            let queue = QueueSpec::Gate(GateSpec);
            let wire = Wire { rate: Rate::from_gbps(1), delay: Span::ZERO, gap: Bytes::ZERO, loss: 0.0, queue };
            let mut graph = Graph::new();
            let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
            let (link, _) = graph.connect(a, b, wire, wire).unwrap();
            let mut fabric = Fabric::new(&graph, Streams::new(1));
            let hop = fabric.routes.insert(&[link], Endpoint(7));
            Bench { fabric, queue: EventQueue::new(), link, hop, left: Vec::new() }
        }

        /// Handles the events before `end`.
        fn until(&mut self, end: Time) {
            while let Some((now, source, sequence)) = self.queue.peek().filter(|&(now, ..)| now < end) {
                if source.class() == EventClass::Arrival {
                    let step = self.fabric.arrival(&mut self.queue, now, source.entity());
                    assert!(matches!(step, Step::Delivered(..)), "{step:?}");
                    self.left.push(now);
                } else {
                    self.fabric.departure(&mut self.queue, now, source.entity(), sequence);
                }
                self.fabric.assert_conserved();
            }
        }

        fn offer(&mut self, now: Time, size: u16) {
            let packet = Packet { hop: self.hop, size, tos: 0, tag: 0, body: () };
            assert!(self.fabric.send(&mut self.queue, now, packet).is_ok());
        }

        /// Lets the gate open at another time.
        fn turn(&mut self, now: Time, opens: Time) {
            let AnyScheduler::Gate(gate) = self.fabric.scheduler(self.link) else { panic!("a gate") };
            gate.opens = opens;
            self.fabric.wake(&mut self.queue, now, self.link);
        }
    }

    #[test]
    fn frames_wait_for_the_time_that_the_scheduler_says() {
        let mut bench = Bench::new();
        bench.turn(at(0), at(5000));
        bench.offer(at(0), 100);
        bench.offer(at(10), 100);
        assert_eq!(bench.queue.len(), 1, "a port has one departure event");
        bench.until(Time::NEVER);
        assert_eq!(bench.left, [at(5800), at(6600)]);
    }

    /// With nothing to wait for there is no event, and a port that is woken sends within the instant, which may be at a
    /// class of events later than departures.
    #[test]
    fn a_port_without_a_time_waits_until_it_is_woken() {
        let mut bench = Bench::new();
        bench.turn(at(0), Time::NEVER);
        bench.offer(at(0), 100);
        bench.offer(at(0), 100);
        assert!(bench.queue.is_empty());
        bench.fabric.assert_conserved();
        bench.turn(at(300), at(0));
        bench.until(Time::NEVER);
        assert_eq!(bench.left, [at(1100), at(1900)]);
    }

    /// The event of 9 µs stays, and finds that another one has done its work.
    #[test]
    fn a_time_that_moves_earlier_has_an_event_of_its_own() {
        let mut bench = Bench::new();
        bench.turn(at(0), at(9000));
        bench.offer(at(0), 100);
        bench.turn(at(1000), at(2000));
        assert_eq!(bench.queue.len(), 2);
        bench.until(Time::NEVER);
        assert_eq!((bench.left, bench.queue.taken()), (vec![at(2800)], 3));
    }

    /// A gate that closes while a frame is transmitted keeps the next one back, not that one.
    #[test]
    fn a_time_that_moves_later_is_kept_by_the_event_that_is_set() {
        let mut bench = Bench::new();
        bench.offer(at(0), 100);
        bench.offer(at(0), 100);
        bench.turn(at(100), at(3000));
        bench.until(Time::NEVER);
        assert_eq!(bench.left, [at(800), at(3800)]);
    }

    /// When frames leave, by definition: each in its turn, as soon as the line is free and the gate open.
    fn expected(offers: &[(u64, u16)], turns: &[(u64, u64)]) -> Vec<Time> {
        let mut free = 0;
        let mut left = Vec::new();
        for &(came, size) in offers {
            let mut start = free.max(came);
            loop {
                let in_force = turns.iter().rev().find(|&&(when, _)| when <= start).map_or(0, |&(_, opens)| opens);
                if in_force <= start {
                    break;
                }
                let next = turns.iter().find(|&&(when, _)| when > start).map_or(u64::MAX, |&(when, _)| when);
                start = in_force.min(next);
            }
            free = start + 8 * u64::from(size);
            left.push(at(free));
        }
        left
    }

    proptest! {
        /// Frames and turns of the gate at random, against the definition.
        #[test]
        fn frames_leave_as_soon_as_they_may(
            steps in prop::collection::vec((1u64..3000, prop::option::of(0u64..6000), 64u16..300), 1..60),
        ) {
            let (mut bench, mut now) = (Bench::new(), 0);
            let (mut offers, mut turns) = (Vec::new(), Vec::new());
            for (later, turn, size) in steps {
                now += later;
                bench.until(at(now));
                if let Some(wait) = turn {
                    turns.push((now, now + wait));
                    bench.turn(at(now), at(now + wait));
                } else {
                    offers.push((now, size));
                    bench.offer(at(now), size);
                }
                bench.fabric.assert_conserved();
            }
            bench.until(Time::NEVER);
            prop_assert_eq!(bench.left, expected(&offers, &turns));
        }
    }
}
