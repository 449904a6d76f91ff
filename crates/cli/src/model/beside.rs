//! The model beside the results of a folder.

use std::path::Path;

use headway_report::{table, three_digits};
use headway_results::{Finished, Folder, Metric, Row, SweepPoint};
use headway_units::Span;
use serde_json::{Value, json};

use super::args::{Axis, RelayArgs, Share, share};
use super::grid::rtt;
use super::point::{Added, Model, Point, shown};
use crate::failure::Failure;
use crate::terminal;

/// A sweep point: the model there, and the goodputs of both policies in bit/s.
struct Beside {
    loss: Share,
    point: Point,
    direct: Option<f64>,
    relayed: Option<f64>,
}

pub fn beside(model: &Model, folder: &Path, args: &RelayArgs) -> Result<String, Failure> {
    let finished = Folder::open(folder)?;
    let (direct, relayed) = policies(&finished, args)?;
    let traffic = traffic(&finished, args)?;
    let mut rows: Vec<Beside> = Vec::new();
    for row in of_policy(&finished, &direct, &traffic) {
        let (delay, loss) = (delay(&row.sweep, args)?, loss(&row.sweep, args)?);
        let with = relayed.as_deref().and_then(|relayed| {
            of_policy(&finished, relayed, &traffic).find(|other| other.sweep == row.sweep)?.estimate.value
        });
        let point = model.at(Added { delay, loss: loss.value })?;
        rows.push(Beside { loss, point, direct: row.estimate.value, relayed: with });
    }
    if rows.is_empty() {
        return Err(Failure::usage(format!("{}: policy {direct} has no goodput of {traffic}", folder.display())));
    }
    if args.csv {
        return Err(Failure::usage("--beside has no CSV").help("use --json"));
    }
    if args.json {
        let points = rows.iter().map(json).collect::<Value>();
        let object = json!({ "constant": model.constant(), "direct": direct, "relayed": relayed, "points": points });
        return Ok(format!("{object}\n"));
    }
    Ok(as_table(&rows))
}

fn of_policy<'a>(finished: &'a Finished, policy: &'a str, traffic: &'a str) -> impl Iterator<Item = &'a Row> {
    let wanted = move |row: &&Row| row.policy == policy && row.traffic == traffic && row.metric == Metric::GoodputMean;
    finished.summary.rows.iter().filter(wanted)
}

/// The names of the policies without and with relay.
fn policies(finished: &Finished, args: &RelayArgs) -> Result<(String, Option<String>), Failure> {
    let mut names: Vec<&str> = finished.summary.rows.iter().map(|row| row.policy.as_str()).collect();
    names.dedup();
    let known = |name: &str| {
        if names.contains(&name) {
            return Ok(name.to_owned());
        }
        let path = finished.path.display();
        Err(Failure::usage(format!("{path} has no policy {name}")).help(format!("it has {}", names.join(", "))))
    };
    let with = |name: &str| names.iter().find(|other| other.strip_suffix("-relay") == Some(name)).copied();
    let direct = if let Some(name) = &args.direct {
        known(name)?
    } else {
        let pairs: Vec<&str> = names.iter().copied().filter(|name| with(name).is_some()).collect();
        match (pairs.as_slice(), names.as_slice()) {
            ([name], _) | ([], [name]) => (*name).to_owned(),
            _ => {
                let help = format!("one of {}", names.join(", "));
                return Err(Failure::usage("--beside needs --direct POLICY").help(help));
            }
        }
    };
    let relayed = match &args.relayed {
        Some(name) => Some(known(name)?),
        None => with(&direct).map(str::to_owned),
    };
    Ok((direct, relayed))
}

fn traffic(finished: &Finished, args: &RelayArgs) -> Result<String, Failure> {
    let mut names: Vec<&str> = finished.summary.rows.iter().map(|row| row.traffic.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match (&args.traffic, names.as_slice()) {
        (Some(name), _) if names.contains(&name.as_str()) => Ok(name.clone()),
        (None, [name]) => Ok((*name).to_owned()),
        (Some(_), _) => Err(Failure::usage("no such traffic").help(format!("it has {}", names.join(", ")))),
        (None, _) => Err(Failure::usage("--beside needs --traffic NAME").help(format!("one of {}", names.join(", ")))),
    }
}

/// The swept delay, or the only one of the options.
fn delay(sweep: &SweepPoint, args: &RelayArgs) -> Result<Span, Failure> {
    match (sweep.get("delay"), &args.delay) {
        (Some(value), _) => value.text.parse().map_err(|error| Failure::usage(format!("the sweep's delay: {error}"))),
        (None, Axis::List(delays)) if delays.len() == 1 => Ok(delays[0]),
        _ => Err(Failure::usage("the results do not sweep `delay`").help("give the one they have: --delay 0ms")),
    }
}

/// The swept loss, or the only one of the options.
fn loss(sweep: &SweepPoint, args: &RelayArgs) -> Result<Share, Failure> {
    match (sweep.get("loss"), &args.loss) {
        (Some(value), _) => share(&value.text).map_err(|error| Failure::usage(format!("the sweep's loss: {error}"))),
        (None, Axis::List(losses)) if losses.len() == 1 => Ok(losses[0].clone()),
        _ => Err(Failure::usage("the results do not sweep `loss`").help("give the one they have: --loss 0%")),
    }
}

fn as_table(rows: &[Beside]) -> String {
    let headers = [
        "loss, delay",
        "RTT",
        "direct: Mathis",
        "Padhye",
        "results",
        "÷ Mathis",
        "relayed: Mathis",
        "Padhye",
        "results",
        "÷ Mathis",
        "gain: Mathis",
        "results",
    ];
    let ours = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |bps| three_digits(bps / 1e6));
    let ratio = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), three_digits);
    let row = |row: &Beside| {
        let (mathis, padhye) = (&row.point.mathis, &row.point.padhye);
        let over = |value: Option<f64>, model: u64| ratio(value.map(|value| value / model as f64));
        vec![
            format!("{}, {}", row.loss.text, row.point.added.delay),
            rtt(&row.point),
            shown(mathis.direct),
            shown(padhye.direct),
            ours(row.direct),
            over(row.direct, mathis.direct.rate.bps()),
            shown(mathis.relayed),
            shown(padhye.relayed),
            ours(row.relayed),
            over(row.relayed, mathis.relayed.rate.bps()),
            three_digits(mathis.gain()),
            ratio(gain(row)),
        ]
    };
    let cells: Vec<Vec<String>> = rows.iter().map(row).collect();
    let note = "Mb/s; limited by: w window, p losses, l link; results: mean goodput over the repeats\n";
    format!("{}{note}", table(&headers, &cells, terminal::layout()))
}

fn gain(row: &Beside) -> Option<f64> {
    Some(row.relayed? / row.direct?).filter(|gain| gain.is_finite())
}

fn json(row: &Beside) -> Value {
    let mut object = row.point.json();
    object["results"] = json!({ "direct_bps": row.direct, "relayed_bps": row.relayed, "gain": gain(row) });
    object
}
