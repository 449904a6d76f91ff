//! What came into switches and has not left, by link and priority: when senders are asked to pause, and what is dropped.
//!
//! A frame of a lossless priority counts where it came in from the moment at which it is at its output port until its last
//! bit has left. It is below the threshold if it fits there, and otherwise in the headroom of its link and priority; the
//! first such frame asks the sender to pause. Frames that leave free the headroom first. When it is empty and what is
//! below is low enough, the sender may go on.
//!
//! With a shared buffer the threshold is α times what is free of the shared part, beyond a reserve, as in Choudhury & Hahne
//! (1998) and in the switch of HPCC's simulator (<https://github.com/alibaba-edu/High-Precision-Congestion-Control>,
//! `switch-mmu.cc`). Frames that may be lost take of the shared part only: no more, of a priority at an output port, than
//! α times what is free.
//! Leaves out: cells; thresholds of a group of ports; headroom that ports share.

use std::sync::Arc;

use headway_units::Time;

use crate::counters::Tally;
use crate::graph::{Graph, LinkId, NodeId};
use crate::queue::{LosslessSpec, PRIORITIES};

impl LosslessSpec {
    /// Bytes of the buffer of `switch` that its links have for themselves: reserves and headrooms.
    pub fn own_parts(&self, graph: &Graph, switch: NodeId) -> u64 {
        let reserve = self.buffer.map_or(0, |buffer| buffer.reserve.get());
        let own = graph.interfaces(switch).iter().map(|link| {
            let each = reserve.saturating_add(self.thresholds[link.reverse().index()].headroom);
            each.saturating_mul(u64::from(self.accounts()))
        });
        own.fold(0, u64::saturating_add)
    }
}

/// What came over a link in a priority (or over the link, where it is paused as a whole).
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    /// Bytes below the threshold.
    below: u64,
    /// Bytes in the headroom.
    headroom: u64,
    /// The sender has been asked to pause.
    asked: bool,
    deepest: u64,
    deepest_headroom: u64,
    drops: Tally,
}

/// The shared part of a switch's buffer.
#[derive(Debug, Clone, Copy)]
struct Shared {
    size: u64,
    used: u64,
}

/// What becomes of a frame that comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Taken,
    /// It is taken, and the sender is to pause.
    Asks,
    /// There is no room.
    Dropped,
}

/// What a link has had of room at the switch that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngressCounters {
    /// The most bytes of a priority that came over it and had not left.
    pub deepest: u64,
    /// The most bytes of a priority in its headroom.
    pub headroom: u64,
    /// Frames of lossless priorities that found no room.
    pub drops: Tally,
}

/// Circular waits of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deadlocks {
    /// How often one has come about while there was none.
    pub count: u64,
    /// The first one: when it was found, and the ports in it, by their links, each of which waits for the next, and the
    /// last for the first; with the priority, 0 where links are paused as a whole.
    pub first: Option<(Time, Vec<(LinkId, u8)>)>,
    /// There is one now.
    pub now: bool,
    /// No look before this.
    pub(crate) next_look: Time,
}

/// Sums of a lossless fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LosslessTotals {
    /// Frames of lossless priorities that found no room where they came in.
    pub overflows: u64,
    /// Frames that watchdogs have dropped.
    pub watchdog_drops: u64,
    /// How often circular waits have come about.
    pub deadlocks: u64,
}

/// What a lossless fabric keeps.
#[derive(Debug)]
pub(crate) struct Lossless {
    pub spec: Arc<LosslessSpec>,
    pub ingress: Ingress,
    /// Accounts of which peers are to be told whether they are to pause, as it is when they are told: the link over which
    /// they send, and the account.
    pub asks: Vec<(LinkId, u8)>,
    /// Pause frames that are gone.
    pub gone: u64,
    /// Circular waits so far.
    pub deadlocks: Deadlocks,
}

/// All switches' accounts.
#[derive(Debug)]
pub(crate) struct Ingress {
    spec: Arc<LosslessSpec>,
    /// By link, and of each link by priority.
    accounts: Vec<[Account; PRIORITIES]>,
    /// By link: the shared part of the buffer of the switch that it leads to.
    shared_of: Vec<u32>,
    shared: Vec<Shared>,
}

impl Ingress {
    /// The accounts of `graph`.
    ///
    /// # Panics
    /// If a switch's buffer is less than what its links have for themselves.
    pub fn new(graph: &Graph, spec: &Arc<LosslessSpec>) -> Ingress {
        let links = graph.links().len();
        let mut shared = Vec::new();
        let mut shared_of = vec![u32::MAX; links];
        if let Some(buffer) = &spec.buffer {
            for node in graph.switches() {
                let own = spec.own_parts(graph, node);
                let size = buffer.size.get().checked_sub(own).filter(|&size| size > 0);
                let size = size.expect("a buffer is larger than its links' own parts");
                for link in graph.interfaces(node) {
                    shared_of[link.reverse().index()] = shared.len() as u32;
                }
                shared.push(Shared { size, used: 0 });
            }
        }
        Ingress { spec: Arc::clone(spec), accounts: vec![Default::default(); links], shared_of, shared }
    }

    fn account(&mut self, link: LinkId, priority: u8) -> &mut Account {
        &mut self.accounts[link.index()][usize::from(self.spec.account(priority))]
    }

    fn shared(&mut self, link: LinkId) -> Option<&mut Shared> {
        self.shared.get_mut(self.shared_of[link.index()] as usize)
    }

    /// What is free of the shared part, if there is one, and the reserve and α.
    fn free(&self, link: LinkId) -> Option<(u64, u64, f64)> {
        let buffer = self.spec.buffer.as_ref()?;
        let own = self.shared.get(self.shared_of[link.index()] as usize)?;
        Some((own.size - own.used, buffer.reserve.get(), buffer.alpha))
    }

    /// Up to how many bytes an account of `link` is below its threshold.
    fn threshold(&self, link: LinkId) -> u64 {
        match self.free(link) {
            Some((free, reserve, alpha)) => reserve.saturating_add((alpha * free as f64) as u64),
            None => self.spec.thresholds[link.index()].xoff,
        }
    }

    /// Up to how many bytes the sender may go on.
    fn xon(&self, link: LinkId) -> u64 {
        match (self.free(link), &self.spec.buffer) {
            (Some((_, reserve, _)), Some(buffer)) => {
                reserve.max(self.threshold(link).saturating_sub(buffer.offset.get()))
            }
            _ => self.spec.thresholds[link.index()].xon,
        }
    }

    /// Adds to what an account has below its threshold.
    fn add_below(&mut self, link: LinkId, priority: u8, size: u64) {
        let before = self.part(link, priority);
        self.account(link, priority).below += size;
        let after = self.part(link, priority);
        if let Some(shared) = self.shared(link) {
            shared.used += after - before;
        }
    }

    fn remove_below(&mut self, link: LinkId, priority: u8, size: u64) {
        let before = self.part(link, priority);
        self.account(link, priority).below -= size;
        let after = self.part(link, priority);
        if let Some(shared) = self.shared(link) {
            shared.used -= before - after;
        }
    }

    /// What an account takes of the shared part.
    fn part(&self, link: LinkId, priority: u8) -> u64 {
        let own = &self.accounts[link.index()][usize::from(self.spec.account(priority))];
        match &self.spec.buffer {
            Some(buffer) if self.spec.is_lossless(priority) => own.below.saturating_sub(buffer.reserve.get()),
            Some(_) => own.below,
            None => 0,
        }
    }

    /// A frame of `size` has come in over `link`; `waits` bytes of its priority wait at its output port.
    pub fn admit(&mut self, link: LinkId, priority: u8, size: u64, waits: u64) -> Admission {
        if !self.spec.is_lossless(priority) {
            let room =
                self.free(link).is_none_or(|(free, _, alpha)| size <= free && waits as f64 <= alpha * free as f64);
            if !room {
                return Admission::Dropped;
            }
            self.add_below(link, priority, size);
            return Admission::Taken;
        }
        let threshold = self.threshold(link);
        let free = self.free(link).map_or(u64::MAX, |(free, ..)| free);
        let headroom = self.spec.thresholds[link.index()].headroom;
        let reserve = self.spec.buffer.as_ref().map_or(u64::MAX, |buffer| buffer.reserve.get());
        let own = self.account(link, priority);
        // of the shared part it needs what it is beyond its reserve
        let needs = (own.below + size).saturating_sub(reserve.max(own.below));
        let admission = if own.below + size <= threshold && needs <= free {
            self.add_below(link, priority, size);
            Admission::Taken
        } else if own.headroom + size <= headroom {
            own.headroom += size;
            own.deepest_headroom = own.deepest_headroom.max(own.headroom);
            if std::mem::replace(&mut own.asked, true) { Admission::Taken } else { Admission::Asks }
        } else {
            own.drops.count(size);
            return Admission::Dropped;
        };
        let own = self.account(link, priority);
        own.deepest = own.deepest.max(own.below + own.headroom);
        admission
    }

    /// A frame that came in over `link` has left. Says whether the sender may go on now.
    pub fn release(&mut self, link: LinkId, priority: u8, size: u64) -> bool {
        let own = self.account(link, priority);
        let of_headroom = own.headroom.min(size);
        own.headroom -= of_headroom;
        self.remove_below(link, priority, size - of_headroom);
        let xon = self.xon(link);
        let own = self.account(link, priority);
        let over = own.asked && own.headroom == 0 && own.below <= xon;
        own.asked &= !over;
        over
    }

    /// The accounts of `link` whose sender has been asked to pause, bit by bit.
    pub fn asked(&self, link: LinkId) -> u8 {
        self.accounts[link.index()].iter().enumerate().fold(0, |all, (at, own)| all | u8::from(own.asked) << at)
    }

    /// Whether the sender of an account may go on when no more than `remains` of its bytes are left.
    pub fn lets_go_on(&self, link: LinkId, account: u8, remains: u64) -> bool {
        remains <= self.xon(link).min(self.accounts[link.index()][usize::from(account)].below)
    }

    /// What `link` has had of room so far.
    pub fn counters(&self, link: LinkId) -> IngressCounters {
        self.accounts[link.index()].iter().fold(IngressCounters::default(), |sum, own| IngressCounters {
            deepest: sum.deepest.max(own.deepest),
            headroom: sum.headroom.max(own.deepest_headroom),
            drops: sum.drops + own.drops,
        })
    }

    /// Checks that accounts hold `expected`, bytes by link and priority.
    ///
    /// # Panics
    /// If they do not: a bug.
    pub fn assert_conserved(&self, expected: &[[u64; PRIORITIES]]) {
        let mut used = vec![0; self.shared.len()];
        for (at, (accounts, expected)) in self.accounts.iter().zip(expected).enumerate() {
            let mut sums = [0; PRIORITIES];
            for (priority, bytes) in expected.iter().enumerate() {
                sums[usize::from(self.spec.account(priority as u8))] += bytes;
            }
            for (account, (own, sum)) in accounts.iter().zip(sums).enumerate() {
                assert_eq!(
                    own.below + own.headroom,
                    sum,
                    "link {at}, account {account}: what came in and has not left"
                );
                assert!(own.headroom <= self.spec.thresholds[at].headroom, "link {at}: the headroom is no larger");
                if let Some(all) = used.get_mut(self.shared_of[at] as usize) {
                    *all += self.part(LinkId(at as u32), account as u8);
                }
            }
        }
        for (own, used) in self.shared.iter().zip(used) {
            assert!(own.used == used && used <= own.size, "a buffer is used by its accounts");
        }
    }
}
