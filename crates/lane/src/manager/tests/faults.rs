//! Restarts, other settings, lost events, kernels and other ends that do not do what they should.

use super::*;

#[test]
fn after_a_restart_what_was_switched_is_known_as_long_and_left_as_it_is() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.connect(Token(8), 100 * MB, true);
    world.run(at(1_000));
    let (connections, subflows) = world.kernel.all();
    world.kernel.commands.clear();
    world.manager = Manager::new(settings(deadline(), LaneOpen::Early));
    for lane in 0..2 {
        world.manager.lane(at(1_000), lane, up(lane), &mut world.kernel);
    }
    world.manager.resync(at(1_000), &connections, &subflows, &mut world.kernel);
    world.run(at(1_200));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!((world.manager.counters().adopted, world.manager.counters().switched), (2, 0));
    let status = world.manager.snapshot(at(1_200));
    assert!(status.connections[0].long && !status.connections[1].long);
}

#[test]
fn after_lost_events_everything_is_as_it_is() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.connect(Token(8), 100 * MB, false);
    world.run(at(70));
    world.kernel.lose_events = true;
    world.close(Token(8));
    world.connect(Token(9), 100 * MB, false);
    world.run(at(200));
    world.kernel.lose_events = false;
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(200), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    for token in [TOKEN, Token(9)] {
        let sockets = &world.kernel.connections[&token].sockets;
        assert_eq!(sockets.len(), 2, "{token}");
        assert!(sockets[0].backup && !sockets[1].backup, "{token}");
    }
    assert_eq!(world.manager.snapshot(at(1_000)).managed, 2);
}

#[test]
fn a_connection_that_is_gone_without_a_word_is_forgotten_at_the_next_look() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    world.kernel.connections.remove(&TOKEN);
    world.run(at(1_000));
    assert_eq!(world.manager.snapshot(at(1_000)).managed, 0);
    assert_eq!(world.manager.counters().vanished, 1);
}

#[test]
fn rules_decide_by_owner_port_and_destination() {
    let rule = |then| Rule {
        name: "one".to_owned(),
        destinations: vec!["10.0.0.0/8".parse().unwrap()],
        ports: vec![5000..=5000],
        users: vec![1000],
        cgroups: vec![PathBuf::from("/system.slice")],
        server_side: Some(false),
        then,
    };
    let world = |rule: Rule| {
        let mut settings = settings(deadline(), LaneOpen::WhenLong);
        settings.rules.push(rule);
        let mut world = World::new(settings);
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(2));
        world
    };
    let managed = |rule: Rule| world(rule).manager.snapshot(at(2)).managed;
    assert_eq!(managed(rule(Treatment::Leave)), 0);
    assert_eq!(managed(Rule { users: vec![0], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { ports: vec![1..=4999], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { cgroups: vec![PathBuf::from("/system.slice/x")], ..rule(Treatment::Leave) }), 1);
    assert_eq!(managed(Rule { server_side: Some(true), ..rule(Treatment::Leave) }), 1);
    // long from the start
    let world = world(rule(Treatment::Long));
    assert_eq!(world.commands(), ["0: create 10.1.0.1 > 10.1.0.2:5000", "1: lane 0 backup=true"]);
}

#[test]
fn openings_keep_to_their_rate_and_connections_to_their_number() {
    let mut settings = settings(deadline(), LaneOpen::WhenLong);
    settings.limits.opens_per_second = 100;
    settings.limits.connections = 50;
    let mut world = World::new(settings);
    for token in 0..60 {
        world.connect(Token(token), 100 * MB, false);
    }
    world.run(at(309));
    let opened = |world: &World| world.commands().iter().filter(|command| command.contains("create")).count();
    assert_eq!(opened(&world), 1);
    // at 300 ms and every 10 ms, or up to an eighth of the wait later, together with others
    for now in (319..=789).step_by(10) {
        world.run(at(now));
        let turns = (now as usize - 300) / 10 + 1;
        assert!((turns * 7 / 8 - 1..=turns).contains(&opened(&world)), "{} of {turns} at {now} ms", opened(&world));
    }
    world.run(at(2_000));
    assert_eq!((opened(&world), world.manager.counters().refused), (50, 10));
}

#[test]
fn by_backlog_a_long_one_is_known_at_the_first_look() {
    let mut settings = settings(Backlog { threshold: Bytes::new(100_000) }, LaneOpen::WhenLong);
    settings.timing.open_after = ms(20);
    let mut world = World::new(settings);
    world.connect(TOKEN, 10 * MB, false);
    world.connect(Token(8), 50_000, false);
    world.run(at(1_000));
    assert_eq!(world.commands(), ["20: create 10.1.0.1 > 10.1.0.2:5000", "21: lane 0 backup=true"]);
}

#[test]
fn what_the_kernel_manages_itself_is_left_alone_after_a_few_tries() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    let (connections, subflows) = world.kernel.all();
    world.manager = Manager::new(settings(deadline(), LaneOpen::WhenLong));
    for lane in 0..2 {
        world.manager.lane(at(100), lane, up(lane), &mut world.kernel);
    }
    world.kernel.refusals = vec![EINVAL; 100].into();
    world.manager.resync(at(100), &connections, &subflows, &mut world.kernel);
    world.run(at(10_000));
    assert_eq!(world.commands().len(), 8);
    assert_eq!((world.manager.counters().left, world.manager.snapshot(at(10_000)).managed), (1, 0));
    assert!(world.manager.events().iter().any(|event| matches!(event, Event::Unmanaged { .. })));
    assert!(world.manager.next().is_none());
}

#[test]
fn an_address_that_leaves_its_lane_takes_its_subflows_along() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    let other = LaneState { addresses: vec![ip(1, 77)], ..up(1) };
    world.manager.lane(at(1_000), 1, other, &mut world.kernel);
    world.run(at(3_000));
    let moved = [
        "1000: lane 0 backup=false",
        "1000: destroy 10.1.0.1:40002",
        "1000: create 10.1.0.77 > 10.1.0.2:5000",
        "1001: lane 0 backup=true",
    ];
    assert_eq!(world.commands(), moved);
}

#[test]
fn new_settings_keep_ages() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(200));
    world.manager.reconfigure(settings(Deadline { deadline: ms(400) }, LaneOpen::WhenLong));
    for lane in 0..2 {
        world.manager.lane(at(200), lane, up(lane), &mut world.kernel);
    }
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(200), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    assert_eq!(world.commands()[0], "400: create 10.1.0.1 > 10.1.0.2:5000");
    assert_eq!(world.manager.counters().reloads, 1);
}

#[test]
fn a_clock_that_begins_anew_keeps_ages_and_what_was_announced() {
    let mut settings = settings(Deadline { deadline: ms(400) }, LaneOpen::WhenLong);
    settings.lanes[1].remote = Remote::Announced;
    let mut world = World::new(settings);
    world.run(at(100_000));
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.tell(at(100_010), mptcp::Event::Announced { token: TOKEN, id: 3, ip: ip(1, 9), port: Some(80) });
    world.run(at(100_200));
    // it was 100.2 s and is 5 s
    world.manager.set_clock(at(100_200), at(5_000));
    let events = std::mem::take(&mut world.kernel.events);
    assert!(events.is_empty());
    world.kernel.connections.get_mut(&TOKEN).unwrap().began = at(4_800);
    world.kernel.advance(at(5_000));
    for lane in 0..2 {
        world.manager.lane(at(5_000), lane, up(lane), &mut world.kernel);
    }
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(5_000), &connections, &subflows, &mut world.kernel);
    world.run(at(6_000));
    let switched =
        ["100075: create 10.1.0.1 > 10.1.0.9:80 backup", "5200: lane 1 backup=false", "5200: lane 0 backup=true"];
    assert_eq!(world.commands(), switched);
    assert_eq!(world.manager.counters().reloads, 0);
}

#[test]
fn new_settings_keep_what_was_announced() {
    let mut settings = settings(deadline(), LaneOpen::WhenLong);
    settings.lanes[1].remote = Remote::Announced;
    let mut world = World::new(settings.clone());
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.tell(at(10), mptcp::Event::Announced { token: TOKEN, id: 3, ip: ip(1, 9), port: Some(80) });
    world.run(at(50));
    world.manager.reconfigure(settings);
    for lane in 0..2 {
        world.manager.lane(at(50), lane, up(lane), &mut world.kernel);
    }
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(50), &connections, &subflows, &mut world.kernel);
    world.run(at(1_000));
    let joined = ["75: create 10.1.0.1 > 10.1.0.9:80 backup", "300: lane 1 backup=false", "300: lane 0 backup=true"];
    assert_eq!(world.commands(), joined);
}

#[test]
fn a_list_with_a_connection_twice_or_without_its_subflows_changes_nothing() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    let (connections, subflows) = world.kernel.all();
    let twice = [connections.clone(), connections].concat();
    world.manager.resync(at(1_000), &twice, &subflows, &mut world.kernel);
    world.manager.resync(at(1_000), &twice, &[], &mut world.kernel);
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.manager.snapshot(at(2_000)).connections[0].subflows.len(), 2);
}

#[test]
fn an_address_that_wants_no_joins_is_not_joined() {
    let mut settings = settings(deadline(), LaneOpen::WhenLong);
    settings.lanes[1].remote = Remote::Same;
    let mut world = World::new(settings);
    let pair = world.connect(TOKEN, 100 * MB, false);
    world.kernel.events.clear();
    let connection = mptcp::Connection { token: TOKEN, pair, server_side: false, deny_join_initial: true };
    world.kernel.tell(at(0), mptcp::Event::Established(connection));
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
}

#[test]
fn a_connection_on_its_way_to_its_end_is_given_no_subflow() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.ending = true;
    world.run(at(2_000));
    assert_eq!(world.commands(), [] as [&str; 0]);
    assert_eq!(world.manager.snapshot(at(2_000)).managed, 1);
}

#[test]
fn a_measurement_that_ends_after_the_switch_ends_no_subflow_that_carries_data() {
    for (rtt, older) in (2..40).flat_map(|rtt| [(rtt, false), (rtt, true)]) {
        let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, LaneOpen::Early));
        world.kernel.older = older;
        world.kernel.rtt[1] = ms(rtt);
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(3_000));
        assert_eq!(world.manager.counters().switched, 1, "{rtt} ms, {older}");
        // but for one that was opened as a regular one, against the daemon's wish
        assert!(world.kernel.carriers_destroyed <= usize::from(older), "{rtt} ms, {older}");
        assert_eq!(world.kernel.connections[&TOKEN].sockets.len(), 2, "{rtt} ms, {older}");
        let subflows = &world.manager.connections[&TOKEN].paths.subflows;
        assert!(subflows.iter().all(|subflow| subflow.index.is_some()), "{rtt} ms, {older}");
    }
}

#[test]
fn measurements_do_not_queue_before_subflows_that_connections_wait_for() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    world.manager.shared.next_open = at(10_000);
    world.run(at(290));
    assert_eq!(world.manager.shared.next_open, at(10_000));
}

#[test]
fn a_lane_that_the_other_end_has_moved_to_is_no_backup_of_this_end() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    let first = world.connect(TOKEN, 100 * MB, false);
    world.run(at(100));
    let wish = |backup| mptcp::Event::SubflowPriority(mptcp::Subflow { backup, ..Fake::subflow(TOKEN, first, None) });
    world.kernel.peer_backups = vec![first];
    world.kernel.tell(at(100), wish(true));
    world.run(at(200));
    world.kernel.peer_backups.clear();
    world.kernel.tell(at(200), wish(false));
    world.run(at(290));
    let made = ["75: create 10.1.0.1 > 10.1.0.2:5000 backup", "100: lane 1 backup=false", "200: lane 1 backup=true"];
    assert_eq!(world.commands(), made);
}

#[test]
fn an_other_end_that_joins_without_end_costs_no_more_than_some() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, true);
    world.run(at(100));
    for port in 1..=1000 {
        let pair = FourTuple { local: SocketAddr::new(ip(1, 1), 5000), remote: SocketAddr::new(ip(1, 2), port) };
        let joined = Socket { pair, established: Some(at(100)), backup: false, joined: true, acked: 0, timeouts: 0 };
        world.kernel.connections.get_mut(&TOKEN).unwrap().sockets.push(joined);
        world.kernel.tell(at(100), mptcp::Event::SubflowEstablished(Fake::subflow(TOKEN, pair, None)));
    }
    world.run(at(110));
    world.kernel.polls = 0;
    world.run(at(1_110));
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(1_110), &connections, &subflows, &mut world.kernel);
    assert!(world.manager.snapshot(at(1_110)).connections[0].subflows.len() <= 32);
    // a second of polls, at most each 20 ms at all of them
    assert!(world.kernel.polls <= 50 * 33, "{}", world.kernel.polls);
}

#[test]
fn a_rule_has_its_own_times() {
    let mut settings = settings(deadline(), LaneOpen::WhenLong);
    let judging = Judging { judge: Deadline { deadline: ms(100) }.into(), open: LaneOpen::Early, open_after: ms(10) };
    settings.rules = vec![Rule {
        name: "a".to_owned(),
        destinations: Vec::new(),
        ports: Vec::new(),
        users: Vec::new(),
        cgroups: Vec::new(),
        server_side: None,
        then: Treatment::Judged(judging),
    }];
    let mut world = World::new(settings.clone());
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    let own = ["10: create 10.1.0.1 > 10.1.0.2:5000 backup", "100: lane 1 backup=false", "100: lane 0 backup=true"];
    assert_eq!(world.commands(), own);
    // for others it means nothing
    settings.rules[0].ports = vec![1..=1];
    let mut world = World::new(settings);
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(290));
    assert_eq!((world.commands().len(), world.kernel.polls), (0, 0));
}

#[test]
fn one_that_cannot_be_read_costs_the_others_nothing() {
    let backlog = Backlog { threshold: Bytes::new(100_000) };
    let mut world = World::new(settings(backlog, LaneOpen::WhenLong));
    for token in 1..=5 {
        world.connect(Token(token), 100 * MB, false);
    }
    world.kernel.unreadable_one = Some(Token(3));
    world.run(at(1_000));
    let long = |world: &World| world.kernel.connections.values().map(|one| one.sockets.len() == 2).collect::<Vec<_>>();
    assert_eq!(long(&world), [true, true, false, true, true]);
    let unreadable = world.manager.counters().unreadable;
    // a poll each 20 ms
    assert!((30..60).contains(&unreadable), "{unreadable}");
    world.kernel.unreadable_one = None;
    world.run(at(2_000));
    assert_eq!(long(&world), [true; 5]);
    assert_eq!(world.manager.counters().unreadable, unreadable);
}

#[test]
fn nobody_listens_for_joins_of_connections_that_are_over() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    let place = SocketAddr::new(ip(1, 1), 5000);
    world.connect(TOKEN, 100 * MB, true);
    world.connect(Token(8), 100 * MB, true);
    world.run(at(400));
    let _ = world.manager.stale_listeners();
    world.close(TOKEN);
    world.run(at(500));
    assert!(world.manager.listens(&place) && !world.manager.stale_listeners());
    world.close(Token(8));
    world.run(at(600));
    assert!(world.manager.stale_listeners() && !world.manager.listens(&place));
}

#[test]
fn only_an_address_that_was_announced_is_withdrawn() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, true);
    world.kernel.refusals = vec![EINVAL; 8].into();
    world.run(at(3_000));
    assert!(world.commands().iter().all(|command| command.contains("announce")), "{:?}", world.commands());
    assert_eq!(world.commands().len(), 9);
    // without an answer it is told again
    world.run(at(10_000));
    assert!(world.commands()[9].contains("withdraw 102"), "{:?}", world.commands());
}
