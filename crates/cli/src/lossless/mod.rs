//! `headway lossless`: settings of real equipment.

pub mod args;
mod linux;
mod sonic;
mod table;

use headway_control::lossless::Chip;
use headway_scenario::equipment::{Equipment, Wanted};
use headway_scenario::plan::Network;
use headway_scenario::{Overrides, ScenarioRecord};
use headway_units::Bytes;

use crate::failure::Failure;
use crate::{source, terminal};
use args::{ChipName, Form, LosslessArgs, LosslessCommand, PlanArgs};

/// Cells from that on and up to this are memory's.
const CELLS: std::ops::RangeInclusive<u64> = 32..=16_384;

pub fn lossless(args: &LosslessArgs) -> Result<(), Failure> {
    match &args.command {
        LosslessCommand::Plan(args) => plan(args),
    }
}

fn plan(args: &PlanArgs) -> Result<(), Failure> {
    if let Some(cell) = args.cell.filter(|cell| !CELLS.contains(&cell.get())) {
        return Err(Failure::usage(format!("--cell {cell} is none: cells have 32 to 16384 B")));
    }
    if args.mtu.is_some_and(|mtu| mtu > Bytes::new(65_535)) {
        return Err(Failure::usage("--mtu is at most 65535B"));
    }
    let source = source::find(&args.file)?;
    let overrides = Overrides { sets: args.set.clone(), ..Overrides::default() };
    let document = source.parse(&overrides)?;
    document.check_all()?;
    let scenario = document.scenario(&document.points()[0])?;
    let fault = |error| Failure::from(headway_scenario::Problems::from(document.locate(error)));
    let network = Network::build(&scenario).map_err(fault)?;
    let wanted = Wanted {
        policy: policy(&scenario, args.policy.as_deref())?,
        priorities: args.priority.clone(),
        chip: args.chip.and_then(|chip| Chip::find(name(chip))),
        cell: args.cell,
        mtu: args.mtu,
        rtt: args.rtt,
    };
    let equipment = Equipment::new(&scenario, &network, &wanted).map_err(fault)?;
    let text = match args.form {
        Form::Table => table::text(&equipment),
        Form::Json => format!("{:#}\n", table::json(&equipment)),
        Form::Dcb => linux::commands(&equipment, &args.device)?,
        Form::Sonic => sonic::text(&equipment, args)?,
    };
    terminal::data(&text)
}

/// The place of the policy called `wanted`, or of the first that is lossless.
fn policy(scenario: &ScenarioRecord, wanted: Option<&str>) -> Result<Option<usize>, Failure> {
    let Some(wanted) = wanted else {
        return Ok(scenario.policy.iter().position(|policy| policy.lossless.is_some()));
    };
    let found = scenario.policy.iter().position(|policy| policy.name.as_str() == wanted);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = scenario.policy.iter().map(|policy| policy.name.as_str()).collect();
        Failure::usage(format!("there is no policy `{wanted}`")).help(format!("there are {}", names.join(", ")))
    })
}

fn name(chip: ChipName) -> &'static str {
    match chip {
        ChipName::Spectrum => "spectrum",
        ChipName::Spectrum2 => "spectrum-2",
        ChipName::Spectrum3 => "spectrum-3",
    }
}

#[cfg(test)]
mod tests;
