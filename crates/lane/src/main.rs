//! `headway-lane`: see `headway-lane --help`.

fn main() {}
