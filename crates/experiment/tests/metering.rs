//! The costs in the scenarios `metering-m1` to `metering-m3` are those that follow from the published tables of M1 and M2, as
//! docs/scenarios/metering-m1.md and metering-m2.md say.

use std::collections::BTreeMap;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// By column the rows that have a number: the first column (sessions, Mb/s), requests/s.
fn table(name: &str) -> BTreeMap<String, Vec<(f64, f64)>> {
    let text = read(&format!("published/{name}"));
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let mut table: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let sessions: f64 = cells[0].parse().expect("a number of sessions");
        for (column, cell) in columns.iter().zip(&cells).skip(1).filter(|(_, cell)| !cell.is_empty()) {
            table.entry((*column).to_owned()).or_default().push((sessions, cell.parse().expect("a rate")));
        }
    }
    table
}

/// The least-squares line of the time for a request, us, over sessions: at none, and for each (ns).
fn line(rows: &[(f64, f64)]) -> (f64, f64) {
    let n = rows.len() as f64;
    let times: Vec<(f64, f64)> = rows.iter().map(|&(sessions, rate)| (sessions, 1e6 / rate)).collect();
    let (mx, my) = (times.iter().map(|t| t.0).sum::<f64>() / n, times.iter().map(|t| t.1).sum::<f64>() / n);
    let slope = times.iter().map(|t| (t.0 - mx) * (t.1 - my)).sum::<f64>()
        / times.iter().map(|t| (t.0 - mx).powi(2)).sum::<f64>();
    (my - slope * mx, slope * 1e3)
}

fn keys((cost, session): (f64, f64)) -> String {
    format!("cpu-per-request = \"{cost:.2}us\", cpu-per-session = \"{session:.2}ns\"")
}

/// What a single client's request takes, by its number; that of client 2, which was not measured, is the mean of the others.
fn alone() -> BTreeMap<u32, (f64, f64)> {
    let table = table("metering-m1-one-client.csv");
    let lines: Vec<(f64, f64)> = ["client1", "client3", "client4"].iter().map(|&name| line(&table[name])).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| lines.iter().map(of).sum::<f64>() / lines.len() as f64;
    let second = (mean(|line| line.0), mean(|line| line.1));
    BTreeMap::from([(1, lines[0]), (2, second), (3, lines[1]), (4, lines[2])])
}

#[test]
fn costs_of_clients_of_1_gbps_are_the_lines_of_the_published_tables() {
    let alone = alone();
    let scenario = read("scenarios/metering-m1.toml");
    for (client, sets) in [(1, 3), (2, 1), (3, 3), (4, 2)] {
        let own = alone[&client];
        let mut found = 0;
        for set in ["alone", "pairs", "shared"] {
            let expected = format!("on = \"{set}{client}\", concurrency = \"$sessions\", {}", keys(own));
            found += scenario.matches(&expected).count();
        }
        assert_eq!(found, sets, "client {client}: {}", keys(own));
    }
}

#[test]
fn costs_in_company_are_the_lines_of_the_table_of_four_clients() {
    for file in ["m3", "m3-explained"] {
        let scenario = read(&format!("scenarios/metering-{file}.toml"));
        for (client, rows) in table("metering-m1-two-to-one-twice.csv") {
            let expected = format!("on = \"{client}\", concurrency = 100, {}", keys(line(&rows)));
            assert!(scenario.contains(&expected), "{file}: {expected}");
        }
    }
}

/// The other reading: clients as they are alone, and a server that takes as much as M2 allows. It cannot take what M1 would
/// need for its loss, since M2 has about twice as many of it.
#[test]
fn the_loss_in_company_is_the_servers_as_far_as_m2_allows() {
    let scenario = read("scenarios/metering-m3.toml");
    for (client, own) in alone() {
        let expected = format!("on = \"lone{client}\", concurrency = 100, {}", keys(own));
        assert!(scenario.contains(&expected), "{expected}");
    }
    let most = |rows: &[(f64, f64)]| rows.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
    let best = most(&table("metering-m2.csv")["requests_per_s"]);
    let company = table("metering-m1-two-to-one-twice.csv");
    for (one, other) in [("client1", "client4"), ("client2", "client3")] {
        let pair: Vec<(f64, f64)> = company[one].iter().zip(&company[other]).map(|(a, b)| (a.0, a.1 + b.1)).collect();
        assert!(most(&pair) * 2.0 < best * 1.01, "{one} and {other}");
    }
    assert!(scenario.contains(&format!("cpu-per-request = \"{:.0}us\" }} }}", 4e6 / best)));
}

/// What is fitted is what `metering-m3-explained` says, and `metering-m3` has none of it.
#[test]
fn fitted_costs_are_those_of_m3_and_in_no_prediction() {
    let (m3, prediction) = (table("metering-m3.csv"), read("scenarios/metering-m3.toml"));
    let fitted = read("scenarios/metering-m3-explained.toml");
    for client in 1..=4 {
        let rows = m3[&format!("client{client}_1g")].iter().filter(|row| row.0 <= 350.0);
        let times: Vec<f64> = rows.map(|row| 1e6 / row.1).collect();
        let cost = format!("\"{:.1}us\"", times.iter().sum::<f64>() / times.len() as f64);
        assert!(
            fitted.contains(&format!("on = \"both{client}\", concurrency = 100, cpu-per-request = {cost}")),
            "{cost}"
        );
        assert!(!prediction.contains(&cost));
    }
    let peak = m3["total_printed"].iter().map(|row| row.1).fold(0.0, f64::max);
    let server = format!("cpu-per-request = \"{:.0}us\"", 4e6 / peak);
    assert_eq!(fitted.matches(&server).count(), 2);
    assert!(!prediction.contains(&server));
}

#[test]
fn the_client_of_10_gbps_takes_the_mean_time_of_m2() {
    let rows = &table("metering-m2.csv")["requests_per_s"];
    let mean = rows.iter().map(|(_, rate)| 1e6 / rate).sum::<f64>() / rows.len() as f64;
    // sessions make no difference that the rows show: the line even falls, by less than a nanosecond for each
    assert!(line(rows).1.abs() < 1.0 && line(rows).1 < 0.0);
    for (file, head) in
        [("m2", "on = \"dell\", concurrency = \"$sessions\""), ("m3", "on = \"dell\", concurrency = 1000")]
    {
        let expected = format!("{head}, cpu-per-request = \"{mean:.2}us\"");
        assert!(read(&format!("scenarios/metering-{file}.toml")).contains(&expected), "{expected}");
    }
    // four workers that do as many as the best row of M2 take so long for each
    let best = rows.iter().map(|&(_, rate)| rate).fold(0.0, f64::max);
    assert_eq!(format!("{:.0}us", 4e6 / best), "144us");
}
