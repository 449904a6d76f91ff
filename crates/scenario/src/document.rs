//! A scenario file with its overrides and its sweep, and the scenarios it stands for.

use std::fmt;
use std::sync::Arc;

use crate::check::{Checker, check};
use crate::language::{
    At, Field, LONGEST_TEXT, Node, PointProblems, Problem, Problems, Reader, Scalar, Shown, Source, Sources, Sweep,
    SweepPoint, Syntax, Table, Value, apply_set, parse, show_document, substitute, suggest_help, used,
};
use crate::schema::ScenarioRecord;

/// There are at most this many combinations of sweep points and policies.
const MOST_CELLS: usize = 100_000;
/// So many overrides are more than any command line holds.
const MOST_SETS: usize = 1_000;

/// A scenario file: TOML that was understood, with the overrides written into it, before the values
/// of a sweep point are put in.
#[derive(Clone)]
pub struct Document {
    sources: Arc<Sources>,
    /// Without `[sweep]`.
    tree: Node,
    sweep: Sweep,
    /// Claims that are about points which overrides took out of the sweep.
    left_out: usize,
}

impl Document {
    /// Reads `text`, shown as `file_name` in problems, and writes the overrides `sets`
    /// (`key=value`, later ones over earlier ones) into it.
    ///
    /// # Errors
    /// If it is not TOML, or an override or the sweep is wrong; then as much as possible of the
    /// rest is checked as well. Whether the scenario itself is right, [`Document::check_all`] says.
    pub fn parse(text: &str, file_name: &str, sets: &[String]) -> Result<Document, Problems> {
        let too_long =
            sets.len() > MOST_SETS || sets.iter().any(|set| set.len() > LONGEST_TEXT) || text.len() > LONGEST_TEXT;
        let kept = if too_long { "" } else { text };
        let mut all = vec![Source { name: file_name.to_owned(), text: kept.to_owned() }];
        if !too_long {
            all.extend(sets.iter().map(|set| Source { name: "--set".to_owned(), text: set.clone() }));
        }
        let sources = Arc::new(Sources(all));
        let mut reader = Reader::new(Arc::clone(&sources));
        if too_long {
            let message =
                format!("a scenario has at most {} MB of text and {MOST_SETS} overrides", LONGEST_TEXT / 1_000_000);
            reader.problem(At::whole(0), message, "", None);
            return Err(Problems::new(reader.into_problems()));
        }
        let mut tree = match parse(&sources, 0) {
            Ok(tree) => tree,
            Err(Syntax { message, range }) => {
                let at = range.map_or(At::whole(0), |range| sources.place(0, &range));
                reader.problem(at, format!("this is not TOML: {message}"), "", None);
                return Err(Problems::new(reader.into_problems()));
            }
        };
        for source in 1..sources.0.len() {
            apply_set(&mut tree, &sources, source, &mut reader);
        }
        let sweep = read_sweep(&mut tree, &mut reader);
        let sweep = sweep.unwrap_or_default();
        let left_out = if sources.0.len() > 1 { narrow_claims(&mut tree, &sweep) } else { 0 };
        let document = Document { sources, tree, sweep, left_out };
        let mut problems = reader.into_problems();
        if problems.is_empty() {
            return Ok(document);
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

    /// What is varied.
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// How many claims were left out because they are about points that overrides took out of the sweep.
    pub fn left_out_claims(&self) -> usize {
        self.left_out
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

    /// The scenario at `point` if all of it could be read, and what is wrong with it.
    fn examine(&self, point: &SweepPoint) -> (Option<ScenarioRecord>, Vec<Problem>) {
        let tree = substitute(&self.tree, point);
        let mut reader = Reader::new(Arc::clone(&self.sources));
        let record = ScenarioRecord::read(&tree, &mut reader).map(|mut record| {
            record.sweep = self.sweep.clone();
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

    /// Checks the scenario at every sweep point.
    ///
    /// # Errors
    /// Each problem once; those that not every point has mention the first one.
    pub fn check_all(&self) -> Result<(), Problems> {
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

    /// The whole file with every default written out. Reads back to an equal document.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub fn show(&self) -> Result<String, Problems> {
        let mut shown: Option<Shown> = None;
        for point in self.sweep.star() {
            let next = self.scenario(&point)?.show();
            shown = match (shown, next) {
                (Some(shown), Some(next)) => Some(common(shown, next)),
                (shown, next) => shown.or(next),
            };
        }
        let mut shown = shown.unwrap_or(Shown::Table(Vec::new()));
        used(&self.tree, &mut Vec::new(), &mut |name, _, path| overlay(&mut shown, path, name));
        match settled(shown) {
            Some(Shown::Table(entries)) => Ok(show_document(&entries)),
            _ => Ok(String::new()),
        }
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

/// Takes `[sweep]` out of the tree and holds it against the names the rest uses.
fn read_sweep(tree: &mut Node, reader: &mut Reader) -> Option<Sweep> {
    let Value::Table(root) = &mut tree.value else { return None };
    let index = root.entries.iter().position(|entry| entry.key == "sweep");
    let written = index.map(|index| root.entries.remove(index).node);
    let sweep = match &written {
        Some(node) => reader.within("sweep", |reader| Sweep::read(node, reader)),
        None => Some(Sweep::default()),
    };
    let none = Table::default();
    let table = match written.as_ref().map(|node| &node.value) {
        Some(Value::Table(table)) => table,
        _ => &none,
    };
    let mut unused: Vec<bool> = vec![true; table.entries.len()];
    used(tree, &mut Vec::new(), &mut |name, node, path| {
        if is_fixed(path) {
            let message = format!("`{}` cannot vary with the sweep", path.join("."));
            let help = "names, descriptions, the seed, repeats and claims are about the whole sweep".to_owned();
            reader.problem(node.at, message, "write the value itself", Some(help));
        }
        if let Some(index) = table.entries.iter().position(|entry| entry.key == name) {
            unused[index] = false;
            return;
        }
        let help = if table.entries.is_empty() {
            format!("give it values: [sweep] with {name} = [1, 2, 5]")
        } else {
            suggest_help(name, table.entries.iter().map(|entry| entry.key.as_str()), "names in [sweep]")
        };
        reader.problem(node.at, format!("`${name}` is not in [sweep]"), "no such name", Some(help));
    });
    for (entry, _) in table.entries.iter().zip(unused).filter(|(_, unused)| *unused) {
        let message = format!("`sweep.{0}` is varied, but nothing uses `\"${0}\"`", entry.key);
        let help = "write the name where the value goes, or take it out".to_owned();
        reader.problem(entry.key_at, message, "never used", Some(help));
    }
    let sweep = sweep?;
    let policies = match tree.child("policy").map(|policies| &policies.value) {
        Some(Value::List(policies)) => policies.len().max(1),
        _ => 1,
    };
    if sweep.len().saturating_mul(policies) > MOST_CELLS {
        let at = written.map_or(At::whole(0), |node| node.at);
        let mut factors: Vec<String> = sweep.names().iter().map(|(_, values)| values.len().to_string()).collect();
        factors.push(format!("{policies} policies"));
        let product = factors.join(" × ");
        let message = format!("there are more than {MOST_CELLS} combinations of sweep values and policies");
        reader.problem(at, message, product, Some("vary fewer names together, or larger steps".to_owned()));
        return None;
    }
    Some(sweep)
}

/// Takes out of the claims what is about values that the sweep does not take: an override that looks at a part of the
/// sweep alone means that. Returns how many claims are left with nothing to be about, and are taken out whole.
fn narrow_claims(tree: &mut Node, sweep: &Sweep) -> usize {
    let Value::Table(root) = &mut tree.value else { return 0 };
    let Some(claims) = root.entries.iter_mut().find(|entry| entry.key == "claim") else { return 0 };
    let Value::List(claims) = &mut claims.node.value else { return 0 };
    let before = claims.len();
    claims.retain_mut(|claim| {
        let Value::Table(claim) = &mut claim.value else { return true };
        let Some(at) = claim.entries.iter_mut().find(|entry| entry.key == "at") else { return true };
        let Value::Table(at) = &mut at.node.value else { return true };
        at.entries.iter_mut().all(|entry| {
            let Some(values) = sweep.names().get(&entry.key) else { return true };
            let takes = |node: &Node| Scalar::plain(node).is_none_or(|value| values.contains(&value));
            match &mut entry.node.value {
                Value::List(items) => {
                    items.retain(takes);
                    !items.is_empty()
                }
                // A range: some of its values are enough.
                Value::Text(text) if text.contains("..") => true,
                _ => takes(&entry.node),
            }
        })
    });
    before - claims.len()
}

/// Whether the value at `path` must be the same at all points: they share one set of results.
fn is_fixed(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        path.as_slice(),
        ["name" | "about" | "source" | "seed" | "repeats" | "claim", ..] | ["policy" | "traffic", _, "name"]
    )
}

/// What two sweep points print alike. What differs is either a value of the sweep, which
/// [`overlay`] puts back, or a default that follows from one, which needs no printing.
fn common(one: Shown, other: Shown) -> Shown {
    match (one, other) {
        (Shown::Table(one), Shown::Table(mut other)) => {
            let both = |(key, shown): (String, Shown)| {
                let index = other.iter().position(|(known, _)| *known == key);
                let shown = index.map_or(Shown::Varies, |index| common(shown, other.swap_remove(index).1));
                (key, shown)
            };
            let mut entries: Vec<_> = one.into_iter().map(both).collect();
            entries.extend(other.into_iter().map(|(key, _)| (key, Shown::Varies)));
            Shown::Table(entries)
        }
        (Shown::List(one), Shown::List(other)) if one.len() == other.len() => {
            Shown::List(one.into_iter().zip(other).map(|(one, other)| common(one, other)).collect())
        }
        (one, other) if one == other => one,
        _ => Shown::Varies,
    }
}

/// Takes out what varies and is not in the file.
fn settled(shown: Shown) -> Option<Shown> {
    match shown {
        Shown::Varies => None,
        Shown::List(items) => items.into_iter().map(settled).collect::<Option<_>>().map(Shown::List),
        Shown::Table(entries) => {
            let entry = |(key, shown)| settled(shown).map(|shown| (key, shown));
            Some(Shown::Table(entries.into_iter().filter_map(entry).collect()))
        }
        other => Some(other),
    }
}

/// Puts `"$name"` back at `path`.
fn overlay(shown: &mut Shown, path: &[String], name: &str) {
    let text = || Shown::Text(format!("${name}"));
    let Some((segment, rest)) = path.split_first() else {
        *shown = text();
        return;
    };
    if *shown == Shown::Varies {
        *shown = Shown::Table(Vec::new());
    }
    match shown {
        Shown::Table(entries) => {
            let index = entries.iter().position(|(key, _)| key == segment).unwrap_or_else(|| {
                entries.push((segment.clone(), Shown::Table(Vec::new())));
                entries.len() - 1
            });
            overlay(&mut entries[index].1, rest, name);
        }
        Shown::List(items) => {
            if let Some(item) = segment.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                overlay(item, rest, name);
            }
        }
        _ => {}
    }
}

/// The JSON schema (draft 2020-12) of scenario files, for editors and other programs.
pub fn json_schema() -> serde_json::Value {
    crate::language::Definitions::default().document::<ScenarioRecord>()
}
