//! Policies, points of the sweep and traffics of a run, by their places.

use std::collections::{BTreeMap, BTreeSet};

use headway_results::{Cell, SweepPoint};

use super::model::{Parameter, ParameterValue, Point};
use super::number::Number;

/// Texts of a point's values: two points are the same if these are.
type Key = Vec<String>;

/// The cells of a run.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub(super) policies: Vec<String>,
    pub(super) sweep: Vec<Parameter>,
    pub(super) points: Vec<Point>,
    /// Points there are in the results.
    pub(super) all_points: usize,
    places: BTreeMap<Key, usize>,
    /// Of each cell its policy and its point, if that is shown.
    cells: Vec<(usize, Option<usize>)>,
}

fn key(point: &SweepPoint) -> Key {
    point.iter().map(|(_, value)| value.text.clone()).collect()
}

impl Grid {
    /// Of `cells`, with at most `most` points. Where there are more, parameters lose every second of their values, the
    /// one with the most values first; their first and last values stay.
    pub(super) fn new(cells: &[Cell], most: usize) -> Grid {
        let mut policies: Vec<String> = Vec::new();
        let mut sweep: Vec<Parameter> = Vec::new();
        let mut points = Vec::new();
        let (mut by_policy, mut by_key, mut by_text) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut of_cells = Vec::new();
        for cell in cells {
            let policy = *by_policy.entry(cell.policy.clone()).or_insert_with(|| {
                policies.push(cell.policy.clone());
                policies.len() - 1
            });
            let point = *by_key.entry(key(&cell.sweep)).or_insert_with(|| {
                points.push(point(&cell.sweep, &mut sweep, &mut by_text));
                points.len() - 1
            });
            of_cells.push((policy, point));
        }
        let kept = kept(&points, &sweep, most);
        let all_points = points.len();
        let mut new = vec![None; points.len()];
        kept.iter().enumerate().for_each(|(place, old)| new[*old] = Some(place));
        let places = by_key.into_iter().filter_map(|(key, old)| Some((key, new[old]?))).collect();
        let cells = of_cells.into_iter().map(|(policy, old)| (policy, new[old])).collect();
        let mut index = 0;
        points.retain(|_| {
            index += 1;
            new[index - 1].is_some()
        });
        let mut grid = Grid { policies, sweep, points, all_points, places, cells };
        grid.drop_unused_values();
        grid
    }

    /// Values that no point has any more have no place.
    fn drop_unused_values(&mut self) {
        for (place, parameter) in self.sweep.iter_mut().enumerate() {
            let used: BTreeSet<usize> = self.points.iter().map(|point| point.at[place]).collect();
            let new: BTreeMap<usize, usize> = used.iter().enumerate().map(|(new, old)| (*old, new)).collect();
            let mut index = 0;
            parameter.values.retain(|_| {
                index += 1;
                used.contains(&(index - 1))
            });
            self.points.iter_mut().for_each(|point| point.at[place] = new[&point.at[place]]);
        }
    }

    /// Policy and point of cell number `cell`, if there is such a cell and its point is shown.
    pub(super) fn cell(&self, cell: u32) -> Option<(usize, usize)> {
        let (policy, point) = self.cells.get(cell as usize)?;
        Some((*policy, (*point)?))
    }

    /// How many cells are shown.
    pub(super) fn shown(&self) -> usize {
        self.cells.iter().filter(|(_, point)| point.is_some()).count()
    }

    pub(super) fn policy(&self, name: &str) -> Option<usize> {
        self.policies.iter().position(|own| own == name)
    }

    pub(super) fn point(&self, point: &SweepPoint) -> Option<usize> {
        self.places.get(&key(point)).copied()
    }

    /// The point of this text with the values `other` in place of its own.
    pub(super) fn point_with(&self, text: &str, other: &[(String, String)]) -> Option<usize> {
        let point = self.points.iter().position(|point| point.text == text)?;
        if other.is_empty() {
            return Some(point);
        }
        let value = |(place, parameter): (usize, &Parameter)| {
            let own = || parameter.values[self.points[point].at[place]].text.clone();
            other.iter().find(|(name, _)| *name == parameter.name).map_or_else(own, |(_, text)| text.clone())
        };
        self.places.get(&self.sweep.iter().enumerate().map(value).collect::<Key>()).copied()
    }
}

fn point(sweep: &SweepPoint, parameters: &mut Vec<Parameter>, by_text: &mut BTreeMap<(usize, String), usize>) -> Point {
    let mut at = Vec::new();
    for (place, (name, value)) in sweep.iter().enumerate() {
        if place == parameters.len() {
            parameters.push(Parameter { name: name.to_owned(), values: Vec::new() });
        }
        let values = &mut parameters[place].values;
        at.push(*by_text.entry((place, value.text.clone())).or_insert_with(|| {
            let number = value.number.map(|number| Number::with_digits(number, 15));
            values.push(ParameterValue { text: value.text.clone(), number });
            values.len() - 1
        }));
    }
    Point { text: sweep.to_string(), at }
}

/// At most `most` of `points`, spread over the sweep as in [`Grid::new`].
pub(super) fn spread(points: &[Point], sweep: &[Parameter], most: usize) -> BTreeSet<usize> {
    kept(points, sweep, most).into_iter().collect()
}

/// At most `most` of `points`, in order.
fn kept(points: &[Point], sweep: &[Parameter], most: usize) -> Vec<usize> {
    let most = most.max(1);
    let mut values: Vec<Vec<usize>> = sweep.iter().map(|parameter| (0..parameter.values.len()).collect()).collect();
    let inside = |values: &[Vec<usize>]| -> Vec<usize> {
        let has = |point: &Point| point.at.iter().zip(values).all(|(at, kept)| kept.binary_search(at).is_ok());
        (0..points.len()).filter(|&place| has(&points[place])).collect()
    };
    let mut all = inside(&values);
    while all.len() > most {
        let Some(longest) = values.iter_mut().rev().max_by_key(|values| values.len()).filter(|values| values.len() > 1)
        else {
            break;
        };
        *longest = halved(longest);
        let fewer = inside(&values);
        if fewer.is_empty() {
            break;
        }
        all = fewer;
    }
    // parameters that vary together are no grid
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

/// Every second, with the first and the last; of two the last, where sweeps show most.
fn halved(values: &[usize]) -> Vec<usize> {
    if values.len() == 2 {
        return vec![values[1]];
    }
    let last = values.len() - 1;
    let half = values.len() / 2;
    let mut kept: Vec<usize> = (0..=half).map(|i| values[last * i / half]).collect();
    kept.dedup();
    if kept.len() == values.len() {
        kept.remove(1);
    }
    kept
}

/// The names of traffics with their places.
#[derive(Debug, Clone, Default)]
pub(super) struct Traffics {
    pub(super) names: Vec<String>,
    places: BTreeMap<String, Vec<usize>>,
}

impl Traffics {
    /// The place of `name`, which is added if it is new.
    pub(super) fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.names.iter().position(|own| own == name) {
            return place;
        }
        self.names.push(name.to_owned());
        self.places.clear();
        self.names.len() - 1
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|own| own == name)
    }

    /// Those that flows reported as `name` belong to: that, and `web` of `web/GROUP` if there is such a traffic.
    pub(super) fn of_flow(&mut self, name: &str) -> &[usize] {
        if !self.places.contains_key(name) {
            let mut places = vec![self.place(name)];
            let whole = name.split_once('/').filter(|(_, part)| !part.contains('/')).map(|(whole, _)| whole);
            places.extend(whole.and_then(|whole| self.find(whole)));
            self.places.insert(name.to_owned(), places);
        }
        &self.places[name]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(a: u32, b: u32) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (a, b) in (0..a).flat_map(|a| (0..b).map(move |b| (a, b))) {
            for policy in ["x", "y"] {
                let sweep = SweepPoint::new().with("a", i64::from(a)).with("b", format!("{b}KB").as_str());
                cells.push(Cell { index: cells.len() as u32, policy: policy.into(), sweep });
            }
        }
        cells
    }

    #[test]
    fn cells_have_their_policy_and_point() {
        let grid = Grid::new(&cells(2, 3), 100);
        assert_eq!((grid.policies.len(), grid.points.len(), grid.sweep.len()), (2, 6, 2));
        assert_eq!(grid.cell(7), Some((1, 3)));
        assert_eq!(grid.points[3].text, "a=1, b=0KB");
        assert_eq!(grid.points[3].at, [1, 0]);
        assert_eq!(grid.cell(12), None);
        assert_eq!(grid.point_with("a=1, b=0KB", &[("a".into(), "0".into())]), Some(0));
        assert_eq!(grid.point_with("a=7", &[]), None);
        assert_eq!(grid.sweep[1].values[2].number, None);
    }

    #[test]
    fn a_scenario_without_a_sweep_has_one_point_without_a_text() {
        let cell = Cell { index: 0, policy: "x".into(), sweep: SweepPoint::new() };
        let grid = Grid::new(&[cell], 1);
        assert_eq!(grid.points, [Point { text: String::new(), at: vec![] }]);
        assert_eq!((grid.cell(0), grid.point(&SweepPoint::new())), (Some((0, 0)), Some(0)));
    }

    #[test]
    fn large_sweeps_stay_grids_with_their_ends() {
        let grid = Grid::new(&cells(100, 100), 500);
        assert_eq!(grid.all_points, 10_000);
        let (a, b) = (&grid.sweep[0].values, &grid.sweep[1].values);
        assert!(grid.points.len() <= 500 && grid.points.len() > 100, "{}", grid.points.len());
        assert_eq!(grid.points.len(), a.len() * b.len());
        for (values, last) in [(a, "99"), (b, "99KB")] {
            assert!(values[0].text.starts_with('0') && values.last().unwrap().text == last);
        }
        let shown = (0..20_000).filter_map(|cell| grid.cell(cell)).count();
        assert_eq!(shown, 2 * grid.points.len());
        assert!(grid.points.iter().all(|point| point.at[0] < a.len() && point.at[1] < b.len()));
    }

    #[test]
    fn parameters_that_vary_together_are_thinned_too() {
        let cell = |i: u32| Cell {
            index: i,
            policy: "x".into(),
            sweep: SweepPoint::new().with("a", i64::from(i)).with("b", i64::from(i % 7)),
        };
        let grid = Grid::new(&(0..1000).map(cell).collect::<Vec<_>>(), 10);
        assert!((1..=10).contains(&grid.points.len()), "{}", grid.points.len());
        assert_eq!(spread(&grid.points, &grid.sweep, 1).len(), 1);
    }

    #[test]
    fn parts_of_a_traffic_belong_to_the_whole() {
        let mut traffics = Traffics::default();
        traffics.place("web");
        assert_eq!(traffics.of_flow("web/a"), [1, 0]);
        assert_eq!(traffics.of_flow("web/a/0"), [2]);
        assert_eq!(traffics.of_flow("web"), [0]);
        assert_eq!(traffics.names, ["web", "web/a", "web/a/0"]);
    }
}
