//! `headway lossless`: settings of real equipment.

pub mod args;
mod linux;
mod sonic;
mod table;

use headway_control::lossless::Chip;
use headway_scenario::equipment::{Equipment, Wanted};
use headway_scenario::plan::Network;
use headway_scenario::{Document, Overrides, ScenarioRecord, SweepPoint};
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
    only_where_used(args)?;
    let source = source::find(&args.file)?;
    let overrides = Overrides { sets: args.set.clone(), ..Overrides::default() };
    let document = source.parse(&overrides)?;
    document.check_all()?;
    let mut points = document.points().into_iter();
    let first = points.next().expect("a sweep has a point");
    let equipment = equipment(&document, &first, args)?;
    for point in points {
        if self::equipment(&document, &point, args)? != equipment {
            return Err(Failure::usage(format!(
                "settings are not the same at all points of the sweep: at `{first}` and at `{point}`"
            ))
            .help("take one value of a name, as by --set sweep.NAME=VALUE"));
        }
    }
    let text = match args.form {
        Form::Table => table::text(&equipment),
        Form::Json => format!("{:#}\n", table::json(&equipment)),
        Form::Dcb => linux::commands(&equipment, args.device.as_deref().unwrap_or("eth0"))?,
        Form::Sonic => sonic::text(&equipment, args)?,
    };
    terminal::data(&text)
}

/// The settings at a point of the sweep.
fn equipment(document: &Document, point: &SweepPoint, args: &PlanArgs) -> Result<Equipment, Failure> {
    let scenario = document.scenario(point)?;
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
    Equipment::new(&scenario, &network, &wanted).map_err(fault)
}

/// Options of one form are mistakes with another.
fn only_where_used(args: &PlanArgs) -> Result<(), Failure> {
    let options = [
        ("device", args.device.is_some(), Form::Dcb, "dcb"),
        ("switch", args.switch.is_some(), Form::Sonic, "sonic"),
        ("lanes", args.lanes.is_some(), Form::Sonic, "sonic"),
        ("marks", args.marks.is_some(), Form::Sonic, "sonic"),
    ];
    match options.into_iter().find(|&(_, given, form, _)| given && form != args.form) {
        Some((option, .., form)) => Err(Failure::usage(format!("--{option} is of --as {form} alone"))),
        None => Ok(()),
    }
}

/// The place of the policy called `wanted`, or of the only one that is lossless.
fn policy(scenario: &ScenarioRecord, wanted: Option<&str>) -> Result<Option<usize>, Failure> {
    let names = |places: &[usize]| {
        let names: Vec<&str> = places.iter().map(|&place| scenario.policy[place].name.as_str()).collect();
        names.join(", ")
    };
    let Some(wanted) = wanted else {
        let own: Vec<usize> =
            (0..scenario.policy.len()).filter(|&place| scenario.policy[place].lossless.is_some()).collect();
        if own.len() > 1 {
            return Err(Failure::usage("several policies have `lossless`")
                .help(format!("say which one with --policy: {}", names(&own))));
        }
        return Ok(own.first().copied());
    };
    let found = scenario.policy.iter().position(|policy| policy.name.as_str() == wanted);
    found.map(Some).ok_or_else(|| {
        let all: Vec<usize> = (0..scenario.policy.len()).collect();
        Failure::usage(format!("there is no policy `{wanted}`")).help(format!("there are {}", names(&all)))
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
