//! Throughput formulae of long TCP connections, of a path and of a path that relays split.
//!
//! A connection that always has data sends no faster than its window allows, than its losses allow, and than the
//! slowest link: B ≈ min(W/d, C·MSS/(d·√p), link). [`mathis`] and [`padhye`] are two forms of the second bound. A
//! [`Path`] takes the smallest of the three, a [`Route`] is the whole way between two hosts, and its
//! [`segments`](Route::segments) are the connections that relays make of it.
//!
//! Leaves out: the handshake and slow start, so short flows; queueing delay (the round trip does not depend on the
//! rate); controls that are not Reno's, which lose less by a long round trip; loss of acknowledgements; the work of
//! relays. The formulae hold where windows are of some segments and losses are independent of the rate.
//!
//! Sources: Mathis, Semke, Mahdavi, Ott: *The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm*, ACM CCR
//! 27(3), 1997; Padhye, Firoiu, Towsley, Kurose: *Modeling TCP Throughput*, SIGCOMM 1998, in the form of RFC 5348
//! §3.1; Hasegawa and Jibiki 2011 (relays, with B ≈ min(W/d, C/(d√p))).

mod formulae;
mod path;
mod route;

pub use formulae::{Constant, mathis, padhye};
pub use path::{Bound, Limit, Path, PathError, Sender};
pub use route::{Route, RouteError, Segment, Stretch};
