//! `headway model`: throughput by formulae, as tables and surfaces, and beside results.

pub mod args;
mod beside;
mod grid;
mod point;

use crate::failure::Failure;
use crate::terminal;
use args::{ModelArgs, ModelCommand, RelayArgs};
use point::Model;

pub fn model(args: &ModelArgs) -> Result<(), Failure> {
    match &args.command {
        ModelCommand::Relay(args) => relay(args),
    }
}

fn relay(args: &RelayArgs) -> Result<(), Failure> {
    let model = Model::new(args)?;
    let text = match &args.beside {
        Some(folder) => beside::beside(&model, folder, args)?,
        None => grid::grid(&model, args)?,
    };
    terminal::data(&text)
}
