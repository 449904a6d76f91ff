//! Input from outside: files that a user names, and text in them that goes to a terminal.
//!
//! Every file that a scenario, a command line or a results folder names is opened here. A name may lead to a device, to
//! a pipe that nobody writes, or to a file larger than the memory; each is refused before it is read. The crate knows
//! nothing of the formats of these files.

mod file;
mod visible;

pub use file::{ReadError, open, read, read_given, read_stream, read_text, text};
pub use visible::{is_hidden, picture, visible};
