//! Anything may happen.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Connect(u32, u64, bool),
    Close(u32),
    Vanish(u32),
    Reset(u32, u8),
    Lane(usize, bool),
    Dead(usize, bool),
    Refuse(u8),
    Lose(bool),
    Unreadable(bool),
    Announce(u32, u8),
    Rtt(usize, u64),
    Resync,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let token = 0..6_u32;
    let step = prop_oneof![
        4 => (token.clone(), 0..40 * MB, any::<bool>()).prop_map(|(t, size, side)| Step::Connect(t, size, side)),
        2 => token.clone().prop_map(Step::Close),
        1 => token.clone().prop_map(Step::Vanish),
        2 => (token.clone(), 0..3_u8).prop_map(|(t, n)| Step::Reset(t, n)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(l, up)| Step::Lane(l, up)),
        2 => (0..2_usize, any::<bool>()).prop_map(|(l, dead)| Step::Dead(l, dead)),
        1 => (0..20_u8).prop_map(Step::Refuse),
        1 => any::<bool>().prop_map(Step::Lose),
        1 => any::<bool>().prop_map(Step::Unreadable),
        1 => (token, 0..4_u8).prop_map(|(t, host)| Step::Announce(t, host)),
        1 => (0..2_usize, 1..30_u64).prop_map(|(l, rtt)| Step::Rtt(l, rtt)),
        1 => Just(Step::Resync),
    ];
    prop::collection::vec((0..2_000_u64, step), 1..60)
}

fn judge() -> impl Strategy<Value = (Judge, LaneOpen)> {
    prop_oneof![
        Just((deadline().into(), LaneOpen::Early)),
        Just((deadline().into(), LaneOpen::WhenLong)),
        Just((LinkCost { smoothing: 1.0, ..LinkCost::default() }.into(), LaneOpen::Early)),
        Just((Backlog { threshold: Bytes::new(100_000) }.into(), LaneOpen::WhenLong)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { ..ProptestConfig::default() })]

    /// Whatever happens: a subflow that carries data stays (the fake kernel asserts it at each command), commands are
    /// bounded, and when all is over nothing is left.
    #[test]
    fn no_connection_is_broken_and_nothing_is_left((judge, open) in judge(), older: bool, steps in steps()) {
        let mut world = World::new(settings(judge, open));
        world.kernel.older = older;
        let mut now = Time::ZERO;
        for (wait, step) in steps {
            now += ms(wait);
            world.run(now);
            // what is counted as it happens is what there is
            let mut subflows = [0; 2];
            world.manager.connections.values().flat_map(|one| one.lanes_used()).for_each(|lane| subflows[lane] += 1);
            let summary = world.manager.summary();
            prop_assert!(summary.lanes.iter().map(|lane| lane.subflows).eq(subflows) && summary.connections.is_empty());
            match step {
                Step::Connect(t, size, side) if !world.kernel.connections.contains_key(&Token(t)) => {
                    world.connect(Token(t), size, side);
                }
                Step::Connect(..) => {}
                Step::Close(t) => world.close(Token(t)),
                Step::Vanish(t) => { world.kernel.connections.remove(&Token(t)); }
                Step::Reset(t, n) => {
                    let place = usize::from(n);
                    if let Some(c) = world.kernel.connections.get_mut(&Token(t))
                        && c.sockets.len() > 1 && c.sockets.get(place).is_some_and(|one| one.established.is_some_and(|at| at <= now)) {
                        let socket = c.sockets.remove(place);
                        let event = mptcp::Event::SubflowClosed(Fake::subflow(Token(t), socket.pair, Some(104)));
                        world.kernel.tell(now, event);
                    }
                }
                Step::Lane(lane, is_up) => {
                    let state = if is_up { up(lane) } else { down(lane) };
                    world.manager.lane(now, lane, state, &mut world.kernel);
                }
                Step::Dead(lane, dead) => world.kernel.dead[lane] = dead,
                Step::Refuse(n) => world.kernel.refusals = vec![EINVAL; usize::from(n)].into(),
                Step::Lose(lose) => world.kernel.lose_events = lose,
                Step::Unreadable(is) => world.kernel.unreadable = is,
                Step::Announce(t, host) => {
                    world.kernel.tell(now, mptcp::Event::Announced { token: Token(t), id: host, ip: ip(1, host), port: None });
                }
                Step::Rtt(lane, rtt) => world.kernel.rtt[lane] = ms(rtt),
                Step::Resync => {
                    world.kernel.lost = false;
                    let (connections, subflows) = world.kernel.all();
                    world.manager.resync(now, &connections, &subflows, &mut world.kernel);
                }
            }
        }
        let seconds = now.as_secs_f64() + 1.0;
        // probes every 50 ms (two commands each, with older kernels three), retries, flips
        let each = if older { 70.0 } else { 50.0 };
        let bound = 6.0 * (each * seconds + 50.0);
        prop_assert!((world.kernel.commands.len() as f64) < bound, "{} in {seconds} s", world.kernel.commands.len());
        world.kernel.lose_events = false;
        world.kernel.unreadable = false;
        world.kernel.connections.clear();
        world.manager.resync(now, &[], &[], &mut world.kernel);
        world.kernel.events.clear();
        prop_assert!(world.manager.next().is_none());
        prop_assert_eq!(world.manager.shared.classes, [0; 3]);
        prop_assert_eq!(&world.manager.shared.subflows, &[0; 2]);
    }
}
