//! Files of the folder `fidelity`: the kernel's numbers and the errors to hold new ones against.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::compare::{Line, Verdict};
use super::measured::Measured;
use crate::bundled;
use crate::failure::Failure;

/// What kernel hosts did at a point, a line of `kernel.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub point: String,
    /// See [`super::points::Point::inputs`].
    pub inputs: String,
    /// Version of Linux.
    pub linux: String,
    /// SHA-256 of the kernel's file.
    pub linux_sha256: String,
    pub measured: Measured,
}

/// The kernel's numbers by point.
#[derive(Debug, Default)]
pub struct Kernels(pub BTreeMap<String, Record>);

/// Neither of the two files has more bytes.
const LARGEST: u64 = 1 << 30;
const KERNELS: &str = "kernel.jsonl";
const BASELINE: &str = "baseline.csv";

impl Kernels {
    /// Those in `folder`, or those that come with the command if there is no such folder.
    pub fn load(folder: &Path) -> Result<Kernels, Failure> {
        let mut all = BTreeMap::new();
        for (number, line) in text(folder, KERNELS, bundled::fidelity_kernels)?.lines().enumerate() {
            let record: Record = serde_json::from_str(line)
                .map_err(|error| Failure::usage(format!("{KERNELS}, line {}: {error}", number + 1)))?;
            all.insert(record.point.clone(), record);
        }
        Ok(Kernels(all))
    }

    /// Writes them to `folder`.
    pub fn save(&self, folder: &Path) -> Result<(), Failure> {
        let line = |record: &Record| serde_json::to_string(record).expect("maps have texts as keys") + "\n";
        write(&folder.join(KERNELS), &self.0.values().map(line).collect::<String>())
    }

    /// What is stored for a point with these inputs.
    pub fn get(&self, point: &str, inputs: &str) -> Option<&Record> {
        self.0.get(point).filter(|record| record.inputs == inputs)
    }
}

/// Errors by point, traffic and metric.
#[derive(Debug, Default)]
pub struct Baseline(BTreeMap<(String, String, String), f64>);

impl Baseline {
    pub fn load(folder: &Path) -> Result<Baseline, Failure> {
        let text = text(folder, BASELINE, || bundled::FIDELITY_BASELINE.to_owned())?;
        let mut all = BTreeMap::new();
        for (number, line) in text.lines().enumerate().skip(1) {
            let wrong = || Failure::usage(format!("{BASELINE}, line {}: not as it was written", number + 1));
            // names of points have commas, what follows has none
            let mut parts = line.rsplitn(4, ';');
            let (Some(error), Some(metric), Some(traffic), Some(point)) =
                (parts.next(), parts.next(), parts.next(), parts.next())
            else {
                return Err(wrong());
            };
            let error: f64 = error.parse().map_err(|_| wrong())?;
            all.insert((point.to_owned(), traffic.to_owned(), metric.to_owned()), error);
        }
        Ok(Baseline(all))
    }

    /// Writes the errors of `lines` that have a goal to `folder`; those of other points stay.
    pub fn accept(mut self, lines: &[Line], folder: &Path) -> Result<(), Failure> {
        for line in lines.iter().filter(|line| line.verdict != Verdict::Told) {
            let key = (line.point.clone(), line.traffic.clone(), line.metric.to_string());
            self.0.insert(key, line.error);
        }
        let mut text = "point;traffic;metric;error\n".to_owned();
        for ((point, traffic, metric), error) in &self.0 {
            let _ = writeln!(text, "{point};{traffic};{metric};{error:.4}");
        }
        write(&folder.join(BASELINE), &text)
    }

    /// Forgets points that are not among `points`.
    pub fn only(mut self, points: &[String]) -> Baseline {
        self.0.retain(|(point, _, _), _| points.contains(point));
        self
    }

    /// Those of `lines` that miss their goal by more than they did: a third of the goal is let pass. Each with what it
    /// was.
    pub fn worse<'a>(&self, lines: &'a [Line]) -> Vec<(&'a Line, f64)> {
        let worse = |line: &'a Line| {
            let goal = line.metric.goal().filter(|_| line.verdict == Verdict::Missed)?;
            let before = *self.0.get(&(line.point.clone(), line.traffic.clone(), line.metric.to_string()))?;
            (line.error.abs() > before.abs().max(goal) + goal / 3.0).then_some((line, before))
        };
        lines.iter().filter_map(worse).collect()
    }
}

fn text(folder: &Path, name: &str, bundled: impl FnOnce() -> String) -> Result<String, Failure> {
    if !folder.is_dir() {
        return Ok(bundled());
    }
    let path = folder.join(name);
    match headway_input::read_text(&path, LARGEST) {
        Ok(text) => Ok(text),
        Err(error) if error.is_missing() => Ok(String::new()),
        Err(error) => Err(Failure::environment(format!("cannot read {}: {error}", path.display()))),
    }
}

/// Writes `text` to `path`, and makes the folder it is in.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder
        .and_then(|()| std::fs::write(path, text))
        .map_err(|error| Failure::environment(format!("cannot write {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::super::compare::Metric;
    use super::*;

    fn line(error: f64, verdict: Verdict) -> Line {
        let (point, traffic) = ("a:b=1,c=2".to_owned(), "bulk".to_owned());
        Line { point, traffic, metric: Metric::Throughput, kernel: 1.0, model: 1.0 + error, error, verdict }
    }

    #[test]
    fn worse_is_beyond_the_goal_and_a_third_of_it_beyond_what_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let before = [line(-0.10, Verdict::Missed)];
        Baseline::default().accept(&before, folder.path()).unwrap();
        let baseline = Baseline::load(folder.path()).unwrap();
        assert!(baseline.worse(&[line(0.109, Verdict::Missed)]).is_empty());
        assert_eq!(baseline.worse(&[line(0.111, Verdict::Missed)]).len(), 1);
        assert!(baseline.worse(&[line(0.111, Verdict::Noise)]).is_empty());
        assert_eq!(baseline.worse(&[line(f64::INFINITY, Verdict::Missed)]).len(), 1);
    }

    #[test]
    fn kernels_numbers_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"bulk":{"flows":[[[100,0,null,3,1,false]]],"end_us":[5],"cwnd":[1.5,2.0],"cwnds":[[null,7]]}}"#;
        let measured: Measured = serde_json::from_str(text).unwrap();
        let text = |s: &str| s.to_owned();
        let record =
            Record { point: text("p"), inputs: text("i"), linux: text("6"), linux_sha256: text("0"), measured };
        let kernels = Kernels([(text("p"), record.clone())].into());
        kernels.save(folder.path()).unwrap();
        let again = Kernels::load(folder.path()).unwrap();
        assert_eq!(again.get("p", "i"), Some(&record));
        assert_eq!(again.get("p", "other"), None);
    }
}
