//! A judge is two files of one name: one here, one in `headway-control`. docs/adding/judge.md says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use headway_control::lanes::{Backlog, BytesSent, Deadline, DeliveryRate, Judge, LinkCost};
use headway_language::{Field, Parse, Problems};
use headway_levers::lanes::{JudgeRecord, LaneOpen, LanesRecord, ModelledLanesRecord, Sampling};

/// The names of the judges in a crate's `lanes/judge/`.
fn files(of: &str) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(of).join("src/lanes/judge");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "mod.rs").map(|name| name.trim_end_matches(".rs").replace('_', "-")).collect()
}

fn read<T: Field>(text: &str) -> Result<T, Problems> {
    let Parse { tree, mut reader } = Parse::new(text, "x.toml", 10_000)?;
    let record = T::read(&tree, &mut reader);
    record.ok_or_else(|| Problems::new(reader.into_problems()))
}

fn judge(kind: &str) -> JudgeRecord {
    // that of a program is known by its name
    let name = if kind == "own" { "name = \"mine\"" } else { "" };
    read(&format!("kind = \"{kind}\"\n{name}\n")).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_judge_has_a_file_in_both_crates_and_is_called_like_them() {
    let all = files("levers");
    assert!(all.len() >= 5, "{all:?}");
    assert_eq!(all, files("control"));
    for kind in &all {
        assert_eq!(judge(kind).judge(Sampling::Acks).name(), kind);
    }
    let problems = read::<JudgeRecord>("kind = \"no-such\"").unwrap_err().to_string();
    for kind in &all {
        assert!(problems.contains(kind), "{problems}");
    }
}

/// Bytes of a default are those that the judge's file documents, whoever reads it.
#[test]
fn left_out_keys_are_the_judges_own_defaults() {
    let of = |kind: &str, sampling| judge(kind).judge(sampling);
    for sampling in [Sampling::Acks, Sampling::Polls] {
        assert_eq!(of("deadline", sampling), Deadline::default().into());
        assert_eq!(of("bytes-sent", sampling), BytesSent::default().into());
        assert_eq!(of("backlog", sampling), Backlog::default().into());
        assert_eq!(of("delivery-rate", sampling), DeliveryRate::default().into());
    }
    assert_eq!(of("link-cost", Sampling::Acks), LinkCost::default().into());
    // what the kernel has smoothed is not smoothed again
    assert_eq!(of("link-cost", Sampling::Polls), Judge::LinkCost(LinkCost { smoothing: 1.0, ..LinkCost::default() }));
    for kind in files("levers") {
        assert_eq!(judge(&kind).check(), None, "{kind}");
    }
}

#[test]
fn a_judge_that_compares_lanes_opens_them_before_it_decides() {
    for kind in files("levers") {
        let judge = judge(&kind);
        let compares = judge.judge(Sampling::Polls).compares_lanes();
        assert_eq!(judge.opens() == LaneOpen::Early, compares, "{kind}");
        assert_eq!(judge.check_open(Some(LaneOpen::WhenLong)).is_some(), compares, "{kind}");
        assert_eq!(judge.check_open(Some(LaneOpen::Early)), None, "{kind}");
    }
}

#[test]
fn what_both_hosts_have_is_read_alike_alone_and_among_the_rest() {
    let text = "open = \"when-long\"\npatience = \"4s\"\nhistory = { long-share = 0.5 }\n\
                judge = { kind = \"backlog\", threshold = \"1MB\" }\n";
    let alone: LanesRecord = read(text).unwrap();
    let within: ModelledLanesRecord = read(&format!("short = 2\nstart = \"hash\"\n{text}")).unwrap();
    assert_eq!((within.common, within.short), (alone, 2));
}

#[test]
fn contradictions_are_found_at_their_keys() {
    let of = |text: &str| {
        let record: ModelledLanesRecord = read(text).unwrap_or_else(|problems| panic!("{problems}"));
        record.check().iter().map(|mistake| mistake.key).collect::<Vec<_>>()
    };
    assert_eq!(of("judge = \"backlog\""), [""; 0]);
    assert_eq!(of("judge = \"link-cost\"\nopen = \"when-long\""), ["open"]);
    assert_eq!(of("judge = \"backlog\"\nback = {}\nstart = \"least-cost\""), ["start", "back"]);
    assert_eq!(of("start = \"least-cost\"\nhistory = {}"), [""; 0]);
}

#[test]
fn what_linux_cannot_do_is_named_with_its_reason() {
    let of = |text: &str| read::<ModelledLanesRecord>(text).unwrap().beyond_linux().map(|(key, ..)| key);
    assert_eq!(of("judge = \"deadline\"\nopen = \"when-long\"\npatience = \"1s\"\nhistory = {}\nshort = 2"), None);
    for key in ["start = \"hash\"", "leftovers = {}", "back = {}", "judge = { kind = \"own\", name = \"mine\" }"] {
        assert_eq!(of(key), key.split(' ').next(), "{key}");
    }
}
