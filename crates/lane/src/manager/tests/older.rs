//! What Linux 6.1 does otherwise than later ones.

use headway_control::lanes::BytesSent;

use super::*;

fn world(judge: impl Into<Judge>, open: LaneOpen) -> World {
    let mut world = World::new(settings(judge, open));
    world.kernel.older = true;
    world
}

#[test]
fn what_the_kernel_did_not_open_as_a_backup_is_made_one_at_once() {
    let mut world = world(deadline(), LaneOpen::Early);
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(5_000));
    let made = [
        "75: create 10.1.0.1 > 10.1.0.2:5000 backup",
        "76: lane 1 backup=true",
        "300: lane 1 backup=false",
        "300: lane 0 backup=true",
    ];
    assert_eq!(world.commands(), made);
}

#[test]
fn so_is_each_new_one_that_measures_a_lane() {
    let mut world = world(LinkCost { smoothing: 1.0, ..LinkCost::default() }, LaneOpen::Early);
    world.connect(TOKEN, 100 * MB, false);
    world.run(at(145));
    let made = [
        "75: create 10.1.0.1 > 10.1.0.2:5000 backup",
        "76: lane 1 backup=true",
        "140: create 10.1.0.1 > 10.1.0.2:5000 backup",
        "141: destroy 10.1.0.1:40002",
        "141: lane 1 backup=true",
    ];
    assert_eq!(world.commands(), made);
}

#[test]
fn the_short_lane_is_a_backup_when_it_is_back_after_a_switch() {
    let mut world = world(deadline(), LaneOpen::Early);
    let first = world.connect(TOKEN, 100 * MB, false);
    world.run(at(1_000));
    world.kernel.connections.get_mut(&TOKEN).unwrap().sockets.retain(|socket| socket.pair != first);
    world.kernel.tell(at(1_000), mptcp::Event::SubflowClosed(Fake::subflow(TOKEN, first, None)));
    world.run(at(1_100));
    world.kernel.commands.clear();
    world.run(at(5_000));
    assert_eq!(world.commands(), ["1200: create 10.0.0.1 > 10.0.0.2:5000 backup", "1201: lane 0 backup=true"]);
}

#[test]
fn bytes_count_from_the_connections_begin() {
    let judge = BytesSent { threshold: Bytes::new(100_000) };
    let commands = |older| {
        let mut world = world(judge, LaneOpen::WhenLong);
        world.kernel.older = older;
        world.connect(TOKEN, MB, false);
        world.run(at(500));
        world.commands()
    };
    // 1 MB/s, polled every 20 ms
    assert_eq!(commands(true)[0], "115: create 10.1.0.1 > 10.1.0.2:5000");
    assert_eq!(commands(true), commands(false));
}

#[test]
fn bytes_of_a_connection_that_was_there_before_count() {
    let mut world = world(BytesSent { threshold: Bytes::new(100_000) }, LaneOpen::WhenLong);
    world.connect(TOKEN, 100 * MB, false);
    world.kernel.events.clear();
    world.kernel.advance(at(200));
    let (connections, subflows) = world.kernel.all();
    world.manager.resync(at(200), &connections, &subflows, &mut world.kernel);
    world.run(at(290));
    assert_eq!(world.manager.counters().switched, 1);
}
