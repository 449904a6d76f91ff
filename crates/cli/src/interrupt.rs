//! Ctrl-C: the first finishes what is under way, the second ends at once; kernel hosts have to be ended first, and a
//! third does not wait for that.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, INTERRUPTED};
use crate::progress::Meter;
use crate::run::resume_command;

/// Listens from now on; the first flag is set when the runs shall stop, the second when `kernels` under way shall end. Their folder is `path`; if they end at once and
/// it is `temporary`, it is removed.
pub fn listen(
    meter: &Arc<Meter>,
    path: &Path,
    temporary: bool,
    kernels: bool,
) -> Result<(Arc<AtomicBool>, Arc<AtomicBool>), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let abort = Arc::new(AtomicBool::new(false));
    let (flag, end, meter, path) = (Arc::clone(&stop), Arc::clone(&abort), Arc::downgrade(meter), path.to_path_buf());
    let handler = move || {
        let first = !flag.swap(true, Ordering::Relaxed);
        // Once the runs are over there is nothing to finish but the printing, whose reader may not be listening.
        let Some(meter) = meter.upgrade() else { std::process::exit(INTERRUPTED.into()) };
        if first {
            meter.say("interrupted: the runs under way are finished first; press Ctrl-C again to end at once");
            return;
        }
        if kernels && !end.swap(true, Ordering::Relaxed) {
            meter.say("ending the kernel hosts");
            return;
        }
        if temporary {
            let _ = std::fs::remove_dir_all(&path);
        } else {
            meter.say(&format!("ended at once; what was complete is kept; go on with: {}", resume_command(&path)));
        }
        std::process::exit(INTERRUPTED.into());
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::environment(format!("cannot listen to Ctrl-C: {error}")))?;
    Ok((stop, abort))
}
