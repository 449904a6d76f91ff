//! What happens, as people read it in the log and in `monitor`.

use std::fmt;
use std::net::SocketAddr;

use serde::Serialize;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A connection is managed from now on.
    Managed {
        /// The kernel's name for it, hexadecimal.
        token: String,
        /// This end of its first subflow.
        local: SocketAddr,
        /// The other end.
        remote: SocketAddr,
        /// It was there before.
        adopted: bool,
    },
    /// A subflow on a lane is established.
    Opened {
        /// The connection's.
        token: String,
        /// The lane's name.
        lane: String,
        /// This end.
        local: SocketAddr,
        /// The other end.
        remote: SocketAddr,
    },
    /// A connection was judged long and goes over to the long lanes.
    Switched {
        /// The connection's.
        token: String,
        /// How old it was.
        age_s: f64,
        /// How much had been acknowledged at the latest poll.
        acked_bytes: u64,
    },
    /// A connection had nothing to send for a while; it is on its short lane again.
    Returned {
        /// The connection's.
        token: String,
    },
    /// A subflow got no answer, or its lane went down.
    Failed {
        /// The connection's.
        token: String,
        /// The lane's name.
        lane: String,
    },
    /// A subflow could not be opened; it is tried again later.
    NotOpened {
        /// The connection's.
        token: String,
        /// The lane's name.
        lane: String,
        /// Why: an errno, or none if there was no answer.
        errno: Option<i32>,
    },
    /// The kernel refused a command, again and again.
    Refused {
        /// The connection's.
        token: String,
        /// What it was to do.
        command: String,
        /// Why.
        errno: i32,
    },
    /// A connection that was there before, and that the kernel manages itself: it is left alone.
    #[serde(rename = "left")]
    Unmanaged {
        /// The connection's.
        token: String,
    },
    /// A managed connection is over.
    Over {
        /// The connection's.
        token: String,
        /// How old it was, or its last flow.
        age_s: f64,
        /// Whether it was long.
        long: bool,
    },
    /// A lane has become usable or unusable.
    Lane {
        /// Its name.
        lane: String,
        /// Whether it is usable.
        up: bool,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Managed { token, local, remote, adopted } => {
                write!(f, "managed token={token} local={local} remote={remote} adopted={adopted}")
            }
            Event::Opened { token, lane, local, remote } => {
                write!(f, "opened token={token} lane={lane} local={local} remote={remote}")
            }
            Event::Switched { token, age_s, acked_bytes } => {
                write!(f, "switched token={token} age_s={age_s:.3} acked_bytes={acked_bytes}")
            }
            Event::Returned { token } => write!(f, "returned token={token}"),
            Event::Failed { token, lane } => write!(f, "failed token={token} lane={lane}"),
            Event::NotOpened { token, lane, errno } => {
                write!(f, "not-opened token={token} lane={lane}")?;
                errno.map_or(Ok(()), |errno| write!(f, " errno={errno}"))
            }
            Event::Refused { token, command, errno } => {
                write!(f, "refused token={token} command={command} errno={errno}")
            }
            Event::Unmanaged { token } => write!(f, "left token={token} because=\"the kernel manages it itself\""),
            Event::Over { token, age_s, long } => write!(f, "over token={token} age_s={age_s:.3} long={long}"),
            Event::Lane { lane, up } => write!(f, "lane lane={lane} up={up}"),
        }
    }
}
