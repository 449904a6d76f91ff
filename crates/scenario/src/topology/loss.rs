//! Loss on single links: in one direction of a cable, at random or at regular distances.

use std::collections::BTreeSet;

use headway_fabric::{Graph, LinkId, PeriodicLoss};
use headway_language::{Ratio, record};

use crate::checker::Checker;
use crate::plan::error::PlanError;

record! {
    /// What single links lose, in place of `loss` of their cables.
    pub struct LinkLossRecord {
        /// The links ("a>b"), each one direction of a cable.
        pub links: Vec<String>,
        /// The share of packets that are lost at random.
        pub share: Option<Ratio>,
        /// Of so many packets one is lost, always the same distance apart; each link counts for itself.
        #[range(2..=1_000_000_000)]
        pub every: Option<u32>,
        /// The number of the first packet that is lost, from 1; that of `every` when left out.
        #[range(1..=1_000_000_000)]
        pub first: Option<u32>,
    }
}

/// Notes losses that say too little or too much.
pub(crate) fn check(losses: &[LinkLossRecord], checker: &mut Checker) {
    for (index, own) in losses.iter().enumerate() {
        let index = index.to_string();
        let at = |key: &'static str| ["topology", "losses", &index, key].map(str::to_owned);
        let mut problem = |key: &'static str, message: String, help: &str| {
            let path = at(key);
            checker.problem(&path.each_ref().map(String::as_str), message, "", Some(help));
        };
        let name = format!("topology.losses.{index}");
        if own.links.is_empty() {
            problem("links", format!("`{name}.links` names no link"), "name them: links = [\"left>right\"]");
        }
        if own.share.is_some() == own.every.is_some() {
            let message = format!("`{name}` needs `share` or `every`, and not both");
            problem("share", message, "share = \"1%\" is random loss, every = 100 one packet in a hundred");
        }
        if own.share.is_some_and(|share| share.get() >= 1.0) {
            problem("share", format!("`{name}.share` loses everything"), "give a share below 1");
        }
        if own.first.is_some() && own.every.is_none() {
            problem("first", format!("`{name}.first` counts packets for `every`, which is not there"), "give `every`");
        }
    }
}

/// Lets the links of `graph` lose what `losses` say; links are found by `called`, and `suggest` helps with names that no
/// link has.
pub(crate) fn apply(
    losses: &[LinkLossRecord],
    graph: &mut Graph,
    called: impl Fn(&Graph, &str) -> Vec<LinkId>,
    suggest: impl Fn(&Graph, &str) -> String,
) -> Result<(), PlanError> {
    let mut known = BTreeSet::new();
    for (index, own) in losses.iter().enumerate() {
        for (place, name) in own.links.iter().enumerate() {
            let (index, place) = (index.to_string(), place.to_string());
            let path = ["topology", "losses", &index, "links", &place];
            let links = called(graph, name);
            if links.is_empty() {
                let fault = PlanError::new(&path, format!("there is no link `{name}`"));
                return Err(fault.help(suggest(graph, name)));
            }
            if !known.insert(name) {
                return Err(PlanError::new(&path, format!("`{name}` is named twice")));
            }
            for link in links {
                graph.set_loss(link, own.share.map_or(0.0, Ratio::get));
                if let Some(every) = own.every {
                    graph.lose_every(link, PeriodicLoss { every, first: own.first.unwrap_or(every) });
                }
            }
        }
    }
    Ok(())
}
