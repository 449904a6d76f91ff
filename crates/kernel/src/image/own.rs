//! Headway's own programs for kernel hosts, which are part of this program.

use std::io::Read as _;
use std::sync::{LazyLock, OnceLock};

use flate2::read::GzDecoder;

use super::error::ImageError;
use super::hash;

/// The agent, `/init` of every guest, compressed by gzip. Empty if it could not be built, as all of them are then.
static AGENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/headway-agent"));
/// Daemons by their names, as `build.rs` lists them, each compressed; they are in `/bin` of every guest.
static DAEMONS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/daemons.rs"));
/// Why they could not be built.
static PROBLEM: &str = include_str!(concat!(env!("OUT_DIR"), "/problem"));

/// The programs that every image has: static, each a whole file.
#[derive(Debug, Clone, Copy)]
pub struct Own<'a> {
    /// `/init`.
    pub agent: &'a [u8],
    /// Names in `/bin`, and files.
    pub daemons: &'a [(&'a str, &'a [u8])],
}

impl Own<'_> {
    /// SHA-256 over all of them, with their names.
    pub fn sha256(&self) -> String {
        let mut text = hash::bytes(self.agent);
        for (name, program) in self.daemons {
            text = format!("{text} {name} {}", hash::bytes(program));
        }
        hash::bytes(text.as_bytes())
    }
}

/// Those of this version of Headway.
///
/// # Errors
/// If they could not be built together with it.
pub fn own() -> Result<Own<'static>, ImageError> {
    if AGENT.is_empty() {
        return Err(ImageError::NoPrograms { why: PROBLEM.to_owned() });
    }
    Ok(*UNPACKED)
}

/// [`Own::sha256`] of those, as images made by this version of Headway have it.
pub fn sha256() -> &'static str {
    static SHA256: OnceLock<String> = OnceLock::new();
    SHA256.get_or_init(|| UNPACKED.sha256())
}

/// The programs as they were built.
static UNPACKED: LazyLock<Own<'static>> = LazyLock::new(|| {
    let daemons: Vec<(&str, &[u8])> = DAEMONS.iter().map(|(name, packed)| (*name, &*unpack(packed).leak())).collect();
    Own { agent: unpack(AGENT).leak(), daemons: daemons.leak() }
});

fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    if !packed.is_empty() {
        GzDecoder::new(packed).read_to_end(&mut file).expect("the build script packed it");
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_and_name_changes_the_hash() {
        let of = |agent: &'static str, daemons: &[(&str, &[u8])]| Own { agent: agent.as_bytes(), daemons }.sha256();
        let all = [of("a", &[("d", b"1")]), of("b", &[("d", b"1")]), of("a", &[("d", b"2")]), of("a", &[("e", b"1")])];
        let different: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(all[0], of("a", &[("d", b"1")]));
    }
}
