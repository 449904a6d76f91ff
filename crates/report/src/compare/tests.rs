use std::collections::BTreeMap;

use headway_results::{Cell, Estimate, Filter, Finished, Repeats, Summary, SweepPoint, differences as differ};

use super::*;

/// A folder of rows: policy, load, traffic, metric, and the value of each repeat.
fn folder(path: &str, seed: u64, text: &str, rows: &[(&str, i64, &str, &str, &[f64])]) -> (Finished, Repeats) {
    let sweep = |load: i64| SweepPoint::new().with("load", load);
    let row = |&(policy, load, traffic, metric, values): &(&str, i64, &str, &str, &[f64])| {
        let metric: Metric = metric.parse().unwrap();
        let estimate = Estimate::within(metric.support(), values);
        Row { policy: policy.into(), sweep: sweep(load), traffic: traffic.into(), metric, estimate }
    };
    let summary = Summary { sweep: vec!["load".into()], rows: rows.iter().map(row).collect() };
    let mut metrics: Vec<&str> = rows.iter().map(|row| row.3).collect();
    metrics.sort_unstable();
    metrics.dedup();
    let mut runs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (policy, load, traffic, metric, values) in rows {
        for (repeat, value) in values.iter().enumerate() {
            let run =
                runs.entry(format!("{policy},{load},{repeat},{traffic}")).or_insert(vec![String::new(); metrics.len()]);
            run[metrics.iter().position(|own| own == metric).unwrap()] = value.to_string();
        }
    }
    let mut header = vec!["policy", "sweep_load", "repeat", "traffic"];
    header.extend(metrics.iter());
    let mut csv = format!("{}\n", header.join(","));
    for (run, values) in runs {
        let _ = writeln!(csv, "{run},{}", values.join(","));
    }
    let cells = vec![Cell { index: 0, policy: "tcp".into(), sweep: sweep(1) }];
    let manifest = Manifest::new("web", text, seed, 3, "0.1.0", cells);
    (Finished { path: path.into(), manifest, summary }, Repeats::read(csv.as_bytes()).unwrap())
}

fn a() -> (Finished, Repeats) {
    let rows: [(_, _, _, _, &[f64]); 7] = [
        ("tcp", 1, "short", "fct.mean", &[0.012, 0.0125, 0.0117]),
        ("tcp", 1, "short", "fairness", &[0.759, 0.759, 0.759]),
        ("tcp", 1, "short", "timeouts", &[3.0, 4.0, 2.0]),
        ("tcp", 8, "short", "fct.mean", &[0.30, 0.28, 0.32]),
        ("tcp", 8, "short", "flows", &[240.0, 240.0, 240.0]),
        ("dctcp", 1, "short", "fct.mean", &[0.010, 0.011, 0.0105]),
        ("dctcp", 8, "long", "goodput.mean", &[1e9, 1.1e9, 0.9e9]),
    ];
    folder("results/a", 1, "a", &rows)
}

fn b(seed: u64) -> (Finished, Repeats) {
    let rows: [(_, _, _, _, &[f64]); 6] = [
        ("tcp", 1, "short", "fct.mean", &[0.009, 0.0093, 0.0088]),
        ("tcp", 1, "short", "fairness", &[0.759 + 1e-10, 0.759 - 1e-10, 0.759]),
        ("tcp", 1, "short", "timeouts", &[3.0, 3.0, 4.0]),
        ("tcp", 8, "short", "flows", &[250.0, 250.0, 250.0]),
        ("dctcp", 1, "short", "fct.mean", &[0.010, 0.011, 0.0105]),
        ("mptcp", 8, "short", "fct.mean", &[0.30, 0.28, 0.32]),
    ];
    folder("results/b", seed, "a", &rows)
}

fn text(a: &(Finished, Repeats), b: &(Finished, Repeats), all: bool, width: usize) -> String {
    let [a, b] = [a, b].map(|(folder, repeats)| Side::new(folder, Some(repeats), Vec::new()).unwrap());
    let found = differ(&a, &b, &Filter::default()).unwrap();
    comparison(&a, &b, &found, all, Layout { width, colour: false })
}

#[test]
fn rows_that_differ_are_shown_with_their_interval() {
    let shown = text(&a(), &b(1), false, 80);
    // tcp at 1: differences −3, −3.2, −2.9 ms: mean −3.0333, s = 0.152753, half width 0.379463.
    let expected = "\
A: results/a (web, seed 1, 3 repeats, version 0.1.0)
B: results/b (web, seed 1, 3 repeats, version 0.1.0)

short: fct.mean in ms
policy  load     A     B          B − A [95 %]   change
tcp     1     12.1  9.03  -3.03 [-3.41, -2.65]  -25.1 %

short: flows
policy  load    A    B  B − A [95 %]   change
tcp     8     240  250           +10  +4.17 %

2 of 5 rows differ; --all shows every row
1 row ~: the interval has 0 in it, so these repeats show no difference
2 rows are equal
Intervals are of differences within each repeat (paired): both have the same
  seed
2 rows only in A:
  tcp at load=8, short: fct.mean
  dctcp at load=8, long: goodput.mean
1 row only in B:
  all of policy mptcp
";
    assert_eq!(shown, expected, "\n{shown}");
}

#[test]
fn all_rows_are_shown_on_demand_with_their_marks() {
    let shown = text(&a(), &b(2), true, 80);
    for part in [
        "note: the seeds differ: 1 and 2\n",
        "short: timeouts\n",
        " ~\n",
        "dctcp   1     10.5  10.5      0 [-1.13, +1.13] ~",
        "short: fairness\n",
        "Intervals are of two independent samples (Welch)\n",
    ] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    assert!(!shown.contains("-0.00"), "\n{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "\n{shown}");
}

#[test]
fn equal_folders_are_said_to_be_equal() {
    let shown = text(&a(), &a(), false, 80);
    assert!(shown.ends_with(")\n\n7 rows are equal\n"), "\n{shown}");
}

/// Two values of one folder, where nothing else tells rows apart: metrics below each other.
#[test]
fn values_of_a_swept_name_are_compared() {
    let (folder, repeats) = a();
    let side = |load: &str| {
        let choice = vec![("policy".to_owned(), "tcp".to_owned()), ("load".to_owned(), load.to_owned())];
        Side::new(&folder, Some(&repeats), choice).unwrap()
    };
    let (a, b) = (side("1"), side("8"));
    // Differences 288, 267.5, 308.3 ms: mean 287.93, s = 20.4, half width 50.7.
    let found = differ(&a, &b, &Filter::default()).unwrap();
    let shown = comparison(&a, &b, &found, false, Layout { width: 80, colour: false });
    let expected = "\
A: results/a, policy=tcp, load=1 (web, seed 1, 3 repeats, version 0.1.0)
B: results/a, policy=tcp, load=8 (web, seed 1, 3 repeats, version 0.1.0)

short
metric    unit     A    B       B − A [95 %]   change
fct.mean  ms    12.1  300  +288 [+237, +339]  +2386 %

1 of 1 row differs
";
    assert!(shown.starts_with(expected), "\n{shown}");
}

/// Chance alone finds differences among many rows.
#[test]
fn rows_that_would_differ_by_chance_are_told() {
    let rows: Vec<(String, [f64; 3])> = (0..40).map(|i| (format!("p{i}"), [1.0 + f64::from(i), 2.0, 3.5])).collect();
    let of = |plus: f64| {
        let values: Vec<[f64; 3]> = rows.iter().map(|(_, [a, b, c])| [a + plus, b - plus, c + plus / 2.0]).collect();
        let rows: Vec<(&str, i64, &str, &str, &[f64])> = rows
            .iter()
            .zip(&values)
            .map(|((name, _), values)| (name.as_str(), 1, "x", "timeouts", &values[..]))
            .collect();
        folder("results/c", 1, "c", &rows)
    };
    let shown = text(&of(0.0), &of(0.5), false, 80);
    assert!(shown.contains("0 of 40 rows differ; --all shows every row\n40 rows ~: "), "\n{shown}");
    assert!(
        shown.contains("If nothing differed, about 2 of the 40 rows with intervals would by chance\n"),
        "\n{shown}"
    );
}

#[test]
fn another_text_of_one_name_is_noticed() {
    let ((a, _), (b, _)) = (a(), folder("results/b", 1, "b", &[]));
    let found = differences(&a.manifest, &b.manifest);
    assert_eq!(found, ["the scenarios have the same name, but different texts"]);
    assert!(differences(&a.manifest, &a.manifest).is_empty());
}
