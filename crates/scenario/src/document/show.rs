//! A scenario with every default written out.

use headway_language::{Node, Shown, show_document, used};

/// The text of a scenario that prints `points` at its sweep points, with the names of the sweep where `tree` has them.
pub(super) fn show(points: impl Iterator<Item = Shown>, tree: &Node) -> String {
    let mut shown = points.reduce(common).unwrap_or(Shown::Table(Vec::new()));
    used(tree, &mut Vec::new(), &mut |name, _, path| overlay(&mut shown, path, name));
    match settled(shown) {
        Some(Shown::Table(entries)) => show_document(&entries),
        _ => String::new(),
    }
}

/// The parts that two sweep points print alike. A difference is either a value of the sweep, which
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

/// Takes out values that vary and are not in the file.
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
