//! A scenario file with its overrides and its sweep, and the scenarios it stands for.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::check::{Checker, check};
use crate::schema::{HostKind, QuickRecord, ScenarioRecord};
use crate::stack::resolve;
use headway_language::{
    At, Entry, Field, MAX_TEXT, Node, PointProblems, Problem, Problems, Reader, Scalar, Shown, Source, Sources, Sweep,
    SweepPoint, SweepValues, Table, Value, apply_set, parse, show_document, substitute, suggest_help, used,
};

/// There are at most this many combinations of sweep points and policies.
const MAX_CELLS: usize = 100_000;
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
}

/// What is different from the text of a scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `key=value`, later ones over earlier ones.
    pub sets: Vec<String>,
    /// What all hosts are.
    pub hosts: Option<HostKind>,
    /// Only these policies; all if there are none.
    pub policies: Vec<String>,
    /// The image of kernel hosts.
    pub kernel: Option<String>,
    /// As `[quick]` says; what else is here goes before it.
    pub quick: bool,
}

impl Overrides {
    /// With `sets` alone.
    pub fn sets(sets: &[String]) -> Overrides {
        Overrides { sets: sets.to_vec(), ..Overrides::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Overrides::default()
    }

    /// As they were given on the command line: where each comes from, and its text.
    fn texts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let sets = self.sets.iter().map(|set| ("--set", set.as_str()));
        let hosts = self.hosts.iter().map(|kind| ("--hosts", kind.as_str()));
        let kernel = self.kernel.iter().map(|name| ("--kernel", name.as_str()));
        let policies = self.policies.iter().map(|name| ("--policy", name.as_str()));
        sets.chain(hosts).chain(kernel).chain(policies)
    }
}

/// In one line, for people.
impl fmt::Display for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quick {
            f.write_str("--quick")?;
        }
        for (index, (from, text)) in self.texts().enumerate() {
            let comma = if index > 0 || self.quick { ", " } else { "" };
            let from = if from == "--set" { String::new() } else { format!("{from} ") };
            write!(f, "{comma}{from}{}", text.replace(char::is_control, " "))?;
        }
        Ok(())
    }
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
        let quick = QuickRecord::sets(record.quick.as_ref(), record.repeats);
        Document::read(text, file_name, &quick, overrides)
    }

    /// Reads `text` with the changes of a quick run, if it is one, and those of the command line.
    fn read(text: &str, file_name: &str, quick: &[String], overrides: &Overrides) -> Result<Document, Problems> {
        let changes = || quick.iter().map(|set| ("[quick]", set.as_str())).chain(overrides.texts());
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
            let message =
                format!("a scenario has at most {} MB of text and {MAX_SETS} overrides", MAX_TEXT / 1_000_000);
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
        for source in 1..=quick.len() + overrides.sets.len() {
            apply_set(&mut tree, &sources, source, &mut reader);
        }
        if !quick.is_empty()
            && let Value::Table(root) = &mut tree.value
        {
            root.entries.retain(|entry| entry.key != "quick");
        }
        let taken_out = apply_others(&mut tree, &sources, quick.len(), overrides, &mut reader);
        let sweep = read_sweep(&mut tree, &mut reader);
        let sweep = sweep.unwrap_or_default();
        let mut document = Document { sources, tree, sweep, left_out: Vec::new(), skipped: Vec::new() };
        if document.sources.0.len() > 1 {
            document.narrow_claims(&written.unwrap_or_default(), &taken_out);
        }
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

    /// The texts of the claims that were left out because they are about points or policies that overrides took out.
    pub fn left_out_claims(&self) -> &[String] {
        &self.left_out
    }

    /// How many points of claim number `claim` overrides took out.
    pub fn skipped_points(&self, claim: usize) -> usize {
        self.skipped.get(claim).copied().unwrap_or(0)
    }

    /// Takes out of the claims what is about values that the sweep does not take: an override that looks at a part of
    /// the sweep alone means that. Takes out whole those that are left with nothing to be about, and those about
    /// policies that were `taken_out`. `written` is the sweep of the file.
    fn narrow_claims(&mut self, written: &Sweep, taken_out: &[String]) {
        let sweep = &self.sweep;
        let Value::Table(root) = &mut self.tree.value else { return };
        let Some(claims) = root.entries.iter_mut().find(|entry| entry.key == "claim") else { return };
        let Value::List(claims) = &mut claims.node.value else { return };
        claims.retain_mut(|claim| {
            let skipped = skipped_points(claim, written, sweep);
            let about = |key: &&str| claim.child(key).is_some_and(|side| names(side, taken_out));
            let stays = !["less", "greater", "between", "near"].iter().any(about) && narrow(claim, sweep);
            if stays {
                self.skipped.push(skipped);
            } else {
                let text = claim.child("text").and_then(Scalar::plain);
                self.left_out.push(text.map(|text| text.to_string()).unwrap_or_default());
            }
            stays
        });
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

/// Writes the overrides that are not `--set` into the tree, and takes names out of the sweep that nothing uses any
/// more because of that. `before` other changes come before theirs in `sources`. Returns the policies that are no longer
/// there.
fn apply_others(
    tree: &mut Node,
    sources: &Sources,
    before: usize,
    overrides: &Overrides,
    reader: &mut Reader,
) -> Vec<String> {
    if overrides.hosts.is_none() && overrides.kernel.is_none() && overrides.policies.is_empty() {
        return Vec::new();
    }
    let used_before = used_names(tree);
    let mut taken_out = Vec::new();
    for (index, (from, text)) in overrides.texts().enumerate() {
        let at = sources.place(before + index + 1, &(0..text.len()));
        let Value::Table(root) = &mut tree.value else { return taken_out };
        let mut put = |key: &str| {
            root.entries.retain(|entry| entry.key != key);
            let node = Node { at, value: Value::Text(text.to_owned()) };
            root.entries.push(Entry { key: key.to_owned(), key_at: at, node });
        };
        match from {
            "--hosts" => {
                put("host-kind");
                let groups = root.entries.iter_mut().find(|entry| entry.key == "hosts");
                if let Some(Value::Table(groups)) = groups.map(|entry| &mut entry.node.value) {
                    for group in &mut groups.entries {
                        if let Value::Table(group) = &mut group.node.value {
                            group.entries.retain(|entry| entry.key != "kind");
                        }
                    }
                }
            }
            "--kernel" => put("kernel"),
            "--policy" => {
                let policies = tree.child("policy").map(|policies| &policies.value);
                let names: Vec<&str> = match policies {
                    Some(Value::List(policies)) => policies.iter().filter_map(Node::name).collect(),
                    _ => Vec::new(),
                };
                if !names.contains(&text) {
                    let help = suggest_help(text, names.iter().copied(), "policies");
                    reader.problem(at, format!("there is no policy `{text}`"), "no such policy", Some(help));
                }
            }
            _ => {}
        }
    }
    if !overrides.policies.is_empty()
        && reader.problems() == 0
        && let Value::Table(root) = &mut tree.value
        && let Some(policies) = root.entries.iter_mut().find(|entry| entry.key == "policy")
        && let Value::List(policies) = &mut policies.node.value
    {
        policies.retain(|policy| {
            let Some(name) = policy.name() else { return true };
            let stays = overrides.policies.iter().any(|wanted| wanted == name);
            if !stays {
                taken_out.push(name.to_owned());
            }
            stays
        });
    }
    let after = used_names(tree);
    let gone: Vec<&String> = used_before.iter().filter(|name| !after.contains(*name)).collect();
    if let Value::Table(root) = &mut tree.value {
        // What a reproduction runs on kernel hosts was said of the policies that the file has.
        root.entries.retain(|entry| entry.key != "kernel-hosts");
        for table in &mut root.entries {
            let sweep = match table.key.as_str() {
                "sweep" => Some(&mut table.node),
                "quick" => table.node.child_mut("sweep"),
                _ => None,
            };
            if let Some(Node { value: Value::Table(sweep), .. }) = sweep {
                sweep.entries.retain(|entry| !gone.contains(&&entry.key));
            }
        }
    }
    for at in claims(tree).iter_mut().flat_map(places) {
        at.entries.retain(|entry| !gone.contains(&&entry.key));
    }
    taken_out
}

/// The names of the sweep that the rest of the tree uses.
fn used_names(tree: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let Value::Table(root) = &tree.value else { return names };
    for entry in root.entries.iter().filter(|entry| entry.key != "sweep") {
        used(&entry.node, &mut Vec::new(), &mut |name, _, _| _ = names.insert(name.to_owned()));
    }
    names
}

/// The claims of the tree.
fn claims(tree: &mut Node) -> &mut [Node] {
    let Value::Table(root) = &mut tree.value else { return &mut [] };
    let claims = root.entries.iter_mut().find(|entry| entry.key == "claim");
    match claims.map(|claims| &mut claims.node.value) {
        Some(Value::List(claims)) => claims,
        _ => &mut [],
    }
}

/// Where a claim says at which sweep points: it itself, and each of its operands.
fn places(node: &mut Node) -> Vec<&mut Table> {
    let Value::Table(table) = &mut node.value else { return Vec::new() };
    let mut found = Vec::new();
    for Entry { key, node, .. } in &mut table.entries {
        match key.as_str() {
            "at" => {
                if let Value::Table(at) = &mut node.value {
                    found.push(at);
                }
            }
            "less" | "greater" => {
                if let Value::List(operands) = &mut node.value {
                    found.extend(operands.iter_mut().flat_map(places));
                }
            }
            "between" | "near" => found.extend(places(node)),
            _ => {}
        }
    }
    found
}

/// Whether what a claim compares is about one of `policies`.
fn names(side: &Node, policies: &[String]) -> bool {
    let is_one = |node: &Node| matches!(&node.value, Value::Text(name) if policies.contains(name));
    match &side.value {
        Value::Table(table) => table.get("policy").is_some_and(is_one),
        Value::List(items) => items.iter().any(|item| names(item, policies)),
        _ => false,
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
            let help =
                "names, descriptions, the seed, repeats, the kernel, its files, claims and quick sizes are about the whole \
                 sweep"
                    .to_owned();
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
    if sweep.len().saturating_mul(policies) > MAX_CELLS {
        let at = written.map_or(At::whole(0), |node| node.at);
        let mut factors: Vec<String> = sweep.names().iter().map(|(_, values)| values.len().to_string()).collect();
        factors.push(format!("{policies} policies"));
        let product = factors.join(" × ");
        let message = format!("there are more than {MAX_CELLS} combinations of sweep values and policies");
        reader.problem(at, message, product, Some("vary fewer names together, or larger steps".to_owned()));
        return None;
    }
    Some(sweep)
}

/// Takes out of `claim` what is about values that `sweep` does not take. Returns whether anything is left.
fn narrow(claim: &mut Node, sweep: &Sweep) -> bool {
    places(claim).into_iter().flat_map(|at| &mut at.entries).all(|entry| {
        let Some(values) = sweep.names().get(&entry.key) else { return true };
        let takes = |node: &Node| Scalar::plain(node).is_none_or(|value| values.contains(&value));
        match &mut entry.node.value {
            Value::List(items) => {
                items.retain(takes);
                !items.is_empty()
            }
            // A range: some of its values are enough.
            Value::Text(text) if text.contains("..") => {
                SweepValues::range(text).is_none_or(|wanted| values.iter().any(|value| wanted.contains(&value)))
            }
            _ => takes(&entry.node),
        }
    })
}

/// How many points of the sweep `written` that `claim` is about are not in `run`.
fn skipped_points(claim: &Node, written: &Sweep, run: &Sweep) -> usize {
    let wanted = |name: &str, value: &Scalar| match claim.child("at").and_then(|at| at.child(name)) {
        Some(Node { value: Value::List(items), .. }) => {
            items.iter().filter_map(Scalar::plain).any(|one| one.to_string() == value.to_string())
        }
        Some(Node { value: Value::Text(text), .. }) if text.contains("..") => {
            SweepValues::range(text).is_some_and(|range| range.contains(value))
        }
        Some(node) => Scalar::plain(node).is_some_and(|one| one.to_string() == value.to_string()),
        None => true,
    };
    let (mut all, mut left) = (1_usize, 1_usize);
    for (name, values) in written.names().iter() {
        // A name that nothing uses any more says nothing.
        let Some(values_run) = run.names().get(name) else { continue };
        let about = || values.iter().filter(|value| wanted(name, value));
        all = all.saturating_mul(about().count());
        left = left.saturating_mul(about().filter(|value| values_run.contains(value)).count());
    }
    all - left
}

/// Whether the value at `path` must be the same at all points: they share one set of results.
fn is_fixed(path: &[String]) -> bool {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    matches!(
        path.as_slice(),
        [
            "name" | "about" | "source" | "seed" | "repeats" | "kernel" | "files" | "claim" | "quick" | "kernel-hosts",
            ..
        ] | ["policy" | "traffic", _, "name"]
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
    headway_language::Definitions::default().document::<ScenarioRecord>("Headway scenario")
}
