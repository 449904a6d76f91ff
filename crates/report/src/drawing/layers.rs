//! Nodes in layers: their order within each, and their places.

use super::graph::Graph;

/// So often the layers are ordered up and down; more changes little.
const SWEEPS: usize = 6;

/// The gap between racks, in places of hosts.
const RACK_GAP: f64 = 0.8;

/// Places along the layers and across them, both from 0 to 1; layer 0 is at 0.
pub(super) fn place(graph: &Graph, layer: &[usize]) -> Vec<(f64, f64)> {
    let count = layer.iter().max().map_or(0, |most| most + 1);
    let layers = ordered(graph, layer, count);
    let along = along(graph, layer, &layers);
    let across = |layer: usize| if count > 1 { layer as f64 / (count - 1) as f64 } else { 0.5 };
    along.into_iter().zip(layer).map(|(along, &layer)| (along, across(layer))).collect()
}

/// The nodes of each layer in an order with few crossings.
fn ordered(graph: &Graph, layer: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (node, &own) in layer.iter().enumerate() {
        layers[own].push(node);
    }
    let mut best = (crossings(graph, layer, &layers), layers.clone());
    for sweep in 0..SWEEPS {
        if best.0 == 0 {
            break;
        }
        let upwards = sweep % 2 == 1;
        let order: Vec<usize> =
            if upwards { (1..count).collect() } else { (0..count.saturating_sub(1)).rev().collect() };
        for own in order {
            let beside = if upwards { own - 1 } else { own + 1 };
            sort_by_barycentre(graph, layer, &mut layers, own, beside);
        }
        let crossed = crossings(graph, layer, &layers);
        if crossed < best.0 {
            best = (crossed, layers.clone());
        }
    }
    best.1
}

/// The place of every node in its layer.
fn ranks(layers: &[Vec<usize>], nodes: usize) -> Vec<usize> {
    let mut rank = vec![0; nodes];
    for layer in layers {
        for (place, &node) in layer.iter().enumerate() {
            rank[node] = place;
        }
    }
    rank
}

/// Sorts layer `own` by the mean places of neighbours in the layer `beside`; those without stay between the others.
fn sort_by_barycentre(graph: &Graph, layer: &[usize], layers: &mut [Vec<usize>], own: usize, beside: usize) {
    let rank = ranks(layers, graph.len());
    let scale = layers[beside].len() as f64 / layers[own].len().max(1) as f64;
    let key = |node: usize| {
        let mean =
            mean(graph.neighbours[node].iter().filter(|&&other| layer[other] == beside).map(|&n| rank[n] as f64));
        mean.unwrap_or(rank[node] as f64 * scale)
    };
    layers[own].sort_by(|&one, &other| key(one).total_cmp(&key(other)).then(rank[one].cmp(&rank[other])));
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = values.fold((0u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Links that cross between neighbouring layers.
fn crossings(graph: &Graph, layer: &[usize], layers: &[Vec<usize>]) -> u64 {
    let rank = ranks(layers, graph.len());
    (1..layers.len())
        .map(|upper| {
            let mut ends: Vec<(usize, usize)> = Vec::new();
            for &node in &layers[upper] {
                let below = graph.neighbours[node].iter().filter(|&&other| layer[other] == upper - 1);
                ends.extend(below.map(|&other| (rank[node], rank[other])));
            }
            ends.sort_unstable();
            inversions(ends.into_iter().map(|(_, below)| below), layers[upper - 1].len())
        })
        .sum()
}

/// Pairs of which the first is larger, of values below `most`: counted in a Fenwick tree.
fn inversions(values: impl Iterator<Item = usize>, most: usize) -> u64 {
    let mut tree = vec![0u64; most + 1];
    let (mut pairs, mut seen) = (0, 0);
    for value in values {
        let (mut at, mut not_larger) = (value + 1, 0);
        while at > 0 {
            not_larger += tree[at];
            at &= at - 1;
        }
        pairs += seen - not_larger;
        seen += 1;
        let mut at = value + 1;
        while at <= most {
            tree[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    pairs
}

/// Places along the layers: the one with most nodes is even, with gaps between racks, and others stand at the middle of
/// their neighbours there, as far as they have room.
fn along(graph: &Graph, layer: &[usize], layers: &[Vec<usize>]) -> Vec<f64> {
    let mut along = vec![0.5; graph.len()];
    let Some(base) = (0..layers.len()).max_by_key(|&own| (layers[own].len(), std::cmp::Reverse(own))) else {
        return along;
    };
    spread(graph, &layers[base], &mut along);
    let upwards = (base + 1..layers.len()).map(|own| (own, own - 1));
    let downwards = (0..base).rev().map(|own| (own, own + 1));
    for (own, beside) in upwards.chain(downwards).collect::<Vec<_>>() {
        let nodes = &layers[own];
        if nodes.iter().all(|&node| graph.is_host(node)) {
            spread(graph, nodes, &mut along);
            continue;
        }
        for &node in nodes {
            let near =
                graph.neighbours[node].iter().filter(|&&other| layer[other] == beside).map(|&other| along[other]);
            along[node] = mean(near).unwrap_or(0.5);
        }
        keep_apart(nodes, &mut along);
    }
    along
}

/// Spreads a layer over all the width, with gaps where neighbours change.
fn spread(graph: &Graph, nodes: &[usize], along: &mut [f64]) {
    let mut at = 0.5;
    for (place, &node) in nodes.iter().enumerate() {
        let racks = place > 0 && graph.neighbours[nodes[place - 1]] != graph.neighbours[node];
        if place > 0 {
            at += if racks && graph.is_host(node) { 1.0 + RACK_GAP } else { 1.0 };
        }
        along[node] = at;
    }
    let width = at + 0.5;
    for &node in nodes {
        along[node] /= width;
    }
}

/// Moves the nodes of a layer apart where they would stand too close, as little as can be, in their order: neighbours that
/// are too close become a block around the mean of where they want to stand (pool adjacent violators).
fn keep_apart(nodes: &[usize], along: &mut [f64]) {
    let room = 0.9 / nodes.len().max(1) as f64;
    let half = room / 2.0;
    // first member, members, sum of where the first member wants to stand
    let mut blocks: Vec<(usize, usize, f64)> = Vec::new();
    for (place, &node) in nodes.iter().enumerate() {
        blocks.push((place, 1, along[node]));
        while let [.., (_, before, left), (_, count, right)] = blocks[..] {
            let (one, other) = (left / before as f64, right / count as f64);
            if one + before as f64 * room <= other {
                break;
            }
            blocks.pop();
            if let Some(last) = blocks.last_mut() {
                // a member further right wants the first to stand so much further left
                last.2 += right - count as f64 * before as f64 * room;
                last.1 += count;
            }
        }
    }
    let mut least = half;
    for (place, (first, count, sum)) in blocks.iter().copied().enumerate() {
        let behind: usize = blocks[place + 1..].iter().map(|block| block.1).sum();
        let most = 1.0 - half - (count - 1 + behind) as f64 * room;
        let start = (sum / count as f64).min(most).max(least);
        for (step, &node) in nodes[first..first + count].iter().enumerate() {
            along[node] = start + step as f64 * room;
        }
        least = start + count as f64 * room;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions([0, 1, 2].into_iter(), 3), 0);
        assert_eq!(inversions([2, 1, 0].into_iter(), 3), 3);
        assert_eq!(inversions([1, 1, 0, 0].into_iter(), 2), 4);
    }

    #[test]
    fn nodes_that_want_the_same_place_stand_around_it() {
        let mut along = vec![0.5, 0.5, 0.5];
        keep_apart(&[0, 1, 2], &mut along);
        let room = 0.3;
        for (place, expected) in along.iter().zip([0.5 - room, 0.5, 0.5 + room]) {
            assert!((place - expected).abs() < 1e-9, "{along:?}");
        }
    }

    #[test]
    fn nodes_that_are_far_apart_stay() {
        let mut along = vec![0.1, 0.6, 0.9];
        keep_apart(&[0, 1], &mut along);
        assert_eq!(along, [0.225, 0.675, 0.9]);
        let mut along = vec![0.25, 0.75];
        keep_apart(&[0, 1], &mut along);
        assert_eq!(along, [0.25, 0.75]);
    }
}
