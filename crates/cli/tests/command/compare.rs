//! `headway compare`.

use crate::Place;

#[test]
fn two_folders_are_compared_row_by_row() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "a"]);
    place.ok(&["run", "tiny.toml", "--seed", "2", "--set", "sweep.long=[1, 2]", "--out", "b"]);
    let text = place.ok(&["compare", "a", "b"]);
    assert!(text.starts_with("A: a (tiny, seed 1, 3 repeats, version "), "{text}");
    for part in ["note: the seeds differ: 1 and 2", "--all shows every row", "Welch", "only in A:\n  sack at long=0, "]
    {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let all = place.ok(&["compare", "a", "b", "--all"]);
    assert!(all.lines().count() > text.lines().count() && all.contains(" ~ "), "{all}");
    let json: serde_json::Value = serde_json::from_str(&place.ok(&["compare", "a", "b", "--json"])).unwrap();
    assert_eq!(json["differences"], serde_json::json!(["the seeds differ: 1 and 2"]));
    let row = &json["rows"][0];
    assert_eq!(
        (&row["policy"], &row["sweep"]["long"], &row["metric"], &row["method"]),
        (&"sack".into(), &1.into(), &"fct.mean".into(), &"independent".into())
    );
    let (a, b) = (row["a"]["value"].as_f64().unwrap(), row["b"]["value"].as_f64().unwrap());
    let change = row["change_percent"].as_f64().unwrap();
    assert!((change - (b - a) / a * 100.0).abs() < 1e-9, "{row}");
    assert!((row["difference"]["value"].as_f64().unwrap() - (b - a)).abs() < 1e-12, "{row}");
    assert!(json["only_a"].as_array().unwrap().iter().all(|row| row["sweep"]["long"] == 0));
    assert!(json["only_b"].as_array().unwrap().iter().all(|row| row["sweep"]["long"] == 2));
}

/// One folder at two values of a swept name, repeat by repeat; and policies as values.
#[test]
fn values_of_a_swept_name_are_compared() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "a"]);
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&place.ok(&[&["compare", "--json"], args].concat())).unwrap()
    };
    let found = json(&["a:long=0", "a:long=1", "--metric", "fct.mean,timeouts", "--traffic", "short"]);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{found}");
    assert!(
        rows.iter().all(|row| row["method"] == "paired" && row["sweep"].as_object().unwrap().is_empty()),
        "{found}"
    );
    // The difference is that of the repeats that repeats.csv has.
    let table = place.read("a/repeats.csv");
    let column = table.lines().next().unwrap().split(',').position(|name| name == "fct.mean").unwrap();
    let of = |long: &str| -> Vec<f64> {
        let rows = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let wanted = rows.filter(|row| row[0] == "sack" && row[1] == long && row[3] == "short");
        wanted.map(|row| row[column].parse().unwrap()).collect()
    };
    let (zero, one) = (of("0"), of("1"));
    assert_eq!(zero.len(), 3);
    let mean = zero.iter().zip(&one).map(|(a, b)| b - a).sum::<f64>() / 3.0;
    let row = rows.iter().find(|row| row["policy"] == "sack" && row["metric"] == "fct.mean").unwrap();
    assert!((row["difference"]["value"].as_f64().unwrap() - mean).abs() < 1e-12, "{row} {mean}");
    let policies = json(&["a:policy=sack,long=1", "a:long=1,policy=new-reno", "--metric", "fct.mean"]);
    assert_eq!(policies["rows"][0]["policy"], "");
    for (args, error, help) in [
        (["a:lng=0", "a:long=1"], "nothing is swept under the name `lng` in a", "there is: long, policy"),
        (["a:long=7", "a:long=1"], "`long` has no value `7` in a", "there is: 0, 1"),
        (["a:long=0", "a"], "nothing can be compared: A has rows by policy, and B by policy, long", "DIR:NAME=VALUE"),
    ] {
        place.fails(2, &[&["compare"], &args[..]].concat(), &[error, help]);
    }
    place.fails(2, &["compare", "a", "a", "--metric", "fct.p98"], &["no row has the metric `fct.p98`", "fct.p99"]);
}

#[test]
fn equal_results_are_said_to_be_equal() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "a"]);
    place.ok(&["run", "tiny.toml", "--out", "b"]);
    let text = place.ok(&["compare", "a", "b"]);
    assert!(text.ends_with(" rows are equal\n") && !text.contains("differ"), "{text}");
}

#[test]
fn what_is_no_results_folder_is_refused() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "a"]);
    place.fails(2, &["compare", "a", "nowhere"], &["error: cannot read nowhere"]);
    std::fs::create_dir(place.path("empty")).unwrap();
    place.fails(2, &["compare", "a", "empty"], &["error: empty is not a results folder"]);
    place.write("a/summary.csv", "not ours\n");
    place.fails(3, &["compare", "a", "a"], &["error: a/summary.csv is damaged"]);
}
