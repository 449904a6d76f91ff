//! `model`.

use serde_json::Value;

use crate::Place;

fn json(place: &Place, args: &[&str]) -> Value {
    serde_json::from_str(&place.ok(&[&["model", "relay", "--json"], args].concat())).unwrap()
}

/// Hasegawa and Jibiki 2011, figure 7 and tables 5 and 6, loss 0: a window of 64 KB in each round trip, in Mb/s. All
/// are within 4 %.
#[test]
fn the_defaults_are_the_field_test_where_windows_decide() {
    let object = json(&Place::new(), &["--loss", "0"]);
    let points = object["points"].as_array().unwrap();
    let published = [(18.3, 806.0), (16.1, 201.0), (14.3, 115.0), (10.7, 49.0), (7.37, 26.1)];
    assert_eq!(points.len(), published.len());
    for (point, (direct, relayed)) in points.iter().zip(published) {
        let mbps = |key: &str| point["mathis"][key].as_f64().unwrap() / 1e6;
        assert!((mbps("direct_bps") / direct - 1.0).abs() < 0.04, "{point}");
        assert!((mbps("relayed_bps") / relayed - 1.0).abs() < 0.04, "{point}");
        assert_eq!(point["mathis"]["direct_limit"], "window");
        assert_eq!(point["mathis"], point["padhye"], "nothing is lost");
    }
}

#[test]
fn the_constant_is_the_printed_one_unless_another_is_asked_for() {
    let place = Place::new();
    let constant = |args: &[&str]| json(&place, args)["constant"].as_f64().unwrap();
    assert!((constant(&[]) - 3f64.sqrt() / 2.0).abs() < 1e-12);
    assert!((constant(&["--packets-per-ack", "1"]) - 1.5f64.sqrt()).abs() < 1e-12);
    assert_eq!(constant(&["--constant", "random"]), 0.93);
    assert_eq!(constant(&["--constant", "random", "--packets-per-ack", "1"]), 1.31);
    assert_eq!(constant(&["--constant", "1"]), 1.0);
}

#[test]
fn a_surface_is_rows_of_csv() {
    let text = Place::new().ok(&[
        "model",
        "relay",
        "--csv",
        "--points",
        "4",
        "--delay",
        "100us..100ms",
        "--loss",
        "0.001%..1%",
    ]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 16);
    assert!(lines[0].starts_with("loss,delay_ns,rtt_ns,mathis_direct_bps,mathis_direct_limit,mathis_relayed_bps"));
    let columns = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == columns), "{text}");
    // Both ends, and factors of ten between: 100 us, 1 ms, 10 ms, 100 ms.
    let delays: Vec<&str> = lines[1..5].iter().map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(delays, ["100000", "1000000", "10000000", "100000000"]);
}

#[test]
fn the_table_has_both_formulae_and_the_gains() {
    let text = Place::new().ok(&["model", "relay", "--delay", "0ms", "--loss", "0.1%"]);
    for part in ["Mathis: direct", "Padhye: direct", "limited by: w window, p losses, l link", "Gain: "] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn results_stand_beside_the_model() {
    let place = Place::new();
    let scenario = r#"
name = "beside"
about = "a window in a round trip"
duration = "2s"
repeats = 1
topology = { kind = "graph", hosts = ["a", "b"], switches = [], cables = [{ between = ["a", "b"], delay = "$delay", loss = "$loss" }], link = { rate = "1Gbps" }, queue = { kind = "drop-tail", limit = "1MB" } }
hosts = { a = { members = ["a"] }, b = { members = ["b"] } }
traffic = [{ name = "long", from = "a", to = "b", size = "unlimited", arrival = "once" }]
policy = [{ name = "tcp", transport = { kind = "tcp", receive-window = "64000B" } }]
sweep = { delay = "10ms", loss = "0%" }
"#;
    place.write("beside.toml", scenario);
    place.ok(&["run", "beside.toml", "--out", "beside"]);
    // The model adds the sweep's delay to the round trip that it is told.
    let rtt = ["--rtt", "1ns", "--access-rtt", "0ms", "--sides", "client", "--relays", "0"];
    let options = [&rtt[..], &["--window", "64000B", "--beside", "beside"]].concat();
    let object = json(&place, &options);
    let point = &object["points"][0];
    assert_eq!(point["rtt_ns"], 20_000_001);
    let (ours, model) = (&point["results"]["direct_bps"], &point["mathis"]["direct_bps"]);
    // 64,000 B in 20 ms are 25.6 Mb/s; the start and the time of packets on the wire are not in the formula.
    let ratio = ours.as_f64().unwrap() / model.as_f64().unwrap();
    assert!((0.9..=1.0).contains(&ratio), "{object}");
    assert_eq!(object["relayed"], Value::Null);
    let text = place.ok(&[&["model", "relay"], &options[..]].concat());
    assert!(text.contains("direct: Mathis") && text.contains("10ms"), "{text}");
    place.fails(2, &["model", "relay", "--beside", "beside", "--direct", "mptcp"], &["has no policy mptcp"]);
    place.fails(2, &["model", "relay", "--beside", "beside", "--traffic", "other"], &["no such traffic"]);
    place.fails(2, &["model", "relay", "--beside", "nowhere"], &["nowhere"]);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let place = Place::new();
    for (args, says) in [
        (&["--rtt", "1ms"][..], "less than twice --access-rtt 650us"),
        (&["--mss", "0B"], "--mss must be at least 1B"),
        (&["--window", "0B"], "the window must have room for something"),
        (&["--link", "0bps"], "a rate above 0"),
        (&["--loss", "100%"], "less than 1"),
        (&["--loss", "2"], "no share from 0 to 1"),
        (&["--delay", "5ms..1ms"], "must begin above 0 and rise"),
        (&["--relays", "0.5,0.2"], "which must be from 0 to 1 and behind the one before"),
        (&["--relays", "0,0"], "a round trip must take some time"),
        (&["--constant", "0"], "a number above 0"),
        (&["--direct", "tcp"], "--beside"),
    ] {
        place.fails(2, &[&["model", "relay"], args].concat(), &[says]);
    }
}
