//! Mistakes in lists of flows, with their places.

use std::fmt;

use thiserror::Error;

use super::MAX_LISTED;

/// Where in a list something is; both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The line of a text.
    Line(u64),
    /// The row of a table without lines.
    Row(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Why something is not a list of flows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{fault}", place.map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct ListError {
    /// Where; `None`: the whole of it.
    pub place: Option<Place>,
    /// The mistake.
    pub fault: Fault,
}

impl ListError {
    /// `fault` of the whole.
    pub fn whole(fault: Fault) -> ListError {
        ListError { place: None, fault }
    }

    /// `fault` at `place`.
    pub fn at(place: Place, fault: Fault) -> ListError {
        ListError { place: Some(place), fault }
    }
}

/// A mistake in a list of flows. Texts from outside are shortened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Fault {
    /// No flows.
    #[error("it has no flows")]
    Empty,
    /// No row has a value that is looked for.
    #[error("no row has `{column}` = `{value}`; there {found}")]
    Selected {
        /// The column.
        column: String,
        /// The value.
        value: String,
        /// Values that there are, with a verb.
        found: String,
    },
    /// None of the columns that would say something.
    #[error("no column has {of}: it is called {names}; the columns are {found}")]
    Missing {
        /// The quantity that is missing.
        of: &'static str,
        /// Names that such a column may have.
        names: &'static str,
        /// The header.
        found: String,
    },
    /// Two columns for one quantity.
    #[error("two columns have {of}: `{one}` and `{other}`")]
    Twice {
        /// The quantity.
        of: &'static str,
        /// A column.
        one: String,
        /// Another.
        other: String,
    },
    /// A column that is to be looked at, and is not there.
    #[error("there is no column `{column}`; the columns are {found}")]
    NoColumn {
        /// The column.
        column: String,
        /// The header.
        found: String,
    },
    /// More or fewer cells than the header has.
    #[error("{found} cells under a header of {expected}")]
    Cells {
        /// The header's.
        expected: usize,
        /// The row's.
        found: usize,
    },
    /// Bytes that are no text.
    #[error("this is not UTF-8")]
    NoText,
    /// A start that is none.
    #[error("`{found}` is not a time{unit} from 0 to 18,446,744 s")]
    Start {
        /// What is there.
        found: String,
        /// The unit that it should be in, with a word before it.
        unit: &'static str,
    },
    /// A size that is none.
    #[error("`{found}` is not a number of bytes from 1 to 2^53{form}")]
    Size {
        /// What is there.
        found: String,
        /// How it should be written, if that is special.
        form: &'static str,
    },
    /// A name that no host has.
    #[error("there is no host `{found}`")]
    Host {
        /// What is there.
        found: String,
    },
    /// An index that no host has.
    #[error("there is no host {found}: {hosts} hosts are counted from 0")]
    Index {
        /// What is there.
        found: String,
        /// The number of hosts.
        hosts: usize,
    },
    /// More addresses than there are hosts to stand for them.
    #[error("`{found}` is one address more than there are hosts ({hosts})")]
    Addresses {
        /// The address.
        found: String,
        /// The number of hosts.
        hosts: usize,
    },
    /// Addresses, for which hosts stand in their order, beside names or indices, which say which host they are.
    #[error("`{found}` is {kind}, and the rows before have {before}")]
    Mixed {
        /// What is there.
        found: String,
        /// What it is.
        kind: &'static str,
        /// What was before.
        before: &'static str,
    },
    /// A flow that goes nowhere.
    #[error("`{host}` sends to itself")]
    Itself {
        /// The host.
        host: String,
    },
    /// More than anybody has listed.
    #[error("more than {MAX_LISTED} flows")]
    TooLong,
    /// Results of several runs, of which one is to be chosen.
    #[error(
        "`{column}` is `{found}`, and `{before}` in the rows before: these are the flows of several runs; choose one with \
         `select`"
    )]
    Runs {
        /// The column.
        column: String,
        /// Its value.
        found: String,
        /// The value before.
        before: String,
    },
    /// A number of a connection or subflow that is none.
    #[error("`{found}` is not the number of a {name}, from 0 to 255")]
    Subflow {
        /// What is there.
        found: String,
        /// Of which it should be the number.
        name: &'static str,
    },
    /// A path that is longer than any network is wide.
    #[error("the path `{found}…` has {bytes} bytes, more than 65,536")]
    LongPath {
        /// Its beginning.
        found: String,
        /// Its length.
        bytes: usize,
    },
    /// More paths than anybody has listed.
    #[error("more than {MAX_LISTED} paths")]
    TooManyPaths,
    /// Something that is no connection of a matrix.
    #[error("`{found}` is not a connection such as `0->13 start 0 size 2000000`")]
    Token {
        /// What is there.
        found: String,
    },
    /// Something that a matrix may say, and that cannot be replayed.
    #[error("`{found}`: {kind} cannot be replayed; only connections with a start can")]
    Beyond {
        /// What is there.
        found: String,
        /// What it is.
        kind: &'static str,
    },
    /// A head that speaks of another number of connections.
    #[error("the head says {said} connections, and there are {found}")]
    Count {
        /// What the head says.
        said: u64,
        /// What there is.
        found: usize,
    },
    /// A matrix of a larger network.
    #[error("it is for {said} hosts, and there are {hosts}")]
    Nodes {
        /// What the head says.
        said: u64,
        /// The number of hosts.
        hosts: usize,
    },
    /// A table that cannot be read at all.
    #[error("{0}")]
    Unreadable(String),
}

/// The beginning of a text from outside, for messages.
pub(super) fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A header, for messages.
pub(super) fn listed(header: &[&str]) -> String {
    let few: Vec<String> = header.iter().take(12).map(|name| format!("`{}`", shorten(name))).collect();
    let more = if header.len() > few.len() { ", …" } else { "" };
    format!("{}{more}", few.join(", "))
}
