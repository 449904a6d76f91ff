//! Circular waits: ports that are paused because of frames that wait at ports that are paused because of …
//!
//! A port that is paused by a switch is *stuck* if the switch will never let it go on: even when all that came from it and
//! can move has left, what waits at stuck ports of the switch is more than the threshold. Stuck ports are what remains
//! when, of all paused ones, those are taken away again and again that will go on. Each waits for another one of them, so
//! there is a cycle (Hu et al., "Deadlocks in datacenter networks: why do they form, and how to avoid them", HotNets 2016,
//! doi:10.1145/3005745.3005760: the cyclic buffer dependency of which every part is paused).
//! A watchdog, or a link that fails, can end it.
//!
//! Ports are looked at when a pause is asked for again, and when the caller asks.

use std::collections::BTreeMap;

use headway_units::Time;

use crate::fabric::Fabric;
use crate::graph::LinkId;
use crate::ingress::Deadlocks;
use crate::queue::PRIORITIES;

/// A link and account.
type Node = (u32, u8);

impl<B: Copy> Fabric<B> {
    /// Circular waits up to `now`; the network is looked at once more.
    pub fn deadlocks(&mut self, now: Time) -> Deadlocks {
        self.look_for_deadlock(now);
        self.lossless.as_ref().map_or_else(Deadlocks::default, |own| own.deadlocks.clone())
    }

    /// Looks at the network, and notes what has come about.
    pub(crate) fn look_for_deadlock(&mut self, now: Time) {
        let Some(lossless) = &self.lossless else { return };
        let was = lossless.deadlocks.now;
        let cycle = self.circular_wait();
        let lossless = self.lossless.as_mut().expect("it was there");
        let own = &mut lossless.deadlocks;
        own.now = cycle.is_some();
        if let Some(cycle) = cycle
            && !was
        {
            own.count += 1;
            own.first.get_or_insert((now, cycle));
        }
    }

    /// Ports that wait for each other, if there are any.
    fn circular_wait(&self) -> Option<Vec<(LinkId, u8)>> {
        let lossless = self.lossless.as_ref()?;
        let mut stuck: BTreeMap<Node, BTreeMap<Node, u64>> = BTreeMap::new();
        for (number, port) in (0..).zip(&self.ports) {
            let asked = lossless.ingress.asked(LinkId(number));
            let held = (0..PRIORITIES as u8).filter(|&priority| port.dcb_ref().is_stopped(priority));
            for account in held.map(|priority| lossless.spec.account(priority)) {
                if asked >> account & 1 == 1 {
                    stuck.insert((number, account), BTreeMap::new());
                }
            }
        }
        if stuck.len() < 2 {
            return None;
        }
        // what came over each of them and waits at another one
        for (number, port) in (0..).zip(&self.ports) {
            for packet in port.dcb_ref().packets(&self.shared.pool) {
                let account = lossless.spec.account(packet.tos >> 5);
                if stuck.contains_key(&(number, account))
                    && let Some(link) = self.routes.came_over(packet.hop)
                    && let Some(waits) = stuck.get_mut(&(link.0, account))
                {
                    *waits.entry((number, account)).or_default() += u64::from(packet.size);
                }
            }
        }
        loop {
            let goes_on = |(&(link, account), waits): (&Node, &BTreeMap<Node, u64>)| {
                let remains = waits.iter().filter(|(node, _)| stuck.contains_key(node)).map(|(_, bytes)| bytes).sum();
                lossless.ingress.lets_go_on(LinkId(link), account, remains).then_some((link, account))
            };
            let gone: Vec<Node> = stuck.iter().filter_map(goes_on).collect();
            if gone.is_empty() {
                break;
            }
            for node in &gone {
                stuck.remove(node);
            }
        }
        cycle(&stuck)
    }
}

/// A cycle among nodes of which each waits for another one.
fn cycle(stuck: &BTreeMap<Node, BTreeMap<Node, u64>>) -> Option<Vec<(LinkId, u8)>> {
    let mut at = *stuck.keys().next()?;
    let mut seen = Vec::new();
    while !seen.contains(&at) {
        seen.push(at);
        at = *stuck[&at].keys().find(|node| stuck.contains_key(node)).expect("what is stuck waits for what is stuck");
    }
    let first = seen.iter().position(|&node| node == at).expect("it was seen");
    Some(seen[first..].iter().map(|&(link, account)| (LinkId(link), account)).collect())
}
