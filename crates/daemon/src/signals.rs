//! Signals as something to poll.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// What signals ask for.
pub(crate) struct Signals {
    pub(crate) stop: UnixStream,
    pub(crate) reload: UnixStream,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Signals> {
        let pair = || {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            write.set_nonblocking(true)?;
            Ok::<_, io::Error>((read, write))
        };
        let (stop, written) = pair()?;
        pipe::register(SIGTERM, written.try_clone()?)?;
        pipe::register(SIGINT, written)?;
        let (reload, written) = pair()?;
        pipe::register(SIGHUP, written)?;
        Ok(Signals { stop, reload })
    }

    /// Whether a signal came since the last call.
    pub(crate) fn came(mut stream: &UnixStream) -> bool {
        let mut came = false;
        while let Ok(1..) = stream.read(&mut [0; 64]) {
            came = true;
        }
        came
    }
}
