//! Which path manager new connections get: `net.mptcp.path_manager` (a word), before Linux 6.16 `net.mptcp.pm_type` (a
//! number).

use crate::sysctl::{self, Error};

const NAME: &str = "net.mptcp.path_manager";
const OLD_NAME: &str = "net.mptcp.pm_type";

/// Who opens, closes and marks subflows of the connections of a network namespace. It is settled for each connection
/// when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagedBy {
    /// The kernel, by endpoints and limits.
    Kernel,
    /// A daemon, by [`super::Command`].
    Userspace,
    /// Another one, such as of BPF.
    Other,
}

impl ManagedBy {
    /// Who new connections of the calling thread's network namespace are managed by.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the kernel has no MPTCP.
    pub fn read() -> Result<Self, Error> {
        match sysctl::read(NAME) {
            Err(error) if error.is_unknown() => Ok(match &*sysctl::read(OLD_NAME)? {
                "0" => Self::Kernel,
                "1" => Self::Userspace,
                _ => Self::Other,
            }),
            Err(error) => Err(error),
            Ok(word) => Ok(match &*word {
                "kernel" => Self::Kernel,
                "userspace" => Self::Userspace,
                _ => Self::Other,
            }),
        }
    }

    /// Has new connections of the calling thread's network namespace managed by this one. `Other` changes nothing.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the kernel has no MPTCP or none that a daemon can manage (before Linux 5.19).
    pub fn write(self) -> Result<(), Error> {
        let (word, number) = match self {
            Self::Kernel => ("kernel", "0"),
            Self::Userspace => ("userspace", "1"),
            Self::Other => return Ok(()),
        };
        match sysctl::write(NAME, word) {
            Err(error) if error.is_unknown() => sysctl::write(OLD_NAME, number),
            result => result,
        }
    }
}
