//! The scenarios that come with Headway.

/// A scenario file that is part of the program.
#[derive(Debug)]
pub struct Bundled {
    /// The file's name without `.toml`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files of the folder `scenarios`, by name.
pub const BUNDLED: &[Bundled] = include!(concat!(env!("OUT_DIR"), "/bundled.rs"));
