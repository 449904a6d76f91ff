//! Requirements of kernel hosts, held against the image or machine that they are to run on, or against workers.

use std::collections::BTreeSet;
use std::path::Path;

use headway_emulation::{Feature, Requirement};
use headway_kernel::image::Image;
use headway_lab::MachineInfo;
use headway_language::{Problem, Problems};
use headway_results::Warning;

use crate::cell::CellPlan;
use crate::experiment::Experiment;
use crate::files::Files;

impl Experiment {
    /// Checks that this machine has all that the scenario asks of kernels. Returns what to know before trusting results.
    ///
    /// # Errors
    /// Everything that is missing.
    pub fn check_namespaces(&self, here: &MachineInfo) -> Result<Vec<Warning>, Problems> {
        let mut problems: Vec<Problem> = self.missing_files();
        let mut seen = BTreeSet::new();
        for requirement in self.requirements() {
            let Feature::Control(name) = &requirement.feature else { continue };
            if here.controls.contains(name) || !seen.insert(requirement) {
                continue;
            }
            let path: Vec<&str> = requirement.path.iter().map(String::as_str).collect();
            let message = format!("this machine's kernel has no congestion control `{name}`");
            let help = format!("its congestion controls are {}; modprobe may have more", here.controls.join(", "));
            problems.push(self.document.problem_at(&path, message, Some(help)));
        }
        if !problems.is_empty() {
            return Err(problems.into_iter().collect());
        }
        let left_out = self.plans.first().and_then(CellPlan::left_out);
        Ok(here.warnings().into_iter().chain(left_out).map(Warning::Machine).collect())
    }

    /// Whether runs can take place elsewhere.
    pub(crate) fn check_remote(&self, files: &Files) -> Result<(), Problems> {
        let alone = || Some("run it without an executor and without a store: all is in this process then".to_owned());
        let problem = |path: &[&str], message: String| self.document.problem_at(path, message, alone());
        let mut problems: Vec<Problem> = Vec::new();
        if self.needs_namespaces() {
            let message = "runs in namespaces cannot be given to workers: one at a time measures this machine";
            problems.push(problem(&["host-kind"], message.to_owned()));
        }
        let mut captured = self.captures_models();
        if self.needs_kernel() {
            for point in self.document.points() {
                captured |= !self.document.scenario(&point)?.measure.capture.is_empty();
            }
        }
        if captured {
            let message = "runs with `measure.capture` cannot be given to workers: captures would stay there";
            problems.push(problem(&["measure", "capture"], message.to_owned()));
        }
        if self.needs_kernel() {
            problems.extend(files.unknown().map(|name| {
                let message = format!(
                    "runs that see the folder {name} cannot be given to workers: it is not below the scenario's folder, has \
                     more than files and folders, or is larger than 64 MB"
                );
                problem(&["files"], message)
            }));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().collect()) }
    }

    fn requirements(&self) -> impl Iterator<Item = &Requirement> {
        self.plans.iter().filter_map(|plan| plan.requirements()).flatten()
    }

    /// The folder of files, if it is named and not there.
    fn missing_files(&self) -> Vec<Problem> {
        let missing = self.plans.iter().find_map(|plan| plan.files()).filter(|path| !path.is_dir());
        let problem = |path: &Path| {
            let message = format!("there is no folder {}", path.display());
            let help = Some("kernel hosts see it as /files; it is looked for beside the scenario".to_owned());
            self.document.problem_at(&["files"], message, help)
        };
        missing.map(problem).into_iter().collect()
    }

    /// Checks that `image` has all that the scenario asks of kernels, and that the files for them are there.
    ///
    /// # Errors
    /// Everything that is missing.
    pub fn check_image(&self, image: &Image) -> Result<(), Problems> {
        let about = &image.about;
        let mut problems: Vec<Problem> = self.missing_files();
        let mut seen = BTreeSet::new();
        for requirement in self.requirements() {
            if !seen.insert(requirement) {
                continue;
            }
            let path: Vec<&str> = requirement.path.iter().map(String::as_str).collect();
            let has = |what: &str, names: &[String]| Some(format!("its {what} are {}", names.join(", ")));
            let (missing, help) = match &requirement.feature {
                Feature::Control(name) if !about.controls.contains(name) => {
                    (format!("congestion control `{name}`"), has("congestion controls", &about.controls))
                }
                Feature::Queue(name) if !about.queues.contains(name) => {
                    (format!("queueing discipline `{name}`"), has("queueing disciplines", &about.queues))
                }
                Feature::Timer(ms) if about.hz == 0 || !(ms * about.hz).is_multiple_of(1000) => {
                    let grain = 1000.0 / f64::from(about.hz);
                    (format!("timer of {ms}ms"), Some(format!("its timers are multiples of {grain}ms")))
                }
                _ => continue,
            };
            let message = format!("the kernel `{}` has no {missing}", image.name);
            problems.push(self.document.problem_at(&path, message, help));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_iter().collect()) }
    }
}

#[cfg(test)]
mod tests {
    use headway_scenario::Overrides;

    use super::*;
    use crate::source::Source;

    const KERNELS: &str = include_str!("../tests/kernels/small.toml");

    #[test]
    fn what_workers_cannot_do_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let inner = place.path().join("inner");
        std::fs::create_dir_all(place.path().join("far")).unwrap();
        std::fs::create_dir_all(inner.join("near")).unwrap();
        let refused = |sets: &[&str]| {
            let source = Source { name: "small.toml".into(), text: KERNELS.into(), folder: inner.clone() };
            let sets = sets.iter().map(|set| (*set).to_owned()).collect();
            let scenario = source.scenario(Overrides { sets, ..Overrides::default() });
            let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
            let experiment =
                Experiment::new(scenario.document(), &inner).unwrap_or_else(|problems| panic!("{problems}"));
            experiment.check_remote(&scenario.files().unwrap()).err().map(|problems| problems.to_string())
        };
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&["files=\"near\""]), None);
        for (set, reason) in [
            ("measure.capture=[\"right-host0\"]", "measure.capture"),
            ("files=\"../far\"", "../far"),
            ("host-kind=\"namespaces\"", "namespaces"),
        ] {
            let error = refused(&[set]).expect(set);
            assert!(error.contains(reason) && error.contains("workers"), "{error}");
        }
    }
}
