//! Ctrl-C: the first finishes what is under way, the second ends at once; kernel hosts have to be ended first, and a
//! third does not wait for that.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use headway_experiment::Interruption;

use crate::failure::{Failure, INTERRUPTED};
use crate::progress::Meter;
use crate::shell::resume_command;

/// Where runs are that are complete when others are interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// In a folder of results.
    InFolder,
    /// In a store.
    InStore,
    /// Nowhere: the folder is removed.
    Not,
}

/// Listens until the process ends.
#[derive(Debug)]
pub struct Interrupt {
    /// Set by the first press and by the second.
    pub interruption: Interruption,
    current: Arc<Mutex<Option<Current>>>,
}

/// The runs under way.
#[derive(Debug, Clone)]
struct Current {
    meter: Weak<Meter>,
    path: PathBuf,
    kept: Kept,
    kernels: bool,
}

impl Interrupt {
    /// Listens from now on. A process can do so once.
    pub fn listen() -> Result<Interrupt, Failure> {
        let interrupt = Interrupt { interruption: Interruption::default(), current: Arc::default() };
        let (interruption, current) = (interrupt.interruption.clone(), Arc::clone(&interrupt.current));
        let handler = move || pressed(&interruption, &current);
        ctrlc::set_handler(handler)
            .map_err(|error| Failure::environment(format!("cannot listen to Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// Runs are under way as long as `meter` is there, with results in `path`. If they end at once and it is not
    /// `kept`, it is removed.
    pub fn during(&self, meter: &Arc<Meter>, path: &Path, kept: Kept, kernels: bool) {
        let current = Current { meter: Arc::downgrade(meter), path: path.to_path_buf(), kept, kernels };
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(current);
    }

    /// Whether it was pressed.
    pub fn pressed(&self) -> bool {
        self.interruption.stop.load(Ordering::Relaxed)
    }
}

fn pressed(interruption: &Interruption, current: &Mutex<Option<Current>>) {
    let first = !interruption.stop.swap(true, Ordering::Relaxed);
    let current = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
    // Once the runs are over there is nothing to finish but the printing, whose reader may not be listening.
    let Some((meter, current)) = current.and_then(|current| Some((current.meter.upgrade()?, current))) else {
        std::process::exit(INTERRUPTED.into())
    };
    if first {
        meter.say("interrupted: the runs under way are finished first; press Ctrl-C again to end at once");
        return;
    }
    if current.kernels && !interruption.abort.swap(true, Ordering::Relaxed) {
        meter.say("ending the kernel hosts");
        return;
    }
    match current.kept {
        Kept::Not => drop(std::fs::remove_dir_all(&current.path)),
        Kept::InStore => meter.say("ended at once; what was complete is in the store; the same command goes on"),
        Kept::InFolder => {
            let resume = resume_command(&current.path);
            meter.say(&format!("ended at once; what was complete is kept; go on with: {resume}"));
        }
    }
    std::process::exit(INTERRUPTED.into());
}
