//! What came of experiments, as text and for programs.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use headway_report::{beside, beside_json, claims, listing, tally, wrapped};
use headway_scenario::{Document, Overrides};
use serde_json::{Value, json};

use super::part::Part;
use super::select::Experiment;
use super::{Beside, Done};
use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::{clock, terminal};

/// The experiments there are, with their sizes.
pub fn list(all: &[Experiment], args: &ReproduceArgs) -> Result<String, Failure> {
    let mut rows = Vec::new();
    let mut objects = Vec::new();
    for one in all {
        let bundled = one.bundled;
        let runs = |quick: bool| -> Result<_, Failure> {
            let overrides = Overrides { quick, policies: args.policy.clone(), ..Overrides::default() };
            let document = Document::parse_with(bundled.text, bundled.name, &overrides)?;
            let points = document.points();
            let record = document.scenario(&points[0])?;
            Ok((points.len() * record.policy.len() * record.repeats as usize, record))
        };
        let ((whole, record), (quick, _)) = (runs(false)?, runs(true)?);
        let plain = Document::parse_with(bundled.text, bundled.name, &Overrides::default())?;
        let kernels = plain.scenario(&plain.points()[0])?.kernel_hosts;
        let kernels: Vec<String> =
            kernels.iter().flat_map(|kernels| &kernels.policies).map(ToString::to_string).collect();
        objects.push(json!({
            "id": one.id,
            "name": bundled.name,
            "about": record.about,
            "source": record.source,
            "runs": whole,
            "quick_runs": quick,
            "claims": record.claim.len(),
            "kernel_hosts": kernels,
        }));
        let words = [
            one.id.to_uppercase(),
            bundled.name.to_owned(),
            whole.to_string(),
            quick.to_string(),
            record.claim.len().to_string(),
        ];
        let beside = if kernels.is_empty() { String::new() } else { format!("; kernel hosts: {}", kernels.join(", ")) };
        rows.push((words.to_vec(), record.about + &beside));
    }
    if args.json {
        return Ok(format!("{}\n", Value::Array(objects)));
    }
    Ok(listing(&["", "experiment", "runs", "quick", "claims", "about"], &rows, terminal::layout()))
}

fn how_long(part: &Part) -> String {
    let wall = clock::span(Duration::try_from_secs_f64(part.manifest.wall_s).unwrap_or_default());
    if part.found { format!("finished before, in {wall}") } else { format!("in {wall}") }
}

/// One experiment: its claims with what was published and what was measured, and kernel hosts beside the model.
pub fn experiment(done: &Done, behind_another: bool) -> String {
    let layout = terminal::layout();
    let mut text = if behind_another { "\n".to_owned() } else { String::new() };
    let put = |line: &str, text: &mut String| {
        for line in wrapped(line, layout.width, 2) {
            let _ = writeln!(text, "{line}");
        }
    };
    let (id, name) = (done.experiment.id.to_uppercase(), done.experiment.bundled.name);
    put(&format!("{id}: {name}: {}", done.about), &mut text);
    if let Some(source) = &done.source {
        put(&format!("source: {source}"), &mut text);
    }
    let model = match &done.model {
        Ok(part) => part,
        Err(failure) => {
            let _ = write!(text, "{}", failure.render(layout.colour));
            return text;
        }
    };
    let quick = if model.manifest.quick { ", quick" } else { "" };
    let _ = writeln!(text, "{}, seed {}{quick}, {}\n", model.extent, model.manifest.seed, how_long(model));
    let verdicts = claims(&model.verdicts, &model.left_out, layout);
    text.push_str(if verdicts.is_empty() { "no claims\n" } else { &verdicts });
    for warning in &model.manifest.warnings {
        put(&format!("warning: {warning}"), &mut text);
    }
    match &done.kernels {
        Beside::Nothing => {}
        Beside::Without(reason) => {
            text.push('\n');
            put(&format!("kernel hosts were not run: {reason}"), &mut text);
        }
        Beside::Failed(failure) => {
            let _ = write!(text, "\nkernel hosts could not be run: {}", failure.render(layout.colour));
        }
        Beside::Ran(part) => {
            let kernel = part.manifest.kernel.as_ref().map(|kernel| kernel.name.as_str()).unwrap_or_default();
            let _ = writeln!(text, "\non kernel hosts ({kernel}): {}, {}\n", part.extent, how_long(part));
            let table = beside(&model.summary, &part.summary, layout);
            text.push_str(if table.is_empty() { "nothing was run on both\n" } else { &table });
            if !part.verdicts.is_empty() {
                let _ = write!(
                    text,
                    "\nWhat kernel hosts say of the claims that are about them alone:\n{}",
                    claims(&part.verdicts, &[], layout)
                );
            }
            for warning in &part.manifest.warnings {
                put(&format!("warning: on kernel hosts: {warning}"), &mut text);
            }
        }
    }
    text
}

/// A row for each experiment.
pub fn table(done: &[Done]) -> String {
    let mut rows = Vec::new();
    for one in done {
        let (time, claims) = match &one.model {
            Ok(part) => (part.manifest.wall_s, tally(&part.verdicts, &part.left_out)),
            Err(_) => (0.0, "not run to the end".to_owned()),
        };
        let span = |seconds: f64| clock::span(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let kernels = match &one.kernels {
            Beside::Nothing => String::new(),
            Beside::Without(_) => "not run".to_owned(),
            Beside::Failed(_) => "failed".to_owned(),
            Beside::Ran(part) => span(part.manifest.wall_s),
        };
        let id = one.experiment.id.to_uppercase();
        rows.push((vec![id, one.experiment.bundled.name.to_owned(), span(time), kernels], claims));
    }
    listing(&["", "experiment", "wall time", "kernel hosts", "claims"], &rows, terminal::layout())
}

/// All of it as one object.
pub fn json(done: &[Done], quick: bool, report: Option<&Path>) -> Value {
    let one = |done: &Done| {
        let mut object = json!({
            "id": done.experiment.id,
            "group": done.experiment.group,
            "name": done.experiment.bundled.name,
            "about": done.about,
            "source": done.source,
        });
        match &done.model {
            Ok(part) => {
                object["held"] = json!(part.failed() == 0);
                object["model"] = part.to_json();
            }
            Err(failure) => object["error"] = json!(failure.render(false).trim_end()),
        }
        object["kernel_hosts"] = match (&done.kernels, &done.model) {
            (Beside::Without(reason), _) => json!({ "not_run": reason }),
            (Beside::Failed(failure), _) => json!({ "error": failure.render(false).trim_end() }),
            (Beside::Ran(part), Ok(model)) => {
                let mut object = part.to_json();
                object["rows"] = beside_json(&model.summary, &part.summary);
                object
            }
            _ => Value::Null,
        };
        object
    };
    let report = report.map(|path| path.display().to_string());
    json!({ "quick": quick, "report": report, "experiments": done.iter().map(one).collect::<Value>() })
}
