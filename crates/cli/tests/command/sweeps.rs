//! Sweeps that outgrow a machine: stores, shards, merging, scripts for Slurm.

use std::path::Path;

use serde_json::Value;

use crate::{Place, names};

/// The manifest without times, and without the command line.
fn lasting(place: &Place, folder: &str) -> Value {
    let mut manifest = place.manifest(folder);
    for own in ["started", "finished", "wall_s", "command"] {
        assert!(manifest.as_object_mut().unwrap().remove(own).is_some(), "{own}");
    }
    manifest
}

#[test]
fn a_store_is_used_when_it_is_named_and_only_then() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "plain"]);
    let run = |out: &str, more: &[&str]| {
        let ran = place.headway(&[&["run", "tiny.toml", "--out", out], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    };
    assert!(!run("a", &[]).contains("store"));
    assert!(run("b", &["--store", "kept"]).contains("0 of 12 runs were in the store"));
    assert!(run("c", &["--store", "kept"]).contains("12 of 12 runs were in the store"));
    assert!(place.same_results("plain", "c"));
    assert_eq!(lasting(&place, "plain"), lasting(&place, "c"));

    let by_variable = |out: &str, more: &[&str]| {
        let args = [&["run", "tiny.toml", "--out", out], more].concat();
        let output = place.command(&args).env("HEADWAY_STORE", "kept").output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(by_variable("d", &["--repeats", "4"]).contains("12 of 16 runs were in the store"));
    assert!(!by_variable("e", &["--no-store"]).contains("store"));

    // Something else of the user's is never made a store, and no folder of results is begun then.
    place.write("mine/file", "x");
    place.fails(2, &["run", "tiny.toml", "--out", "f", "--store", "mine"], &["mine is not a store of runs"]);
    assert!(!place.path("f").exists());
}

#[test]
fn a_store_is_listed_checked_and_cleared_up() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--store", "kept", "--out", "a"]);
    let text = place.ok(&["store", "ls", "kept"]);
    assert!(text.contains("tiny") && text.contains("\n12 runs, "), "{text}");
    let json: Value = serde_json::from_str(&place.ok(&["store", "ls", "kept", "--json"])).unwrap();
    assert_eq!((&json["runs"], &json["groups"][0]["scenario"]), (&12.into(), &"tiny".into()));
    assert_eq!(place.ok(&["store", "verify", "kept"]), "12 runs, 0 damaged\n");

    let runs = place.path("kept/runs");
    let folder = runs.join(&names(&runs)[0]);
    let file = folder.join(&names(&folder)[0]);
    std::fs::write(&file, "x").unwrap();
    let ran = place.headway(&["store", "verify", "kept"]);
    assert_eq!((ran.code, ran.out.contains("12 runs, 1 damaged")), (Some(1), true), "{}", ran.out);
    let again = place.headway(&["run", "tiny.toml", "--store", "kept", "--out", "b"]).err;
    assert!(again.contains("damaged runs of the store were computed again"), "{again}");
    assert!(again.contains("11 of 12 runs were in the store"), "{again}");
    assert!(place.same_results("a", "b"));

    std::fs::write(&file, "x").unwrap();
    assert!(place.ok(&["store", "gc", "kept", "--dry-run"]).starts_with("1 runs would be removed"));
    assert!(place.ok(&["store", "gc", "kept"]).starts_with("1 runs removed"));
    assert!(place.ok(&["store", "gc", "kept", "--older-than", "1d"]).contains("0 runs removed"));
    assert!(place.ok(&["store", "prune", "kept", "--older-than", "0h"]).contains("11 runs removed"));
    place.fails(2, &["store", "ls"], &["there is no store", "HEADWAY_STORE"]);
    place.fails(2, &["store", "ls", "a"], &["a is not a store of runs"]);
}

#[test]
fn shards_merge_to_the_bytes_of_one_run() {
    let place = Place::new();
    // Overrides leave claims out, which shards have to remember.
    let how = ["--set", "sweep.long=[0, 1, 2]", "--policy", "new-reno", "--repeats", "5", "--seed", "9"];
    let run = |more: &[&str]| place.headway(&[&["run", "tiny.toml"], &how[..], more].concat());
    assert_eq!(run(&["--out", "whole"]).code, Some(0));
    let mut runs = Vec::new();
    for shard in 1..=4 {
        let (name, out) = (format!("{shard}/4"), format!("shards/{shard}"));
        let ran = run(&["--shard", &name, "--out", &out, "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!((&told["shard"], &told["runs"]), (&name.as_str().into(), &told["computed"]));
        runs.push(told["runs"].as_u64().unwrap());
    }
    assert_eq!((runs.iter().sum::<u64>(), runs.iter().max(), runs.iter().min()), (15, Some(&4), Some(&3)));
    // The same command again has nothing to do.
    let again: Value = serde_json::from_str(&run(&["--shard", "2/4", "--out", "shards/2", "--json"]).out).unwrap();
    assert_eq!(again["computed"], 0);

    let text = place.ok(&["merge", "shards", "--out", "merged"]);
    assert!(text.starts_with("tiny: 1 policy × 3 sweep points × 5 repeats, seed 9\n"), "{text}");
    assert!(place.same_results("whole", "merged"));
    assert_eq!(lasting(&place, "whole"), lasting(&place, "merged"));
    assert_eq!(place.read("whole/scenario.toml"), place.read("merged/scenario.toml"));

    // A shard is no result, and what is missing or does not belong is named.
    place.fails(2, &["compare", "whole", "shards/1"], &["shards/1 holds shard 1/4 of a run", "headway merge"]);
    let three = ["merge", "shards/1", "shards/2", "shards/4", "--out", "no"];
    let err = place.fails(2, &three, &["of 4 shards one is missing: 3"]);
    assert!(err.contains("headway run tiny.toml --set 'sweep.long=[0, 1, 2]' --policy new-reno"), "{err}");
    assert!(err.contains("--shard 3/4 --out shards/3\n"), "{err}");
    place.fails(2, &["merge", "shards/1", "shards", "--out", "no"], &["shards/1 and shards/1 are both shard 1/4"]);
    place.fails(2, &["merge", "whole", "--out", "no"], &["whole is no shard"]);
    place.fails(2, &["merge", "nothing", "--out", "no"], &["cannot read nothing/manifest.json"]);
    assert_eq!(run(&["--shard", "3/4", "--out", "other/3", "--quick"]).code, Some(0));
    let mixed = ["merge", "shards/1", "shards/2", "other/3", "shards/4", "--out", "no"];
    place.fails(2, &mixed, &["shards/1 and other/3 are not shards of the same"]);
    let parts = place.path("shards/2/parts");
    let part = names(&parts).into_iter().find(|name| name.ends_with("part")).unwrap();
    std::fs::remove_file(parts.join(part)).unwrap();
    place.fails(
        2,
        &["merge", "shards", "--out", "no"],
        &["shard 2/4 in shards/2 has ", "headway run --resume shards/2"],
    );
    place.ok(&["run", "--resume", "shards/2"]);
    place.ok(&["merge", "shards", "--out", "mended"]);
    assert!(place.same_results("whole", "mended"));
    assert!(!place.path("no").exists());
}

#[test]
fn shards_into_a_store_are_merged_by_a_run() {
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--out", "whole"]);
    place.fails(2, &["run", "tiny.toml", "--shard", "1/2"], &["--out or --store"]);
    place.fails(2, &["run", "tiny.toml", "--shard", "3/2"], &["a shard is written as `2/4`"]);
    for shard in ["1/2", "2/2"] {
        let ran = place.headway(&["run", "tiny.toml", "--shard", shard, "--store", "kept"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(ran.err.contains(&format!("shard {shard}: 6 runs in kept, 6 of them computed")), "{}", ran.err);
        assert!(ran.err.contains("headway run tiny.toml --store kept --out RESULTS"), "{}", ran.err);
    }
    assert!(!place.path("results").exists());
    let ran = place.headway(&["run", "tiny.toml", "--store", "kept", "--out", "merged"]);
    assert!(ran.err.contains("12 of 12 runs were in the store"), "{}", ran.err);
    assert!(place.same_results("whole", "merged"));
}

/// The script with an `sbatch` that runs what it is given at once.
#[test]
#[cfg(unix)]
fn the_script_for_slurm_runs_shards_and_merges_them() {
    use std::os::unix::fs::PermissionsExt;

    const SBATCH: &str = r#"#!/bin/bash
# Runs an array, or a wrapped command, as Slurm would.
set -eu
echo "$@" >> "$SUBMITTED"
for argument; do
    case "$argument" in
        --wrap=*) SLURM_JOB_ID=8 bash -c "${argument#--wrap=}" >&2; echo "8;cluster"; exit ;;
        --*) ;;
        *) script=$argument ;;
    esac
done
tasks=$(sed -n 's/^#SBATCH --array=1-//p' "$script")
cpus=$(sed -n 's/^#SBATCH --cpus-per-task=//p' "$script")
for task in $(seq 1 "$tasks"); do
    SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=$cpus bash "$script" >&2
done
echo 7
"#;
    let place = Place::new();
    place.ok(&["run", "tiny.toml", "--quick", "--out", "whole"]);
    let script = place.ok(&[
        "slurm",
        "tiny.toml",
        "--quick",
        "--shards",
        "3",
        "--cpus",
        "2",
        "--out",
        "results/tiny",
        "--sbatch",
        "--partition=short queue",
    ]);
    place.write("tiny.slurm", &script);
    let checked = std::process::Command::new("bash").arg("-n").arg(place.path("tiny.slurm")).status().unwrap();
    assert!(checked.success());
    assert!(script.contains("#SBATCH --array=1-3\n") && script.contains("#SBATCH --cpus-per-task=2\n"), "{script}");

    place.write("bin/sbatch", SBATCH);
    std::fs::set_permissions(place.path("bin/sbatch"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap());
    let run = || {
        let mut command = std::process::Command::new("bash");
        command.arg("tiny.slurm").current_dir(place.0.path()).env("PATH", &path);
        command.env("HEADWAY", env!("CARGO_BIN_EXE_headway")).env("SUBMITTED", place.path("submitted"));
        command.env_remove("HEADWAY_STORE").output().unwrap()
    };
    let output = run();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "shards: job 7; results in results/tiny after job 8\n");
    assert!(place.same_results("whole", "results/tiny"));
    assert_eq!(lasting(&place, "whole"), lasting(&place, "results/tiny"));
    let submitted = place.read("submitted");
    assert!(
        submitted.contains("--dependency=afterok:7 ") && submitted.contains("--partition=short queue"),
        "{submitted}"
    );

    // What cannot work is told when the script is made.
    let wrong = |args: &[&str], words: &[&str]| _ = place.fails(2, &[&["slurm"], args].concat(), words);
    wrong(&["tiny.toml", "--shards", "99", "--out", "x"], &["there are 12 runs only, fewer than 99 shards"]);
    wrong(&["tiny.toml", "--shards", "2", "--out", "my results"], &["cannot stand in a script"]);
    wrong(&["tiny.toml", "--shards", "2", "--out", "x", "--sbatch", "partition"], &["is no option of sbatch"]);
    wrong(&["-", "--shards", "2", "--out", "x"], &["write the scenario to a file"]);
    assert!(Path::new(&place.path("results/tiny-shards/3/manifest.json")).exists());
}
