//! Random models under random traffic: frames are conserved (the run's end checks that), runs repeat, and bytes arrive.

use headway_fabric::Limit;
use headway_transport::{Costs, DelayedAck, HostModel, Profile};
use headway_units::{Rate, Span};
use proptest::prelude::*;

use crate::common::{Setup, dumbbell, limited, multipath, parallel, profile, wire};

fn span(most: u64) -> impl Strategy<Value = Span> {
    (0..=most).prop_map(Span::from_nanos)
}

prop_compose! {
    fn models()(
        (cores, queues, ring, coalesce_frames) in (1u32..=4, 1u32..=4, 4u32..=100, 0u32..=20),
        (budget, softirq_budget, backlog) in (1u32..=64, 1u32..=300, 2u32..=50),
        (coalesce_time, softirq_time) in (1u64..=50_000, 0u64..=50_000),
        (gro, rps, segmentation) in any::<(bool, bool, bool)>(),
        (interrupt, packet, segment, ipi, burst) in (span(5_000), span(3_000), span(3_000), span(2_000), span(5_000)),
        byte in 0u64..=2_000,
    ) -> HostModel {
        HostModel {
            cores, queues, ring, coalesce_frames, budget, softirq_budget, gro, rps, backlog, segmentation,
            coalesce_time: Span::from_nanos(coalesce_time),
            softirq_time: Span::from_nanos(softirq_time),
            costs: Costs { interrupt, packet, byte: Span::from_picos(byte), segment, ipi, burst },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn connections_live_with_any_model(
        models in prop::collection::vec(models(), 6),
        flows in prop::collection::vec((0usize..3, 1u64..300_000, 0u64..20_000), 1..20),
        (seed, packets, linux) in (0u64..100, 1u32..4, any::<bool>()),
        cut in 1u64..30,
    ) {
        let access = limited(wire(Rate::from_bps(1_000_000_000), Span::from_micros(2)), Limit::Packets(200));
        let net = dumbbell(&[access; 3], limited(wire(Rate::from_bps(1_000_000_000), Span::from_micros(2)), Limit::Packets(60)));
        let own = if linux { Profile::linux() } else { profile() };
        let delayed_ack = DelayedAck { packets, ..own.delayed_ack };
        let own = Profile { delayed_ack, min_rto: Span::from_millis(5), initial_rto: Span::from_millis(5), ..own };
        let run = |ends: &[Span]| {
            let mut setup = Setup::new(&net.net, own.clone()).seed(seed);
            for (&(source, sink), pair) in net.pairs.iter().zip(models.chunks(2)) {
                setup = setup.host(source, pair[0]).host(sink, pair[1]);
            }
            let mut starts = flows.clone();
            starts.sort_by_key(|&(_, _, at)| at);
            for (pair, size, at) in starts {
                setup = setup.flow(net.pairs[pair], Some(size), Span::from_micros(at));
            }
            setup.run_in_parts(ends)
        };
        let whole = run(&[Span::from_secs(20)]);
        for end in &whole.ends {
            prop_assert!(end.end.is_some(), "{end:?}");
        }
        let dropped: u64 = whole.hosts.iter().map(|host| host.ring_drops + host.backlog_drops).sum();
        prop_assert_eq!(whole.totals.ring_drops + whole.totals.backlog_drops, dropped);
        let again = run(&[Span::from_millis(cut), Span::from_secs(20)]);
        prop_assert_eq!(whole.ends, again.ends);
        prop_assert_eq!(whole.hosts, again.hosts);
        // frames that wait in hosts at the end are counted, too
        let early = run(&[Span::from_micros(700 * cut)]);
        prop_assert!(early.totals.in_flight < 10_000);
    }

    #[test]
    fn subflows_on_several_cards_live_with_any_model(models in prop::collection::vec(models(), 2), size in 1u64..2_000_000) {
        let access = wire(Rate::from_bps(1_000_000_000), Span::from_micros(2));
        let net = parallel(access, &[(access, 0), (access, 0), (access, 0)]);
        let own = Profile { min_rto: Span::from_millis(5), initial_rto: Span::from_millis(5), ..multipath("lia", 3) };
        let (source, sink) = net.multi;
        let setup = Setup::new(&net.net, own).host(source, models[0]).host(sink, models[1]);
        let outcome = setup.flow(net.multi, Some(size), Span::ZERO).run(Span::from_secs(60));
        prop_assert!(outcome.ends[0].end.is_some());
    }
}
