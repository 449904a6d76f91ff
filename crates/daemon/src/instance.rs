//! One instance of a daemon per network namespace.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use crate::run::RunError;

/// Takes the abstract name `name`, which one process of a network namespace can hold: abstract names are a namespace's own
/// (unix(7)), and gone with their owner. `None` if someone has it who cannot be another daemon: any user can take any
/// abstract name, and nobody else's is a reason not to run.
///
/// # Errors
/// If another instance of the daemon has it.
pub fn instance_lock(name: &str) -> Result<Option<UnixListener>, RunError> {
    take(name).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => RunError::Taken(name.to_owned()),
        _ => RunError::Io { what: "a name in the network namespace", source },
    })
}

fn take(name: &str) -> io::Result<Option<UnixListener>> {
    let error = match UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?) {
        Ok(listener) => return listener.set_nonblocking(true).map(|()| Some(listener)),
        Err(error) => error,
    };
    if error.kind() != io::ErrorKind::AddrInUse {
        return Err(error);
    }
    match owner(name) {
        Some(uid) if uid.is_root() || uid == rustix::process::geteuid() => Err(error),
        owner => {
            let uid = owner.map(rustix::process::Uid::as_raw);
            tracing::warn!(
                uid,
                "someone who is no daemon has the abstract socket `{name}`, by which daemons know each other"
            );
            Ok(None)
        }
    }
}

/// Who listens at the name; `None` if nobody does, or if its queue stays full, which a daemon's does not.
fn owner(name: &str) -> Option<rustix::process::Uid> {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with, sockopt};
    let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
    for _ in 0..20 {
        // it may have the name and not listen yet
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
        if connect(&socket, &address).is_ok() {
            return sockopt::socket_peercred(&socket).ok().map(|owner| owner.uid);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}
