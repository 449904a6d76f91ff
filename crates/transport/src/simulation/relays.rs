//! Relays have their part in the loop.

use headway_units::Time;

use super::Simulation;
use crate::relay::{Crash, Rest};

impl Simulation {
    /// Lets relays crash. The cables of a host that crashes fail by themselves ([`Simulation::set_failures`]). To be called
    /// once, before the first run.
    ///
    /// # Panics
    /// If something has happened already, or a crash ends before it begins.
    pub fn set_crashes(&mut self, crashes: &[Crash]) {
        assert!(self.env.now == Time::ZERO && self.env.net.sent == 0, "crashes are set once, first");
        let rest = &mut Rest { now: Time::ZERO, tcp: &mut self.tcp, env: &mut self.env };
        self.relays.set_crashes(crashes, rest);
    }

    /// Relays crash, or are back.
    pub(super) fn on_crash(&mut self, now: Time) {
        self.relays.on_crash(&mut Rest { now, tcp: &mut self.tcp, env: &mut self.env });
    }
}

/// What only the inside shows: places are reused, and what relays hold is bounded.
#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headway_engine::Streams;
    use headway_fabric::{Graph, NodeId, QueueSpec, Wire};
    use headway_units::{Bytes, Rate, Span};

    use super::*;
    use crate::flows::FlowStart;
    use crate::measure::Measure;
    use crate::relay::CrashKind;
    use crate::relay::plan::{Relay, RelayCost, RelayOpen, Relayed};
    use crate::tcp::profile::Profile;

    /// Source, relay, relay, destination around two switches; the last cable is of `last`.
    fn network(last: Rate) -> (Graph, [NodeId; 4]) {
        let mut graph = Graph::new();
        let hosts = ["source", "near", "far", "destination"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
        let switches = ["west", "east"].map(|name| graph.add_switch(name, Span::ZERO).unwrap());
        let wire = |rate, delay| Wire {
            rate,
            delay: Span::from_micros(delay),
            gap: Bytes::new(20),
            loss: 0.0,
            queue: QueueSpec::DropTail { limit: None, mark: None },
        };
        let fast = Rate::from_gbps(1);
        for (one, other, wire) in [
            (hosts[0], switches[0], wire(fast, 50)),
            (hosts[1], switches[0], wire(fast, 0)),
            (switches[0], switches[1], wire(fast, 5000)),
            (hosts[2], switches[1], wire(fast, 0)),
            (switches[1], hosts[3], wire(last, 50)),
        ] {
            graph.connect(one, other, wire, wire).unwrap();
        }
        (graph, hosts)
    }

    fn relayed(hosts: [NodeId; 4], warm: u32, cost: RelayCost) -> Relayed {
        let own = Profile { receive_window: Bytes::from_kb(200), ..Profile::default() };
        let relay = Relay {
            hosts: vec![hosts[1], hosts[2]],
            access: own.clone(),
            long: own.clone(),
            buffer: Bytes::from_kb(100),
            open: RelayOpen::AtOnce,
            warm,
            cost,
        };
        Relayed { hosts: own, relay: Arc::new(relay) }
    }

    fn start(id: u64, hosts: [NodeId; 4], size: Option<u64>) -> FlowStart {
        FlowStart {
            time: Time::ZERO + Span::from_millis(100 * (id + 1)),
            id,
            traffic: 0,
            source: hosts[0],
            destination: hosts[3],
            size: size.map(Bytes::new),
            deadline: None,
            profile: 0,
        }
    }

    #[test]
    fn relayed_flows_leave_their_places_to_the_next() {
        for (warm, places) in [(0, 6), (2, 4 + 2 * 4)] {
            let (graph, hosts) = network(Rate::from_gbps(1));
            let profiles = vec![relayed(hosts, warm, RelayCost::default())];
            let mut simulation = Simulation::new(graph, profiles, Measure::default(), Streams::new(1));
            let mut starts = (0..100).map(|id| start(id, hosts, Some(3000 + id)));
            simulation.run(Time::ZERO + Span::from_secs(20), &mut starts).unwrap();
            assert_eq!(
                simulation.tcp.places(),
                places,
                "both directions of three segments, and of the pool's (warm: {warm})"
            );
            assert_eq!(simulation.relays.places(), 1);
            let ends = simulation.finish().0;
            assert_eq!(ends.iter().filter(|end| end.end.is_some()).count(), 100);
        }
    }

    /// SYN comes to the near relay at 0.1 s, which takes it in for 30 ms; then the far one does so. The near one crashes
    /// meanwhile and forgets both sides: what the far one takes in is a session of its own, and ends by a reset.
    #[test]
    fn what_a_crash_cuts_off_while_a_processor_has_it_ends() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let (graph, hosts) = network(Rate::from_gbps(1));
        let cost = RelayCost { byte: Span::ZERO, connection: Span::from_millis(30) };
        let own = relayed(hosts, 0, cost);
        let relay = Arc::new(Relay { open: RelayOpen::EndToEnd, ..(*own.relay).clone() });
        let profiles = vec![Relayed { relay, ..own }];
        let mut simulation = Simulation::new(graph, profiles, Measure::default(), Streams::new(1));
        simulation.set_crashes(&[Crash { host: hosts[1], kind: CrashKind::Host, at: at(145), until: Some(at(150)) }]);
        simulation.run(at(149), &mut [start(0, hosts, Some(3000))].into_iter()).unwrap();
        assert_eq!(simulation.relays.open_sessions(), 2);
        simulation.run(at(20_000), &mut std::iter::empty()).unwrap();
        assert_eq!(simulation.relays.open_sessions(), 0);
        assert!(simulation.finish().0[0].end.is_some());
    }

    /// A relay crashes from 0.5 s to 1.5 s and from then, or from 1 s, to 2 s, once or twice, as host or process: while it is
    /// down it has no connections, and then as many as at first. The other relay has its own again when it hears of their
    /// loss, as far as flows need them.
    #[test]
    fn crashes_that_overlap_or_touch_leave_a_pool_of_one_size() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        for kinds in [[CrashKind::Process; 2], [CrashKind::Host, CrashKind::Process], [CrashKind::Host; 2]] {
            for second in [1000, 1500] {
                let (graph, hosts) = network(Rate::from_gbps(1));
                let profiles = vec![relayed(hosts, 3, RelayCost::default())];
                let mut simulation = Simulation::new(graph, profiles, Measure::default(), Streams::new(1));
                let crash = |kind, from, until| Crash { host: hosts[1], kind, at: at(from), until: Some(at(until)) };
                simulation.set_crashes(&[crash(kinds[0], 500, 1500), crash(kinds[1], second, 2000)]);
                let mut kept = |until| {
                    simulation.run(at(until), &mut std::iter::empty()).unwrap();
                    simulation.relays.kept_by(hosts[1], &simulation.tcp)
                };
                assert_eq!(kept(499), 3);
                assert_eq!([501, 1250, 1501, 1999].map(&mut kept), [0; 4], "{kinds:?} {second}");
                assert_eq!([2001, 3000, 30_000].map(&mut kept), [3; 3], "{kinds:?} {second}");
            }
        }
    }

    /// A last cable of 10 Mb/s: at no time does a relay hold more than its buffer of what it has forwarded, nor more than its
    /// window of what it has not, and both get full: the window but for a segment and what is read in a round trip of 10 ms
    /// between the relays, 12,500 bytes, since the sender hears of that room so late.
    #[test]
    fn a_relay_holds_no_more_than_its_buffer_and_its_window() {
        for cost in [RelayCost::default(), RelayCost { byte: Span::from_nanos(5), connection: Span::ZERO }] {
            let (graph, hosts) = network(Rate::from_mbps(10));
            let profiles = vec![relayed(hosts, 0, cost)];
            let mut simulation = Simulation::new(graph, profiles, Measure::default(), Streams::new(1));
            simulation.run(Time::ZERO + Span::from_millis(100), &mut [start(0, hosts, None)].into_iter()).unwrap();
            let mut most = [(0, 0); 2];
            let begin = Time::ZERO + Span::from_millis(100);
            for step in 1..5000 {
                simulation.run(begin + Span::from_micros(200 * step), &mut std::iter::empty()).unwrap();
                for stop in [1, 2] {
                    let Some((unread, unacknowledged)) = simulation.relays.held(0, stop, &simulation.tcp) else {
                        continue;
                    };
                    let own = &mut most[stop - 1];
                    *own = (own.0.max(unread), own.1.max(unacknowledged));
                }
            }
            for (unread, unacknowledged) in most {
                assert!(
                    (200_000 - 12_500 - 1_460..=200_000).contains(&unread),
                    "{unread} bytes wait in the receive buffer"
                );
                assert!((98_000..=100_000).contains(&unacknowledged), "{unacknowledged} bytes are held");
            }
        }
    }
}
