//! Runs with policies that the program gives.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Simulation;
use crate::flows::FlowStart;
use crate::own::Watch;

impl Simulation {
    /// Ends a run that has policies of the program once `abort` is set. They are slow, so a run may be long.
    pub fn abort_own(&mut self, abort: &Arc<AtomicBool>) {
        let Some(external) = &mut self.external else { return };
        if let Some(watch) = (&mut *external.hosts as &mut dyn Any).downcast_mut::<Watch>() {
            watch.abort = Some(Arc::clone(abort));
        }
    }

    /// The flow with this identity that has started, and its number among those of its traffic; `None` if nobody is told of
    /// it.
    pub fn flow(&self, id: u64) -> Option<(FlowStart, u64)> {
        self.env.flows.started(id)
    }
}
