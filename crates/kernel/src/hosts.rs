//! The kernel hosts of one run: guests that run ahead of the simulation for as long as nothing can reach them.
//!
//! Each time the simulation comes to a guest's turn, every guest whose time comes before its horizon runs up to it; the
//! horizon is the first arrival that is under way, or what a frame sent by anybody now would take over the guest's last
//! link. What happens in a round depends on the state before it alone, so that guests may run in any order, or at the
//! same time on several processors, with the same outcome. What they send enters the fabric in order of time, then of
//! link.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use headway_agent::protocol::{self, Config, Report};
use headway_fabric::LinkId;
use headway_transport::{Departure, External, ExternalError};
use headway_units::Time;
use rustix::thread::CpuSet;

use crate::capture::Capture;
use crate::card::offload::{self, addressed};
use crate::card::{CardCounters, CardSpec, Cpu, SMALLEST};
use crate::epoch::EPOCH_NS;
use crate::error::GuestError;
use crate::guest::{Guest, GuestSpec, NEVER};
use crate::share::{self, RunFolder, ShareError};

/// After the end of a run a guest has so much of its time to report and switch itself off.
const GRACE_NS: u64 = 10_000_000_000;

/// One guest of a run.
#[derive(Debug, Clone)]
pub struct GuestPlan {
    /// What its agent does; the agent's times are EPOCH_NS ahead of the simulation's.
    pub config: Config,
    /// Its cards in order, with the outgoing link of each in the graph.
    pub cards: Vec<(LinkId, CardSpec)>,
    /// By card: when (ns of the guest) its carrier goes, comes back, …, in order.
    pub carriers: BTreeMap<usize, Vec<u64>>,
    /// Its processors, one for each host.
    pub cpus: Vec<Cpu>,
    /// Bytes of memory.
    pub memory: u64,
    /// Where its random numbers start.
    pub seed: u64,
}

/// What a run's kernel hosts are made of.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// The kernel.
    pub linux: PathBuf,
    /// Its first files.
    pub initramfs: PathBuf,
    /// The folder of programs that guests mount.
    pub system: PathBuf,
    /// Whether the kernel has our fast path.
    pub fast_path: bool,
    /// The guests.
    pub guests: Vec<GuestPlan>,
    /// The outgoing link of the interface that has an address.
    pub addresses: BTreeMap<IpAddr, LinkId>,
    /// The user's files, shown to guests at `/files`.
    pub files: Option<PathBuf>,
    /// Hosts' interfaces (outgoing links) and links to capture, and the file each goes to. Interfaces of one host may
    /// go to one file.
    pub captures: Vec<(Watch, PathBuf)>,
    /// Processors to use; guests stay on one each. Without any, wherever the system puts them.
    pub processors: Vec<usize>,
    /// Threads, at least 1.
    pub threads: usize,
    /// So long may a guest not answer, in wall time.
    pub patience: Duration,
}

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// What leaves and enters the interface with this outgoing link.
    Interface(LinkId),
    /// What arrives over this link.
    Link(LinkId),
}

/// What a host left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct HostOutput {
    /// Its name.
    pub name: String,
    /// What its agent reported.
    pub reports: Vec<Report>,
    /// What its commands and daemons wrote: name of the file, content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// How much guests did; for measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Times a guest was told to run.
    pub runs: u64,
    /// Interrupts delivered.
    pub interrupts: u64,
    /// Sums over all cards.
    pub cards: CardCounters,
    /// IP packets to addresses that no interface of the network has.
    pub astray: u64,
}

/// A guest with its place in the network.
#[derive(Debug)]
struct Member {
    /// `None` while it is with another thread.
    guest: Option<Box<Guest>>,
    links: Vec<LinkId>,
    folder: PathBuf,
    hosts: Vec<String>,
    /// Per host the files that its commands and daemons write.
    outputs: Vec<Vec<String>>,
}

/// The guests of a run.
#[derive(Debug)]
pub struct Guests {
    members: Vec<Member>,
    addresses: BTreeMap<IpAddr, LinkId>,
    /// Per interface, by its outgoing link: which guest and card.
    places: BTreeMap<u32, (usize, usize)>,
    frames: Vec<Vec<u8>>,
    free: Vec<u32>,
    next: Time,
    crew: Crew,
    captures: Vec<Capture>,
    /// By link: the capture of an interface's frames, and of a link's.
    watched: BTreeMap<(bool, u32), usize>,
    capture_error: Option<std::io::Error>,
    astray: u64,
    scratch: Vec<(usize, u64)>,
    /// Removed, with all in it, at the end.
    _folder: RunFolder,
}

fn files(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> GuestError {
    let action = action.into();
    move |source| GuestError::Files { action, source }
}

impl Guests {
    /// Boots the guests and lets them be set up. `stop` ends this, and later anything else, with
    /// [`GuestError::Interrupted`].
    ///
    /// # Errors
    /// If a guest does not start, fails, or is not ready in its first second.
    pub fn boot(plan: &RunPlan, stop: &Arc<AtomicBool>) -> Result<Guests, GuestError> {
        let folder = RunFolder::new(FOLDER).map_err(files("make a temporary folder"))?;
        let mut members = Vec::new();
        let mut specs = Vec::new();
        let mut places = BTreeMap::new();
        for (index, guest) in plan.guests.iter().enumerate() {
            let own = folder.path().join(format!("guest{index}"));
            prepare(&own, guest, plan.files.as_deref())?;
            let hosts: Vec<String> = guest.config.hosts.iter().map(|host| host.name.clone()).collect();
            for (card, &(link, _)) in guest.cards.iter().enumerate() {
                places.insert(link.0, (index, card));
            }
            let carrier = |n: usize| guest.carriers.get(&n).cloned().unwrap_or_default();
            specs.push(GuestSpec {
                hosts: names(&hosts),
                linux: &plan.linux,
                initramfs: &plan.initramfs,
                system: &plan.system,
                folder: own.clone(),
                memory: guest.memory,
                seed: guest.seed,
                cards: guest.cards.iter().enumerate().map(|(n, &(_, card))| (card, carrier(n))).collect(),
                cpus: guest.cpus.clone(),
                fast: plan.fast_path,
                patience: plan.patience,
                stop: Arc::clone(stop),
            });
            let links = guest.cards.iter().map(|&(link, _)| link).collect();
            let outputs = guest.config.hosts.iter().map(share::outputs).collect();
            members.push(Member { guest: None, links, folder: own, hosts, outputs });
        }
        let threads = plan.threads.clamp(1, members.len().max(1));
        let crew = Crew::new(threads, &plan.processors);
        let mut guests = Guests {
            members,
            addresses: plan.addresses.clone(),
            places,
            frames: Vec::new(),
            free: Vec::new(),
            next: Time::NEVER,
            crew,
            captures: Vec::new(),
            watched: BTreeMap::new(),
            capture_error: None,
            astray: 0,
            scratch: Vec::new(),
            _folder: folder,
        };
        guests.open_captures(&plan.captures)?;
        for (index, guest) in specs.into_iter().enumerate() {
            guests.crew.pin(index);
            let guest = Guest::boot(guest, EPOCH_NS);
            guests.crew.pin(0);
            guests.members[index].guest = Some(Box::new(guest?));
        }
        for index in 0..guests.members.len() {
            guests.check_ready(index)?;
        }
        guests.update_next();
        Ok(guests)
    }

    fn open_captures(&mut self, wanted: &[(Watch, PathBuf)]) -> Result<(), GuestError> {
        let mut paths: Vec<&Path> = Vec::new();
        for (watch, path) in wanted {
            let index = if let Some(index) = paths.iter().position(|known| known == path) {
                index
            } else {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent).map_err(files(format!("make {}", parent.display())))?;
                }
                let action = format!("write {}", path.display());
                self.captures.push(Capture::create(path).map_err(files(action))?);
                paths.push(path);
                paths.len() - 1
            };
            let key = match watch {
                Watch::Interface(link) => (true, link.0),
                Watch::Link(link) => (false, link.0),
            };
            self.watched.insert(key, index);
        }
        Ok(())
    }

    /// The links whose frames [`External::passes`] must be told of.
    pub fn watched_links(&self) -> impl Iterator<Item = LinkId> + '_ {
        self.watched.keys().filter(|(interface, _)| !interface).map(|&(_, link)| LinkId(link))
    }

    /// A guest has booted: its hosts must be ready, and what it has sent so far went to nobody.
    fn check_ready(&mut self, index: usize) -> Result<(), GuestError> {
        let member = &mut self.members[index];
        let guest = member.guest.as_mut().expect("with us");
        for card in 0..member.links.len() {
            guest.card(card).outgoing.clear();
        }
        let gone = guest.is_gone();
        for host in 0..member.hosts.len() {
            let reports = member.sound_reports(host)?;
            if gone || !reports.iter().any(|report| matches!(report, Report::Ready { .. })) {
                let message = "it was not ready within its first second".to_owned();
                return Err(member.failed(host, message));
            }
        }
        Ok(())
    }

    fn update_next(&mut self) {
        let next = self.members.iter().map(|member| member.guest.as_ref().map_or(NEVER, |guest| guest.next()));
        self.next = next.min().map_or(Time::NEVER, from_guest);
    }

    /// A guest that is gone before its time says why, if it can.
    fn lost(&self, index: usize) -> GuestError {
        let member = &self.members[index];
        for host in 0..member.hosts.len() {
            if let Err(error) = member.sound_reports(host) {
                return error;
            }
        }
        let guest = member.guest.as_ref().expect("with us");
        GuestError::Gone {
            hosts: names(&member.hosts),
            what: "has switched itself off, or crashed,".to_owned(),
            at: self.next.to_string(),
            console: guest.console(),
        }
    }

    fn store(&mut self, frame: Vec<u8>) -> u32 {
        if let Some(place) = self.free.pop() {
            self.frames[place as usize] = frame;
            place
        } else {
            self.frames.push(frame);
            (self.frames.len() - 1) as u32
        }
    }

    fn take(&mut self, place: u32) -> Vec<u8> {
        self.free.push(place);
        std::mem::take(&mut self.frames[place as usize])
    }

    fn capture(&mut self, now: Time, interface: bool, link: LinkId, frame: &[u8]) {
        if let Some(&index) = self.watched.get(&(interface, link.0))
            && let Err(error) = self.captures[index].write(now, frame)
        {
            self.capture_error.get_or_insert(error);
        }
    }

    /// Lets the guests end, and collects what they left. The network is gone by now.
    ///
    /// # Errors
    /// If a guest does not end by itself, or what it left makes no sense.
    ///
    /// # Panics
    /// After an error of [`External::advance`], which has lost a guest.
    pub fn finish(mut self, end: Time) -> Result<(Vec<HostOutput>, Work), GuestError> {
        if let Some(source) = self.capture_error.take() {
            return Err(GuestError::Files { action: "write a capture".to_owned(), source });
        }
        for capture in std::mem::take(&mut self.captures) {
            capture.finish().map_err(files("write a capture"))?;
        }
        let until = EPOCH_NS + end.picos().div_ceil(1000) + GRACE_NS;
        let turns = (0..self.members.len()).map(|index| (index, until)).collect::<Vec<_>>();
        self.crew.run(&mut self.members, &turns)?;
        let mut outputs = Vec::new();
        let mut work = Work { astray: self.astray, ..Work::default() };
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            let guest = member.guest.as_mut().expect("with us");
            work.runs += guest.runs;
            work.interrupts += guest.calls;
            for card in 0..member.links.len() {
                let own = guest.card(card).counters;
                work.cards.sent += own.sent;
                work.cards.received += own.received;
                work.cards.overruns += own.overruns;
                work.cards.malformed += own.malformed;
            }
            let gone = guest.is_gone();
            for host in 0..member.hosts.len() {
                let reports = member.sound_reports(host)?;
                if !gone || reports.last() != Some(&Report::Done) {
                    return Err(member.failed(host, "its agent did not end its report".to_owned()));
                }
                outputs.push(HostOutput {
                    name: member.hosts[host].clone(),
                    reports,
                    files: share::files(&member.out(host), &member.outputs[host])
                        .map_err(files("read what commands wrote"))?,
                });
            }
        }
        Ok((outputs, work))
    }
}

impl Member {
    fn out(&self, host: usize) -> PathBuf {
        share::out(&self.folder.join("share"), host)
    }

    fn failed(&self, host: usize, message: String) -> GuestError {
        let console = self.guest.as_ref().map_or_else(String::new, |guest| guest.console());
        GuestError::Host { host: self.hosts[host].clone(), message, console }
    }

    /// Whether all of its hosts have ended their reports.
    fn is_done(&self) -> Result<bool, GuestError> {
        for host in 0..self.hosts.len() {
            if self.reports(host)?.last() != Some(&Report::Done) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The whole lines of a host's report; what its agent says that failed is an error.
    fn sound_reports(&self, host: usize) -> Result<Vec<Report>, GuestError> {
        let reports = self.reports(host)?;
        let failure = reports.iter().find_map(|report| match report {
            Report::Failed { message } => Some(self.failed(host, message.clone())),
            _ => None,
        });
        failure.map_or(Ok(reports), Err)
    }

    /// The whole lines of a host's report.
    fn reports(&self, host: usize) -> Result<Vec<Report>, GuestError> {
        share::reports(&self.out(host)).map_err(|error| match error {
            ShareError::Io(source) => GuestError::Files { action: "read a report".to_owned(), source },
            ShareError::Nonsense(message) => self.failed(host, message),
        })
    }
}

/// How temporary folders of guests begin; the process follows.
const FOLDER: &str = "headway-guests-";

fn names(hosts: &[String]) -> String {
    match hosts {
        [one] => format!("`{one}`"),
        [first, .., last] => format!("`{first}` to `{last}`"),
        [] => "nobody".to_owned(),
    }
}

/// Makes the folder of a guest.
fn prepare(folder: &Path, guest: &GuestPlan, user: Option<&Path>) -> Result<(), GuestError> {
    let failed = || files(format!("make {}", folder.display()));
    let share = folder.join("share");
    for host in 0..guest.config.hosts.len() {
        fs::create_dir_all(share.join(protocol::OUT).join(host.to_string())).map_err(failed())?;
    }
    let config = serde_json::to_vec(&guest.config).expect("a configuration can be written");
    fs::write(share.join(protocol::CONFIG), config).map_err(failed())?;
    if let Some(user) = user {
        let user = fs::canonicalize(user).map_err(files(format!("open {}", user.display())))?;
        std::os::unix::fs::symlink(user, folder.join("files")).map_err(failed())?;
    }
    Ok(())
}

fn from_guest(nanos: u64) -> Time {
    if nanos >= NEVER {
        return Time::NEVER;
    }
    Time::from_picos(nanos.saturating_sub(EPOCH_NS).saturating_mul(1000))
}

fn to_guest(time: Time) -> u64 {
    EPOCH_NS.saturating_add(time.picos().div_ceil(1000))
}

impl External for Guests {
    fn next(&self) -> Time {
        self.next
    }

    fn advance(
        &mut self,
        now: Time,
        horizon: &dyn Fn(LinkId) -> Time,
        sent: &mut Vec<Departure>,
    ) -> Result<(), ExternalError> {
        let _ = now;
        let mut turns = std::mem::take(&mut self.scratch);
        turns.clear();
        for (index, member) in self.members.iter().enumerate() {
            let next = member.guest.as_ref().map_or(NEVER, |guest| guest.next());
            if next >= NEVER {
                continue;
            }
            let until = member.links.iter().map(|&link| to_guest(horizon(link))).min().unwrap_or(NEVER);
            if next < until {
                turns.push((index, until));
            }
        }
        self.crew.run(&mut self.members, &turns)?;
        for &(index, _) in &turns {
            let member = &mut self.members[index];
            let guest = member.guest.as_mut().expect("with us");
            let gone = guest.is_gone();
            for card in 0..member.links.len() {
                loop {
                    let member = &mut self.members[index];
                    let guest = member.guest.as_mut().expect("with us");
                    let from = member.links[card];
                    let Some(outgoing) = guest.card(card).outgoing.pop_front() else { break };
                    let known =
                        addressed(&outgoing.frame).and_then(|to| Some((*self.addresses.get(&to.to)?, to))).filter(
                            |(to, _)| self.places.get(&to.0).is_some_and(|&(other, _)| other != index || to != &from),
                        );
                    let Some((to, address)) = known else {
                        // nobody is in a group; the noise of IPv6 is of no interest
                        let lost = addressed(&outgoing.frame).is_some_and(|lost| !lost.to.is_multicast());
                        self.astray += u64::from(lost);
                        continue;
                    };
                    let size = (outgoing.frame.len() + 4).max(SMALLEST) as u16;
                    let time = Time::from_picos(outgoing.start.saturating_sub(EPOCH_NS * 1000));
                    let frame = self.store(outgoing.frame);
                    sent.push(Departure { time, from, to, hash: address.hash, size, tos: address.tos, frame });
                }
            }
            // one that ran ahead may have come to its end
            if gone && !self.members[index].is_done()? {
                return Err(self.lost(index).into());
            }
        }
        self.scratch = turns;
        self.update_next();
        Ok(())
    }

    fn departs(&mut self, now: Time, from: LinkId, frame: u32) {
        if self.watched.contains_key(&(true, from.0)) {
            let bytes = std::mem::take(&mut self.frames[frame as usize]);
            self.capture(now, true, from, &bytes);
            self.frames[frame as usize] = bytes;
        }
    }

    fn passes(&mut self, now: Time, link: LinkId, frame: u32, tos: u8) {
        let mut bytes = std::mem::take(&mut self.frames[frame as usize]);
        if let Some(mac) = bytes.first_chunk::<6>().copied() {
            offload::arrive(&mut bytes, mac, tos);
        }
        self.capture(now, false, link, &bytes);
        self.frames[frame as usize] = bytes;
    }

    fn deliver(&mut self, now: Time, to: LinkId, frame: u32, tos: u8) {
        let mut bytes = self.take(frame);
        let &(index, card) = self.places.get(&to.0).expect("frames go to interfaces of guests");
        let guest = self.members[index].guest.as_mut().expect("with us");
        let card = guest.card(card);
        offload::arrive(&mut bytes, card.spec().mac, tos);
        if self.watched.contains_key(&(true, to.0)) {
            self.capture(now, true, to, &bytes);
        }
        let guest = self.members[index].guest.as_mut().expect("with us");
        let (_, card) = self.places[&to.0];
        guest.card(card).arrive(to_guest(now), bytes);
        self.next = self.next.min(from_guest(guest.next()));
    }

    fn discard(&mut self, frame: u32) {
        self.take(frame);
    }
}

/// The threads that serve guests. A guest stays with one thread and, if processors are given, on its processor: a
/// guest and who serves it take turns, so the way between two processors would cost more than a second one gains.
#[derive(Debug)]
struct Crew {
    /// Threads besides the caller's, which is number 0.
    helpers: Vec<Sender<(usize, Box<Guest>, u64)>>,
    done: Receiver<(usize, Box<Guest>, Result<(), GuestError>)>,
    threads: Vec<std::thread::JoinHandle<()>>,
    processors: Vec<usize>,
    /// What the caller's thread may run on otherwise.
    before: Option<CpuSet>,
}

impl Crew {
    fn new(threads: usize, processors: &[usize]) -> Crew {
        let before = rustix::thread::sched_getaffinity(None).ok().filter(|_| !processors.is_empty());
        let (finished, done) = mpsc::channel();
        let mut crew = Crew { helpers: Vec::new(), done, threads: Vec::new(), processors: processors.to_vec(), before };
        for number in 1..threads {
            let (give, work) = mpsc::channel::<(usize, Box<Guest>, u64)>();
            let finished = finished.clone();
            let processor = crew.processor(number);
            let spawned = std::thread::Builder::new().name(format!("guests{number}")).spawn(move || {
                pin(processor);
                for (index, mut guest, until) in work {
                    // without its guest the run would wait for ever
                    let go = std::panic::AssertUnwindSafe(|| guest.go_on(until));
                    let failed = |_| Err(GuestError::Thread);
                    let result = std::panic::catch_unwind(go).unwrap_or_else(failed);
                    if finished.send((index, guest, result)).is_err() {
                        break;
                    }
                }
            });
            // without the thread, its guests are served by the caller's
            if let Ok(thread) = spawned {
                crew.helpers.push(give);
                crew.threads.push(thread);
            }
        }
        crew.pin(0);
        crew
    }

    fn processor(&self, thread: usize) -> Option<usize> {
        if self.processors.is_empty() { None } else { Some(self.processors[thread % self.processors.len()]) }
    }

    /// Puts the caller's thread where guest `index` is served, for it to start there.
    fn pin(&self, index: usize) {
        pin(self.processor(index % (self.helpers.len() + 1)));
    }

    /// Lets guests go on, each until its time.
    fn run(&self, members: &mut [Member], turns: &[(usize, u64)]) -> Result<(), GuestError> {
        let width = self.helpers.len() + 1;
        let mut out = 0;
        // a single turn is taken here: the way to another thread and back costs more
        if width > 1 && turns.len() > 1 {
            for &(index, until) in turns.iter().filter(|(index, _)| index % width > 0) {
                let guest = members[index].guest.take().expect("with us");
                match self.helpers[index % width - 1].send((index, guest, until)) {
                    Ok(()) => out += 1,
                    Err(mpsc::SendError((_, guest, _))) => members[index].guest = Some(guest),
                }
            }
        }
        let mut outcome = Ok(());
        for &(index, until) in turns {
            if let Some(guest) = &mut members[index].guest
                && outcome.is_ok()
            {
                outcome = guest.go_on(until);
            }
        }
        for _ in 0..out {
            let Ok((index, guest, result)) = self.done.recv() else { break };
            members[index].guest = Some(guest);
            outcome = outcome.and(result);
        }
        outcome
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.helpers.clear();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(before) = &self.before {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

fn pin(processor: Option<usize>) {
    if let Some(processor) = processor.filter(|&n| n < CpuSet::MAX_CPU) {
        let mut set = CpuSet::new();
        set.set(processor);
        // a processor that we may not use is no reason to stop
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}
