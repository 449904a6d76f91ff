//! Relays of a policy.

use headway_language::{Definitions, Field, Json, Name, Node, Parse, Reader, Shown, Value, all_defaults, record};
use headway_levers::relay::RelayRecord;
use headway_units::Span;

use super::transport::{Stack, TransportRecord};

record! {
    /// Flows go over relays: hosts that end TCP on both sides and forward what they read.
    pub struct RelayPolicyRecord {
        /// The groups whose hosts are the relays, one host or two in all. A flow passes them in the order of their distance
        /// from its source.
        pub hosts: Vec<Name>,
        /// What relays have towards the hosts of flows. The stack is Linux' when left out.
        pub access: RelaySideRecord = RelaySideRecord::linux(),
        /// What relays have towards each other; a single one, towards the end that is further away. The stack is Linux' when
        /// left out, and a receive window that grows does so up to `buffer`.
        pub long: RelaySideRecord = RelaySideRecord::linux(),
        /// What the work takes of a relay's processor.
        pub cost: RelayCostRecord = all_defaults(),
        /// The traffic that is relayed, by its names; the rest bypasses the relays. All when left out.
        pub traffic: Option<Vec<Name>>,
    }
    with /// What every relay can do.
    common: RelayRecord
}

record! {
    /// What the work of a relay takes: one processor does one piece after the other.
    pub struct RelayCostRecord {
        /// What each byte takes that is forwarded.
        #[range(Span::ZERO..=Span::from_millis(1))]
        pub cpu_per_byte: Span = Span::ZERO,
        /// What each connection takes that is taken in.
        #[range(Span::ZERO..=Span::from_secs(1))]
        pub cpu_per_connection: Span = Span::ZERO,
    }
}

/// The transport of one side of a relay: as everywhere, but that the stack is Linux' if none is named, and without
/// `send-buffer`, since `buffer` is what a relay holds.
#[derive(Debug, Clone, PartialEq)]
pub struct RelaySideRecord(pub TransportRecord);

/// Keys of a transport that a side of a relay has not, with the reason.
const REFUSED: [(&str, &str); 2] = [
    ("send-buffer", "`buffer` of the relay is what it holds of each direction"),
    ("linux", "relays of a policy are modelled hosts"),
];

impl RelaySideRecord {
    /// TCP of Linux with its defaults.
    pub fn linux() -> RelaySideRecord {
        let text = "kind = \"tcp\"\nstack = \"linux\"";
        let Ok(Parse { tree, mut reader }) = Parse::new(text, "", text.len()) else { unreachable!("it is TOML") };
        RelaySideRecord(TransportRecord::read(&tree, &mut reader).expect("all else has a default"))
    }
}

impl Field for RelaySideRecord {
    fn read(node: &Node, reader: &mut Reader) -> Option<RelaySideRecord> {
        let entries = if let Value::Table(table) = &node.value { &table.entries[..] } else { &[] };
        for (entry, reason) in entries
            .iter()
            .filter_map(|entry| REFUSED.iter().find(|(key, _)| entry.key == *key).map(|(_, reason)| (entry, *reason)))
        {
            let message = format!("`{}.{}` cannot be had here", reader.path(), entry.key);
            reader.problem(entry.key_at, message, "not here", Some(reason.to_owned()));
        }
        let mut own = TransportRecord::read(node, reader)?;
        if entries.iter().all(|entry| entry.key != "stack") {
            own.stack = Stack::Linux;
        }
        Some(RelaySideRecord(own))
    }

    fn show(&self) -> Option<Shown> {
        self.0.show()
    }

    fn schema(definitions: &mut Definitions) -> Json {
        TransportRecord::schema(definitions)
    }
}
