//! `cost`.

use serde_json::Value;

use crate::Place;

fn json(place: &Place, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["cost", "--json"].iter().chain(args).copied().collect();
    let all: Value = serde_json::from_str(&place.ok(&args)).unwrap();
    all.as_array().unwrap().clone()
}

#[test]
fn the_published_numbers_stand_beside_ours() {
    let place = Place::new();
    let text = place.ok(&["cost", "--topology", "fat-tree,mhft", "--k", "48"]);
    for line in [
        "fat-tree, k = 48: 27,648 hosts of 1 interface, 82,944 cables",
        "published (thesis §7.2.2): 1,152 + 1,152 + 576 switches, 1,217 million USD",
        "multi-homed-fat-tree, k = 48: 27,648 hosts of 24 interfaces, 692,352 cables",
        "published (thesis §7.2.2): 27,648 + 1,152 + 24 switches, 1,016 million USD",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    let totals: Vec<&str> = text.lines().filter(|line| line.starts_with("all")).collect();
    assert!(totals[0].ends_with(" 1,217.664") && totals[1].ends_with(" 1,016.736"), "{totals:?}");
    assert!(!text.contains('*'), "everything fits\n{text}");
    let json = json(&place, &["--topology", "mhft", "--k", "48"]);
    assert_eq!((json.len(), &json[0]["published"]["cost_millions"], &json[0]["fits"]), (1, &1016.into(), &true.into()));
    assert_eq!(json[0]["tiers"][2]["ports_used"], 48, "a core's ports: one from each pod");
}

#[test]
fn all_topologies_are_compared_where_none_is_named() {
    let place = Place::new();
    let names = |args: &[&str]| -> Vec<String> {
        json(&place, args).iter().map(|one| one["topology"].as_str().unwrap().to_owned()).collect()
    };
    let trees = ["fat-tree", "dual-homed-fat-tree", "multi-homed-fat-tree"];
    assert_eq!(names(&[]), [&trees[..], &["bcube", "leaf-spine"]].concat());
    assert_eq!(names(&["--k", "4"]), trees);
    assert_eq!(names(&["--n", "4", "--levels", "2"]), ["bcube"]);
    assert_eq!(names(&["--leaves", "9", "--spines", "4", "--hosts-per-leaf", "16"]), ["leaf-spine"]);
    for one in json(&place, &["--hosts", "1000"]) {
        assert!(one["hosts"].as_u64().unwrap() >= 1000 && one["wanted_hosts"] == 1000, "{one}");
    }
}

#[test]
fn a_range_of_hosts_is_a_table() {
    let place = Place::new();
    let text = place.ok(&["cost", "--hosts", "1000..30000"]);
    let first: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(first[..3], ["1,000", "1,024", "1,458"]);
    assert!(first.contains(&"27,648") && first.contains(&"30,000"), "{text}");
    // The dual-homed tree's edge switches need k²/4 + k/2 ports: more than 48 from k = 14 on.
    assert!(text.lines().any(|line| line.starts_with("* ")) && text.contains("1,217.664 "), "{text}");
    let trees = json(&place, &["--topology", "fat-tree", "--hosts", "1000..2000"]);
    let k: Vec<_> = trees.iter().map(|one| one["parameters"]["k"].as_u64().unwrap()).collect();
    assert_eq!(k, [16, 16, 18, 20]);
}

#[test]
fn prices_are_those_of_the_list() {
    let place = Place::new();
    let default = place.ok(&["cost", "--show-prices"]);
    place.write("prices.toml", default.replace("price = 7000", "price = 14000").replace("cable = 0", "cable = 1000"));
    let tree = ["--topology", "fat-tree", "--k", "4", "--prices", "prices.toml"];
    // 8 edge switches, 12 above them, 48 cables.
    assert_eq!(json(&place, &tree)[0]["cost"], 8.0 * 14_000.0 + 12.0 * 700_000.0 + 48.0 * 1_000.0);
    let text = place.ok(&[&["cost"][..], &tree].concat());
    assert!(text.lines().any(|line| line.starts_with("cables ") && line.ends_with(" 0.048")), "{text}");
    place.write("bad.toml", default.replacen("price = 7000", "prize = 7000", 1));
    place.fails(2, &["cost", "--prices", "bad.toml"], &["prize", "did you mean `price`?", "bad.toml:13"]);
    place.write("few.toml", default.replacen(", \"core\"", "", 1));
    place.fails(2, &["cost", "--prices", "few.toml"], &["no switch of this price list is for the tier `core`"]);
    place.write("binary.toml", [0xff, 0xfe]);
    place.fails(2, &["cost", "--prices", "binary.toml"], &["not UTF-8"]);
    place.fails(2, &["cost", "--prices", "none.toml"], &["cannot read none.toml"]);
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let place = Place::new();
    let fails = |args: &[&str], words: &[&str]| {
        place.fails(2, &[&["cost"], args].concat(), words);
    };
    fails(&["--topology", "mhft", "--k", "5"], &["`k` is 5; it must be even"]);
    fails(&["--k", "4294967294"], &["the most is 1000000000"]);
    fails(&["--topology", "fat-tree", "--n", "8"], &["--n says nothing", "bcube"]);
    fails(&["--topology", "bcube", "--n", "8"], &["bcube needs both --n and --levels, or --hosts"]);
    fails(&["--topology", "bcube,mhft", "--k", "8"], &["bcube needs both --n and --levels, or --hosts"]);
    fails(&["--n", "8", "--levels", "2", "--hosts", "9"], &["leave one of them out"]);
    fails(&["--n", "4000000000", "--levels", "64"], &["the most is 1000000000"]);
    fails(&["--leaves", "4000000000", "--hosts-per-leaf", "4000000000"], &["the most is 1000000000"]);
    fails(&["--hosts", "9..8"], &["not above"]);
    fails(&["--hosts", "0"], &["no number of hosts"]);
    fails(&["--hosts", "1..2000000000"], &["no number of hosts"]);
    fails(&["--k", "4", "--hosts", "9"], &["--k", "--hosts"]);
}
