//! Lists the scenarios `fidelity/*.toml` for `src/bundled.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    bundle("fidelity", "fidelity.rs");
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
