//! Lists the published tables, `published/*.csv`, for `src/published.rs`, and the scenarios, `scenarios/*.toml`, for
//! `src/bundled.rs`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    list("published", "csv", "published.rs", |file, text| format!("({file:?}, {text})"));
    list("scenarios", "toml", "bundled.rs", |file, text| {
        format!("Bundled {{ name: {:?}, text: {text} }}", file.trim_end_matches(".toml"))
    });
}

/// Writes the list of the files in `folder` with `extension` to `out`, each as `entry` says of its name and of an
/// expression for its text.
fn list(folder: &str, extension: &str, out: &str, entry: fn(&str, &str) -> String) {
    let path = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by Cargo")).join("../..").join(folder);
    println!("cargo::rerun-if-changed=../../{folder}");
    let mut names: Vec<String> = fs::read_dir(&path)
        .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.retain(|name| Path::new(name).extension().is_some_and(|own| own == extension));
    // The order of a folder differs between file systems.
    names.sort();
    let mut code = String::from("&[\n");
    for name in names {
        // Relative to the package, so that where it was built leaves no trace.
        let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../../{folder}/{name}\"))");
        let _ = writeln!(code, "    {},", entry(&name, &text));
    }
    code.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo")).join(out);
    fs::write(out, code).expect("the build folder can be written");
}
