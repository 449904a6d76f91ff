//! A long lane that answers nothing for a while.

use super::*;

/// The stay on the short lane is hardly longer than the long one's silence, and a lane that is dead for long is polled
/// as rarely as one that is well.
#[test]
fn a_long_lane_that_answers_again_is_used_soon() {
    for silence in [600, 1_200, 2_400, 4_800] {
        let mut world = World::new(settings(deadline(), LaneOpen::Early));
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(1_000));
        world.kernel.commands.clear();
        world.kernel.dead[1] = true;
        world.run(at(1_000 + silence));
        world.kernel.dead[1] = false;
        world.run(at(2_000 + silence));
        let times: Vec<Time> = world.kernel.commands.iter().map(|(when, _)| *when).collect();
        let [left, back] = times[..] else { panic!("{:?}", world.commands()) };
        let late = back - at(1_000 + silence);
        assert!(late <= ms(25) + (back - left) / 8, "{late} after {silence} ms of silence");
    }
    let polls = |dead| {
        let mut world = World::new(settings(deadline(), LaneOpen::Early));
        world.connect(TOKEN, 100 * MB, false);
        world.run(at(1_000));
        world.kernel.dead[1] = dead;
        world.run(at(10_000));
        let before = world.kernel.polls;
        world.run(at(20_000));
        world.kernel.polls - before
    };
    // each is of the connection and of the subflows in use: both while the long lane is dead
    assert_eq!(polls(false) / 2, polls(true) / 3);
}
