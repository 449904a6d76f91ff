//! Two network namespaces, joined by two veth pairs, for tests with the machine's own kernel.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "the live side has a wall clock")]

use std::net::IpAddr;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use headway_linux::mptcp::ManagedBy;
use headway_linux::netns;

pub mod connection;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// Removes them when it goes, on every path.
pub struct Hosts {
    pub client: String,
    pub server: String,
}

fn ip(arguments: &str) -> Result<(), String> {
    let output =
        Command::new("ip").args(arguments.split_whitespace()).output().map_err(|e| format!("`ip` is needed: {e}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.client));
        let _ = ip(&format!("netns del {}", self.server));
    }
}

impl Hosts {
    /// `None`, with the reason on stderr, where the machine does not allow it.
    pub fn new() -> Option<Self> {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let stem = format!("linux-{}-{number}", std::process::id());
        let hosts = Self { client: format!("{stem}-c"), server: format!("{stem}-s") };
        match hosts.set_up() {
            Ok(()) => Some(hosts),
            Err(reason) => {
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    /// Addresses 10.0.1.1, 10.0.2.1, fd00:1::1, fd00:2::1 on the client, ….2 on the server.
    fn set_up(&self) -> Result<(), String> {
        let Self { client, server } = self;
        ip(&format!("netns add {client}"))?;
        ip(&format!("netns add {server}"))?;
        for (namespace, host) in [(client, 1), (server, 2)] {
            if host == 1 {
                for path in [1, 2] {
                    ip(&format!(
                        "link add p{path} netns {client} numtxqueues 1 type veth peer name p{path} netns {server}"
                    ))?;
                }
            }
            ip(&format!("-n {namespace} link set lo up"))?;
            for path in [1, 2] {
                ip(&format!("-n {namespace} addr add 10.0.{path}.{host}/24 dev p{path}"))?;
                ip(&format!("-n {namespace} addr add fd00:{path}::{host}/64 dev p{path} nodad"))?;
                ip(&format!("-n {namespace} link set p{path} up"))?;
            }
        }
        Ok(())
    }

    /// Runs something in a thread of its own inside a namespace, and waits for it.
    pub fn within<T: Send>(name: &str, run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            scope
                .spawn(|| {
                    netns::enter(name).expect("the namespace was just made");
                    run()
                })
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Has a daemon manage connections, on new and old kernels.
pub fn userspace_path_manager() {
    ManagedBy::Userspace.write().expect("the kernel has MPTCP");
}

/// Tries again until it succeeds, for up to ten seconds: duplicate address detection alone takes up to two.
pub fn until<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(value) = check() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}: not within ten seconds");
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// From this version on, and in some before, `SUBFLOW_CREATE` heeds the flags and the interface.
pub const FLAGS: (u32, u32) = (6, 12);

/// The first two numbers of the kernel's version.
pub fn kernel() -> (u32, u32) {
    let release = headway_linux::sysctl::read("kernel.osrelease").expect("every kernel has it");
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse().ok());
    numbers.next().zip(numbers.next()).expect("two numbers")
}
