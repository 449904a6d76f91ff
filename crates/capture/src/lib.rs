//! Traffic analysis: what a packet capture says about flows, so that a scenario can send the like.
//!
//! [`Captures`] reads pcap and pcapng files, also compressed ones, as one stream of packets. [`Analysis`] tells their
//! connections apart and counts, in bounded memory; it ends in a [`Report`], and gives every connection to a sink, such
//! as [`ConnectionTable`], as it ends. [`TrafficSection`] writes a report as traffic of a scenario file.
//!
//! This crate must not know of the simulator or of terminals, and touches headers only. It reads no clock. Nothing in
//! its results depends on hashes or on how the input was cut into reads. docs/traffic-analysis.md has the definitions.
//!
//! Sources: pcap-savefile(5); draft-ietf-opsawg-pcapng; RFC 9293 (TCP), RFC 8200 (IPv6), RFC 8684 and RFC 6824 (MPTCP);
//! classes of flows after Alizadeh et al., doi:10.1145/1851182.1851192 §2.2.

mod analysis;
mod captures;
mod error;
mod flow;
mod folder;
mod foreign;
mod histogram;
mod incast;
mod json;
pub mod packet;
mod reader;
mod scenario;
mod series;
mod source;
pub mod synthetic;
mod table;
mod track;
pub mod writing;

pub use analysis::{Analysis, Arrivals, ConnectionRecord, FlowGroup, Longlived, Options, Packets, Report};
pub use captures::Captures;
pub use error::CaptureError;
pub use flow::{Class, Flow, Heading};
pub use folder::keep;
pub use histogram::{Histogram, Step};
pub use json::report_json;
pub use packet::Address;
pub use reader::{Link, Packet, Reader};
pub use scenario::{TrafficSection, size_table};
pub use series::{Interval, Series};
pub use table::{ConnectionTable, SeriesTable};
pub use track::{Begin, End, Side};
