//! Reports: a page for the browser, made of the results in finished folders.
//!
//! [`write_report`] puts one into a folder; [`comparison`] and [`reproduction`] make pages of several folders, which
//! [`write_page`] writes. All of it reads folders alone, so that a report can be made again at any time, also of folders
//! of older versions: sections whose files are missing are left out, and the page says so.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use headway_language::MAX_TEXT;
use headway_report::page::{Facts, Group, Kind, MOST_POINTS, Operand, Page, Run, RunBuilder, TooManySteps, html};
use headway_results::{Differences, Filter, Finished, Folder, Job, Manifest, Metric, Repeats, Side, differences};
use headway_scenario::Document;
use headway_scenario::schema::{FilmPoints, FilmRecord, OperandRecord, ScenarioRecord, TrafficRecord};
use thiserror::Error;

/// The report's name in a folder of results.
pub const REPORT: &str = "report.html";

/// Points of the sweep on a page of several runs, all runs together; each has at least [`LEAST_POINTS`].
const SHARED_POINTS: usize = 2048;
const LEAST_POINTS: usize = 32;

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// The folder is not finished, is none of ours, or is damaged.
    #[error(transparent)]
    Results(#[from] headway_results::Error),
    /// The rows of a table are not in the order of cells and repeats.
    #[error("{} is damaged or not ours: its rows are not in the order of cells and repeats", path.display())]
    Order {
        /// The table.
        path: PathBuf,
    },
    /// A link has more steps than a film can have.
    #[error("{} is damaged or not ours: {source}", path.display())]
    Steps {
        /// The table.
        path: PathBuf,
        /// What is too many.
        source: TooManySteps,
    },
    /// A file that is no report has the name.
    #[error("{} is there and no report of Headway's, so it is not replaced", path.display())]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// The page cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The page.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Writes `report.html` into the finished folder at `folder` and gives its path. A report that is there is replaced
/// when the new one is complete.
///
/// # Errors
/// See [`ReportError`].
pub fn write_report(folder: &Path) -> Result<PathBuf, ReportError> {
    let path = folder.join(REPORT);
    write_page(&single(folder)?, &path)?;
    Ok(path)
}

/// The page of the finished folder at `folder`.
///
/// # Errors
/// If it is not finished, is none of ours, or is damaged.
pub fn single(folder: &Path) -> Result<Page, ReportError> {
    let run = run(&Folder::open(folder)?, None, String::new(), MOST_POINTS)?;
    let label = run.scenario.clone();
    Ok(Page::new(Kind::Run, label.clone(), vec![Run { label, ..run }], Vec::new()))
}

/// The page of several finished folders side by side.
///
/// # Errors
/// If one of them is not finished, is none of ours, or is damaged.
pub fn comparison(folders: &[PathBuf]) -> Result<Page, ReportError> {
    let runs = all(folders, &labels(folders), true)?;
    let names: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    Ok(Page::new(Kind::Comparison, names.join(", "), runs, Vec::new()))
}

/// The page of published experiments: `groups` have a title each and the folders of their experiments, with the names
/// that these are known by.
///
/// # Errors
/// If one of the folders is not finished, is none of ours, or is damaged.
pub fn reproduction(title: &str, groups: &[(String, Vec<(String, PathBuf)>)]) -> Result<Page, ReportError> {
    let (mut folders, mut names, mut of_page) = (Vec::new(), Vec::new(), Vec::new());
    for (title, experiments) in groups {
        let runs = (folders.len()..folders.len() + experiments.len()).collect();
        of_page.push(Group { title: title.clone(), runs });
        for (name, folder) in experiments {
            names.push(name.clone());
            folders.push(folder.clone());
        }
    }
    let runs = all(&folders, &distinct(names), false)?;
    Ok(Page::new(Kind::Reproduction, title, runs, of_page))
}

/// Writes `page` to `path`, under a temporary name first. A report that is there is replaced.
///
/// # Errors
/// If it cannot be written, or if a file other than a report is at `path`; that file is not touched then.
pub fn write_page(page: &Page, path: &Path) -> Result<(), ReportError> {
    if !free_or_report(path).map_err(|source| ReportError::Write { path: path.to_path_buf(), source })? {
        return Err(ReportError::Taken { path: path.to_path_buf() });
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = PathBuf::from(temporary);
    fs::write(&temporary, html(page)).and_then(|()| fs::rename(&temporary, path)).map_err(|source| {
        // The room may be what others need; if this fails, too, the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
        ReportError::Write { path: path.to_path_buf(), source }
    })
}

/// Whether a page at `path` takes nothing from anybody: nothing is there, or an empty file, or an earlier page.
fn free_or_report(path: &Path) -> io::Result<bool> {
    const HEAD: u64 = 1024; // bytes; the mark is within the first 300
    const MARK: &[u8] = br#"<meta name="generator" content="Headway">"#;
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
        Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => return Ok(false),
        Ok(_) => {}
    }
    let mut head = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, HEAD), &mut head)?;
    Ok(head.is_empty() || head.windows(MARK.len()).any(|bytes| bytes == MARK))
}

/// The runs in `folders`; if they are `compared`, with the differences of all from the first.
fn all(folders: &[PathBuf], labels: &[String], compared: bool) -> Result<Vec<Run>, ReportError> {
    let points = (SHARED_POINTS / folders.len().max(1)).clamp(LEAST_POINTS, MOST_POINTS);
    let first = match folders {
        [first, _, ..] if compared => {
            let folder = Folder::open(first)?;
            let repeats = folder.repeats()?;
            Some((folder, repeats))
        }
        _ => None,
    };
    let one = |(place, (folder, label)): (usize, (&PathBuf, &String))| {
        let folder = Folder::open(folder)?;
        let against = match &first {
            Some((first, repeats)) if place > 0 => against(first, repeats.as_ref(), &folder)?,
            _ => None,
        };
        run(&folder, against.as_ref(), label.clone(), points)
    };
    folders.iter().zip(labels).enumerate().map(one).collect()
}

/// How `folder` differs from `first`; `None` if they are of other parameters, so that nothing can be compared.
fn against(
    first: &Finished,
    repeats: Option<&Repeats>,
    folder: &Finished,
) -> Result<Option<Differences>, headway_results::Error> {
    let own = folder.repeats()?;
    let sides = Side::new(first, repeats, Vec::new()).ok().zip(Side::new(folder, own.as_ref(), Vec::new()).ok());
    Ok(sides.and_then(|(a, b)| differences(&a, &b, &Filter::default()).ok()))
}

/// The folders' own names; the whole paths if two are the same.
fn labels(folders: &[PathBuf]) -> Vec<String> {
    let own = |folder: &PathBuf| {
        // `.` and `..` have names, too
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.clone());
        whole.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = folders.iter().map(own).collect();
    let twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let label = |(name, folder): (&String, &PathBuf)| {
        if twice(name) { folder.display().to_string() } else { name.clone() }
    };
    distinct(names.iter().zip(folders).map(label).collect())
}

/// A number behind names that were there before.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name} ({number})"));
        let mut free = std::iter::once(name.clone()).chain(numbered).filter(|name| !all.contains(name));
        let free = free.next().unwrap_or_default();
        all.push(free);
    }
    all
}

/// The run in a finished folder.
fn run(
    folder: &Finished,
    against: Option<&Differences>,
    label: String,
    most_points: usize,
) -> Result<Run, ReportError> {
    let mut scene = Scene::of(folder);
    let topologies = folder.topologies()?;
    if topologies.runs.is_empty() {
        scene.notes.extend(scene.film.as_ref().and_then(without_film));
    }
    let mut builder = RunBuilder::new(Facts {
        label,
        manifest: &folder.manifest,
        summary: &folder.summary,
        against,
        topologies: &topologies,
        about: scene.about,
        source: scene.source,
        toml: scene.toml,
        operands: scene.operands,
        notes: scene.notes,
        most_points,
    });
    if let Some(links) = folder.links()? {
        let path = folder.path.join("links.parquet");
        let damaged = |source| ReportError::Steps { path: path.clone(), source };
        in_order(folder, "links.parquet", links, |job, row| builder.add_link(job, &row).map_err(damaged))?;
    }
    in_order(folder, "flows.parquet", folder.flows()?, |job, flow| {
        builder.add_flow(job, &flow);
        Ok(())
    })?;
    in_order(folder, "series.parquet", folder.series()?, |job, sample| {
        builder.add_sample(job, &sample);
        Ok(())
    })?;
    Ok(builder.finish())
}

/// Gives the rows of a table to `take`, which relies on the order of cells and repeats.
fn in_order<T>(
    folder: &Finished,
    name: &str,
    rows: impl Iterator<Item = Result<(Job, T), headway_results::Error>>,
    mut take: impl FnMut(Job, T) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let mut last = Job { cell: 0, repeat: 0 };
    for row in rows {
        let (job, row) = row?;
        if job < last {
            return Err(ReportError::Order { path: folder.path.join(name) });
        }
        last = job;
        take(job, row)?;
    }
    Ok(())
}

/// What the scenario in a folder says.
#[derive(Debug, Default)]
struct Scene {
    about: String,
    source: Option<String>,
    toml: String,
    /// The values that each claim is about.
    operands: Vec<Vec<Option<Operand>>>,
    notes: Vec<String>,
    /// `measure.film`, where the scenario can be read.
    film: Option<FilmRecord>,
}

/// Why a film that the scenario asks for is not there; nothing, if it asks for none, or leaves it at the default.
fn without_film(film: &FilmRecord) -> Option<String> {
    let asks = film.points != FilmPoints::None && *film != FilmRecord::default();
    let (steps, most) = (film.steps, FilmRecord::MAX_VALUES / u64::from(film.steps.max(1)));
    asks.then(|| {
        format!(
            "The scenario asks for a film of its links (measure.film), and there is none: one of {steps} steps needs a \
             network of at most {most} links, each direction one, and hosts that are not namespaces."
        )
    })
}

impl Scene {
    fn of(folder: &Finished) -> Scene {
        let path = folder.path.join("scenario.toml");
        let text = match headway_input::read_text(&path, MAX_TEXT as u64) {
            Ok(text) => text,
            Err(error) => {
                let note =
                    format!("scenario.toml cannot be read ({error}): its text and published numbers are missing.");
                return Scene { notes: vec![note], ..Scene::default() };
            }
        };
        let read = Document::parse(&text, "scenario.toml", &[]).and_then(|document| {
            let record = document.scenario(&document.points()[0])?;
            Ok((document.show()?, record))
        });
        let Ok((shown, record)) = read else {
            let note =
                "scenario.toml is of another version: it is shown as it is, and without published numbers in charts.";
            return Scene { toml: text, notes: vec![note.to_owned()], ..Scene::default() };
        };
        let operands = operands(&record, &folder.manifest);
        let (notes, film) = (Vec::new(), Some(record.measure.film));
        Scene { about: record.about, source: record.source, toml: shown, operands, notes, film }
    }
}

/// The values that the claims of `record` are about, if those are the claims of the manifest.
fn operands(record: &ScenarioRecord, manifest: &Manifest) -> Vec<Vec<Option<Operand>>> {
    let judged = manifest.claims.as_array().map(Vec::as_slice).unwrap_or_default();
    let same = judged.iter().map(|claim| claim.get("text").and_then(serde_json::Value::as_str));
    if !same.eq(record.claim.iter().map(|claim| Some(claim.text.as_str()))) {
        return Vec::new();
    }
    let reported: Vec<String> = record.traffic.iter().flat_map(TrafficRecord::reported).collect();
    let of = |operand: Option<&OperandRecord>| operand.and_then(|operand| comparable(operand, &reported));
    record.claim.iter().map(|claim| claim.operands().map(of).to_vec()).collect()
}

/// The value, if it is of whole runs and of nothing narrower than a traffic: what summaries have.
fn comparable(operand: &OperandRecord, reported: &[String]) -> Option<Operand> {
    let narrower = operand.from.is_some()
        || operand.to.is_some()
        || operand.port.is_some()
        || operand.over.is_some()
        || operand.minus.is_some();
    let metric: Metric = operand.value.parse().ok().filter(|_| !narrower)?;
    let traffic = match (&operand.traffic, reported) {
        _ if metric.is_of_network() => None,
        (Some(name), _) => Some(name.clone()),
        (None, [only]) => Some(only.clone()),
        (None, _) => return None,
    };
    let at = operand.at.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    Some(Operand { policy: operand.policy.to_string(), traffic, metric, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_names_of_folders_and_never_the_same_twice() {
        let folders = ["a/x", "b/x", "c/y", "c/y"].map(PathBuf::from);
        assert_eq!(labels(&folders), ["a/x", "b/x", "c/y", "c/y (2)"]);
        assert_eq!(labels(&["a/x", "c/y"].map(PathBuf::from)), ["x", "y"]);
        assert_eq!(distinct(vec!["n".into(), "n (2)".into(), "n".into()]), ["n", "n (2)", "n (3)"]);
    }

    #[test]
    fn a_film_that_is_asked_for_and_left_out_is_told_of() {
        let film = FilmRecord { points: FilmPoints::All, steps: 10_000 };
        let note = without_film(&film).unwrap();
        assert!(note.contains("one of 10000 steps needs a network of at most 200 links"), "{note}");
        assert_eq!(without_film(&FilmRecord::default()), None);
        assert_eq!(without_film(&FilmRecord { points: FilmPoints::None, ..film }), None);
    }
}
