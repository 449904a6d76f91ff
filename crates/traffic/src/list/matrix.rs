//! Connection matrices of htsim.
//!
//! Source: the reader of `csg-htsim`, `sim/datacenter/connection_matrix.cpp` (`ConnectionMatrix::load`): a head of
//! `Nodes n`, `Connections n`, `Triggers n`, `Failures n`, then lines of `SRC->DST` with pairs of a word and a value.
//! Starts are picoseconds, sizes bytes; size 0 is a flow without end, as in htsim's senders, which then have no last
//! packet. `prio` is for its scheduler of packets, and is skipped.

use headway_units::{Bytes, Span};

use super::error::{Fault, ListError, Place, shorten};
use super::hosts::HostNames;
use super::{FlowList, ListedFlow, MAX_LISTED};

/// Whether a text begins like a connection matrix: by its first line that is no comment.
pub(super) fn begins(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let word = first.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    HEAD.iter().any(|own| own.as_bytes() == word) || word.windows(2).any(|pair| pair == b"->")
}

const HEAD: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

impl FlowList {
    /// Reads a connection matrix of htsim (`.cm`). Hosts are indices. Triggers and failures are mistakes.
    ///
    /// # Errors
    /// [`ListError`], with the line.
    pub fn matrix(text: &[u8], hosts: &HostNames<'_>) -> Result<FlowList, ListError> {
        let mut flows = Vec::new();
        let mut said = None;
        for (line, place) in text.split(|&byte| byte == b'\n').zip((1..).map(Place::Line)) {
            let wrong = |fault| ListError::at(place, fault);
            let line = std::str::from_utf8(line).map_err(|_| wrong(Fault::NoText))?.trim();
            let mut words = line.split_ascii_whitespace();
            let Some(first) = words.next().filter(|first| !first.starts_with('#')) else { continue };
            if first.contains("->") {
                if flows.len() == MAX_LISTED {
                    return Err(wrong(Fault::TooLong));
                }
                flows.push(connection(first, words, hosts).map_err(wrong)?);
            } else if HEAD.contains(&first) {
                let token = || wrong(Fault::Token { found: shorten(line) });
                let number: u64 = words.next().and_then(|word| word.parse().ok()).ok_or_else(token)?;
                match first {
                    "Nodes" if number > hosts.count() as u64 => {
                        return Err(wrong(Fault::Nodes { said: number, hosts: hosts.count() }));
                    }
                    "Connections" => said = Some((place, number)),
                    "Triggers" | "Failures" if number > 0 => {
                        let kind = if first == "Triggers" { "a trigger" } else { "a failure" };
                        return Err(wrong(Fault::Beyond { found: shorten(line), kind }));
                    }
                    _ => {}
                }
            } else {
                let kind = match first {
                    "trigger" => "a trigger",
                    "failure" => "a failure",
                    _ => return Err(wrong(Fault::Token { found: shorten(line) })),
                };
                return Err(wrong(Fault::Beyond { found: shorten(line), kind }));
            }
        }
        if let Some((place, said)) = said
            && said != flows.len() as u64
        {
            return Err(ListError::at(place, Fault::Count { said, found: flows.len() }));
        }
        if flows.is_empty() {
            return Err(ListError::whole(Fault::Empty));
        }
        Ok(FlowList::new(flows, Vec::new()))
    }
}

/// `SRC->DST start T size B …`
fn connection<'t>(
    ends: &str,
    mut words: impl Iterator<Item = &'t str>,
    hosts: &HostNames<'_>,
) -> Result<ListedFlow, Fault> {
    let host = |text: &str| {
        let index = text.parse::<u32>().ok().filter(|&index| (index as usize) < hosts.count());
        index.ok_or_else(|| Fault::Index { found: shorten(text), hosts: hosts.count() })
    };
    let (source, destination) = ends.split_once("->").expect("it was looked for");
    let (source, destination) = (host(source)?, host(destination)?);
    if source == destination {
        return Err(Fault::Itself { host: source.to_string() });
    }
    let (mut time, mut size) = (None, None);
    while let Some(word) = words.next() {
        let value = if word == "addon" { "" } else { words.next().unwrap_or_default() };
        match word {
            "start" => time = Some(start(value)?),
            "size" => size = Some(bytes(value)?),
            // names of flows, and what follows from their end: it does nothing without a connection that waits for it
            "id" | "prio" | "send_done_trigger" | "recv_done_trigger" => {}
            "trigger" | "addon" => {
                return Err(Fault::Beyond { found: shorten(word), kind: "a flow that waits for a trigger" });
            }
            _ => return Err(Fault::Token { found: shorten(word) }),
        }
    }
    let (Some(time), Some(size)) = (time, size) else { return Err(Fault::Token { found: shorten(ends) }) };
    Ok(ListedFlow { time, source, destination, size, paths: None })
}

/// A start in picoseconds; htsim takes a fraction, too.
fn start(value: &str) -> Result<Span, Fault> {
    if let Ok(picos) = value.parse::<u64>() {
        return Ok(Span::from_picos(picos));
    }
    let picos = value.parse::<f64>().ok().filter(|picos| (0.0..u64::MAX as f64).contains(picos));
    let wrong = || Fault::Start { found: shorten(value), unit: " in picoseconds" };
    picos.map(|picos| Span::from_picos(picos as u64)).ok_or_else(wrong)
}

fn bytes(value: &str) -> Result<Option<Bytes>, Fault> {
    let bytes = value.parse::<u64>().ok().filter(|&bytes| bytes <= 1 << 53);
    let bytes = bytes.ok_or_else(|| Fault::Size { found: shorten(value), form: ", or 0 for a flow without end" })?;
    Ok((bytes > 0).then_some(Bytes::new(bytes)))
}
