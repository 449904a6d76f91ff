//! Which numbers are asked for.

use headway_results::{Metric, Summary};

/// What tables show. An empty list leaves the choice to them: all policies and traffics, and the metrics that answer most
/// questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    /// Metrics, in the order of the tables.
    pub metrics: Vec<Metric>,
    /// Names of traffics.
    pub traffics: Vec<String>,
    /// Names of policies.
    pub policies: Vec<String>,
}

impl Choice {
    /// Whether nothing is asked for in particular.
    pub fn is_all(&self) -> bool {
        *self == Choice::default()
    }

    /// Whether the rows of this traffic are asked for.
    pub(crate) fn has_traffic(&self, traffic: &str) -> bool {
        self.traffics.is_empty() || self.traffics.iter().any(|own| own == traffic)
    }

    /// Whether the rows of this policy are asked for.
    pub(crate) fn has_policy(&self, policy: &str) -> bool {
        self.policies.is_empty() || self.policies.iter().any(|own| own == policy)
    }

    /// The rows of `summary` that are asked for, in its order.
    #[must_use]
    pub fn of(&self, summary: &Summary) -> Summary {
        let asked = |metric: &Metric| self.metrics.is_empty() || self.metrics.contains(metric);
        let rows = summary.rows.iter().filter(|row| self.has_traffic(&row.traffic) && self.has_policy(&row.policy));
        Summary { sweep: summary.sweep.clone(), rows: rows.filter(|row| asked(&row.metric)).cloned().collect() }
    }
}
