//! What may carry a flow.

use crate::datagram::Datagram;
use crate::relay::plan::Relayed;
use crate::roce::Roce;
use crate::tcp::profile::Profile;

/// How flows of one kind are carried. A new transport is a line here and one in each match that then does not compile.
#[derive(Debug, Clone)]
pub enum Transport {
    /// TCP, MPTCP or replicated connections.
    Tcp(Box<Profile>),
    /// Datagrams at a fixed rate.
    Datagram(Datagram),
    /// Queue pairs of RoCE.
    Roce(Roce),
    /// TCP over relays.
    Relayed(Box<Relayed>),
}

impl From<Profile> for Transport {
    fn from(profile: Profile) -> Transport {
        Transport::Tcp(Box::new(profile))
    }
}

impl From<Datagram> for Transport {
    fn from(datagram: Datagram) -> Transport {
        Transport::Datagram(datagram)
    }
}

impl From<Roce> for Transport {
    fn from(roce: Roce) -> Transport {
        Transport::Roce(roce)
    }
}

impl From<Relayed> for Transport {
    fn from(relayed: Relayed) -> Transport {
        Transport::Relayed(Box::new(relayed))
    }
}

/// Which of a tenant's own profiles a flow's number stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Carrier {
    Tcp(u16),
    Datagram(u16),
    Roce(u16),
    Relayed(u16),
}
