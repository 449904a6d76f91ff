//! `headway-lane`: see `headway-lane --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    headway_lane::command::main()
}
