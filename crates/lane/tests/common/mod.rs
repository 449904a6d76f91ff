//! Two network namespaces with two paths between them, the daemon, and traffic, on the machine's own kernel.

#![allow(dead_code, reason = "tests and benchmarks use some of it each")]

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use headway_daemon::http::client;
use headway_lane::snapshot::{ConnectionStatus, Snapshot, Status};
use headway_linux::diag::{Diag, States, Tcp};
use headway_linux::mptcp::{Limits, ManagedBy, PathManager};
use headway_linux::{mptcp_socket, netns};
use rustix::process::{Pid, Signal, kill_process};

/// Whatever is waited for comes long before, or never.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes repeat after so many, which no size of a buffer or segment is a multiple of.
const PERIOD: usize = 251;

pub fn ip(arguments: &str) -> Result<(), String> {
    let output =
        Command::new("ip").args(arguments.split_whitespace()).output().map_err(|e| format!("`ip` is needed: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Tries again until it succeeds.
pub fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = check() {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Runs something in a thread of its own inside a namespace, and waits for it.
pub fn within<T: Send>(name: &str, run: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let run = || {
            netns::enter(name).expect("the namespace was just made");
            run()
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Client and server; removed when this goes, on every path.
pub struct Hosts {
    pub client: String,
    pub server: String,
    pub folder: tempfile::TempDir,
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in [&self.client, &self.server] {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

impl Hosts {
    /// `None`, with the reason on stderr, where the machine does not allow it.
    pub fn new() -> Option<Hosts> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let stem = format!("lanelive-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let hosts = Hosts { client: format!("{stem}-c"), server: format!("{stem}-s"), folder };
        match hosts.set_up() {
            Ok(()) => Some(hosts),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    /// Interfaces p1 and p2 with addresses 10.0.1.1, 10.0.2.1, fd00:1::1, fd00:2::1 on the client, ….2 on the server.
    fn set_up(&self) -> Result<(), String> {
        if !rustix::process::geteuid().is_root() {
            return Err("this needs root".to_owned());
        }
        let Hosts { client, server, .. } = self;
        ip(&format!("netns add {client}"))?;
        ip(&format!("netns add {server}"))?;
        for path in [1, 2] {
            ip(&format!("link add p{path} netns {client} type veth peer name p{path} netns {server}"))?;
        }
        for (namespace, host) in [(client, 1), (server, 2)] {
            ip(&format!("-n {namespace} link set lo up"))?;
            for path in [1, 2] {
                ip(&format!("-n {namespace} addr add 10.0.{path}.{host}/24 dev p{path}"))?;
                ip(&format!("-n {namespace} addr add fd00:{path}::{host}/64 dev p{path} nodad"))?;
                ip(&format!("-n {namespace} link set p{path} up"))?;
            }
            within(namespace, || {
                // tried first: not every kernel has it
                ManagedBy::Userspace.write().map_err(|error| format!("userspace path manager: {error}"))?;
                ManagedBy::Kernel.write().map_err(|error| format!("in-kernel path manager: {error}"))?;
                let limits = Limits { subflows: 8, add_addr_accepted: 8 };
                let set = PathManager::open().and_then(|mut manager| manager.set_limits(limits));
                set.map_err(|error| format!("limits: {error}"))
            })?;
        }
        // IPv6 addresses are usable a moment later
        within(server, || {
            until("an MPTCP socket at fd00:1::2", || mptcp_socket::listen(at("fd00:1::2", 1), 1).ok());
        });
        Ok(())
    }

    /// A listener on the server.
    pub fn listen(&self, address: SocketAddr) -> TcpListener {
        within(&self.server, || mptcp_socket::listen(address, 1024).expect("listen"))
    }

    /// A connection from the client: its end, and the server's.
    pub fn connect(&self, listener: &TcpListener, to: SocketAddr) -> (TcpStream, TcpStream) {
        let near = within(&self.client, || mptcp_socket::connect(to, None).expect("connect"));
        let (far, _) = listener.accept().expect("accept");
        (near, far)
    }

    /// A transfer from the client to the server at `to`, which goes on until it is ended.
    pub fn upload(&self, to: SocketAddr) -> Transfer {
        let any = if to.is_ipv4() { "0.0.0.0" } else { "::" };
        let listener = self.listen(at(any, to.port()));
        let (near, far) = self.connect(&listener, to);
        let mut transfer = Transfer::start(near, far);
        transfer.listener = Some(listener);
        transfer
    }

    /// Writes a configuration: lane `fast` is p1, lane `bulk` is p2.
    pub fn configure(&self, judge: &str, more: &str) {
        self.configure_lanes("", judge, more);
    }

    /// As [`Hosts::configure`], with `keys` at the top.
    pub fn configure_lanes(&self, keys: &str, judge: &str, more: &str) {
        let run = self.folder.path().display();
        let text = format!(
            "{keys}\n[[lane]]\nname = \"fast\"\nrole = \"short\"\ninterface = \"p1\"\n\n[[lane]]\nname = \"bulk\"\n\
             role = \"long\"\ninterface = \"p2\"\nremote = [\"10.0.2.0/24\", \"fd00:2::/64\"]\n\n\
             [judge]\n{judge}\n\n[operations]\nsocket = \"{run}/lane.sock\"\nstate = \"{run}/state\"\n\n{more}\n"
        );
        fs::write(self.config(), text).unwrap();
    }

    pub fn config(&self) -> PathBuf {
        self.folder.path().join("lane.toml")
    }

    /// A daemon of the written configuration in some namespaces, once it answers.
    pub fn daemon(&self, namespaces: &[&str]) -> Daemon {
        for namespace in namespaces {
            within(namespace, || ManagedBy::Userspace.write().unwrap());
        }
        Daemon::start(&self.config(), &self.folder.path().join("lane.sock"), namespaces)
    }
}

/// The subflows that there are in a namespace.
pub fn subflows(namespace: &str) -> Vec<Tcp> {
    within(namespace, || {
        let mut found = Vec::new();
        let mut diag = Diag::open().expect("sock_diag");
        diag.tcp_all(States::ESTABLISHED, |tcp| found.push(tcp)).expect("sockets can be listed");
        found.retain(|tcp| tcp.subflow.is_some());
        found
    })
}

/// Bytes acknowledged that left from an address.
pub fn bytes_from(namespace: &str, address: &str) -> u64 {
    let address: IpAddr = address.parse().unwrap();
    subflows(namespace).iter().filter(|tcp| tcp.pair.local.ip() == address).map(|tcp| tcp.acked).sum()
}

/// Waits until a megabyte more left from an address.
pub fn carries(namespace: &str, address: &str) {
    let before = bytes_from(namespace, address);
    until(&format!("data from {address}"), || (bytes_from(namespace, address) > before + 1_000_000).then_some(()));
}

/// Whether this end has the subflow from an address as a backup.
pub fn backup(namespace: &str, address: &str) -> bool {
    let address: IpAddr = address.parse().unwrap();
    let found = subflows(namespace).into_iter().find(|tcp| tcp.pair.local.ip() == address);
    found.expect("a subflow from there").subflow.unwrap().backup_local
}

pub fn at(address: &str, port: u16) -> SocketAddr {
    SocketAddr::new(address.parse().expect("an address"), port)
}

/// What the daemon says.
fn log(socket: &Path) -> PathBuf {
    socket.with_file_name("lane.log")
}

/// The running binary; killed with this.
pub struct Daemon {
    child: Child,
    socket: PathBuf,
}

impl Daemon {
    fn start(config: &Path, socket: &Path, namespaces: &[&str]) -> Daemon {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headway-lane"));
        command.args(["run", "--config"]).arg(config);
        command.args(namespaces.iter().flat_map(|name| ["--netns", name]));
        command.stderr(File::create(log(socket)).unwrap());
        let mut daemon = Daemon { child: command.spawn().unwrap(), socket: socket.to_owned() };
        until("an answer of the daemon", || {
            let ended = daemon.child.try_wait().unwrap();
            assert!(ended.is_none(), "the daemon ended");
            daemon.try_status().map(|_| ())
        });
        daemon
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What it has said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(log(&self.socket)).unwrap()
    }

    pub fn try_status(&self) -> Option<Status> {
        serde_json::from_str(&client::get(&self.socket, "/status").ok()?).ok()
    }

    /// What happens from now on.
    pub fn events(&self) -> impl Iterator<Item = serde_json::Value> + use<> {
        let mut stream = UnixStream::connect(&self.socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(b"GET /events HTTP/1.1\r\nHost: headway\r\n\r\n").unwrap();
        let mut lines = BufReader::new(stream).lines().map(|line| line.expect("an event within the time"));
        lines.by_ref().find(String::is_empty).expect("the head of an answer");
        lines.map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Of all its namespaces.
    pub fn status(&self) -> Vec<Snapshot> {
        self.try_status().expect("the daemon answers").namespaces
    }

    /// Of the only one.
    pub fn snapshot(&self) -> Snapshot {
        self.status().remove(0)
    }

    /// Waits until its status is as wanted.
    pub fn wait<T>(&self, what: &str, mut wanted: impl FnMut(&Snapshot) -> Option<T>) -> T {
        let mut last = None;
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let snapshot = self.snapshot();
            if let Some(value) = wanted(&snapshot) {
                return value;
            }
            last = Some(snapshot);
            thread::sleep(Duration::from_millis(5));
        }
        panic!("{what}: not within {PATIENCE:?}; {last:#?}");
    }

    /// Waits until its only connection is long and on the long lane.
    pub fn switched(&self) -> ConnectionStatus {
        self.wait("a switch", |now| now.connections.iter().find(|one| on_long(one)).cloned())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// As a crash ends it.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the daemon says:\n{}", fs::read_to_string(log(&self.socket)).unwrap_or_default());
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a connection is long, its long lane carries data, and its short lane is a backup.
pub fn on_long(one: &ConnectionStatus) -> bool {
    let lane = |name: &str, backup| {
        one.subflows.iter().any(|s| s.lane.as_deref() == Some(name) && s.backup == backup && s.alive)
    };
    one.long && lane("bulk", false) && lane("fast", true)
}

/// Data that flows until it is told to end, at some 10 MB/s, and what arrives is compared with what was sent.
pub struct Transfer {
    stop: Arc<AtomicBool>,
    received: Arc<AtomicU64>,
    threads: Option<[JoinHandle<io::Result<u64>>; 2]>,
    streams: [TcpStream; 2],
    /// Joins need it.
    listener: Option<TcpListener>,
}

impl Transfer {
    pub fn start(from: TcpStream, to: TcpStream) -> Transfer {
        let (stop, received) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        from.set_write_timeout(Some(PATIENCE)).unwrap();
        to.set_read_timeout(Some(PATIENCE)).unwrap();
        let streams = [from.try_clone().unwrap(), to.try_clone().unwrap()];
        let (ended, counted) = (stop.clone(), received.clone());
        let send = thread::spawn(move || send(from, &ended));
        let receive = thread::spawn(move || receive(to, &counted));
        Transfer { stop, received, threads: Some([send, receive]), streams, listener: None }
    }

    /// Waits until a megabyte more has arrived.
    pub fn goes_on(&self) {
        let before = self.received.load(Ordering::Relaxed);
        until("data that arrives", || (self.received.load(Ordering::Relaxed) > before + 1_000_000).then_some(()));
    }

    /// Ends it: all that was sent has arrived. Returns how much.
    pub fn finish(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        let [sent, received] = self.threads.take().unwrap().map(|thread| thread.join().unwrap().expect("no error"));
        assert_eq!(sent, received);
        sent
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // not what is in use for the other direction, if this one ended by itself
        for stream in self.streams.iter().filter(|_| self.threads.is_some()) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn send(mut to: TcpStream, stop: &AtomicBool) -> io::Result<u64> {
    let block: Vec<u8> = (0..64 * PERIOD).map(|place| (place % PERIOD) as u8).collect();
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        to.write_all(&block)?;
        sent += block.len() as u64;
        thread::sleep(Duration::from_millis(1));
    }
    to.shutdown(Shutdown::Write)?;
    Ok(sent)
}

fn receive(mut from: TcpStream, received: &AtomicU64) -> io::Result<u64> {
    let mut buffer = vec![0; 1 << 16];
    let mut count = 0;
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(count as u64);
        }
        for (place, byte) in buffer[..read].iter().enumerate() {
            if usize::from(*byte) != (count + place) % PERIOD {
                return Err(io::Error::other(format!("byte {} is wrong", count + place)));
            }
        }
        count += read;
        received.store(count as u64, Ordering::Relaxed);
    }
}
