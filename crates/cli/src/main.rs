//! The program `headway`: the library's command with this process' arguments and exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(headway_cli::main(std::env::args_os()))
}
