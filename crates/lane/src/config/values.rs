//! Values of the network and of the host, as they are written.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use headway_daemon::textual;
pub use headway_daemon::values::{AbsolutePath, Endpoint};
use headway_daemon::values::{path, short, text};
use headway_language::{Definitions, Field, Json, Node, Reader, Shown, Value};
use ipnet::IpNet;
use serde_json::json;

textual! {
    /// An address of a host.
    Address(IpAddr), "an IPv4 or IPv6 address like \"10.0.0.5\"", address, IpAddr::to_string
}
textual! {
    /// Addresses with the same first bits; a single address is a prefix, too.
    Prefix(IpNet), "a prefix like \"10.9.0.0/16\" or an address", prefix, IpNet::to_string
}
textual! {
    /// The name of a network interface.
    Interface(String), "the name of an interface like \"eth0\"", interface, Clone::clone
}
textual! {
    /// A cgroup (v2), as a path below the mount point.
    Group(PathBuf), "a cgroup's path like \"/system.slice/backup.service\"", group, |path| path.display().to_string()
}
fn address(text: &str) -> Result<IpAddr, String> {
    let address: IpAddr = text.parse().map_err(|_| format!("`{}` is not an address", short(text)))?;
    let wrong = match address {
        _ if address.is_unspecified() => "stands for all addresses",
        _ if address.is_multicast() => "is a multicast address",
        IpAddr::V4(v4) if v4.is_broadcast() => "is the broadcast address",
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => "is an IPv4 address in IPv6's form; write it plainly",
        IpAddr::V6(v6) if v6.is_unicast_link_local() => {
            "is a link-local address, which MPTCP cannot tell to the other end"
        }
        _ => return Ok(address),
    };
    Err(format!("`{address}` {wrong}"))
}

fn prefix(text: &str) -> Result<IpNet, String> {
    let net = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let net = net.map_err(|_| format!("`{}` is not a prefix", short(text)))?;
    if net.trunc() != net {
        return Err(format!("`{net}` has bits behind the prefix; did you mean `{}`?", net.trunc()));
    }
    Ok(net)
}

fn interface(text: &str) -> Result<String, String> {
    // `dev_valid_name` of Linux; IFNAMSIZ is 16 with the zero at the end.
    let fits = !text.is_empty() && text.len() < 16 && !matches!(text, "." | "..");
    let plain = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, '/' | ':');
    if fits && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err("names of interfaces have 1 to 15 bytes, without `/`, `:` and blanks".to_owned())
}

fn group(text: &str) -> Result<PathBuf, String> {
    let group = path(text)?;
    if group.starts_with("/sys/fs/cgroup") {
        return Err("leave out the mount point `/sys/fs/cgroup`".to_owned());
    }
    Ok(group)
}

/// Ports from a first to a last one: `5201`, `"5000-5100"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ports(pub RangeInclusive<u16>);

impl Field for Ports {
    fn read(node: &Node, reader: &mut Reader) -> Option<Ports> {
        let expected = "a port like 443 or a range of ports like \"5000-5100\"";
        let range = match &node.value {
            Value::Integer(port) => u16::try_from(*port).ok().map(|port| port..=port),
            Value::Text(text) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                let port = |text: &str| text.trim().parse::<u16>().ok();
                port(first).zip(port(last)).map(|(first, last)| first..=last)
            }
            _ => return reader.wrong_kind(node, expected),
        };
        let range = range.filter(|range| *range.start() > 0 && !range.is_empty());
        if range.is_none() {
            let help = "ports are 1 to 65535, the first one of a range is not above the last".to_owned();
            reader.problem(node.at, format!("`{}` must be {expected}", reader.path()), "", Some(help));
        }
        range.map(Ports)
    }

    fn show(&self) -> Option<Shown> {
        let (first, last) = (*self.0.start(), *self.0.end());
        Some(if first == last { Shown::Integer(first.into()) } else { Shown::Text(format!("{first}-{last}")) })
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": ["integer", "string"] })
    }
}

/// A user of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// By name.
    Name(String),
    /// By number.
    Id(u32),
}

impl Field for User {
    fn read(node: &Node, reader: &mut Reader) -> Option<User> {
        match &node.value {
            Value::Integer(_) => u32::read(node, reader).map(User::Id),
            Value::Text(_) => text(node, "a user's name or number", reader, |text| {
                let fits = !text.is_empty() && text.len() <= 256 && !text.contains([':', '\0', '\n']);
                if fits { Ok(User::Name(text.to_owned())) } else { Err("this cannot be a user's name".to_owned()) }
            }),
            _ => reader.wrong_kind(node, "a user's name or number"),
        }
    }

    fn show(&self) -> Option<Shown> {
        Some(match self {
            User::Name(name) => Shown::Text(name.clone()),
            User::Id(id) => Shown::Integer((*id).into()),
        })
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "type": ["integer", "string"] })
    }
}

/// Which address of the other end a lane's subflows go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoteValue {
    /// `"same"`: that of the first subflow.
    Same,
    /// `"announced"`: one that the other end announced.
    Announced,
    /// Prefixes that replace the first bits of the first subflow's.
    Mapped(Vec<Prefix>),
}

impl Field for RemoteValue {
    fn read(node: &Node, reader: &mut Reader) -> Option<RemoteValue> {
        let expected = "\"same\", \"announced\" or a list of prefixes like [\"10.1.0.0/16\"]";
        match &node.value {
            Value::Text(word) if word == "same" => Some(RemoteValue::Same),
            Value::Text(word) if word == "announced" => Some(RemoteValue::Announced),
            Value::Text(word) => {
                let near = headway_language::suggest_nearest(word, ["same", "announced"]);
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "prefixes are written as a list".to_owned(),
                };
                reader.problem(node.at, format!("`{}` must be {expected}", reader.path()), "", Some(help));
                None
            }
            Value::List(_) => Vec::read(node, reader).map(RemoteValue::Mapped),
            _ => reader.wrong_kind(node, expected),
        }
    }

    fn show(&self) -> Option<Shown> {
        match self {
            RemoteValue::Same => Some(Shown::Text("same".to_owned())),
            RemoteValue::Announced => Some(Shown::Text("announced".to_owned())),
            RemoteValue::Mapped(prefixes) => prefixes.show(),
        }
    }

    fn schema(definitions: &mut Definitions) -> Json {
        json!({ "anyOf": [{ "enum": ["same", "announced"] }, Vec::<Prefix>::schema(definitions)] })
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            User::Name(name) => name.fmt(f),
            User::Id(id) => id.fmt(f),
        }
    }
}
