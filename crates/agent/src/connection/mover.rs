//! A thread that moves the data of a long connection, in calls that last until much is done.
//!
//! Between two system calls a guest's program runs as a process of the machine that the guest is on, and to go there
//! and back costs more than all that the kernel does with a packet. The kernel moves the same data at the same times
//! whether a program asks for it piece by piece or all at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::sys;

/// Enough for a few calls.
const STACK: usize = 32 << 10;

/// What a thread tells.
#[derive(Debug, Default)]
struct Told {
    bytes: AtomicU64,
    last_ns: AtomicU64,
}

/// A connection that a thread has in hand.
pub struct Mover {
    /// Readable when the thread is done.
    pub done: OwnedFd,
    told: Arc<Told>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Mover {
    fn start(
        socket: BorrowedFd,
        work: impl FnOnce(BorrowedFd, &Told) -> io::Result<()> + Send + 'static,
    ) -> io::Result<Mover> {
        sys::set_blocking(socket, true)?;
        // a copy: the connection may be closed meanwhile, and its number given to another
        let socket = socket.try_clone_to_owned()?;
        let done = eventfd(0, EventfdFlags::CLOEXEC)?;
        let (told, say) = (Arc::new(Told::default()), done.try_clone()?);
        let shared = Arc::clone(&told);
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let result = work(socket.as_fd(), &shared);
            drop(socket);
            let _ = rustix::io::write(&say, &1u64.to_ne_bytes());
            result
        })?;
        Ok(Mover { done, told, thread: Some(thread) })
    }

    /// Reads all that comes, up to `size` bytes if that is known, and takes the time by `now` when those are there.
    pub fn receive(socket: BorrowedFd, size: Option<u64>, now: fn() -> u64) -> io::Result<Mover> {
        const MOST: u64 = 1 << 30;
        Mover::start(socket, move |socket, told| {
            let mut bytes = 0;
            loop {
                // past the size there should be nothing but the end
                let want = size.map_or(MOST, |size| size.saturating_sub(bytes).clamp(1, MOST));
                match sys::discard_all(socket, want as usize) {
                    Ok(0) => return Ok(()),
                    Ok(got) => bytes += got as u64,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
                if size.is_none_or(|size| bytes >= size) {
                    told.last_ns.store(now(), Ordering::Relaxed);
                }
                told.bytes.store(bytes, Ordering::Release);
            }
        })
    }

    /// Writes `size` zeros, without end if there is no number.
    pub fn send(socket: BorrowedFd, size: Option<u64>, zeros: Arc<Vec<u8>>) -> io::Result<Mover> {
        Mover::start(socket, move |socket, _| {
            let mut left = size.unwrap_or(u64::MAX);
            while left > 0 {
                let chunk = zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                match rustix::net::send(socket, &zeros[..chunk], rustix::net::SendFlags::NOSIGNAL) {
                    Ok(sent) if size.is_some() => left -= sent as u64,
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })
    }

    /// Bytes read by calls that have come back, and when the last of them did.
    pub fn read(&self) -> (u64, u64) {
        (self.told.bytes.load(Ordering::Acquire), self.told.last_ns.load(Ordering::Relaxed))
    }

    /// What became of a thread that is done.
    pub fn outcome(&mut self) -> io::Result<()> {
        match self.thread.take().map(std::thread::JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(io::Error::other("its thread failed")),
        }
    }
}
