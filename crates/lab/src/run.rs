//! One run: the network is made, hosts are set up, their agents send and report, everything is removed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headway_agent::protocol::{self, CONFIG, Config, RUN, Report};
use headway_fabric::{Graph, NodeId};
use headway_kernel::setup::Setup;
use headway_kernel::share::{self, RunFolder, ShareError};
use headway_kernel::{EPOCH_NS, HostOutput, image};
use rustix::fs::FlockOperation;
use rustix::time::{ClockId, clock_gettime};

use crate::error::{LabError, files};
use crate::network::{Blueprint, Member, Space};
use crate::probe::{self, MachineInfo};
use crate::program;
use crate::space::{Spaces, remove_leftovers};

/// How temporary folders of runs begin; the process follows.
const FOLDER: &str = "headway-lab-";
/// Locked while a run is under way: two at a time would share the processors that each measures.
const LOCK: &str = "/run/headway-lab.lock";
/// So long a run waits for another one to end.
const TURN: Duration = Duration::from_secs(900);
/// From the start of the agents to the epoch, and more for each host. They have nothing left to set up.
const HEAD_START: Duration = Duration::from_millis(700);
const HEAD_START_PER_HOST: Duration = Duration::from_millis(50);
/// Daemons have so much longer to be ready.
const DAEMONS: Duration = Duration::from_secs(3);
/// After the end of a run agents have so long to tell commands to end and to write their reports.
const GRACE: Duration = Duration::from_secs(20);
/// How often agents are looked at.
const PAUSE: Duration = Duration::from_millis(10);

/// A host that takes part.
#[derive(Debug, Clone)]
pub struct LabHost {
    /// Its node in the graph.
    pub node: NodeId,
    /// How it is set up; its `queue` stands inside the rate of its interfaces.
    pub setup: Setup,
    /// What its agent does, but for its `setup`. Times are ahead of the run's by [`EPOCH_NS`], as of kernel hosts.
    pub host: protocol::Host,
}

/// What a run in namespaces is made of.
#[derive(Debug, Clone)]
pub struct LabPlan {
    /// The network.
    pub graph: Graph,
    /// Its hosts that take part.
    pub hosts: Vec<LabHost>,
    /// The largest IP packet.
    pub mtu: u32,
    /// Names of hosts by their addresses.
    pub names: BTreeMap<IpAddr, String>,
    /// When the run ends, ahead by [`EPOCH_NS`], too.
    pub end_ns: u64,
    /// The folder in which commands run; an empty one when left out.
    pub files: Option<PathBuf>,
    /// What switches choose paths by.
    pub seed: u64,
}

/// Runs it in real time, and gives what the hosts left behind, in their order. `stop` ends it early.
///
/// # Errors
/// If the machine cannot do it, a host cannot be set up, or an agent fails. The namespaces and their processes are gone
/// in any case.
pub fn run(plan: &LabPlan, stop: &AtomicBool) -> Result<Vec<HostOutput>, LabError> {
    probe::check(plan.hosts.len())?;
    let _turn = take_turn(stop)?;
    remove_leftovers()?;
    let member = |own: &LabHost| (own.node, own.setup.number, own.setup.queue.clone());
    let owned: Vec<(NodeId, u32, Option<String>)> = plan.hosts.iter().map(member).collect();
    let members: Vec<Member> = owned
        .iter()
        .map(|(node, number, queue)| Member { node: *node, number: *number, queue: queue.as_deref() })
        .collect();
    let blueprint = Blueprint::new(&plan.graph, &members, plan.mtu, plan.seed)?;
    let folder = RunFolder::new(FOLDER).map_err(files("make a temporary folder"))?;
    let spaces = Spaces::create(blueprint.spaces.len(), folder.path())?;
    let lines = blueprint.lay(|place| spaces.name(place).to_owned());
    program::batch("cables", &["ip"], &lines, &folder.path().join("cables"))?;
    for (place, space) in blueprint.spaces.iter().enumerate() {
        go_on(stop)?;
        build(space, spaces.name(place), folder.path())?;
    }
    let here = MachineInfo::look();
    for (place, own) in plan.hosts.iter().enumerate() {
        go_on(stop)?;
        set_up(own, spaces.name(place), &here)?;
    }
    let result = agents(plan, &spaces, folder.path(), stop);
    // an error of the run says more than one of its end
    result.and_then(|outputs| spaces.remove().map(|()| outputs))
}

fn go_on(stop: &AtomicBool) -> Result<(), LabError> {
    if stop.load(Ordering::Relaxed) { Err(LabError::Interrupted) } else { Ok(()) }
}

/// Waits until no other run is under way on this machine. The turn ends when what this gives is dropped.
fn take_turn(stop: &AtomicBool) -> Result<fs::File, LabError> {
    let mut how = fs::OpenOptions::new();
    let lock = how.create(true).truncate(false).write(true).open(LOCK).map_err(files(format!("open {LOCK}")))?;
    let until = Instant::now() + TURN;
    while rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        go_on(stop)?;
        if Instant::now() > until {
            let minutes = TURN.as_secs() / 60;
            return Err(LabError::Machine(format!("another run in namespaces is under way for {minutes} minutes")));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(lock)
}

/// Gives a namespace its settings, addresses, routes, rates and queues.
fn build(space: &Space, name: &str, folder: &Path) -> Result<(), LabError> {
    let what = format!("namespace of `{}`", space.node);
    let file = folder.join("lines");
    program::run(&what, &["ip", "netns", "exec", name, "/bin/sh", "-c", &space.settings])?;
    program::batch(&what, &["ip", "-n", name], &space.addresses, &file)?;
    program::batch(&what, &["tc", "-n", name], &space.queues, &file)
}

/// Sets a host up as a kernel host is, but for its queues, which are there.
fn set_up(own: &LabHost, name: &str, here: &MachineInfo) -> Result<(), LabError> {
    let mut setup = Setup { queue: None, ..own.setup.clone() };
    if let Some(control) = setup.control.take_if(|control| !here.allowed.contains(control))
        && !own.host.commands.is_empty()
    {
        // flows ask for it themselves, as root may
        let message = format!(
            "its commands cannot have `{control}`: sockets of a namespace that do not choose have one of \
             net.ipv4.tcp_allowed_congestion_control, which is {}",
            here.allowed.join(" ")
        );
        return Err(LabError::Host { host: own.host.name.clone(), message });
    }
    for program in setup.programs() {
        let mut words = vec!["ip", "netns", "exec", name];
        words.extend(program.iter().map(String::as_str));
        program::run("set-up", &words).map_err(|error| match error {
            LabError::Program { said, .. } => {
                let line = program.last().map(String::as_str).unwrap_or_default();
                let message = format!("set-up: `{}` {said}", shortened(line));
                LabError::Host { host: own.host.name.clone(), message }
            }
            other => other,
        })?;
    }
    Ok(())
}

/// Of a script only its first lines.
fn shortened(line: &str) -> String {
    const MOST: usize = 200;
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line.to_owned(),
    }
}

fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

fn nanos(span: Duration) -> u64 {
    span.as_nanos().try_into().unwrap_or(u64::MAX)
}

/// An agent at work.
struct Agent {
    host: String,
    share: PathBuf,
    outputs: Vec<String>,
    process: Child,
    over: bool,
}

impl Drop for Agent {
    fn drop(&mut self) {
        if !self.over {
            // its host's process and its commands die with it
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// Runs the agents of all hosts to their end.
fn agents(plan: &LabPlan, spaces: &Spaces, folder: &Path, stop: &AtomicBool) -> Result<Vec<HostOutput>, LabError> {
    let programs = programs(folder)?;
    let names = folder.join("hosts");
    fs::write(&names, hosts_file(&plan.names)).map_err(files(format!("write {}", names.display())))?;
    let shares: Vec<PathBuf> = (0..plan.hosts.len()).map(|place| folder.join(format!("host{place}"))).collect();
    for (share, own) in shares.iter().zip(&plan.hosts) {
        prepare(share, own, plan.files.as_deref())?;
    }
    let daemons = if plan.hosts.iter().any(|own| !own.host.daemons.is_empty()) { DAEMONS } else { Duration::ZERO };
    let epoch = now() + nanos(HEAD_START + daemons) + nanos(HEAD_START_PER_HOST) * plan.hosts.len() as u64;
    let ahead = epoch.saturating_sub(EPOCH_NS);
    let _place = RunPlace::new()?;
    let mut agents = Vec::new();
    for (place, (share, own)) in shares.iter().zip(&plan.hosts).enumerate() {
        let config = config(plan, own, ahead);
        let text = serde_json::to_vec(&config).expect("a configuration can be written");
        fs::write(share.join(CONFIG), text).map_err(files(format!("write {}", share.display())))?;
        let host = own.host.name.clone();
        let process = start(spaces.name(place), &names, &host, &programs, share)?;
        let outputs = share::outputs(&own.host);
        agents.push(Agent { host, share: share.clone(), outputs, process, over: false });
    }
    let end = plan.end_ns.saturating_add(ahead).saturating_add(nanos(GRACE));
    while agents.iter().any(|agent| !agent.over) {
        go_on(stop)?;
        for agent in agents.iter_mut().filter(|agent| !agent.over) {
            let status = agent.process.try_wait().map_err(files("wait for an agent"))?;
            agent.over = status.is_some();
            if status.is_some_and(|status| !status.success()) {
                return Err(failed(agent));
            }
        }
        if now() > end {
            let host = agents.iter().find(|agent| !agent.over).map_or_else(String::new, |agent| agent.host.clone());
            let message = format!("its agent has not ended {} s after the end of the run", GRACE.as_secs());
            return Err(LabError::Host { host, message });
        }
        std::thread::sleep(PAUSE);
    }
    agents.iter().map(|agent| output(agent, ahead)).collect()
}

/// Where an agent that is not in a guest keeps the files of its host's daemons, in the folder it shares with us.
const DAEMONS_FOLDER: &str = "run/0";

/// The machine's folder that hosts have their own in place of; removed again if it was not there before.
struct RunPlace {
    ours: bool,
}

impl RunPlace {
    fn new() -> Result<RunPlace, LabError> {
        match fs::create_dir(RUN) {
            Ok(()) => Ok(RunPlace { ours: true }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(RunPlace { ours: false }),
            Err(error) => Err(files(format!("make {RUN}"))(error)),
        }
    }
}

impl Drop for RunPlace {
    fn drop(&mut self) {
        if self.ours {
            // whoever has put something there by now needs it
            let _ = fs::remove_dir(RUN);
        }
    }
}

/// What the agent is called.
const AGENT: &str = "headway-agent";

/// Writes Headway's own programs into a folder, which this gives.
fn programs(folder: &Path) -> Result<PathBuf, LabError> {
    let programs = folder.join("bin");
    let own = image::own().map_err(|error| LabError::Machine(error.to_string()))?;
    let write = || {
        fs::create_dir(&programs)?;
        for (name, program) in [(AGENT, own.agent)].iter().chain(own.daemons) {
            let path = programs.join(name);
            fs::write(&path, program)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    };
    write().map_err(files(format!("write to {}", programs.display())))?;
    Ok(programs)
}

/// Makes the folder that an agent and we share.
fn prepare(share: &Path, own: &LabHost, user: Option<&Path>) -> Result<(), LabError> {
    let failed = || files(format!("make {}", share.display()));
    fs::create_dir_all(share::out(share, 0)).map_err(failed())?;
    fs::create_dir_all(share.join(DAEMONS_FOLDER)).map_err(failed())?;
    let place = share.join("files");
    match user {
        Some(user) => {
            let user = fs::canonicalize(user).map_err(files(format!("open {}", user.display())))?;
            std::os::unix::fs::symlink(user, place).map_err(failed())
        }
        None if own.host.commands.is_empty() => Ok(()),
        None => fs::create_dir(place).map_err(failed()),
    }
}

fn hosts_file(names: &BTreeMap<IpAddr, String>) -> String {
    let mut text = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for (address, name) in names {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// What an agent is told, in the machine's own time.
fn config(plan: &LabPlan, own: &LabHost, ahead: u64) -> Config {
    let mut host = protocol::Host { setup: Vec::new(), ..own.host.clone() };
    let later = |at: &mut u64| *at = at.saturating_add(ahead);
    for flow in &mut host.flows {
        later(&mut flow.start_ns);
    }
    for command in &mut host.commands {
        later(&mut command.start_ns);
        if let Some(stop_ns) = &mut command.stop_ns {
            later(stop_ns);
        }
    }
    let (epoch_ns, end_ns) = (EPOCH_NS.saturating_add(ahead), plan.end_ns.saturating_add(ahead));
    Config { epoch_ns, end_ns, files: false, names: BTreeMap::new(), hosts: vec![host] }
}

/// Starts an agent in its namespace, with the names of all hosts and one of its own. Its process stays the one that is
/// started.
fn start(space: &str, names: &Path, host: &str, programs: &Path, share: &Path) -> Result<Child, LabError> {
    // `ip netns exec` has given it mounts of its own
    // and so has a `/run/headway` of its own, as in a guest
    const SCRIPT: &str = "mount --bind \"$1\" /etc/hosts && mount --bind \"$2\" \"$3\" && \
                          printf %s \"$4\" >/proc/sys/kernel/hostname && exec \"$5\" \"$6\"";
    let console = fs::File::create(share.join("console")).map_err(files(format!("write to {}", share.display())))?;
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs.to_owned()].into_iter().chain(std::env::split_paths(&inherited)));
    Command::new("ip")
        .env("PATH", path.map_err(|error| LabError::Machine(format!("PATH cannot be had: {error}")))?)
        .args(["netns", "exec", space, "unshare", "--uts", "/bin/sh", "-c", SCRIPT, "sh"])
        .args([names.as_os_str(), share.join(DAEMONS_FOLDER).as_os_str(), RUN.as_ref(), host.as_ref()])
        .args([programs.join(AGENT).as_os_str(), share.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(console)
        .spawn()
        .map_err(files("start an agent"))
}

/// Why an agent failed, in its own words if it has any.
fn failed(agent: &Agent) -> LabError {
    let said = share::reports(&share::out(&agent.share, 0)).unwrap_or_default();
    let message = said.into_iter().find_map(|report| match report {
        Report::Failed { message } => Some(message),
        _ => None,
    });
    let console = || {
        let mut text = String::new();
        let file = fs::File::open(agent.share.join("console"));
        let _ = file.map(|file| file.take(4000).read_to_string(&mut text));
        format!("its agent has failed: {}", text.trim())
    };
    LabError::Host { host: agent.host.clone(), message: message.unwrap_or_else(console) }
}

/// What a host left behind, in the run's time.
fn output(agent: &Agent, ahead: u64) -> Result<HostOutput, LabError> {
    let folder = share::out(&agent.share, 0);
    let mut reports = share::reports(&folder).map_err(|error| match error {
        ShareError::Io(source) => LabError::Files { action: "read a report".to_owned(), source },
        ShareError::Nonsense(message) => LabError::Host { host: agent.host.clone(), message },
    })?;
    if reports.last() != Some(&Report::Done) {
        let message = "its agent did not end its report".to_owned();
        return Err(LabError::Host { host: agent.host.clone(), message });
    }
    for report in &mut reports {
        earlier(report, ahead);
    }
    let files = share::files(&folder, &agent.outputs).map_err(files("read what commands wrote"))?;
    Ok(HostOutput { name: agent.host.clone(), reports, files })
}

/// Takes a report from the machine's time to the run's.
fn earlier(report: &mut Report, ahead: u64) {
    let back = |at: &mut u64| *at = at.saturating_sub(ahead);
    match report {
        Report::Ready { at_ns } | Report::Sample { at_ns, .. } | Report::Arrived { at_ns, .. } => back(at_ns),
        Report::Received { last_ns, .. } => back(last_ns),
        Report::Command { start_ns, end_ns, .. } => {
            back(start_ns);
            back(end_ns);
        }
        Report::Sent { .. } | Report::Failed { .. } | Report::Done => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_there_and_back() {
        let ahead = 5_000_000_000;
        let command = protocol::Command { name: "c".into(), shell: "true".into(), start_ns: 7, stop_ns: Some(9) };
        let host = protocol::Host {
            name: "h".into(),
            interfaces: 1,
            setup: vec![vec!["true".into()]],
            daemons: vec![protocol::Daemon {
                name: "d".into(),
                words: ["d", "--config", "/run/headway/d.toml"].map(str::to_owned).into(),
                files: vec![("d.toml".into(), "socket = \"/run/headway/d\"".into())],
            }],
            listeners: Vec::new(),
            expected: Vec::new(),
            flows: Vec::new(),
            commands: vec![command],
            sample_ns: None,
        };
        let setup = Setup {
            number: 0,
            interfaces: 1,
            cards: headway_kernel::setup::Cards::Veth,
            mtu: 1500,
            memory: 0,
            shared: false,
            stack: None,
            control: None,
            mptcp: None,
            local_ports: None,
            queue: None,
            sysctls: Vec::new(),
            lines: Vec::new(),
        };
        let own = LabHost { node: NodeId(0), setup, host };
        let plan = LabPlan {
            graph: Graph::new(),
            hosts: Vec::new(),
            mtu: 1500,
            names: BTreeMap::new(),
            end_ns: EPOCH_NS + 11,
            files: None,
            seed: 0,
        };
        let config = config(&plan, &own, ahead);
        assert_eq!((config.epoch_ns, config.end_ns), (EPOCH_NS + ahead, EPOCH_NS + ahead + 11));
        let told = &config.hosts[0];
        assert_eq!((told.commands[0].start_ns, told.commands[0].stop_ns), (ahead + 7, Some(ahead + 9)));
        assert!(told.setup.is_empty(), "it is done by then");
        let mut report = Report::Command { name: "c".into(), start_ns: ahead + 7, end_ns: ahead + 8, code: 0 };
        earlier(&mut report, ahead);
        assert_eq!(report, Report::Command { name: "c".into(), start_ns: 7, end_ns: 8, code: 0 });
    }
}
