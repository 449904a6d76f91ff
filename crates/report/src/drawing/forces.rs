//! Networks of any shape: neighbours attract each other, all nodes repel each other.

use std::collections::VecDeque;

use super::graph::Graph;

/// Rounds, in which the greatest step falls from a tenth of the width to none.
const ROUNDS: u32 = 300;

/// Places in the unit square.
pub(super) fn place(graph: &Graph) -> Vec<(f64, f64)> {
    let count = graph.len();
    if count < 2 {
        return vec![(0.5, 0.5); count];
    }
    let mut places = around(graph);
    // the distance at which the two forces are equal (Fruchterman and Reingold, §3)
    let ideal = (1.0 / count as f64).sqrt();
    let edges: Vec<(usize, usize)> = graph.edges().collect();
    for round in 0..ROUNDS {
        let mut moves = vec![(0.0, 0.0); count];
        for one in 0..count {
            for other in one + 1..count {
                let (dx, dy, distance) = apart(places[one], places[other]);
                push(&mut moves, (one, other), (dx, dy), ideal * ideal / (distance * distance));
            }
        }
        for &(one, other) in &edges {
            let (dx, dy, distance) = apart(places[one], places[other]);
            push(&mut moves, (one, other), (dx, dy), -distance / ideal);
        }
        let most = 0.1 * (1.0 - f64::from(round) / f64::from(ROUNDS));
        for (place, (dx, dy)) in places.iter_mut().zip(moves) {
            // parts that are not connected would drift away
            let (dx, dy) = (dx - (place.0 - 0.5) * ideal, dy - (place.1 - 0.5) * ideal);
            let length = (dx * dx + dy * dy).sqrt().max(1e-9);
            let step = length.min(most) / length;
            *place = (place.0 + dx * step, place.1 + dy * step);
        }
    }
    fit(&places)
}

/// The way from the second to the first, and its length.
fn apart(one: (f64, f64), other: (f64, f64)) -> (f64, f64, f64) {
    let (dx, dy) = (one.0 - other.0, one.1 - other.1);
    (dx, dy, (dx * dx + dy * dy).sqrt().max(1e-6))
}

/// Moves two nodes apart by so much times their distance; together if it is less than nothing.
fn push(moves: &mut [(f64, f64)], (one, other): (usize, usize), (dx, dy): (f64, f64), by: f64) {
    moves[one] = (moves[one].0 + dx * by, moves[one].1 + dy * by);
    moves[other] = (moves[other].0 - dx * by, moves[other].1 - dy * by);
}

/// All nodes around a square, in the order in which they are reached from the first.
fn around(graph: &Graph) -> Vec<(f64, f64)> {
    let mut place = vec![None; graph.len()];
    let mut reached = 0u32;
    for start in 0..graph.len() {
        let mut open = VecDeque::from([start]);
        while let Some(node) = open.pop_front() {
            if place[node].is_none() {
                place[node] = Some(reached);
                reached += 1;
                open.extend(graph.neighbours[node].iter().copied());
            }
        }
    }
    place.into_iter().flatten().map(|at| on_square(f64::from(at) / graph.len() as f64)).collect()
}

/// The point on a square around the middle after this share of the way round. No circle: sine and cosine differ between
/// platforms.
fn on_square(share: f64) -> (f64, f64) {
    let side = share * 4.0;
    let along = side.fract();
    let (x, y) = match side as u32 {
        0 => (along, 0.0),
        1 => (1.0, along),
        2 => (1.0 - along, 1.0),
        _ => (0.0, 1.0 - along),
    };
    (0.1 + 0.8 * x, 0.1 + 0.8 * y)
}

/// Moves and scales all into the unit square, the same in both directions, and in its middle.
fn fit(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let range = |of: fn(&(f64, f64)) -> f64| {
        let values = places.iter().map(of);
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (x, y) = (range(|place| place.0), range(|place| place.1));
    let width = (x.1 - x.0).max(y.1 - y.0).max(1e-9);
    let into = |value: f64, (low, high): (f64, f64)| 0.5 + (value - f64::midpoint(low, high)) / width * 0.96;
    places.iter().map(|place| (into(place.0, x), into(place.1, y))).collect()
}
