//! Builds Headway's own programs for kernel hosts, the agent that is their `/init` and its daemons, as static files
//! that the module `image` embeds. A machine that cannot do this still gets a `headway`; it only cannot make images,
//! and says why.

use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What kernel hosts run on. A target of its own, too: only then do the flags below not reach build scripts and
/// procedural macros, which cannot be static.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The programs, each the binary of the package of its name: the agent, and then the daemons, which are in `/bin` of every
/// guest. A further daemon is a further name here.
const PROGRAMS: [&str; 2] = ["headway-agent", "headway-lane"];

/// The folders below `crates/` of what these are made of.
const CRATES: [&str; 8] = ["agent", "control", "daemon", "lane", "language", "levers", "linux", "units"];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace is two levels up");
    let inputs = CRATES.iter().flat_map(|name| ["src", "Cargo.toml"].map(|part| format!("crates/{name}/{part}")));
    for input in inputs.chain(["Cargo.toml", "Cargo.lock"].map(str::to_owned)) {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    println!("cargo::rerun-if-changed=build.rs");

    let (programs, problem) = match build(root, &out) {
        Ok(programs) => (programs, String::new()),
        Err(problem) => {
            println!("cargo::warning=without programs for guests, so `headway kernel build` will not work: {problem}");
            (PROGRAMS.map(|_| Vec::new()), problem)
        }
    };
    for (name, program) in PROGRAMS.iter().zip(&programs) {
        write(&out.join(name), &compressed(program));
    }
    // what `image/own.rs` includes: names and files
    let daemons = PROGRAMS[1..].iter().map(|name| format!("({name:?}, include_bytes!({name:?}).as_slice()), "));
    write(&out.join("daemons.rs"), format!("&[{}]", daemons.collect::<String>()).as_bytes());
    write(&out.join("problem"), problem.as_bytes());
}

/// As the program embeds it, which makes that several megabytes smaller. Nothing stays nothing.
fn compressed(program: &[u8]) -> Vec<u8> {
    if program.is_empty() {
        return Vec::new();
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(program).and_then(|()| encoder.finish()).expect("memory takes everything")
}

/// Leaves a file alone that is as it should be, so that what includes it is not compiled again.
fn write(path: &Path, content: &[u8]) {
    if fs::read(path).is_ok_and(|old| old == content) {
        return;
    }
    fs::write(path, content).expect("OUT_DIR can be written");
}

fn build(root: &Path, out: &Path) -> Result<[Vec<u8>; PROGRAMS.len()], String> {
    let target = env::var_os("TARGET").and_then(|target| target.into_string().ok()).unwrap_or_default();
    if !(target.starts_with("x86_64-") && target.contains("-linux-")) {
        return Err(format!("kernel hosts need x86-64 Linux, and this is {target}"));
    }
    let folder = out.join("target");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root).args(["build", "--release", "--locked", "--target", TARGET]);
    cargo.args(PROGRAMS.iter().flat_map(|name| ["--package", name, "--bin", name]));
    cargo.arg("--target-dir").arg(&folder);

    // Nothing of how `headway` is built may change them: not clippy's wrapper, not flags for coverage or for
    // the processor at hand.
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(changes_the_build) {
            cargo.env_remove(name);
        }
    }
    // Remapped, so that panics do not tell where they were built, and so that they are the same wherever that is.
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    let home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=cargo", home.display())));
    flags.push(format!("--remap-path-prefix={}=headway", root.display()));
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    for (key, value) in [
        ("OPT_LEVEL", "s"),
        ("LTO", "fat"),
        ("CODEGEN_UNITS", "1"),
        ("PANIC", "abort"),
        ("STRIP", "symbols"),
        ("DEBUG", "0"),
        ("DEBUG_ASSERTIONS", "false"),
        ("OVERFLOW_CHECKS", "false"),
        ("INCREMENTAL", "false"),
    ] {
        cargo.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
    }

    let ran = cargo.output().map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !ran.status.success() {
        let text = String::from_utf8_lossy(&ran.stderr);
        let why = text.lines().find(|line| line.starts_with("error")).unwrap_or("it does not say why");
        let hint = if text.contains("linking with") || text.contains("ld returned") || text.contains("cannot find -l") {
            " (a static C library is needed: apt-get install gcc libc6-dev)"
        } else if text.contains("can't find crate for `core`") || text.contains("can't find crate for `std`") {
            " (the Rust target is needed: rustup target add x86_64-unknown-linux-gnu)"
        } else {
            ""
        };
        return Err(format!("their build failed: {}{hint}", why.trim()));
    }
    let mut programs = PROGRAMS.map(|_| Vec::new());
    for (name, program) in PROGRAMS.iter().zip(&mut programs) {
        let file = folder.join(TARGET).join("release").join(name);
        *program = fs::read(&file).map_err(|error| format!("the build of {name} left nothing to read: {error}"))?;
    }
    Ok(programs)
}

fn changes_the_build(name: &str) -> bool {
    const NAMES: [&str; 12] = [
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
        "RUSTFLAGS",
        "RUSTDOCFLAGS",
        "RUSTC_LINKER",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_ENCODED_RUSTDOCFLAGS",
        "CARGO_TARGET_DIR",
        "CARGO_INCREMENTAL",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
    ];
    const STARTS: [&str; 6] =
        ["CARGO_BUILD_", "CARGO_PROFILE_", "CARGO_TARGET_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_UNSTABLE_"];
    NAMES.contains(&name) || STARTS.iter().any(|start| name.starts_with(start))
}
