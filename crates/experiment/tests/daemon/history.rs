//! What a connection learns, the next one to the same destination begins with.

use serde_json::Value;

use super::ran::{program, program_on, said};
use super::{Lab, carriers, counter, quiet, status, switched};

#[test]
fn a_service_whose_connections_were_long_has_long_ones_from_the_start() {
    let Some(lab) = Lab::new() else { return };
    // the connections at 40 ms of their age: to the service that had three long ones before, and to another one
    let learnt = |history: &str| {
        let lanes = format!("policy.lanes.transport.lanes={{judge={{kind=\"deadline\",deadline=\"100ms\"}}{history}}}");
        let programs = [
            program_on("right", "other", "0ms", "./peer serve 0.0.0.0:7001"),
            program("first", "0ms", "./peer send 10.0.0.2:7000 700000 count=3"),
            program("second", "250ms", "./peer send 10.0.0.2:7000 500000 chunk=5000 every=1000"),
            program("third", "250ms", "./peer send 10.0.0.2:7001 500000 chunk=5000 every=1000"),
            program("ask", "300ms", "headway-lane status --json"),
        ];
        let ran = lab.twice(&programs, &[&lanes, "duration=450ms"]);
        quiet(&ran);
        let outcome = &ran.outcomes[0];
        assert_eq!(said(outcome, "first").matches(": 700000 right\n").count(), 3);
        for name in ["second", "third"] {
            assert_eq!(said(outcome, name), "0: 500000 right\n");
        }
        let status = status(outcome, "ask");
        assert_eq!(counter(&status, "switched"), 3, "{status}");
        let of = |port: &str| -> Value {
            let connections = status["connections"].as_array().unwrap();
            connections.iter().find(|one| one["remote"].as_str().unwrap().ends_with(port)).unwrap().clone()
        };
        [of(":7000"), of(":7001")]
    };
    let [same, other] = learnt(",history={long-share=0.9}");
    assert!(same["long"] == true && carriers(&same) == ["eth1"], "{same}");
    assert!(other["long"] == false && carriers(&other) == ["eth0"], "{other}");
    for one in learnt("") {
        assert!(one["long"] == false && carriers(&one) == ["eth0"], "{one}");
    }
}

#[test]
fn a_queue_is_known_by_the_round_trip_of_an_earlier_connection() {
    let Some(lab) = Lab::new() else { return };
    let switches_at = |before: &str| {
        let programs = [
            program("monitor", "0ms", "headway-lane monitor --json"),
            program("before", "0ms", before),
            // plain TCP fills the short lane, and is none of the daemon's business
            program("fill", "120ms", "./peer send 10.0.0.2:7000 1000000000 from=10.0.0.1"),
            program("send", "350ms", "./peer send 10.0.0.2:7000 4000000 chunk=1000 every=1000 life=400000 end=close"),
        ];
        let lanes = "policy.lanes.transport.lanes={judge={kind=\"link-cost\",deadline=\"400ms\",alpha=4.0}}";
        let ran = lab
            .twice(&programs, &[lanes, "policy.lanes.linux={daemon={timing={open-after=\"20ms\"}}}", "duration=760ms"]);
        quiet(&ran);
        switched(&ran.outcomes[0])
    };
    // 9 to 10 ms of queue that the connection itself has never seen otherwise: 400 - 8 * 4 * 9 = 112 ms
    let knows = switches_at("./peer send 10.0.0.2:7000 100000 chunk=1000 every=1000");
    let does_not = switches_at("true");
    assert!(knows < 130.0 && does_not > 200.0, "{knows} and {does_not} ms");
}

#[test]
fn a_lane_that_failed_is_left_alone_by_the_next_connection() {
    let Some(lab) = Lab::new() else { return };
    // the long lane leads nowhere, which nobody is told; the first connection has tried it twice when it ends
    let opens = |half_life: &str| {
        let programs = [
            "\n[[failure]]\nlink = [\"path1-left\", \"path1-right\"]\nat = \"10ms\"\ncarrier = false\n".to_owned(),
            program(
                "first",
                "20ms",
                "./peer send 10.0.0.2:7000 100000000 chunk=1000 every=5000 life=9000000 end=close",
            ),
            program("before", "9s", "headway-lane status --json"),
            program("second", "9100ms", "./peer send 10.0.0.2:7000 100000 chunk=1000 every=5000"),
            program("after", "9500ms", "headway-lane status --json"),
        ];
        let lanes = format!(
            "policy.lanes.transport.lanes={{judge={{kind=\"deadline\",deadline=\"100ms\"}},history={{half-life=\"{half_life}\"}}}}"
        );
        let ran = lab.twice(&programs, &[&lanes, "duration=10s"]);
        quiet(&ran);
        let outcome = &ran.outcomes[0];
        assert_eq!(said(outcome, "second"), "0: 100000 right\n");
        let before = status(outcome, "before");
        assert_eq!(["opens", "open_failures", "switched"].map(|name| counter(&before, name)), [2, 2, 0], "{before}");
        counter(&status(outcome, "after"), "opens")
    };
    assert_eq!(opens("60s"), 2, "it is not tried");
    assert_eq!(opens("100ms"), 3, "it is, when that is forgotten");
}
