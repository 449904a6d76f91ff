//! `status` for people.

use std::fmt::Write as _;

use headway_daemon::table::{NONE, columns, time};

use crate::IDENTITY;
use crate::snapshot::{ConnectionStatus, Counters, Snapshot, Status};

/// Lanes, connections and counters of all namespaces.
pub(super) fn table(status: &Status) -> String {
    let parts: Vec<String> = status.namespaces.iter().map(namespace).collect();
    parts.join("\n")
}

fn namespace(one: &Snapshot) -> String {
    let mut text = String::new();
    let netns = one.netns.as_ref().map_or(String::new(), |netns| format!(", namespace {netns}"));
    let uptime = time(one.uptime_s);
    let name = IDENTITY.name;
    let _ = writeln!(text, "{name} {}{netns}, up {uptime}, {} connections managed\n", one.version, one.managed);
    let mut lanes = vec![["LANE", "ROLE", "INTERFACE", "STATE", "SUBFLOWS", "QUEUE", "ADDRESSES"].map(str::to_owned)];
    lanes.extend(one.lanes.iter().map(|lane| {
        [
            lane.name.clone(),
            lane.role.clone(),
            lane.interface.clone().unwrap_or_else(|| NONE.to_owned()),
            if lane.up { "up" } else { "down" }.to_owned(),
            lane.subflows.to_string(),
            lane.queueing_delay_us.map_or_else(|| NONE.to_owned(), |us| time(us / 1e6)),
            lane.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
        ]
    }));
    text.push_str(&columns(&lanes));
    if !one.connections.is_empty() {
        text.push('\n');
        let mut connections =
            vec![["TOKEN", "LOCAL", "REMOTE", "SIDE", "AGE", "STATE", "ACKED", "RULE", "LANES"].map(str::to_owned)];
        connections.extend(one.connections.iter().map(connection));
        text.push_str(&columns(&connections));
        if one.connections.len() < one.managed {
            let _ = writeln!(text, "and {} more", one.managed - one.connections.len());
        }
    }
    text.push('\n');
    let counters: Vec<[String; 2]> =
        Counters::ALL.iter().map(|(_, help, value)| [value(&one.counters).to_string(), (*help).to_owned()]).collect();
    text.push_str(&columns(&counters));
    text
}

fn connection(one: &ConnectionStatus) -> [String; 9] {
    let lanes = one.subflows.iter().map(|subflow| {
        let lane = subflow.lane.as_deref().unwrap_or(NONE);
        let state = match (subflow.alive, subflow.backup) {
            (false, _) => " failed",
            (true, true) => " backup",
            (true, false) => "",
        };
        let srtt = subflow.srtt_us.map_or(String::new(), |us| format!(" {}", time(us / 1e6)));
        format!("{lane}{state}{srtt}")
    });
    [
        one.token.clone(),
        one.local.to_string(),
        one.remote.to_string(),
        if one.server_side { "server" } else { "client" }.to_owned(),
        time(one.age_s),
        format!("{}{}", if one.long { "long" } else { "short" }, if one.adopted { " (adopted)" } else { "" }),
        one.acked_bytes.to_string(),
        one.rule.clone().unwrap_or_else(|| NONE.to_owned()),
        lanes.collect::<Vec<_>>().join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{LaneStatus, SubflowStatus};

    #[test]
    fn a_status_is_a_table_with_one_line_per_lane_and_connection() {
        let subflow = |lane: Option<&str>, backup, alive| SubflowStatus {
            lane: lane.map(str::to_owned),
            local: "10.0.0.5:40000".parse().unwrap(),
            remote: "10.0.9.9:80".parse().unwrap(),
            backup,
            alive,
            srtt_us: Some(412.0),
        };
        let lane = |name: &str, role: &str, up| LaneStatus {
            name: name.to_owned(),
            role: role.to_owned(),
            interface: Some(format!("eth-{name}")),
            addresses: vec!["10.0.0.5".parse().unwrap(), "fd00::5".parse().unwrap()],
            up,
            subflows: 1,
            queueing_delay_us: up.then_some(2500.0),
        };
        let connection = ConnectionStatus {
            token: "0a1b2c3d".to_owned(),
            local: "10.0.0.5:40000".parse().unwrap(),
            remote: "[fd00::9]:80".parse().unwrap(),
            server_side: false,
            age_s: 3.25,
            long: true,
            adopted: true,
            rule: None,
            acked_bytes: 123_456,
            subflows: vec![subflow(Some("fast"), true, true), subflow(None, false, false)],
        };
        let snapshot = Snapshot {
            version: "1.2.3".to_owned(),
            netns: Some("blue".to_owned()),
            uptime_s: 7300.0,
            lanes: vec![lane("fast", "short", true), lane("bulk", "long", false)],
            connections: vec![connection],
            managed: 4,
            ..Snapshot::default()
        };
        let text = table(&Status { namespaces: vec![snapshot] });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..9],
            [
                "headway-lane 1.2.3, namespace blue, up 2.0 h, 4 connections managed",
                "",
                "LANE  ROLE   INTERFACE  STATE  SUBFLOWS  QUEUE   ADDRESSES",
                "fast  short  eth-fast   up     1         2.5 ms  10.0.0.5 fd00::5",
                "bulk  long   eth-bulk   down   1         -       10.0.0.5 fd00::5",
                "",
                "TOKEN     LOCAL           REMOTE        SIDE    AGE    STATE           ACKED   RULE  LANES",
                "0a1b2c3d  10.0.0.5:40000  [fd00::9]:80  client  3.2 s  long (adopted)  123456  -     fast backup 412 us, - failed 412 us",
                "and 3 more",
            ]
        );
        assert_eq!(lines.len(), 10 + Counters::ALL.len());
    }
}
