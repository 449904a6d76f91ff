//! The unix socket at a path, and that only one daemon has it.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use super::BindError;

/// A socket that listens at a path as long as this lives.
///
/// Beside it is a file that the daemon locks. The kernel takes the lock from a daemon that ends, however it ends: who has
/// the lock may replace a socket that is left over, and nobody can be mistaken about that.
#[derive(Debug)]
pub(super) struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    _lock: File,
}

impl UnixSocket {
    pub(super) fn bind(path: &Path) -> Result<UnixSocket, BindError> {
        let wrong = |error| BindError::Unix { path: path.to_owned(), error };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(wrong)?;
        }
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        // Not a link, which may lead elsewhere; and for nobody else, who could keep the lock from the next daemon.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = File::options();
        options.create(true).write(true).truncate(false).mode(0o600).custom_flags(flags.bits().cast_signed());
        let lock = options.open(&name).map_err(wrong)?;
        lock.set_permissions(Permissions::from_mode(0o600)).map_err(wrong)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BindError::Served(path.to_owned())),
            Err(TryLockError::Error(error)) => return Err(wrong(error)),
        }
        match fs::symlink_metadata(path) {
            Ok(there) if there.file_type().is_socket() => fs::remove_file(path).map_err(wrong)?,
            Ok(_) => return Err(BindError::Occupied(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(wrong(error)),
        }
        let listener = UnixListener::bind(path).map_err(wrong)?;
        let socket = UnixSocket { listener, path: path.to_owned(), _lock: lock };
        // The daemon's group may ask for status, others not: it names the ends of connections.
        fs::set_permissions(path, Permissions::from_mode(0o660)).map_err(wrong)?;
        socket.listener.set_nonblocking(true).map_err(wrong)?;
        Ok(socket)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next connection that waits.
    pub(super) fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().map(|(stream, _)| stream)
    }
}

impl AsFd for UnixSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Still locked, so it is ours; the lock's file stays, for another daemon may wait for it already.
        let _ = fs::remove_file(&self.path);
    }
}
