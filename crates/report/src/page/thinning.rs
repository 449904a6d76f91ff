//! Each section of a run thinned to so many bytes.
//!
//! Every function goes through a ladder of ever coarser steps and stops at the first that fits; at the end of the ladder
//! the section is empty.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::spread;
use super::html::size;
use super::model::{Claim, Estimate, Film, Held, Run};
use super::number::Number;
use super::thin::thinned;

/// Metrics that stay longest in a summary, the first the longest.
const KEPT_METRICS: [&str; 8] =
    ["fct.mean", "fct.p99", "goodput.mean", "fct.p95", "goodput.sum", "rate", "slowdown.mean", "unfinished"];

/// Claims keep the points at which they do not hold longest.
pub(super) fn claims(run: &mut Run, room: usize) {
    let mut fits = false;
    for most in [200, 100, 50, 20, 10, 5, 3, 1, 0] {
        run.claims.iter_mut().for_each(|claim| keep_lines(claim, most));
        if size(&run.claims) <= room {
            run.notes.push(format!("Of each claim at most {most} points are listed; manifest.json has all."));
            fits = true;
            break;
        }
    }
    if !fits {
        run.notes.push("Points of claims are not listed; manifest.json has them.".to_owned());
        fewer_claims(run, room);
    }
}

/// Cuts the texts of claims, then keeps fewer of them, those that do not hold longest.
fn fewer_claims(run: &mut Run, room: usize) {
    for longest in [1000, 300, 100] {
        if size(&run.claims) <= room {
            return;
        }
        for claim in &mut run.claims {
            cut(&mut claim.text, longest);
            claim.known.iter_mut().chain(&mut claim.published).for_each(|text| cut(text, longest));
            claim.published.truncate(longest / 10);
        }
    }
    let of = run.claims.len();
    while size(&run.claims) > room && !run.claims.is_empty() {
        let (failing, others): (Vec<usize>, Vec<usize>) =
            (0..run.claims.len()).partition(|place| matches!(run.claims[*place].verdict, Held::NotHeld | Held::Known));
        let kept: BTreeSet<usize> = failing.into_iter().chain(others).take(run.claims.len() / 2).collect();
        retain_places(&mut run.claims, &kept);
    }
    if run.claims.len() < of {
        run.notes.push(format!("{} of {of} claims are shown; manifest.json has all.", run.claims.len()));
    }
}

fn keep_lines(claim: &mut Claim, most: usize) {
    if claim.lines.len() <= most {
        return;
    }
    let (failing, others): (Vec<usize>, Vec<usize>) =
        (0..claim.lines.len()).partition(|place| claim.lines[*place].held == Some(false));
    let mut kept: BTreeSet<usize> = evenly(&failing, most).collect();
    kept.extend(evenly(&others, most - kept.len()));
    retain_places(&mut claim.lines, &kept);
}

/// At most `most` of `places`, evenly, with the first and the last.
fn evenly(places: &[usize], most: usize) -> impl Iterator<Item = usize> {
    let n = most.min(places.len());
    let at = move |i: usize| if n == 1 { 0 } else { (places.len() - 1) * i / (n - 1) };
    (0..n).map(move |i| places[at(i)])
}

fn retain_places<T>(list: &mut Vec<T>, kept: &BTreeSet<usize>) {
    let mut place = 0;
    list.retain(|_| {
        place += 1;
        kept.contains(&(place - 1))
    });
}

/// Metrics first, then points of the sweep.
pub(super) fn summary(run: &mut Run, room: usize) {
    let by_priority = |place: &usize| {
        let name = run.metrics[*place].name.as_str();
        KEPT_METRICS.iter().position(|own| *own == name).unwrap_or(KEPT_METRICS.len() + *place)
    };
    let mut metrics: Vec<usize> = (0..run.metrics.len()).collect();
    metrics.sort_by_key(by_priority);
    // Each row with its comma: they are written once, however many metrics and points are left out.
    let mut rows: Vec<(Estimate, usize)> = run.summary.iter().map(|row| (*row, size(row) + 1)).collect();
    let mut by_metric = vec![0; run.metrics.len()];
    for (row, bytes) in &rows {
        by_metric[row.3] += bytes;
    }
    let mut total = 2 + by_metric.iter().sum::<usize>();
    while total > room && metrics.len() > 2 {
        total -= metrics.pop().map_or(0, |dropped| by_metric[dropped]);
    }
    rows.retain(|(row, _)| metrics.contains(&row.3));
    let of = run.points.len();
    let mut shown = of;
    while total > room && shown > 1 {
        shown /= 2;
        let kept = spread(&run.points, &run.sweep, shown);
        rows.retain(|(row, _)| kept.contains(&row.1));
        total = 2 + rows.iter().map(|(_, bytes)| bytes).sum::<usize>();
    }
    if total > room {
        rows.clear();
        shown = 0;
    }
    run.summary = rows.into_iter().map(|(row, _)| row).collect();
    let kept: Vec<&str> = metrics.iter().map(|place| run.metrics[*place].name.as_str()).collect();
    let points = if shown < of { format!(" at {shown} of {of} points of the sweep") } else { String::new() };
    run.notes.push(format!("The summary shows {}{points}; summary.csv has all.", kept.join(", ")));
}

/// Keeps what is of ever fewer points until it fits; returns of how many it is.
fn fewer_points<T: serde::Serialize>(
    run: &mut Run,
    room: usize,
    list: fn(&mut Run) -> &mut Vec<T>,
    point: fn(&T) -> usize,
) -> usize {
    let mut most = run.points.len();
    loop {
        if size(list(run)) <= room {
            return most.min(run.points.len());
        }
        if most <= 1 {
            list(run).clear();
            return 0;
        }
        most /= 2;
        let kept = spread(&run.points, &run.sweep, most);
        list(run).retain(|one| kept.contains(&point(one)));
    }
}

/// Cut at the end of a line; left out where nothing of it fits.
pub(super) fn toml(run: &mut Run, room: usize) {
    let note = "# … the rest is in scenario.toml\n";
    // in the worst case every character takes six bytes
    let mut most = room.saturating_sub(note.len() + 2);
    while most > 0 && size(&run.toml) > room {
        let end = boundary(&run.toml, most);
        let end = run.toml[..end].rfind('\n').map_or(0, |end| end + 1);
        run.toml.truncate(end);
        run.toml.push_str(note);
        most = most * 9 / 10;
    }
    if size(&run.toml) > room {
        run.toml.clear();
        run.notes.push("The scenario is left out; scenario.toml has it.".to_owned());
    } else {
        run.notes.push("The scenario is cut; scenario.toml has all of it.".to_owned());
    }
}

/// How many bytes texts take that are in no table.
pub(super) fn texts_size(run: &Run) -> usize {
    let texts = [&run.about, &run.command].into_iter().map(size);
    let lists = [&run.warnings, &run.left_out, &run.notes].into_iter().map(size);
    texts.chain(lists).sum()
}

/// Each text cut, then fewer in each list: what is about the run and needs no more than some lines as a rule.
pub(super) fn texts(run: &mut Run, room: usize) {
    let own = texts_size;
    let before = own(run);
    for (most, longest) in [(1000, 1000), (1000, 300), (100, 300), (50, 200), (20, 100), (5, 60)] {
        if own(run) <= room {
            break;
        }
        cut(&mut run.about, longest);
        cut(&mut run.command, longest);
        for list in [&mut run.warnings, &mut run.left_out, &mut run.notes] {
            list.truncate(most);
            for text in list {
                cut(text, longest);
            }
        }
    }
    if own(run) > room {
        [&mut run.about, &mut run.command].into_iter().for_each(String::clear);
        [&mut run.warnings, &mut run.left_out, &mut run.notes].into_iter().for_each(Vec::clear);
    }
    if own(run) < before {
        run.notes.push("Warnings and other texts are cut or left out; manifest.json has all.".to_owned());
    }
}

/// Makes a text at most `most` bytes long.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(boundary(text, most.saturating_sub('…'.len_utf8())));
        text.push('…');
    }
}

/// The last end of a character at or before `most`.
fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0)
}

/// Points of the sweep; then none at all.
pub(super) fn published(run: &mut Run, room: usize) {
    let of = run.points.len();
    let mut most = of;
    while size(&run.published) > room && most > 1 {
        most /= 2;
        let kept = spread(&run.points, &run.sweep, most);
        run.published.iter_mut().for_each(|own| own.points.retain(|(point, _)| kept.contains(point)));
        run.published.retain(|own| !own.points.is_empty());
    }
    if size(&run.published) > room {
        run.published.clear();
        most = 0;
    }
    run.notes.push(format!("Published values are drawn at {most} of {of} points of the sweep."));
}

/// Steps first, then points of the sweep.
pub(super) fn cdf(run: &mut Run, room: usize) {
    let mut most = usize::MAX;
    for steps in [150, 100, 70, 50, 35, 25, 15] {
        if size(&run.cdf) <= room {
            break;
        }
        most = steps;
        for cdf in &mut run.cdf {
            let places: Vec<usize> = (0..cdf.x.len()).collect();
            let kept: BTreeSet<usize> = evenly(&places, steps).collect();
            retain_places(&mut cdf.x, &kept);
            retain_places(&mut cdf.y, &kept);
        }
    }
    let of = run.points.len();
    let shown = fewer_points(run, room, |run| &mut run.cdf, |cdf| cdf.point);
    let steps = format!("FCT distributions are thinned to {most} steps");
    run.notes.push(if shown < of { format!("{steps}, and shown at {shown} of {of} points.") } else { steps + "." });
}

/// Points of the sweep.
pub(super) fn slowdown(run: &mut Run, room: usize) {
    let of = run.points.len();
    let shown = fewer_points(run, room, |run| &mut run.slowdown, |slowdown| slowdown.point);
    run.notes.push(format!("Slowdown by size is shown at {shown} of {of} points of the sweep."));
}

/// Samples first, then entities, then points of the sweep.
pub(super) fn series(run: &mut Run, room: usize) {
    let (samples, count) = (&[300, 200, 150, 100, 64], run.series.len());
    let mut most = usize::MAX;
    for &fewer in samples {
        if size(&run.series) <= room {
            break;
        }
        most = fewer;
        for series in &mut run.series {
            let all: Vec<(f64, f64)> = series.t.iter().zip(&series.v).map(|(t, v)| (t.get(), v.get())).collect();
            let fewer = thinned(&all, fewer).into_iter();
            // rounded already
            (series.t, series.v) = fewer.map(|(t, v)| (Number::with_digits(t, 15), Number::with_digits(v, 15))).unzip();
        }
    }
    for entities in [12, 8, 6, 4, 3, 2, 1] {
        if size(&run.series) <= room {
            break;
        }
        keep_entities(run, entities);
    }
    fewer_points(run, room, |run| &mut run.series, |series| series.point);
    let left = run.series.len();
    let fewer = if left < count { format!("; {left} of {count} are shown") } else { String::new() };
    run.notes.push(format!(
        "To keep the page small, time series are thinned to {most} samples, least and largest values kept{fewer}."
    ));
}

/// Keeps for each metric the entities that vary most in any cell: the same ones for all policies.
fn keep_entities(run: &mut Run, most: usize) {
    let mut ranges: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for series in &run.series {
        let values = series.v.iter().map(|value| value.get());
        let (least, largest) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let range = ranges.entry((&series.metric, &series.entity)).or_insert(0.0);
        *range = range.max(largest - least);
    }
    let mut by_metric: BTreeMap<&str, Vec<(&str, f64)>> = BTreeMap::new();
    for ((metric, entity), range) in ranges {
        by_metric.entry(metric).or_default().push((entity, range));
    }
    let mut kept = BTreeSet::new();
    for (metric, mut entities) in by_metric {
        // stable, so that equals stay in the order of their names
        entities.sort_by(|a, b| b.1.total_cmp(&a.1));
        kept.extend(entities.iter().take(most).map(|(entity, _)| (metric.to_owned(), (*entity).to_owned())));
    }
    run.series.retain(|series| kept.contains(&(series.metric.clone(), series.entity.clone())));
}

/// A step of the ladder of films.
#[derive(Debug, Clone, Copy)]
enum Fewer {
    Points(usize),
    Steps(usize),
    Links(usize),
}

/// Points, steps and links by turns; what is still too large loses further points.
pub(super) fn films(run: &mut Run, room: usize) {
    const LADDER: [Fewer; 10] = [
        Fewer::Points(4),
        Fewer::Steps(150),
        Fewer::Links(200),
        Fewer::Steps(100),
        Fewer::Links(100),
        Fewer::Points(2),
        Fewer::Steps(80),
        Fewer::Links(50),
        Fewer::Steps(60),
        Fewer::Links(25),
    ];
    let (of, links) = (run.films.len(), run.films.iter().map(|film| film.links.len()).sum::<usize>());
    let before = run.films.iter().map(|film| film.t.len()).max().unwrap_or(0);
    for fewer in LADDER {
        if films_size(run) <= room {
            break;
        }
        match fewer {
            Fewer::Points(points) => keep_points(run, points),
            Fewer::Steps(steps) => run.films.iter_mut().for_each(|film| merge_steps(film, steps)),
            Fewer::Links(links) => keep_links(run, links),
        }
    }
    if films_size(run) > room {
        keep_points(run, 1);
    }
    if films_size(run) > room {
        run.films.clear();
        run.topologies.clear();
    }
    let left: usize = run.films.iter().map(|film| film.links.len()).sum();
    let steps = run.films.iter().map(|film| film.t.len()).max().unwrap_or(0);
    run.notes.push(format!(
        "To keep the page small, links over time are shown of {} of {of} runs, with {steps} of {before} steps and {left} \
         of {links} records of links; of merged steps the largest use and queue, most flows and all drops are kept.",
        run.films.len()
    ));
}

/// Keeps the films of at most `points` of the points that have any.
fn keep_points(run: &mut Run, points: usize) {
    let all: BTreeSet<usize> = run.films.iter().map(|film| film.point).collect();
    let all: Vec<usize> = all.into_iter().collect();
    let kept: BTreeSet<usize> = evenly(&all, points).collect();
    run.films.retain(|film| kept.contains(&film.point));
    keep_used_networks(run);
}

/// How many bytes films and their networks take.
pub(super) fn films_size(run: &Run) -> usize {
    size(&run.films) + size(&run.topologies)
}

/// Leaves out networks that no film is of.
pub(super) fn keep_used_networks(run: &mut Run) {
    let used: BTreeSet<usize> = run.films.iter().map(|film| film.topology).collect();
    let new: BTreeMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    retain_places(&mut run.topologies, &used);
    run.films.iter_mut().for_each(|film| film.topology = new[&film.topology]);
}

/// Makes the steps of a film at most `most`.
fn merge_steps(film: &mut Film, most: usize) {
    let group = film.t.len().div_ceil(most.max(1)).max(1);
    if group == 1 {
        return;
    }
    let largest = |values: &[u64]| values.chunks(group).filter_map(|steps| steps.iter().copied().max()).collect();
    for link in &mut film.links {
        link.sent = link.sent.chunks(group).filter_map(|steps| steps.iter().copied().max()).collect();
        link.queue = largest(&link.queue);
        let sum = |steps: &[u64]| steps.iter().fold(0, |sum: u64, drops| sum.saturating_add(*drops));
        link.drops = link.drops.chunks(group).map(sum).collect();
        link.flows = largest(&link.flows);
    }
    film.active.iter_mut().for_each(|(_, counts)| *counts = largest(counts));
    film.t = film.t.chunks(group).filter_map(|steps| steps.last().copied()).collect();
}

/// Keeps the links that queue, drop or send most under any policy: the same ones in all films.
fn keep_links(run: &mut Run, most: usize) {
    let mut weights: BTreeMap<(usize, usize), (u64, u64, u64)> = BTreeMap::new();
    for film in &run.films {
        for link in &film.links {
            let own = weights.entry((film.topology, link.link)).or_default();
            own.0 = own.0.max(link.queue.iter().copied().max().unwrap_or(0));
            own.1 = own.1.max(link.drops.iter().fold(0, |sum: u64, drops| sum.saturating_add(*drops)));
            own.2 = own.2.max(link.sent.iter().map(|sent| u64::from(*sent)).sum());
        }
    }
    let mut order: Vec<_> = weights.into_iter().collect();
    order.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let kept: BTreeSet<(usize, usize)> = order.into_iter().take(most).map(|(link, _)| link).collect();
    run.films.iter_mut().for_each(|film| {
        let topology = film.topology;
        film.links.retain(|link| kept.contains(&(topology, link.link)));
    });
}
