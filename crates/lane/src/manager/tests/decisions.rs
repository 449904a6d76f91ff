//! What is decided where nothing goes wrong but lanes.

use super::*;

#[test]
fn a_short_connection_costs_no_command_and_no_look() {
    let mut world = World::new(settings(LinkCost::default(), LaneOpen::Early));
    world.connect(TOKEN, 10_000, false);
    world.run(at(50));
    world.close(TOKEN);
    world.run(at(10_000));
    assert_eq!((world.commands().len(), world.kernel.polls), (0, 0));
    assert!(world.manager.next().is_none());
}

#[test]
fn a_long_one_is_given_a_long_lane_at_the_deadline_and_never_without_one_that_carries() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    assert_eq!(world.commands(), ["300: create 10.1.0.1 > 10.1.0.2:5000", "301: lane 0 backup=true"]);
    assert_eq!(world.manager.counters().switched, 1);
}

#[test]
fn with_a_probe_the_lane_is_there_before_as_a_backup() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    assert_eq!(
        world.commands(),
        ["75: create 10.1.0.1 > 10.1.0.2:5000 backup", "300: lane 1 backup=false", "300: lane 0 backup=true"]
    );
}

#[test]
fn a_queue_on_the_short_lane_switches_earlier_by_the_rule_of_thumb() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, LaneOpen::Early));
    // 15 ms of queue: 300 ms − 8·15 ms; a poll every 20 ms
    world.kernel.rtt = [ms(16), ms(1)];
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    let switched = world.manager.events().into_iter().find_map(|event| match event {
        Event::Switched { age_s, .. } => Some(age_s),
        _ => None,
    });
    let age = switched.expect("it switches");
    assert!((0.180..=0.201).contains(&age), "{age}");
}

#[test]
fn a_probe_is_repeated_by_a_new_join_that_ends_the_old_one() {
    let mut world = World::new(settings(LinkCost { smoothing: 1.0, ..LinkCost::default() }, LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(145));
    assert_eq!(
        world.commands(),
        [
            "75: create 10.1.0.1 > 10.1.0.2:5000 backup",
            "140: create 10.1.0.1 > 10.1.0.2:5000 backup",
            "141: destroy 10.1.0.1:40002"
        ]
    );
    assert_eq!(world.kernel.connections[&TOKEN].sockets.len(), 2);
}

#[test]
fn who_only_receives_or_has_sent_all_is_left_alone() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 200, false);
    world.run(at(10_000));
    assert_eq!(world.commands().len(), 0);
    assert!(world.kernel.polls < 40, "{} polls in 10 s", world.kernel.polls);
}

#[test]
fn a_command_that_comes_too_early_is_tried_again_and_not_for_ever() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.kernel.refusals = [ENOTCONN, ENOTCONN, ENOTCONN].into();
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    let times: Vec<String> =
        world.commands().iter().map(|command| command.split(':').next().unwrap().to_owned()).collect();
    // 2, 4 and 8 ms later; then the mark
    assert_eq!(times, ["300", "302", "306", "314", "315"]);
    assert_eq!(world.manager.counters().retries, 3);

    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.kernel.refusals = vec![EINVAL; 1000].into();
    world.connect(TOKEN, 1000 * MB, false);
    world.run(at(60_000));
    assert!(world.kernel.commands.len() < 70, "{}", world.kernel.commands.len());
    assert!(world.manager.events().iter().any(|event| matches!(event, Event::NotOpened { errno: Some(EINVAL), .. })));
}

#[test]
fn a_mark_that_comes_before_the_subflow_is_linked_is_tried_again() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(299));
    world.kernel.refusals = [EINVAL, EINVAL].into();
    world.run(at(1_000));
    let sockets = &world.kernel.connections[&TOKEN].sockets;
    assert!(sockets[0].backup && !sockets[1].backup);
    assert_eq!(world.manager.counters().retries, 2);
}

#[test]
fn a_lane_that_goes_down_is_left_at_once_and_used_again_when_it_is_back() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    world.manager.lane(at(1_000), 1, down(1), &mut world.kernel);
    world.run(at(2_000));
    world.manager.lane(at(2_000), 1, up(1), &mut world.kernel);
    world.run(at(3_000));
    let back = [
        "1000: lane 0 backup=false",
        // so that the kernel sends again at once what was on its way there
        "1000: destroy 10.1.0.1:40002",
        "2000: create 10.1.0.1 > 10.1.0.2:5000",
        "2001: lane 0 backup=true",
    ];
    assert_eq!(world.commands(), back);
}

#[test]
fn a_long_lane_that_answers_no_more_is_left_within_a_look() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.commands.clear();
    world.kernel.dead[1] = true;
    world.run(at(1_600));
    assert!(world.commands()[0].ends_with("lane 0 backup=false"), "{:?}", world.commands());
    world.kernel.dead[1] = false;
    world.run(at(3_000));
    assert!(world.kernel.connections[&TOKEN].sockets[0].backup, "back on the long lane");
}

#[test]
fn without_any_lane_alive_the_other_one_is_opened_at_once() {
    let mut world = World::new(settings(deadline(), LaneOpen::WhenLong));
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(10));
    world.manager.lane(at(10), 0, down(0), &mut world.kernel);
    world.run(at(200));
    assert_eq!(world.commands(), ["10: create 10.1.0.1 > 10.1.0.2:5000"]);
}

#[test]
fn a_pause_makes_it_new_again() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    // a second of data
    world.connect(TOKEN, MB, false);
    world.run(at(3_000));
    assert_eq!(world.manager.counters().returned, 1);
    let sockets = &world.kernel.connections[&TOKEN].sockets;
    assert!(!sockets[0].backup && sockets[1].backup);
    // another one: 300 ms of its own
    world.kernel.commands.clear();
    world.kernel.connections.get_mut(&TOKEN).unwrap().size = 200 * MB;
    world.run(at(6_000));
    let first = world.commands()[0].clone();
    let time: u64 = first.split(':').next().unwrap().parse().unwrap();
    assert!((3_300..=4_400).contains(&time), "{first}");
}

#[test]
fn a_server_announces_and_marks_only_its_short_lane() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 100 * MB, true);
    world.run(at(310));
    assert_eq!(world.commands(), ["300: announce 10.1.0.1"]);
    assert_eq!(world.kernel.listening, [SocketAddr::new(ip(1, 1), 5000)]);
    // the other end joins
    let pair = FourTuple { local: SocketAddr::new(ip(1, 1), 5000), remote: SocketAddr::new(ip(1, 2), 1234) };
    let joined = Socket { pair, established: Some(at(311)), backup: false, joined: true, acked: 0, timeouts: 0 };
    world.kernel.connections.get_mut(&TOKEN).unwrap().sockets.push(joined);
    world.kernel.tell(at(311), mptcp::Event::SubflowEstablished(Fake::subflow(TOKEN, pair, None)));
    world.run(at(4_000));
    assert_eq!(world.commands(), ["300: announce 10.1.0.1", "311: lane 0 backup=true"]);
}

#[test]
fn an_announced_address_is_joined_from_its_lane() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 200, false);
    world.run(at(10));
    let announced = mptcp::Event::Announced { token: TOKEN, id: 3, ip: ip(1, 2), port: None };
    world.kernel.tell(at(10), announced);
    world.run(at(2_000));
    // once it is no short connection any more; a backup until either end's data is long
    assert_eq!(world.commands(), ["75: create 10.1.0.1 > 10.1.0.2:5000 backup"]);
    let short = world.kernel.connections[&TOKEN].sockets[0].pair;
    let marked = mptcp::Subflow { backup: true, ..Fake::subflow(TOKEN, short, None) };
    world.kernel.tell(at(2_000), mptcp::Event::SubflowPriority(marked));
    world.run(at(2_100));
    assert_eq!(world.commands()[1..], ["2000: lane 1 backup=false"]);
}

#[test]
fn the_path_to_an_announced_address_waits_for_it() {
    let mut settings = settings(deadline(), LaneOpen::WhenLong);
    settings.lanes[1].remote = Remote::Announced;
    let mut world = World::new(settings);
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    assert_eq!(world.commands().len(), 0);
    world.kernel.tell(at(1_000), mptcp::Event::Announced { token: TOKEN, id: 3, ip: ip(1, 9), port: Some(80) });
    world.run(at(2_000));
    assert_eq!(world.commands(), ["1000: create 10.1.0.1 > 10.1.0.9:80", "1001: lane 0 backup=true"]);
}

#[test]
fn who_only_receives_is_not_long_because_the_other_end_joins() {
    let mut world = World::new(settings(deadline(), LaneOpen::Early));
    world.connect(TOKEN, 0, true);
    world.run(at(400));
    let pair = FourTuple { local: SocketAddr::new(ip(1, 1), 5000), remote: SocketAddr::new(ip(1, 2), 40_000) };
    let socket = Socket { pair, established: Some(at(400)), backup: false, joined: true, acked: 0, timeouts: 0 };
    world.kernel.connections.get_mut(&TOKEN).unwrap().sockets.push(socket);
    world.kernel.tell(at(400), mptcp::Event::SubflowEstablished(Fake::subflow(TOKEN, pair, None)));
    world.run(at(3_000));
    assert_eq!((world.commands().len(), world.manager.counters().switched), (0, 0), "{:?}", world.commands());
}

#[test]
fn what_waits_for_its_turn_by_age_is_hardly_looked_at() {
    let mut slow = settings(deadline(), LaneOpen::WhenLong);
    slow.limits.opens_per_second = 10;
    let mut world = World::new(slow);
    for token in 0..10 {
        world.connect(Token(token), 100 * MB, false);
    }
    world.run(at(1_200));
    // a connection and a subflow each: at 300 ms, and the half second after it
    let polls = world.manager.counters().polls;
    assert!(polls <= 10 * 2 * 3, "{polls}");
}
