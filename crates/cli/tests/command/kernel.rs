//! Kernels of kernel hosts, without building one: that takes minutes.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

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

/// An image of a kernel that nobody can start.
fn fake(place: &Place, name: &str, version: &str, patches: &[&str]) {
    let part = json!({ "bytes": 1, "sha256": "" });
    let patches: Vec<Value> = patches.iter().map(|name| json!({ "name": name, "sha256": "" })).collect();
    let about = json!({
        "format": 1, "name": name, "version": version, "compiler": "", "config_sha256": "", "patches": patches,
        "source": { "name": "linux-source-6.12", "sha256": null, "describe": null }, "inputs_sha256": "",
        "linux": part, "initramfs": part, "system": part, "own_sha256": "", "programs": [], "hz": 1000,
        "fast_path": true, "controls": [], "queues": [],
    });
    let folder = format!("cache/kernels/{name}");
    place.write(&format!("{folder}/image.json"), about.to_string());
    for file in ["linux", "initramfs.cpio", "system/x"] {
        place.write(&format!("{folder}/{file}"), "x");
    }
}

#[test]
fn the_list_says_which_are_patched_and_which_is_taken_unasked() {
    let place = Place::new();
    let ours = ["seed-6.12.patch", "fast-path-6.12.patch"];
    fake(&place, "a-patched", "6.13.1", &[&["0001-tcp.patch"][..], &ours].concat());
    fake(&place, "plain", "6.12.9", &ours);
    fake(&place, "plain-old", "6.12.1", &ours);
    let text = kernel(&place, &["list"]).out;
    let words = |name: &str| -> Vec<String> {
        let line =
            text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    assert!(text.starts_with("name       version  default  patched  "), "{text}");
    assert_eq!(words("a-patched")[..4], ["a-patched", "6.13.1", "no", "yes"]);
    assert_eq!(words("plain")[..4], ["plain", "6.12.9", "yes", "no"]);
    assert_eq!(words("plain-old")[..4], ["plain-old", "6.12.1", "no", "no"]);
    assert!(text.contains("patched with 0001-tcp.patch"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");

    let all: Value = serde_json::from_str(&kernel(&place, &["list", "--json"]).out).unwrap();
    let of = |key: &str| all.as_array().unwrap().iter().map(|image| image[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("default"), [false, true, false]);
    assert_eq!(of("patched"), [true, false, false]);
    assert_eq!(of("own_patches")[0], json!(["0001-tcp.patch"]));
    let named = place
        .command(&["kernel", "list", "--json"])
        .env("HEADWAY_CACHE", place.path("cache"))
        .env("HEADWAY_KERNEL", "a-patched")
        .output()
        .unwrap();
    let all: Value = serde_json::from_slice(&named.stdout).unwrap();
    assert_eq!(all[0]["default"], true, "asked for by the environment");
}

/// Before anything is unpacked, or looked for: half a minute later would be too late.
#[test]
fn a_patch_that_is_missing_or_malformed_is_refused_at_once() {
    let place = Place::new();
    place.write("cut.patch", "--- a/net/x.c\n+++ b/net/x.c\n@@ -1,5 +1,5 @@\n one\n-two\n+three\n");
    for (args, reason) in [
        (["--patch", "nowhere.patch"], "the patch nowhere.patch cannot be read"),
        (["--patch", "/dev/zero"], "the patch /dev/zero cannot be read"),
        (["--config", "nowhere.config"], "the configuration nowhere.config cannot be read"),
        (["--patch", "cut.patch"], "the patch cut.patch is malformed: it ends inside the hunk of line 3"),
    ] {
        let ran = kernel(&place, &[&["build"], &args[..]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
        assert!(ran.err.contains(reason), "{}", ran.err);
        assert!(!ran.err.contains("unpacking"), "{}", ran.err);
    }
    assert!(!place.path("cache").exists());
}

/// A world in which every tool is a script, and `make` does nothing but take its time, with a child.
fn scripts(place: &Place) -> std::ffi::OsString {
    let script = |name: &str, text: &str| {
        place.write(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(place.path(&format!("bin/{name}")), mode).unwrap();
    };
    for name in ["ld", "flex", "bison", "bc", "tar", "xz", "ldd", "ip", "ss", "tc", "ethtool", "iperf3"] {
        script(name, "");
    }
    script("patch", "exit 0");
    script("busybox", "echo sh");
    place.write("libc.a", "library");
    script("gcc", &format!("echo {}", place.path("libc.a").display()));
    let children = place.path("children");
    script("make", &format!("sleep 600 & echo $! $$ >{0}.new; mv {0}.new {0}; wait", children.display()));
    place.write("tree/Makefile", "VERSION = 6\nPATCHLEVEL = 12\n");
    for file in ["Kconfig", "arch/um/Kconfig", "net/x.c"] {
        place.write(&format!("tree/{file}"), "one\n");
    }
    let mut path = place.path("bin").into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    path
}

fn is_alive(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

#[test]
fn an_interrupted_build_ends_soon_with_its_children_and_leaves_nothing() {
    if let Err(error) = headway_kernel::image::own() {
        println!("skipped: {error}");
        return;
    }
    let place = Place::new();
    let path = scripts(&place);
    let mut command = place.command(&["kernel", "build", "--source", "tree", "--name", "k"]);
    command.env("PATH", path).env("HEADWAY_CACHE", place.path("cache")).stderr(Stdio::piped()).stdout(Stdio::piped());
    let build = command.spawn().unwrap();
    let wait = |what: &dyn Fn() -> bool, seconds: u32| {
        (0..seconds * 50).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            what()
        })
    };
    assert!(wait(&|| place.path("children").exists(), 120), "it compiles nothing");
    let children = place.read("children");
    assert!(children.split_whitespace().all(is_alive), "{children}");
    let pid = build.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    // seconds, on a machine that does much else
    assert!(wait(&|| !is_alive(&pid), 20), "it goes on");
    let ended = build.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!((ended.status.code(), ended.stdout.as_slice()), (Some(130), &b""[..]), "{said}");
    assert!(said.contains("interrupted; no kernel was made"), "{said}");
    assert!(!children.split_whitespace().any(is_alive), "{children}");
    let left = std::fs::read_dir(place.path("cache/kernels")).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort_unstable();
    assert_eq!(left, [".lock-k", "k.log"], "what is made is gone");
}
