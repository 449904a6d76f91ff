//! `headway trace`: from a capture to numbers and back to a scenario that runs.

use std::fs::File;
use std::io::Write;
use std::net::IpAddr;
use std::process::Stdio;

use headway_capture::Address;
use headway_capture::packet::{ACK, FIN, SYN};
use headway_capture::synthetic::{Frame, PcapWriter};
use serde_json::Value;

use crate::Place;

const MS: u64 = 1_000_000;

/// One connection: handshake, `bytes` in one direction in segments of 1,000, FINs 2 ms after the beginning.
fn connection(into: &mut Vec<(u64, Vec<u8>)>, now: u64, from: u8, to: u8, port: u16, bytes: u32) {
    let address = |n: u8| Address::from(IpAddr::from([10, 0, 0, n]));
    let (client, server) = ((address(from), port), (address(to), 80));
    let mut say = |time, source, destination, sequence, acknowledgement, flags, payload| {
        let frame = Frame { source, destination, sequence, acknowledgement, flags, payload, id: 0, options: &[] };
        let mut packet = Vec::new();
        frame.ethernet(&[], &mut packet);
        into.push((time, packet));
    };
    say(now, client, server, 0, 0, SYN, 0);
    say(now + MS / 2, server, client, 0, 1, SYN | ACK, 0);
    say(now + MS / 2, client, server, 1, 1, ACK, 0);
    let mut sent = 0;
    while sent < bytes {
        let size = (bytes - sent).min(1000);
        say(now + MS, client, server, 1 + sent, 1, ACK, size);
        sent += size;
    }
    say(now + 2 * MS, server, client, 1, 1 + bytes, ACK | FIN, 0);
    say(now + 2 * MS, client, server, 1 + bytes, 2, ACK | FIN, 0);
}

/// 60 short flows, 6 incasts of 5 senders to host 1, a long flow; over 300 ms.
fn capture() -> Vec<u8> {
    let mut packets = Vec::new();
    for n in 0..60u16 {
        connection(&mut packets, u64::from(n) * 5 * MS, 10 + (n % 7) as u8, 30, 1000 + n, 2000 + u32::from(n) * 10);
    }
    for n in 0..6u16 {
        for sender in 0..5u16 {
            connection(&mut packets, u64::from(n) * 50 * MS, 50 + sender as u8, 1, 2000 + n, 20_000);
        }
    }
    connection(&mut packets, 7 * MS, 20, 21, 3000, 1_500_000);
    packets.sort_by_key(|&(time, _)| time);
    let mut writer = PcapWriter::new(Vec::new(), 1).unwrap();
    for (time, packet) in &packets {
        writer.packet(1_700_000_000_000 * MS + time, packet, packet.len() as u32).unwrap();
    }
    writer.into_inner()
}

fn place() -> Place {
    let place = Place::new();
    place.write("c.pcap", capture());
    place
}

#[test]
fn a_capture_is_summed_up() {
    let place = place();
    let text = place.ok(&["trace", "c.pcap"]);
    for words in [
        "from                                 2023-11-14T22:13:20Z\n",
        "TCP connections                      91\n",
        "burst     30",
        "incasts of 4 senders or more  6\n",
        "RTT of handshakes: p50, p95, p99  500 us, 500 us, 500 us",
    ] {
        let squeeze = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeeze(&text).contains(&squeeze(words)), "no `{words}` in\n{text}");
    }
    let json: Value = serde_json::from_str(&place.ok(&["trace", "c.pcap", "--json", "--host", "10.0.0.1"])).unwrap();
    assert_eq!(json["connections"]["fin"], 91);
    assert_eq!(json["flows"][0]["heading"], "to");
    assert_eq!(json["flows"][0]["bytes"], 600_000);
    assert_eq!(json["flows"][0]["incasts"]["p50"], 5);
    assert_eq!(json["flows"][1]["bytes"], 0);
    assert_eq!(json["flows"][2]["flows"], 61);
}

#[test]
fn the_standard_input_and_several_files_are_the_same() {
    let place = place();
    let whole = place.ok(&["trace", "c.pcap", "--json"]);
    let mut child =
        place.command(&["trace", "-", "--json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(&capture()).unwrap();
    assert_eq!(String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout), whole);

    // Cut in two at a packet; named the wrong way round.
    let bytes = capture();
    let mut at = 24;
    while at < bytes.len() / 2 {
        at += 16 + u32::from_le_bytes(*bytes[at + 8..].first_chunk().unwrap()) as usize;
    }
    place.write("1.pcap", &bytes[..at]);
    place.write("2.pcap", [&bytes[..24], &bytes[at..]].concat());
    assert_eq!(place.ok(&["trace", "2.pcap", "1.pcap", "--json"]), whole);
    place.fails(2, &["trace", "-", "c.pcap"], &["cannot be one of several files"]);
}

/// What is written is read by the scenario reader, and runs.
#[test]
fn the_scenario_runs() {
    let place = place();
    for (out, host) in [("plain", None), ("host", Some("10.0.0.1")), ("sender", Some("10.0.0.50"))] {
        let mut args = vec!["trace", "c.pcap", "--out", out];
        args.extend(host.iter().flat_map(|host| ["--host", *host]));
        place.ok(&args);
        let scenario = format!("{out}/scenario.toml");
        assert!(place.ok(&["check", &scenario]).starts_with("ok: "), "{out}");
        let results = format!("{out}-results");
        let set = ["--set", "duration=100ms", "--set", "drain=2s", "--repeats", "1", "--out", &results, "--json"];
        let ran: Value = serde_json::from_str(&place.ok(&[&["run", &scenario][..], &set].concat())).unwrap();
        assert!(ran.to_string().contains("\"flows\""), "{ran}");
    }
    let traffic = place.read("plain/traffic.toml");
    assert!(
        traffic.contains("name = \"burst\"\nfrom = \"burst-sender\"\nto = \"receiver\"\npairs = \"incast\""),
        "{traffic}"
    );
    assert!(place.read("host/traffic.toml").contains("from = \"peer\"\nto = \"host\"\npairs = \"incast\""));
    // Pasted into another scenario.
    let own = "name = \"own\"\nabout = \"x\"\nduration = \"1s\"\n[topology]\nkind = \"two-tier\"\nleaves = 4\nspines = 2\n\
               hosts-per-leaf = 10\nlink = { rate = \"1Gbps\" }\nqueue = { kind = \"drop-tail\", limit = \"1MB\" }\n";
    let policy = "[[policy]]\nname = \"tcp\"\ntransport = \"tcp\"\n";
    place.write("plain/own.toml", format!("{own}{traffic}{policy}"));
    place.ok(&["check", "plain/own.toml"]);
}

#[test]
fn what_is_kept_is_there() {
    let place = place();
    place.ok(&["trace", "c.pcap", "--out", "out"]);
    for name in ["flows.parquet", "series.parquet"] {
        let bytes = std::fs::read(place.path("out").join(name)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"), "{name}");
    }
    let json: Value = serde_json::from_str(&place.read("out/report.json")).unwrap();
    assert_eq!(json["connections"]["tcp"], 91);
    assert_eq!(
        place.read("out/burst.csv").lines().skip(1).collect::<Vec<_>>(),
        ["bytes,cumulative", "20000,0", "20000,1"]
    );
    assert!(place.read("out/sizes.csv").lines().last().unwrap().ends_with(",1"));
    assert!(
        std::fs::read_dir(place.path("out"))
            .unwrap()
            .all(|entry| { !entry.unwrap().file_name().to_string_lossy().contains(".part") })
    );
    place.fails(2, &["trace", "c.pcap", "--out", "out"], &["out is not empty"]);
}

#[test]
fn of_a_damaged_file_what_is_before_is_reported() {
    let place = place();
    let bytes = capture();
    place.write("cut.pcap", &bytes[..bytes.len() - 10]);
    let ran = place.headway(&["trace", "cut.pcap"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let offset = bytes.len() - 16 - 54;
    assert!(
        ran.err
            .contains(&format!("error: cut.pcap: at byte {offset}: the file ends in a packet, after 44 of 54 bytes")),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("TCP connections"), "{}", ran.out);
    // Its neighbour is read all the same.
    place.write("c2.pcap", &bytes);
    let ran = place.headway(&["trace", "c2.pcap", "cut.pcap", "--json"]);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, json["errors"].as_array().map(Vec::len)), (Some(1), Some(1)), "{}", ran.err);
}

#[test]
fn what_is_no_capture_is_refused() {
    let place = place();
    place.write("x.png", b"\x89PNG\r\n\x1a\n0000");
    place.fails(2, &["trace", "x.png"], &["x.png is not a pcap or pcapng file: it looks like a PNG image"]);
    place.fails(2, &["trace", "c.pcap", "tiny.toml"], &["tiny.toml is not a pcap or pcapng file: it looks like text"]);
    place.fails(2, &["trace", "nowhere.pcap"], &["cannot open nowhere.pcap"]);
    place.fails(2, &["trace", "c.pcap", "--short", "2MB"], &["--short 2MB is more than --long 1MB"]);
    place.fails(2, &["trace", "c.pcap", "--idle", "0s"], &["--idle must be at least 1ns"]);
    place.fails(2, &["trace", "c.pcap", "--idle", "60"], &["has no unit"]);
    File::create(place.path("empty.pcap")).unwrap();
    place.fails(2, &["trace", "empty.pcap"], &["empty.pcap is empty"]);
    place.write("none.pcap", &capture()[..24]);
    assert_eq!(place.ok(&["trace", "none.pcap"]), "no packets\n");
}
