//! Claims of a scenario of which overrides run a part only: narrowed to that part, or left out.

use headway_language::{Entry, Node, Scalar, Sweep, SweepValues, Table, Value, used};

/// Claims after overrides took out sweep points or policies.
#[derive(Debug, Default)]
pub(super) struct Narrowed {
    /// The texts of claims that are left with nothing to be about.
    pub left_out: Vec<String>,
    /// For each of the other claims, how many of its points were taken out.
    pub skipped: Vec<usize>,
}

/// Takes out of the claims of `tree` all that is about values that `sweep` does not take: an override that looks at a
/// part of the sweep alone means that. Takes out whole claims that are left with nothing to be about, and those about
/// policies that were `taken_out`. `written` is the sweep of the file.
pub(super) fn narrow_claims(tree: &mut Node, sweep: &Sweep, written: &Sweep, taken_out: &[String]) -> Narrowed {
    let mut narrowed = Narrowed::default();
    let Some(Node { value: Value::List(claims), .. }) = tree.child_mut("claim") else { return narrowed };
    claims.retain_mut(|claim| {
        let skipped = skipped_points(claim, written, sweep);
        let about = |key: &&str| claim.child(key).is_some_and(|side| names(side, taken_out));
        let stays = !["less", "greater", "between", "near"].iter().any(about) && narrow(claim, sweep);
        if stays {
            narrowed.skipped.push(skipped);
        } else {
            let text = claim.child("text").and_then(Scalar::plain);
            narrowed.left_out.push(text.map(|text| text.to_string()).unwrap_or_default());
        }
        stays
    });
    narrowed
}

/// Takes the names `gone` out of the sweep points that claims are about.
pub(super) fn drop_points(tree: &mut Node, gone: &[&str]) {
    for at in claims(tree).iter_mut().flat_map(places) {
        at.entries.retain(|entry| !gone.contains(&entry.key.as_str()));
    }
}

/// Takes out claims that look up a row of a published table by one of the names `gone`; returns their texts.
pub(super) fn drop_rows(tree: &mut Node, gone: &[&str]) -> Vec<String> {
    let mut left_out = Vec::new();
    let Some(Node { value: Value::List(claims), .. }) = tree.child_mut("claim") else { return left_out };
    claims.retain(|claim| {
        let mut stays = true;
        used(claim, &mut Vec::new(), &mut |name, _, _| stays &= !gone.contains(&name));
        if !stays {
            let text = claim.child("text").and_then(Scalar::plain);
            left_out.push(text.map(|text| text.to_string()).unwrap_or_default());
        }
        stays
    });
    left_out
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

/// Whether one side of a claim is about one of `policies`.
fn names(side: &Node, policies: &[String]) -> bool {
    let is_one = |node: &Node| matches!(&node.value, Value::Text(name) if policies.contains(name));
    match &side.value {
        Value::Table(table) => ["policy", "minus"].iter().any(|key| table.get(key).is_some_and(is_one)),
        Value::List(items) => items.iter().any(|item| names(item, policies)),
        _ => false,
    }
}

/// Takes values that `sweep` does not take out of `claim`. Returns whether anything remains.
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
