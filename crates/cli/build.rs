//! Lists the scenarios `fidelity/*.toml` for `src/bundled.rs`, and packs what kernel hosts did there, a megabyte of text.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    bundle("fidelity", "fidelity.rs");
    pack("fidelity/kernel.jsonl", "kernel.jsonl.gz");
}

/// Writes `source` to `file`, compressed.
fn pack(source: &str, file: &str) {
    let path = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("../..").join(source);
    let text = fs::read(&path).expect("it is part of the sources");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(&text).and_then(|()| encoder.finish()).expect("memory takes everything");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo")).join(file);
    fs::write(out, packed).expect("the build folder can be written");
}

/// Writes the list of the scenarios in `folder` to `file`.
fn bundle(folder: &str, file: &str) {
    let path = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("../..").join(folder);
    println!("cargo::rerun-if-changed=../../{folder}");
    let mut names: Vec<String> = fs::read_dir(&path)
        .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "toml"));
    // The order of a folder differs between file systems.
    names.sort();
    let mut code = String::from("&[\n");
    for file in names {
        let name = file.trim_end_matches(".toml");
        // Relative to the package, so that where it was built leaves no trace.
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../{folder}/{file}\"))");
        let _ = writeln!(code, "    Bundled {{ name: {name:?}, text: {text} }},");
    }
    code.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo")).join(file);
    fs::write(out, code).expect("the build folder can be written");
}
