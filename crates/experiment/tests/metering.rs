//! The costs in the scenarios `metering-m1` to `metering-m3` are those that follow from the published tables of M1 and M2, as
//! docs/scenarios/metering-m1.md and metering-m2.md say.

use std::collections::BTreeMap;
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// By column the rows that have a number: sessions, requests/s.
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

#[test]
fn costs_of_clients_of_1_gbps_are_the_lines_of_the_published_tables() {
    let alone = table("metering-m1-one-client.csv");
    let lines: BTreeMap<&str, (f64, f64)> = alone.iter().map(|(name, rows)| (name.as_str(), line(rows))).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| lines.values().map(of).sum::<f64>() / lines.len() as f64;
    let second = (mean(|line| line.0), mean(|line| line.1));
    let scenario = read("scenarios/metering-m1.toml");
    for (client, sets) in [("1", 3), ("2", 1), ("3", 3), ("4", 2)] {
        let own = lines.get(format!("client{client}").as_str()).copied().unwrap_or(second);
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
    let scenario = read("scenarios/metering-m3.toml");
    for (client, rows) in table("metering-m1-two-to-one-twice.csv") {
        let expected = format!("on = \"{client}\", concurrency = 100, {}", keys(line(&rows)));
        assert!(scenario.contains(&expected), "{expected}");
    }
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
