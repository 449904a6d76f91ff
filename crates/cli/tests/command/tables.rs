//! Which numbers are printed, and how wide.

use crate::Place;

/// Neither files nor pipes are wider.
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} wide:\n{line}\n\n{text}", line.chars().count());
    }
}

/// What follows the tables' first words up to `, `.
fn titles(text: &str) -> Vec<&str> {
    let is_title = |line: &&str| line.contains("± half of the 95 %") || line.contains("of all repeats");
    text.lines().filter(is_title).map(|line| line.split_once(", ").map_or(line, |(title, _)| title)).collect()
}

#[test]
fn lists_fit_80_columns() {
    let place = Place::new();
    let list = place.ok(&["list"]);
    fits(&list);
    assert!(list.contains("\nlanes-l7-queue-buildup "), "{list}");
    let experiments = place.ok(&["reproduce", "--list"]);
    fits(&experiments);
    assert!(experiments.contains("kernel hosts: tcp, mptcp"), "{experiments}");
}

#[test]
fn results_fit_80_columns_whatever_the_names() {
    let place = Place::new();
    fits(&place.ok(&["run", "tiny.toml", "--out", "short"]));
    let long = |name: &str| format!("{name}{}", "-with-a-long-name".repeat(3));
    let tiny = crate::TINY.replace("\"sack\"", &format!("\"{}\"", long("sack")));
    let tiny = tiny.replace("\"new-reno\"\n", &format!("\"{}\"\n", long("new-reno")));
    let sweep = format!("long = [0, 1]\n{} = [\"32KB\", \"64KB\"]", long("room"));
    let tiny = tiny.replace("long = [0, 1]", &sweep);
    let limit = format!("limit = \"${}\"", long("room"));
    place.write("tiny.toml", tiny.replacen("limit = \"32KB\"", &limit, 1));
    let text = place.ok(&["run", "tiny.toml", "--out", "long", "--repeats", "2"]);
    fits(&text);
    assert!(text.contains(&format!("point 4: long=1, {}=64KB", long("room"))), "{text}");
    for options in [&["--by", "size"][..], &["--metric", "fct.p99,drops"], &["--traffic", "short"]] {
        fits(&place.ok(&[&["show", "long"], options].concat()));
    }
    fits(&place.ok(&["reproduce", "l6", "--no-kernel-hosts", "--policy", "mptcp,repflow", "--quiet"]));
}

#[test]
fn tables_answer_what_was_asked() {
    let place = Place::new();
    let asked = ["--metric", "fct.p99.9,timeouts,drops", "--traffic", "short"];
    let text = place.ok(&[&["run", "tiny.toml"], &asked[..]].concat());
    assert_eq!(
        titles(&text),
        ["short: p99.9 FCT in ms", "short: time-outs in a run", "network: frames dropped in a run"]
    );
    let shown = place.ok(&[&["show", "results/tiny"], &asked[..]].concat());
    assert!(text.starts_with(&shown), "{shown}\nis not how this begins:\n{text}");
    let one = place.ok(&["show", "results/tiny", "--policy", "sack", "--metric", "slowdown.p50"]);
    assert!(one.contains("short (policy sack), ") && one.contains("p50 slowdown"), "{one}");
    let json = place.ok(&["show", "results/tiny", "--policy", "sack", "--metric", "slowdown.p50", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = json["summary"].as_array().unwrap();
    assert!(!rows.is_empty() && rows.iter().all(|row| row["policy"] == "sack" && row["metric"] == "slowdown.p50"));
}

#[test]
fn a_finished_folder_shows_what_its_run_printed() {
    let place = Place::new();
    let text = place.ok(&["run", "tiny.toml"]);
    assert_eq!(place.ok(&["show", "results/tiny"]), text);
    let default = ["mean FCT", "p50 FCT", "p95 FCT", "p99 FCT"].map(|name| format!("short: {name} in ms"));
    assert_eq!(titles(&text)[..4], default, "{text}");
    // A folder of an older version lacks p50: it is left out, and can be asked for.
    let csv = place.read("results/tiny/summary.csv");
    let old: Vec<&str> = csv.lines().filter(|line| !line.contains(",fct.p50,")).collect();
    assert!(old.len() < csv.lines().count());
    place.write("results/tiny/summary.csv", old.join("\n") + "\n");
    let without = place.ok(&["show", "results/tiny"]);
    assert!(!without.contains("p50") && without.contains("p95"), "{without}");
    let asked = place.ok(&["show", "results/tiny", "--metric", "fct.p50"]);
    let table = asked.split_once("\n\n").unwrap().1;
    assert!(text.contains(table.trim_end()), "{table}\nis not in\n{text}");
}

#[test]
fn slowdown_by_size_has_the_page_s_bins() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml"]);
    let text = place.ok(&["show", "results/tiny", "--by", "size", "--metric", "slowdown.p50"]);
    assert_eq!(titles(&text), ["short: p50 slowdown"], "{text}");
    for size in ["1KB to 3KB", "3KB to 10KB", "10KB to 30KB"] {
        assert!(text.contains(size), "{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&place.ok(&["show", "results/tiny", "--by", "size", "--json"])).unwrap();
    let flows: u64 = json["by_size"].as_array().unwrap().iter().map(|row| row["flows"].as_u64().unwrap()).sum();
    let page = place.read("results/tiny/report.html");
    assert!(flows > 100 && page.contains("\"slowdown\":[{"), "{flows}");
    assert_eq!(flows, place.manifest("results/tiny")["runs"].as_array().unwrap().iter().map(short_flows).sum::<u64>());
}

/// Of a run, without the long flow that every second point has.
fn short_flows(run: &serde_json::Value) -> u64 {
    run["flows"].as_u64().unwrap() - u64::from(run["cell"].as_u64().unwrap() >= 2)
}

#[test]
fn unknown_names_are_refused_with_those_there_are_before_anything_runs() {
    let place = Place::new();
    let metric = ["unknown metric `fct.p90th`", "known are fct.STATISTIC"];
    place.fails(2, &["run", "tiny.toml", "--metric", "fct.p90th"], &metric);
    let traffic = ["there is no traffic `shrt`", "there are short, long"];
    place.fails(2, &["run", "tiny.toml", "--traffic", "shrt"], &traffic);
    let kept = ["no results of this scenario hold what `paused` is taken of"];
    place.fails(2, &["run", "tiny.toml", "--metric", "paused"], &kept);
    let by = ["by size there is no metric `drops`", "slowdown.p50, slowdown.p95, slowdown.p99, slowdown.p99.9"];
    place.fails(2, &["run", "tiny.toml", "--by", "size", "--metric", "drops"], &by);
    assert!(!place.path("results").exists());
    place.ok(&["run", "tiny.toml"]);
    let show = ["show", "results/tiny"];
    place.fails(2, &[&show[..], &["--traffic", "shrt"]].concat(), &traffic);
    place.fails(2, &[&show[..], &["--metric", "paused"]].concat(), &["does not hold what `paused` is taken of"]);
    let policy = ["there is no policy `tcp`", "there are sack, new-reno"];
    place.fails(2, &[&show[..], &["--policy", "tcp"]].concat(), &policy);
    place.fails(2, &[&show[..], &["--quick"]].concat(), &["--quick is for scenarios"]);
    place.fails(2, &["show", "tiny.toml", "--metric", "drops"], &["are for folders of results"]);
    place.fails(2, &["show", "results"], &["results is not a results folder"]);
}
