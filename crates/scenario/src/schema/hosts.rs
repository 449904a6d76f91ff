//! Groups of hosts.

use crate::language::{Name, record, words};

use super::LinkChangeRecord;

words! {
    /// Where the hosts of a group are.
    pub enum Place {
        /// Among the hosts of the topology, taken in order.
        "inside" => Inside,
        /// Further hosts above the topology, with an interface to each of its planes.
        "top" => Top,
    }
}

record! {
    /// A group of hosts.
    pub struct HostsRecord {
        /// How many hosts; required unless `members` names them.
        #[range(1..=1_000_000)]
        pub count: Option<u32>,
        /// Where they are.
        pub at: Place = Place::Inside,
        /// The hosts by name, in a graph.
        pub members: Option<Vec<Name>>,
        /// What is different from `topology.link` in the cables of hosts at the top.
        pub link: Option<LinkChangeRecord>,
    }
}
