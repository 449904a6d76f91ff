//! A socket of the kernel's that is opened anew after it failed.

use std::time::Duration;

use headway_linux::Error;

use crate::failures::Failures;

/// The socket, and the way to another one.
pub struct ReconnectingSocket<T> {
    what: &'static str,
    open: Box<dyn FnMut() -> Result<T, Error>>,
    socket: Option<T>,
    failures: Failures,
    lost: u64,
}

impl<T> ReconnectingSocket<T> {
    /// The first one. `what` it is for, in messages.
    ///
    /// # Errors
    /// If the first one cannot be opened.
    pub fn new(what: &'static str, mut open: impl FnMut() -> Result<T, Error> + 'static) -> Result<Self, Error> {
        let socket = Some(open()?);
        Ok(Self { what, open: Box::new(open), socket, failures: Failures::default(), lost: 0 })
    }

    /// The socket, if it works.
    pub fn get(&self) -> Option<&T> {
        self.socket.as_ref()
    }

    /// The socket, if it works.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.socket.as_mut()
    }

    /// It said `error` at `now`. If that is about itself and not about what it was asked, it is closed, for [`Self::reopen`]
    /// to open another one after a pause. Returns whether it is.
    pub fn failed(&mut self, error: &Error, now: Duration) -> bool {
        // a socket that reports its own end to poll would wake it for ever
        let itself = matches!(error, Error::Call { .. });
        if itself && self.socket.take().is_some() {
            self.lost += 1;
            if self.failures.add(now) {
                tracing::warn!(%error, socket = self.what, "a socket of the kernel's failed; it is opened anew");
            }
        }
        itself
    }

    /// When [`Self::reopen`] is to be called; `None`: it works.
    pub fn due(&self, now: Duration) -> Option<Duration> {
        self.socket.is_none().then(|| self.failures.due(now).unwrap_or(now))
    }

    /// Opens another one if it is time. Returns whether it did: what it would have told meanwhile has to be asked for.
    pub fn reopen(&mut self, now: Duration) -> bool {
        if self.socket.is_some() {
            if let Some(failures) = self.failures.works(now) {
                tracing::info!(failures, socket = self.what, "a socket of the kernel's works again");
            }
            return false;
        }
        if self.failures.due(now).is_some() {
            return false;
        }
        match (self.open)() {
            Ok(socket) => self.socket = Some(socket),
            Err(error) => {
                self.failures.add(now);
                tracing::debug!(%error, socket = self.what, "it cannot be opened anew");
            }
        }
        self.socket.is_some()
    }

    /// How often it was closed since the last call.
    pub fn lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;
    use std::rc::Rc;

    use super::*;

    fn dead() -> Error {
        Error::Call { call: "recvfrom(AF_NETLINK)", source: io::Error::from_raw_os_error(9) }
    }

    #[test]
    fn a_socket_that_dies_again_and_again_is_opened_ever_more_rarely() {
        let opened = Rc::new(Cell::new(0));
        let count = opened.clone();
        let open = move || {
            count.set(count.get() + 1);
            Ok(())
        };
        let mut socket = ReconnectingSocket::new("test", open).unwrap();
        // ten minutes of an event loop that is woken whenever there is a socket to poll, and fails to read from it
        let mut now = Duration::ZERO;
        let mut turns: u64 = 0;
        while now < Duration::from_secs(600) {
            turns += 1;
            let reopened = socket.reopen(now);
            assert_eq!(reopened, turns > 1);
            assert!(socket.failed(&dead(), now) && socket.get().is_none());
            now = socket.due(now).unwrap();
        }
        // 12.6 s in six doublings, then one each 10 s
        assert!(turns < 70, "{turns} turns");
        assert_eq!((opened.get(), socket.lost()), (turns, turns));
        assert!(socket.reopen(now) && socket.due(now).is_none());
    }

    #[test]
    fn what_is_not_about_the_socket_does_not_close_it() {
        let mut socket = ReconnectingSocket::new("test", || Ok(())).unwrap();
        let refused = Error::Kernel { errno: rustix::io::Errno::INVAL, message: None };
        for error in [refused, Error::Overrun, Error::Interrupted, Error::NoAnswer] {
            assert!(!socket.failed(&error, Duration::ZERO) && socket.get().is_some(), "{error}");
        }
    }

    #[test]
    fn one_that_cannot_be_opened_is_tried_again_later() {
        let full = Rc::new(Cell::new(false));
        let is_full = full.clone();
        let open = move || if is_full.get() { Err(dead()) } else { Ok(()) };
        let mut socket = ReconnectingSocket::new("test", open).unwrap();
        full.set(true);
        socket.failed(&dead(), Duration::ZERO);
        let due = socket.due(Duration::ZERO).unwrap();
        assert!(!socket.reopen(due / 2) && !socket.reopen(due));
        assert!(socket.due(due).unwrap() > due);
        full.set(false);
        assert!(socket.reopen(socket.due(due).unwrap()));
    }
}
