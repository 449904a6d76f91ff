//! Where results go, and that nothing is ever overwritten.

use std::fs;

use crate::{Place, names};

#[test]
fn runs_without_a_named_folder_take_the_next_free_one() {
    let place = Place::new();
    for _ in 0..2 {
        place.ok(&["run", "tiny.toml", "--repeats", "1"]);
    }
    // Something else of that name, file or folder, is left alone.
    place.write("results/tiny-3", "mine");
    fs::create_dir(place.path("results/tiny-4")).unwrap();
    place.write("results/tiny-4/notes.txt", "mine");
    place.ok(&["run", "tiny.toml", "--repeats", "1"]);
    assert_eq!(names(&place.path("results")), ["tiny", "tiny-2", "tiny-3", "tiny-4", "tiny-5"]);
    assert!(place.same_results("results/tiny", "results/tiny-5"));
    assert_eq!(names(&place.path("results/tiny-4")), ["notes.txt"]);
}

#[test]
fn a_named_folder_must_be_new_or_empty() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place.ok(&["run", "tiny.toml", "--repeats", "1", "--out", "empty"]);
    let before = place.read("empty/manifest.json");
    place.fails(
        2,
        &["run", "tiny.toml", "--out", "empty"],
        &["error: empty already holds finished results; remove it or name another folder"],
    );
    assert_eq!(place.read("empty/manifest.json"), before);
    fs::create_dir(place.path("other")).unwrap();
    place.write("other/notes.txt", "mine");
    place.fails(2, &["run", "tiny.toml", "--out", "other"], &["error: other is not empty and not a results folder"]);
    assert_eq!(names(&place.path("other")), ["notes.txt"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_the_machines_fault() {
    let place = Place::new();
    // Below a file nobody can make a folder, not even root.
    place.fails(3, &["run", "tiny.toml", "--out", "tiny.toml/out"], &["error: cannot create tiny.toml/out: "]);
    place.write("results", "a file");
    place.fails(3, &["run", "tiny.toml"], &["error: cannot create results/tiny: "]);
}

#[test]
fn a_folder_without_permission_is_the_machines_fault() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    let locked = place.path("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::create_dir(locked.join("probe")).is_ok() {
        println!("skipped: this user may write anywhere");
        return;
    }
    place.fails(3, &["run", "tiny.toml", "--out", "locked/out"], &["error: cannot create locked/out: "]);
}

#[test]
fn a_wrong_scenario_leaves_no_folder() {
    let place = Place::new();
    place.fails(2, &["run", "tiny.toml", "--set", "duration=5"], &["duration"]);
    assert_eq!(names(place.0.path()), ["tiny.toml"]);
}
