//! A scenario file with its overrides and its sweep, and the scenarios it stands for.

mod chosen;
mod narrowing;
mod overrides;
mod show;
mod sweep;
mod variants;

use std::fmt;
use std::sync::Arc;

use crate::check::check;
use crate::checker::Checker;
use crate::plan::error::PlanError;
use crate::schema::{Change, QuickRecord, ScenarioRecord};
use crate::stack::resolve;
use chosen::Chosen;
use headway_language::{
    At, Field, MAX_TEXT, Node, PointProblems, Problem, Problems, Reader, Source, Sources, Sweep, SweepPoint, Value,
    apply_set, parse, substitute,
};
use narrowing::narrow_claims;
pub use overrides::Overrides;
use show::show;
use sweep::read_sweep;
pub use variants::Variant;

/// So many overrides are more than any command line holds.
const MAX_SETS: usize = 1_000;

/// A scenario file: TOML that was understood, with the overrides written into it, before the values
/// of a sweep point are put in.
#[derive(Clone)]
pub struct Document {
    sources: Arc<Sources>,
    /// Without `[sweep]`.
    tree: Node,
    sweep: Sweep,
    /// The texts of claims that are about nothing but points or policies which overrides took out.
    left_out: Vec<String>,
    /// For each of the other claims, how many of its points were taken out.
    skipped: Vec<usize>,
    /// What it was read with.
    overrides: Overrides,
}

impl Document {
    /// Reads `text`, shown as `file_name` in problems, and writes the overrides `sets`
    /// (`key=value`, later ones over earlier ones) into it.
    ///
    /// # Errors
    /// If it is not TOML, or an override or the sweep is wrong; then as much as possible of the
    /// rest is checked as well. Whether the scenario itself is right, [`Document::check_all`] says.
    pub fn parse(text: &str, file_name: &str, sets: &[String]) -> Result<Document, Problems> {
        Document::parse_with(text, file_name, &Overrides::sets(sets))
    }

    /// As [`Document::parse`], with all sorts of overrides.
    ///
    /// # Errors
    /// As there.
    pub fn parse_with(text: &str, file_name: &str, overrides: &Overrides) -> Result<Document, Problems> {
        if !overrides.quick {
            return Document::read(text, file_name, &[], overrides);
        }
        let whole = Document::read(text, file_name, &[], overrides)?;
        let record = whole.scenario(&whole.sweep.point(0))?;
        let quick = QuickRecord::changes(record.quick.as_ref(), record.repeats);
        Document::read(text, file_name, &quick, overrides)
    }

    /// Reads `text` with the changes that it asks for itself, for a quick run, say, and those of the command line.
    fn read(text: &str, file_name: &str, own: &[Change], overrides: &Overrides) -> Result<Document, Problems> {
        let changes = || {
            own.iter()
                .map(|change| (file_name, change.set.as_str()))
                .chain(overrides.changes().map(|change| (change.option(), change.text())))
        };
        let too_long =
            changes().count() > MAX_SETS || changes().any(|(_, text)| text.len() > MAX_TEXT) || text.len() > MAX_TEXT;
        let kept = if too_long { "" } else { text };
        let mut all = vec![Source { name: file_name.to_owned(), text: kept.to_owned() }];
        if !too_long {
            let source = |(name, text): (&str, &str)| Source { name: name.to_owned(), text: text.to_owned() };
            all.extend(changes().map(source));
        }
        let sources = Arc::new(Sources(all));
        let mut reader = Reader::new(Arc::clone(&sources));
        if too_long {
            let megabytes = MAX_TEXT / 1_000_000;
            let message = format!("a scenario has at most {megabytes} MB of text and {MAX_SETS} overrides");
            reader.problem(At::whole(0), message, "", None);
            return Err(Problems::new(reader.into_problems()));
        }
        let mut tree = match parse(&sources, 0) {
            Ok(tree) => tree,
            Err(syntax) => {
                reader.syntax(syntax);
                return Err(Problems::new(reader.into_problems()));
            }
        };
        // Before anything is changed, so that claims are known to be about what is not run.
        let written = tree.child("sweep").and_then(|sweep| Sweep::read(sweep, &mut Reader::new(Arc::clone(&sources))));
        let places: Vec<At> = own.iter().map(|change| tree.locate(&change.at)).collect();
        let mut chosen = Chosen::default();
        for source in 1..=own.len() + overrides.sets.len() {
            let set = &sources.0[source].text;
            chosen.change(set, &mut tree, |tree| apply_set(tree, &sources, source, &mut reader));
        }
        chosen.apply(&mut tree, &mut reader);
        variants::relocate(&mut tree, &places);
        if !own.is_empty()
            && let Value::Table(root) = &mut tree.value
        {
            root.entries.retain(|entry| entry.key != "quick");
        }
        let (taken_out, left_out) = overrides::apply(&mut tree, &sources, own.len(), overrides, &mut reader);
        let sweep = read_sweep(&mut tree, &mut reader);
        let sweep = sweep.unwrap_or_default();
        let overrides = overrides.clone();
        let mut document = Document { sources, tree, sweep, left_out, skipped: Vec::new(), overrides };
        if document.sources.0.len() > 1 {
            let written = written.unwrap_or_default();
            let narrowed = narrow_claims(&mut document.tree, &document.sweep, &written, &taken_out);
            document.left_out.extend(narrowed.left_out);
            document.skipped = narrowed.skipped;
        }
        let mut problems = reader.into_problems();
        if problems.is_empty() {
            return Ok(document);
        }
        for problem in &mut problems {
            problem.at = variants::relocated(problem.at, &places);
        }
        // The rest of the file, with holes where the sweep has no value.
        if let Err(others) = document.scenario(&document.sweep.point(0)) {
            // One mistake, one problem: what the sweep got wrong cannot be right at its place of use.
            let new = |other: &Problem| problems.iter().all(|known| known.at != other.at);
            let others: Vec<Problem> = others.into_iter().filter(new).collect();
            problems.extend(others);
        }
        Err(Problems::new(problems))
    }

    /// The sweep.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The texts of the claims that were left out because they are about points or policies that overrides took out.
    pub fn left_out_claims(&self) -> &[String] {
        &self.left_out
    }

    /// How many points of claim number `claim` overrides took out.
    pub fn skipped_points(&self, claim: usize) -> usize {
        self.skipped.get(claim).copied().unwrap_or(0)
    }

    /// Every combination of the sweep's values; a single empty one without a sweep.
    pub fn points(&self) -> Vec<SweepPoint> {
        (0..self.sweep.len()).map(|index| self.sweep.point(index)).collect()
    }

    /// The scenario at `point`.
    ///
    /// # Errors
    /// Everything that is wrong with it; each problem mentions the point.
    pub fn scenario(&self, point: &SweepPoint) -> Result<ScenarioRecord, Problems> {
        let (record, problems) = self.examine(point);
        match record {
            Some(record) if problems.is_empty() => Ok(record),
            _ => Err(Problems::new(problems)),
        }
    }

    /// The scenario at `point` if all of it could be read, and its problems.
    fn examine(&self, point: &SweepPoint) -> (Option<ScenarioRecord>, Vec<Problem>) {
        let mut tree = substitute(&self.tree, point);
        // Rows of published tables keep the names of the sweep: whoever looks them up knows the units.
        if let (Some(claims), Some(written)) = (tree.child_mut("claim"), self.tree.child("claim")) {
            claims.clone_from(written);
        }
        let mut reader = Reader::new(Arc::clone(&self.sources));
        let record = ScenarioRecord::read(&tree, &mut reader).map(|mut record| {
            record.sweep = self.sweep.clone();
            resolve(&mut record);
            record
        });
        let mut problems = reader.into_problems();
        // Unknown keys leave a record that is complete, but not meant so.
        let record = record.filter(|_| problems.is_empty());
        if let Some(record) = &record {
            let mut checker = Checker::new(&tree, &self.sources);
            check(record, &mut checker);
            problems = checker.into_problems();
        }
        if !self.sweep.is_empty() {
            for problem in &mut problems {
                problem.point = Some(point.to_string());
            }
        }
        (record, problems)
    }

    /// Checks the scenario at every sweep point, and at those of its [`Variant`]s.
    ///
    /// # Errors
    /// Each problem once; those that not every point has mention the first one.
    pub fn check_all(&self) -> Result<(), Problems> {
        self.check_points()?;
        self.variants()?
            .iter()
            .try_for_each(|variant| variant.document.check_points().map_err(|problems| variant.name(problems)))
    }

    /// Checks the scenario at every sweep point.
    fn check_points(&self) -> Result<(), Problems> {
        let mut found = PointProblems::default();
        for index in 0..self.sweep.len() {
            let (record, problems) = self.examine(&self.sweep.point(index));
            found.add(problems, record.is_some());
            if found.enough() {
                break;
            }
        }
        let problems = found.finish();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// A problem with the value at `path` (or, if it is a default, with the table around it), for
    /// checks that need more than the file. Elements of lists are addressed by index or by name.
    pub fn problem_at(&self, path: &[&str], message: impl Into<String>, help: Option<String>) -> Problem {
        let at = self.tree.locate(path);
        Problem {
            sources: Arc::clone(&self.sources),
            at,
            message: message.into(),
            label: String::new(),
            help,
            point: None,
        }
    }

    /// A problem of a plan at its place in the file.
    pub fn locate(&self, error: PlanError) -> Problem {
        let path: Vec<&str> = error.path.iter().map(String::as_str).collect();
        self.problem_at(&path, error.message, error.help)
    }

    /// The whole file with every default written out. Reads back to an equal document.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub fn show(&self) -> Result<String, Problems> {
        let points = self.sweep.star();
        let shown =
            points.iter().map(|point| Ok(self.scenario(point)?.show())).collect::<Result<Vec<_>, Problems>>()?;
        Ok(show(shown.into_iter().flatten(), &self.tree))
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("file", &self.sources.0[0].name)
            .field("sweep", &self.sweep)
            .finish_non_exhaustive()
    }
}

/// The JSON schema (draft 2020-12) of scenario files, for editors and other programs.
pub fn json_schema() -> serde_json::Value {
    headway_language::Definitions::default().document::<ScenarioRecord>("Headway scenario")
}
