//! Requirements of kernel hosts, held against the image or machine that they are to run on.

use std::collections::BTreeSet;
use std::path::Path;

use headway_emulation::{Feature, Requirement};
use headway_kernel::image::Image;
use headway_lab::MachineInfo;
use headway_language::{Problem, Problems};
use headway_results::Warning;

use crate::cell::CellPlan;
use crate::experiment::Experiment;

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
