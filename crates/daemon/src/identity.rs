//! Who a daemon is, and where it has its files.

use std::net::SocketAddr;
use std::path::PathBuf;

/// What tells a daemon from the others of a host. Two daemons differ in all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The program's name, `headway-…`; also the abstract socket that one instance per network namespace holds.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The first part of the names of its metrics, such as `headway_lane`.
    pub metric_prefix: &'static str,
    /// The number by which its routes and rules are told from those of others (`RTPROT_…`; `ip` calls it `proto`).
    pub route_protocol: u8,
    /// The configuration that is read if no other is named.
    pub config: &'static str,
    /// The unix socket for status, events and metrics, unless the configuration says otherwise.
    pub socket: &'static str,
    /// The folder of the record of what was set up, likewise.
    pub state: &'static str,
}

/// Where a running daemon is to be asked, and where it keeps its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operations {
    /// The unix socket of `status` and `monitor`, and for metrics.
    pub socket: PathBuf,
    /// A loopback address for Prometheus.
    pub metrics: Option<SocketAddr>,
    /// The folder where is recorded what was set up, so that `cleanup` can undo it.
    pub state: PathBuf,
}
