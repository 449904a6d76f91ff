//! Kernels of kernel hosts, without building one: that takes minutes.

use serde_json::Value;

use crate::{Place, Ran};

/// With an empty cache of its own.
fn kernel(place: &Place, args: &[&str]) -> Ran {
    let mut command = place.command(&["kernel"]);
    command.args(args).env("HEADWAY_CACHE", place.path("cache")).env_remove("HEADWAY_KERNEL");
    Ran::from(command.output().unwrap())
}

#[test]
fn no_kernels_are_no_failure() {
    let place = Place::new();
    let ran = kernel(&place, &["list"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert!(ran.err.contains("`headway kernel build` makes one"), "{}", ran.err);
    let ran = kernel(&place, &["list", "--json"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "[]\n", ""));
    assert!(!place.path("cache").exists(), "looking makes no folders");
}

#[test]
fn what_is_not_an_image_is_not_listed() {
    let place = Place::new();
    for folder in ["cache/kernels/half", "cache/kernels/.build-x-1"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.write("cache/kernels/half/linux", "");
    assert_eq!(kernel(&place, &["list", "--json"]).out, "[]\n");
}

#[test]
fn the_doctor_names_what_is_missing_and_its_exit_code_says_whether() {
    let place = Place::new();
    let ran = kernel(&place, &["doctor", "--json"]);
    let findings: Value = serde_json::from_str(&ran.out).unwrap();
    let findings = findings.as_array().unwrap();
    let missing = findings.iter().filter(|finding| finding["state"] == "missing").count();
    assert_eq!(ran.code, Some(i32::from(missing > 0)), "{}", ran.out);
    let found = |name: &str| findings.iter().find(|finding| finding["name"] == name);
    for name in ["platform", "ptrace", "executable memory", "agent", "gcc", "busybox", "kernel source", "disk"] {
        assert!(found(name).is_some(), "no finding `{name}`");
    }
    let none = found("kernel").unwrap();
    assert_eq!((&none["state"], &none["remedy"]), (&"warning".into(), &"headway kernel build".into()));

    let text = kernel(&place, &["doctor"]);
    assert_eq!(text.code, ran.code);
    assert_eq!(text.err.contains("missing"), missing > 0, "{}", text.err);
    assert!(text.out.lines().any(|line| line.starts_with("warning  kernel  ")), "{}", text.out);
    assert!(text.out.contains("\n                            headway kernel build\n"), "{}", text.out);
}

#[test]
fn a_kernel_has_a_plain_name() {
    let place = Place::new();
    let ran = kernel(&place, &["build", "--name", "../x"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("`../x` cannot be a kernel's name"), "{}", ran.err);
    assert!(!place.path("cache").exists());
}
