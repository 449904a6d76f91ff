//! Keys of runs: hashes of everything that their outcome depends on.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::part;

/// The name of a run in a store: SHA-256 of what its outcome depends on. Prints as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({self})")
    }
}

impl FromStr for Key {
    type Err = ();

    fn from_str(text: &str) -> Result<Key, ()> {
        let mut key = [0; 32];
        let digits = text.as_bytes();
        // one form for each key, so that a name of a file is as good as the key
        let lower = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != 64 || !digits.iter().all(lower) {
            return Err(());
        }
        for (byte, place) in key.iter_mut().zip(0..) {
            *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).map_err(|_| ())?;
        }
        Ok(Key(key))
    }
}

/// Hashes parts into a [`Key`]. Parts have names and lengths, so that no two lists of parts give the same bytes.
#[derive(Debug, Clone)]
pub struct KeyBuilder(Sha256);

impl Default for KeyBuilder {
    fn default() -> KeyBuilder {
        KeyBuilder::new()
    }
}

impl KeyBuilder {
    /// Begins with the layout of outcomes, so that no version finds what it cannot read.
    pub fn new() -> KeyBuilder {
        KeyBuilder(Sha256::new()).with("layout", part::MAGIC)
    }

    /// With one more part.
    pub fn with(mut self, name: &str, value: &[u8]) -> KeyBuilder {
        for bytes in [name.as_bytes(), value] {
            self.0.update((bytes.len() as u64).to_le_bytes());
            self.0.update(bytes);
        }
        self
    }

    /// The key of all parts.
    pub fn finish(self) -> Key {
        Key(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let key = |parts: &[(&str, &str)]| {
            parts.iter().fold(KeyBuilder::new(), |all, (name, value)| all.with(name, value.as_bytes())).finish()
        };
        let keys = [
            key(&[]),
            key(&[("a", "bc")]),
            key(&[("ab", "c")]),
            key(&[("a", "b"), ("c", "")]),
            key(&[("a", "b"), ("", "c")]),
            key(&[("c", ""), ("a", "b")]),
        ];
        for (place, one) in keys.iter().enumerate() {
            assert!(keys[..place].iter().all(|other| other != one), "{place}");
        }
        assert_eq!(keys[1], key(&[("a", "bc")]));
    }

    #[test]
    fn text_reads_back_and_other_text_is_no_key() {
        let key = KeyBuilder::new().finish();
        let text = key.to_string();
        assert_eq!(text.parse(), Ok(key));
        for wrong in ["", &text[1..], &text.to_uppercase(), &text.replace(&text[..1], "g"), &format!("{text}0")] {
            assert_eq!(wrong.parse::<Key>(), Err(()), "{wrong}");
        }
    }
}
