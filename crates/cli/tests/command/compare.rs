//! `headway compare`.

use crate::Place;

#[test]
fn two_folders_are_compared_row_by_row() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "a"]);
    place.ok(&["run", "tiny.toml", "--seed", "2", "--set", "sweep.long=[1, 2]", "--out", "b"]);
    let text = place.ok(&["compare", "a", "b"]);
    assert!(text.starts_with("A: a (tiny, seed 1, 3 repeats, version "), "{text}");
    for part in [
        "note: the seeds differ: 1 and 2",
        "policy    at      traffic",
        " %  overlap",
        "only in A:\n  sack at long=0, short: fct.mean, ",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&place.ok(&["compare", "a", "b", "--json"])).unwrap();
    assert_eq!(json["differences"], serde_json::json!(["the seeds differ: 1 and 2"]));
    let row = &json["rows"][0];
    assert_eq!(
        (&row["policy"], &row["sweep"]["long"], &row["metric"]),
        (&"sack".into(), &1.into(), &"fct.mean".into())
    );
    let (a, b) = (row["a"]["value"].as_f64().unwrap(), row["b"]["value"].as_f64().unwrap());
    let change = row["change_percent"].as_f64().unwrap();
    assert!((change - (b - a) / a * 100.0).abs() < 1e-9, "{row}");
    assert!(json["only_a"].as_array().unwrap().iter().all(|row| row["sweep"]["long"] == 0));
    assert!(json["only_b"].as_array().unwrap().iter().all(|row| row["sweep"]["long"] == 2));
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
