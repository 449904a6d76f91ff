//! The same over IPv6.

use super::ran::{program, program_on, rate, said};
use super::{Lab, carriers, counter, log, quiet, status};

/// Tells the bytes that have left by each interface, every 20 ms.
const SEE: &str = "cd /sys/class/net; while :; do echo $(cat eth?/statistics/tx_bytes); sleep 0.02; done";

#[test]
fn a_long_connection_over_ipv6_is_switched_and_outlives_its_lanes() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        program("see", "0ms", SEE),
        program("send", "0ms", "./peer send [fd00::2]:7000 14000000"),
        program("short", "300ms", "./peer send [fd00::2]:7000 10000"),
        program("switched", "400ms", "headway-lane status --json"),
        "\n[[failure]]\nhost = \"left-host0\"\ninterface = 1\nat = \"440ms\"\nuntil = \"600ms\"\n".to_owned(),
        program("down", "560ms", "headway-lane status --json"),
        program("back", "800ms", "headway-lane status --json"),
        program("end", "1400ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &["duration=1500ms"]);
    let outcome = &ran.outcomes[0];
    assert_eq!(said(outcome, "send"), "0: 14000000 right\n");
    assert_eq!(said(outcome, "short"), "0: 10000 right\n");
    let rates = |from, to| (rate(outcome, 0, from, to), rate(outcome, 1, from, to));
    let (before, after) = (rates(60, 180), rates(260, 440));
    assert!(before.0 > 85.0 && before.1 < 0.1 && after.0 < 8.0 && after.1 > 85.0, "{before:?} {after:?}");
    let (down, back) = (rates(480, 600), rates(760, 1000));
    assert!(down.0 > 85.0 && down.1 < 0.1 && back.0 < 8.0 && back.1 > 85.0, "{down:?} {back:?}");
    for (name, lane, ports) in [("switched", "eth1", 2), ("down", "eth0", 1), ("back", "eth1", 2)] {
        let status = status(outcome, name);
        let connection = &status["connections"][0];
        assert_eq!(carriers(connection), [lane], "{status}");
        let subflows = connection["subflows"].as_array().unwrap();
        assert_eq!(subflows.len(), ports, "{status}");
        for (i, subflow) in subflows.iter().enumerate() {
            let ends = ["local", "remote"].map(|end| subflow[end].as_str().unwrap().split("]:").next().unwrap());
            assert_eq!(ends, [["[fd00::1", "[fd00::2"], ["[fd00:0:0:1::1", "[fd00:0:0:1::2"]][i], "{status}");
        }
    }
    let end = status(outcome, "end");
    let counters = ["managed", "switched", "opens", "failures", "open_failures", "command_failures", "vanished"];
    assert_eq!(counters.map(|name| counter(&end, name)), [2, 1, 2, 1, 0, 0, 0], "{end}");
    assert_eq!(end["managed"], 0, "{end}");
    assert!(ran.results.warnings.is_empty(), "{:?}", ran.results.warnings);
    let log = log(outcome, "left-host0");
    assert_eq!(log.matches("WARN").count(), 1, "of the lane that went down: {log}");
}

/// What a server sends moves at its own deadline: it announces the long lane, and the client's daemon follows.
#[test]
fn a_download_over_ipv6_is_switched_by_the_server() {
    let Some(lab) = Lab::new() else { return };
    let programs = [
        program_on("right", "see", "0ms", SEE),
        program("fetch", "0ms", "./peer send [fd00::2]:7000 7000000 pull=yes"),
        program("client", "400ms", "headway-lane status --json"),
        program_on("right", "server", "400ms", "headway-lane status --json"),
    ];
    let ran = lab.twice(&programs, &["duration=800ms"]);
    quiet(&ran);
    let outcome = &ran.outcomes[0];
    assert_eq!(said(outcome, "fetch"), "0: 7000000 right\n");
    let rates = |from, to| (rate(outcome, 0, from, to), rate(outcome, 1, from, to));
    let (before, after) = (rates(60, 180), rates(280, 480));
    assert!(before.0 > 85.0 && before.1 < 0.1 && after.0 < 8.0 && after.1 > 85.0, "{before:?} {after:?}");
    let (client, server) = (status(outcome, "client"), status(outcome, "server"));
    assert_eq!(carriers(&server["connections"][0]), ["eth1"], "{server}");
    assert_eq!(counter(&server, "switched"), 1, "{server}");
    // the client has nothing to send, but is not to hold back the lane
    assert_eq!(carriers(&client["connections"][0]), ["eth0", "eth1"], "{client}");
    assert_eq!((counter(&client, "switched"), counter(&client, "opens")), (0, 1), "{client}");
}
