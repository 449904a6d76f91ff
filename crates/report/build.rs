//! Packs the charts' library for `src/page/html.rs`, half a megabyte of text.

use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

const CHARTS: &str = "assets/echarts/echarts.min.js";

fn main() {
    println!("cargo::rerun-if-changed={CHARTS}");
    println!("cargo::rerun-if-changed=build.rs");
    let text = fs::read(CHARTS).expect("it is part of the sources");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(&text).and_then(|()| encoder.finish()).expect("memory takes everything");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by Cargo")).join("echarts.min.js.gz");
    fs::write(out, packed).expect("the build folder can be written");
}
