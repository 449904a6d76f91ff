//! How a list names its hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::error::{Fault, shorten};

/// The hosts that a list may name: by their names, by their indices from 0, or by IP addresses, for which hosts stand in
/// the order in which addresses appear.
#[derive(Debug, Clone)]
pub struct HostNames<'a> {
    indices: BTreeMap<&'a str, u32>,
    count: usize,
    addresses: BTreeMap<IpAddr, u32>,
    /// How the rows before named hosts.
    before: Option<&'static str>,
}

const ADDRESS: &str = "an address";
const NAME: &str = "a host's name or index";

impl<'a> HostNames<'a> {
    /// Hosts in order of their indices.
    pub fn new(names: impl Iterator<Item = &'a str>) -> HostNames<'a> {
        let indices: BTreeMap<&str, u32> = names.zip(0..).collect();
        HostNames { count: indices.len(), indices, addresses: BTreeMap::new(), before: None }
    }

    /// Their number.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The host that `text` means.
    pub(super) fn find(&mut self, text: &str) -> Result<u32, Fault> {
        // a name that looks like something else is still that host's
        if let Some(&index) = self.indices.get(text) {
            return self.kind(text, NAME).map(|()| index);
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            self.kind(text, ADDRESS)?;
            let next = self.addresses.len();
            let index = *self.addresses.entry(address).or_insert(next as u32);
            if index as usize >= self.count {
                return Err(Fault::Addresses { found: shorten(text), hosts: self.count });
            }
            return Ok(index);
        }
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            self.kind(text, NAME)?;
            let index = text.parse::<u32>().ok().filter(|&index| (index as usize) < self.count);
            return index.ok_or_else(|| Fault::Index { found: shorten(text), hosts: self.count });
        }
        Err(Fault::Host { found: shorten(text) })
    }

    fn kind(&mut self, text: &str, kind: &'static str) -> Result<(), Fault> {
        match self.before.replace(kind) {
            Some(before) if before != kind => Err(Fault::Mixed { found: shorten(text), kind, before: plural(before) }),
            _ => Ok(()),
        }
    }
}

fn plural(kind: &'static str) -> &'static str {
    if kind == ADDRESS { "addresses" } else { "names or indices" }
}
