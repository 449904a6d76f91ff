//! What happens at the same moment as something else. Sweeps put it before, into and after each step of the daemon: with
//! a deadline of 100 ms the daemon asks for a subflow 106 ms after an application begins to connect, which is established
//! 3 ms later and fully so after 6.

use headway_results::Outcome;
use serde_json::Value;

use super::ran::{check_daemons, command, program, program_on, said};
use super::{Lab, carriers, counter, log, quiet, status};

const WHEN_LONG: &str =
    "policy.lanes.transport.lanes={judge={kind=\"deadline\",deadline=\"100ms\"},open=\"when-long\"}";

/// `count` connections of the command `name` have had `bytes` arrive, each of them right.
fn arrived(outcome: &Outcome, name: &str, count: usize, bytes: u64) {
    let text = said(outcome, name);
    let right = text.lines().filter(|line| line.ends_with(&format!(": {bytes} right"))).count();
    assert_eq!((right, text.lines().count()), (count, count), "{text}");
}

/// Nothing is managed any more, and nothing went wrong with the daemon.
fn over(status: &Value) {
    assert!(status["managed"] == 0 && status["lanes"].as_array().unwrap().iter().all(|lane| lane["subflows"] == 0));
    assert_eq!(
        ["refused", "left", "command_failures", "malformed"].map(|name| counter(status, name)),
        [0; 4],
        "{status}"
    );
}

#[test]
fn applications_end_while_a_subflow_is_opened() {
    let Some(lab) = Lab::new() else { return };
    let ends = "count=60 gap=10000 chunk=500 every=2000 life=104000 step=150";
    let programs = [
        program("close", "0ms", &format!("./peer send 10.0.0.2:7000 1000000 {ends} end=close")),
        program("reset", "5ms", &format!("./peer send 10.0.0.2:7000 1000000 {ends} end=reset")),
        // keeps events coming, so that the daemon lets them gather
        program("churn", "80ms", "./peer send 10.0.0.2:7000 100 count=350 gap=2000"),
        program("end", "800ms", "headway-lane status --json"),
        // of a connection that was reset the kernel tells its other end nothing: the next look does, after a second at most
        program_on("right", "other-end", "1900ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &[WHEN_LONG, "duration=2s"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    let (end, other) = (status(outcome, "end"), status(outcome, "other-end"));
    over(&end);
    over(&other);
    arrived(outcome, "churn", 350, 100);
    let [opens, switched] = ["opens", "switched"].map(|name| counter(&end, name));
    assert_eq!([counter(&end, "managed"), counter(&other, "managed")], [470; 2], "{end} {other}");
    assert!((20..=100).contains(&switched) && opens >= switched + 10, "ends during joins: {end}");
    assert!(
        counter(&end, "vanished") > 0 && counter(&end, "retries") > 0,
        "looks at and commands for what is gone: {end}"
    );
    assert_eq!(["opens", "flips", "switched"].map(|name| counter(&other, name)), [0; 3], "it only receives: {other}");
    // what was written before a close has arrived, and nothing wrong before a reset
    let serve = said(outcome, "serve");
    let bytes = |text: &str, before: &str, after: &str| {
        let number = |line: &str| line.strip_suffix(after)?.rsplit(before).next()?.parse().ok();
        let mut found: Vec<u64> = text.lines().filter_map(number).collect();
        found.sort_unstable();
        found
    };
    let closed = bytes(&said(outcome, "close"), " ", "");
    assert_eq!(bytes(&serve, " ", "/1000000 unexpected end of file"), closed);
    let reset = bytes(&serve, " ", "/1000000 Connection reset by peer (os error 104)");
    assert_eq!((closed.len(), reset.len(), serve.lines().count()), (60, 60, 470), "{serve}");
}

#[test]
fn connections_come_and_go_faster_than_the_daemon_looks() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        program("here", "0ms", "./peer serve 0.0.0.0:7002"),
        program("across", "1ms", "./peer send 10.0.0.2:7000 3000 count=300 gap=200"),
        // between two addresses of this host they are over before the daemon has heard of them
        program("within", "2ms", "./peer send 10.0.0.1:7002 3000 count=300 gap=200"),
        program("end", "180ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &["hosts.left.linux={memory=\"64MB\"}", "duration=200ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    for name in ["across", "within"] {
        arrived(outcome, name, 300, 3000);
    }
    let end = status(outcome, "end");
    over(&end);
    assert_eq!(counter(&end, "managed"), 900, "those within have both ends here: {end}");
    let costs = ["opens", "flips", "switched", "polls", "retries", "vanished", "overruns"];
    assert_eq!(costs.map(|name| counter(&end, name)), [0; 7], "they cost nothing: {end}");
}

#[test]
fn the_other_end_closes_a_subflow_while_flags_are_set() {
    let Some(lab) = Lab::new() else { return };
    let lanes = "policy.lanes.transport.lanes={judge={kind=\"deadline\",deadline=\"100ms\"}}";
    let programs = [
        // subflows are there at 62 ms of a connection's age, and flags are set at 106
        program_on("right", "cut", "0ms", "./peer cut 10.1.0.2 30 42000 250"),
        program("send", "0ms", "./peer send 10.0.0.2:7000 160000 count=30 gap=5000 chunk=1000 every=4000"),
        program("ask", "600ms", "headway-lane status --json"),
        program("end", "1s", "headway-lane status --json"),
    ];
    let daemon = "policy.lanes.linux={daemon={timing={open-after=\"50ms\"}}}";
    let ran = lab.twice(&programs, &[lanes, daemon, "duration=1100ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    arrived(outcome, "send", 30, 160_000);
    assert_eq!(said(outcome, "cut").lines().filter(|line| line.ends_with(" cut")).count(), 30);
    let ask = status(outcome, "ask");
    let connections = ask["connections"].as_array().unwrap();
    let there = connections.iter().all(|one| one["long"] == true && carriers(one) == ["eth1"]);
    assert!(connections.len() == 30 && there, "they have a new one: {ask}");
    let end = status(outcome, "end");
    over(&end);
    assert_eq!(["switched", "opens"].map(|name| counter(&end, name)), [30, 60], "{end}");
    // there, back and there again if it was closed after the switch
    assert!((61..=119).contains(&counter(&end, "flips")), "some were closed before, some after it: {end}");
}

#[test]
fn a_lane_goes_down_while_a_join_is_under_way() {
    let Some(lab) = Lab::new() else { return };
    // the join's first packet has left; its answer has come; it is fully established
    for (at, opens) in [("107ms", 1), ("109500us", 2), ("113ms", 2)] {
        let programs = [
            format!("\n[[failure]]\nhost = \"left-host0\"\ninterface = 1\nat = \"{at}\"\nuntil = \"300ms\"\n"),
            program("send", "0ms", "./peer send 10.0.0.2:7000 260000 chunk=1000 every=5000"),
            program("down", "250ms", "headway-lane status --json"),
            // the kernel sends a join's first packet again after a second
            program("back", "1250ms", "headway-lane status --json"),
            program("end", "1400ms", "headway-lane status --json"),
        ];
        let ran = lab.twice(&programs, &[WHEN_LONG, "duration=1500ms"]);
        check_daemons(&ran);
        let outcome = &ran.outcomes[0];
        arrived(outcome, "send", 1, 260_000);
        let (down, back, end) = (status(outcome, "down"), status(outcome, "back"), status(outcome, "end"));
        assert!(down["lanes"][1]["up"] == false && carriers(&down["connections"][0]) == ["eth0"], "{at}: {down}");
        assert!(back["lanes"][1]["up"] == true && carriers(&back["connections"][0]) == ["eth1"], "{at}: {back}");
        over(&end);
        assert_eq!(
            ["opens", "switched", "open_failures"].map(|name| counter(&end, name)),
            [opens, 1, 0],
            "{at}: {end}"
        );
        let log = log(outcome, "left-host0");
        assert!(log.matches("WARN").count() == 1 && !log.contains("ERROR"), "of the lane that went down: {log}");
    }
}

#[test]
fn a_join_is_answered_after_it_was_given_up() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        // answers get lost until just after the daemon has waited for 3 s
        "\n[[failure]]\nlink = [\"path1-left\", \"path1-right\"]\ndirection = \"back\"\ncarrier = false\n\
         at = \"50ms\"\nuntil = \"3150ms\"\n"
            .to_owned(),
        program("send", "0ms", "./peer send 10.0.0.2:7000 1000000 chunk=1000 every=5000"),
        program("before", "3130ms", "headway-lane status --json"),
        program("after", "4900ms", "headway-lane status --json"),
        program("end", "5400ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &[WHEN_LONG, "duration=5500ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    arrived(outcome, "send", 1, 1_000_000);
    let (before, after, end) = (status(outcome, "before"), status(outcome, "after"), status(outcome, "end"));
    let of = |status: &Value| ["opens", "open_failures", "switched"].map(|name| counter(status, name));
    assert_eq!((of(&before), carriers(&before["connections"][0])), ([1, 1, 0], vec!["eth0"]), "{before}");
    assert_eq!(carriers(&after["connections"][0]), ["eth1"], "{after}");
    assert_eq!(after["connections"][0]["subflows"].as_array().unwrap().len(), 2, "{after}");
    over(&end);
    assert_eq!(of(&end), [1, 1, 1], "{end}");
}

#[test]
fn a_daemon_is_started_in_the_midst_of_connections() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        program("kill", "10ms", "kill -KILL $(cat /run/headway/lane.pid)"),
        program("old", "50ms", "./peer send 10.0.0.2:7000 300000 chunk=1000 every=2000"),
        program("around", "150ms", "./peer send 10.0.0.2:7000 60000 count=80 gap=250 chunk=500 every=4000"),
        program("again", "160ms", "exec headway-lane run --config /run/headway/lane.toml"),
        program("ask", "400ms", "headway-lane status --json"),
        program("end", "800ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &[WHEN_LONG, "duration=850ms"]);
    let outcome = &ran.outcomes[0];
    arrived(outcome, "old", 1, 300_000);
    arrived(outcome, "around", 80, 60_000);
    let again = command(outcome, "again");
    assert_eq!((again.code, again.ended), (0, true), "it runs to the end");
    let log = String::from_utf8_lossy(&again.stderr.kept);
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    let ask = status(outcome, "ask");
    let connections = ask["connections"].as_array().unwrap();
    let there = connections.iter().all(|one| one["long"] == true && carriers(one) == ["eth1"]);
    assert!(connections.len() == 81 && there, "none is missed: {ask}");
    let end = status(outcome, "end");
    over(&end);
    assert_eq!(
        ["managed", "switched", "opens"].map(|name| counter(&end, name)),
        [81; 3],
        "and none is counted twice: {end}"
    );
    assert!((2..80).contains(&counter(&end, "adopted")), "{end}");
}

#[test]
fn lost_events_are_made_up_for() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        program("here", "0ms", "./peer serve 0.0.0.0:7002"),
        program("gone", "0ms", "./peer send 10.0.0.2:7000 1000000 chunk=1000 every=1000 life=200000 end=close"),
        program("there", "0ms", "./peer send 10.0.0.2:7000 600000 chunk=1000 every=1000"),
        program("stop", "150ms", "kill -STOP $(cat /run/headway/lane.pid)"),
        // more events than there is room for
        program("storm", "160ms", "./peer send 10.0.0.1:7002 10 count=4000 gap=30"),
        program("new", "300ms", "./peer send 10.0.0.2:7000 400000 chunk=1000 every=1000"),
        program("go", "350ms", "kill -CONT $(cat /run/headway/lane.pid)"),
        program("ask", "550ms", "headway-lane status --json"),
        program("end", "850ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &[WHEN_LONG, "hosts.left.linux={memory=\"256MB\"}", "duration=900ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    let (ask, end) = (status(outcome, "ask"), status(outcome, "end"));
    arrived(outcome, "storm", 4000, 10);
    arrived(outcome, "there", 1, 600_000);
    arrived(outcome, "new", 1, 400_000);
    let connections = ask["connections"].as_array().unwrap();
    let there = connections.iter().all(|one| one["long"] == true && carriers(one) == ["eth1"]);
    assert!(counter(&ask, "overruns") > 0 && connections.len() == 2 && there, "{ask}");
    assert_eq!(counter(&ask, "adopted"), 1, "of the new one there was no room to tell: {ask}");
    over(&end);
}
