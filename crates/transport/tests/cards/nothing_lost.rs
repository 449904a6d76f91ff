//! Random cards under random traffic: frames are conserved (the run's end checks that), runs repeat, and bytes arrive.

use headway_fabric::{Limit, LinkId};
use headway_transport::{Costs, HostModel, Profile};
use headway_units::{Rate, Span};
use proptest::prelude::*;

use crate::common::{Setup, any_card, dumbbell, limited, multipath, parallel, profile, wire};

const GIGABIT: Rate = Rate::from_gbps(1);

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn connections_live_with_any_card(
        cards in prop::collection::vec(any_card(), 4),
        flows in prop::collection::vec((0usize..2, 1u64..300_000, 0u64..20_000, any::<bool>()), 1..20),
        (seed, linux, cores) in (0u64..100, any::<bool>(), any::<bool>()),
        (cut, down) in (1u64..30, prop::option::of((0u32..8, 1u64..30_000))),
    ) {
        let access = wire(GIGABIT, Span::from_micros(2));
        let net = dumbbell(&[access; 2], limited(wire(GIGABIT, Span::from_micros(20)), Limit::Packets(60)));
        let own = if linux { Profile::linux() } else { profile() };
        let own = Profile { min_rto: Span::from_millis(5), initial_rto: Span::from_millis(50), ..own };
        let run = |ends: &[Span]| {
            let mut setup = Setup::new(&net.net, own.clone()).seed(seed);
            for (&(source, sink), pair) in net.pairs.iter().zip(cards.chunks(2)) {
                setup = setup.card(source, pair[0].clone()).card(sink, pair[1].clone());
                if cores {
                    let costs = Costs { burst: Span::from_micros(1), ..Costs::default() };
                    setup = setup.host(source, HostModel { costs, ..HostModel::default() });
                }
            }
            let mut starts = flows.clone();
            starts.sort_by_key(|&(_, _, at, _)| at);
            for (traffic, (pair, size, at, forth)) in starts.into_iter().enumerate() {
                let (source, sink) = net.pairs[pair];
                let pair = if forth { (source, sink) } else { (sink, source) };
                setup = setup.flow(pair, Some(size), Span::from_micros(at));
                setup.flows.last_mut().unwrap().traffic = traffic as u16 % 2;
            }
            if let Some((link, at)) = down {
                let at = Span::from_micros(at);
                setup = setup.cut(LinkId(link), at, Some(at + Span::from_millis(20)));
            }
            setup.run_in_parts(ends)
        };
        let whole = run(&[Span::from_secs(200)]);
        for end in &whole.ends {
            prop_assert!(end.end.is_some(), "{end:?}");
        }
        prop_assert_eq!(whole.totals.in_flight, 0);
        let again = run(&[Span::from_millis(cut), Span::from_secs(200)]);
        prop_assert_eq!(&whole.ends, &again.ends);
        prop_assert_eq!(&whole.cards, &again.cards);
        // frames that wait in cards at the end are counted, too
        run(&[Span::from_micros(700 * cut)]);
    }

    #[test]
    fn subflows_live_with_any_card(cards in prop::collection::vec(any_card(), 2), size in 1u64..2_000_000) {
        let access = wire(GIGABIT, Span::from_micros(2));
        let net = parallel(access, &[(access, 0), (access, 0), (access, 0)]);
        let own = Profile { min_rto: Span::from_millis(5), initial_rto: Span::from_millis(50), ..multipath("lia", 3) };
        let (source, sink) = net.multi;
        let setup = Setup::new(&net.net, own).card(source, cards[0].clone()).card(sink, cards[1].clone());
        let outcome = setup.flow(net.multi, Some(size), Span::ZERO).run(Span::from_secs(200));
        prop_assert!(outcome.ends[0].end.is_some());
    }
}
