//! Requirements of a policy: features that not every kernel has.

use headway_scenario::queue_name;

use crate::context::Context;
use crate::policy::Resolved;

/// A feature that kernels must have, and where the scenario asks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// The keys that lead to the place in the file that asks for it.
    pub path: Vec<String>,
    /// The feature.
    pub feature: Feature,
}

/// A feature that not every kernel has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// A congestion control.
    Control(String),
    /// A queueing discipline.
    Queue(String),
    /// Timers of so many milliseconds.
    Timer(u32),
}

/// The requirements of a policy; `transports` are those of traffic by name.
pub(crate) fn requirements<'t>(
    context: &Context<'_>,
    transports: impl Iterator<Item = (&'t str, &'t Resolved)>,
) -> Vec<Requirement> {
    let mut requirements = Vec::new();
    for (name, own) in transports {
        let (record, at) = context.transport(name);
        let at = |keys: &[&str]| at.iter().cloned().chain(keys.iter().map(|&key| key.to_owned())).collect();
        let path = match &record.linux {
            Some(linux) if linux.control.is_some() => at(&["linux", "control"]),
            _ => at(&["control"]),
        };
        requirements.push(Requirement { path, feature: Feature::Control(own.control.clone()) });
        if let Some(ms) = own.stack.min_rto_ms {
            requirements.push(Requirement { path: at(&["min-rto"]), feature: Feature::Timer(ms) });
        }
    }
    if let Some(queue) = context.policy.linux.as_ref().and_then(|linux| linux.qdisc.as_ref())
        && let Some(name) = queue_name(queue)
    {
        let path = ["policy", context.number, "linux", "qdisc"].map(str::to_owned).to_vec();
        requirements.push(Requirement { path, feature: Feature::Queue(name.to_owned()) });
    }
    requirements.dedup();
    requirements
}
