//! What the service manager is told (`sd_notify`, `Type=notify`). Without one, nothing happens.
//!
//! Source: sd_notify(3), systemd.service(5).

use std::io;
use std::time::Duration;

use sd_notify::NotifyState;

/// The daemon is up.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(&line(status))]);
}

/// The configuration is being read anew; [`ready`] ends it.
pub fn reloading() {
    // systemd tells by the time which of several reloads is meant.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// The daemon is about to end.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// The daemon is alive; due at least every [`watchdog_interval`].
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// How often [`alive`] is to be called: twice as often as the service manager demands. `None`: it does not watch.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|demanded| demanded / 2)
}

/// A newline would begin another message.
fn line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(states) {
        // The manager may be restarting; the next message will tell it.
        if error.kind() != io::ErrorKind::WouldBlock {
            tracing::debug!(%error, "the service manager cannot be told");
        }
    }
}
