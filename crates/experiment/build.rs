//! Lists the published tables, `published/*.csv`, for `src/published.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("../../published");
    println!("cargo::rerun-if-changed=../../published");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.retain(|name| Path::new(name).extension().is_some_and(|extension| extension == "csv"));
    // The order of a folder differs between file systems.
    names.sort();
    let mut code = String::from("&[\n");
    for name in names {
        // Relative to the package, so that where it was built leaves no trace.
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../published/{name}\"))");
        let _ = writeln!(code, "    ({name:?}, {text}),");
    }
    code.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo")).join("published.rs");
    fs::write(out, code).expect("the build folder can be written");
}
