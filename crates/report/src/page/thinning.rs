//! Each section of a run thinned to so many bytes.
//!
//! Every function goes through a ladder of ever coarser steps and stops at the first that fits; at the end of the ladder
//! the section is empty.

use std::collections::{BTreeMap, BTreeSet};

use super::grid::spread;
use super::html::size;
use super::model::{Claim, Film, Run};
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
    while size(&run.summary) > room && metrics.len() > 2 {
        let dropped = metrics.pop();
        run.summary.retain(|row| Some(row.3) != dropped);
    }
    let of = run.points.len();
    let shown = fewer_points(run, room, |run| &mut run.summary, |row| row.1);
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

/// Cut at the end of a line.
pub(super) fn toml(run: &mut Run, room: usize) {
    let note = "# … the rest is in scenario.toml\n";
    // in the worst case every character takes six bytes
    let mut most = room.saturating_sub(note.len() + 2);
    while most > 0 && size(&run.toml) > room {
        let end = (0..=most.min(run.toml.len())).rev().find(|end| run.toml.is_char_boundary(*end)).unwrap_or(0);
        let end = run.toml[..end].rfind('\n').map_or(0, |end| end + 1);
        run.toml.truncate(end);
        run.toml.push_str(note);
        most = most * 9 / 10;
    }
    run.notes.push("The scenario is cut; scenario.toml has all of it.".to_owned());
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
        if size(&run.films) <= room {
            break;
        }
        match fewer {
            Fewer::Points(points) => keep_points(run, points),
            Fewer::Steps(steps) => run.films.iter_mut().for_each(|film| merge_steps(film, steps)),
            Fewer::Links(links) => keep_links(run, links),
        }
    }
    if size(&run.films) > room {
        keep_points(run, 1);
    }
    if size(&run.films) > room {
        run.films.clear();
    }
    let left: usize = run.films.iter().map(|film| film.links.len()).sum();
    let steps = run.films.iter().map(|film| film.t.len()).max().unwrap_or(0);
    run.notes.push(format!(
        "To keep the page small, links over time are shown of {} of {of} runs, with {steps} of {before} steps and {left} \
         of {links} records of links; of merged steps the largest queue and all drops are kept.",
        run.films.len()
    ));
}

/// Keeps the films of at most `points` of the points that have any.
fn keep_points(run: &mut Run, points: usize) {
    let all: BTreeSet<usize> = run.films.iter().map(|film| film.point).collect();
    let all: Vec<usize> = all.into_iter().collect();
    let kept: BTreeSet<usize> = evenly(&all, points).collect();
    run.films.retain(|film| kept.contains(&film.point));
}

/// Makes the steps of a film at most `most`.
fn merge_steps(film: &mut Film, most: usize) {
    let group = film.t.len().div_ceil(most.max(1)).max(1);
    if group == 1 {
        return;
    }
    let largest = |values: &[u64]| values.chunks(group).filter_map(|steps| steps.iter().copied().max()).collect();
    for link in &mut film.links {
        // all steps are as long as each other but the last
        let mean = |steps: &[u32]| steps.iter().sum::<u32>() / steps.len() as u32;
        link.sent = link.sent.chunks(group).map(mean).collect();
        link.queue = largest(&link.queue);
        link.drops = link.drops.chunks(group).map(|steps| steps.iter().sum()).collect();
        link.flows = largest(&link.flows);
    }
    let last = |steps: &[u64]| steps.last().copied();
    film.active.iter_mut().for_each(|(_, counts)| *counts = counts.chunks(group).filter_map(last).collect());
    film.t = film.t.chunks(group).filter_map(|steps| steps.last().copied()).collect();
}

/// Keeps the links that queue, drop or send most under any policy: the same ones in all films.
fn keep_links(run: &mut Run, most: usize) {
    let mut weights: BTreeMap<(usize, usize), (u64, u64, u64)> = BTreeMap::new();
    for film in &run.films {
        for link in &film.links {
            let own = weights.entry((film.topology, link.link)).or_default();
            own.0 = own.0.max(link.queue.iter().copied().max().unwrap_or(0));
            own.1 = own.1.max(link.drops.iter().sum());
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
