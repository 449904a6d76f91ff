//! Runs that are not kept in a store.

/// Why runs of a cell are not kept in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotStored {
    /// They take place in real time, on this machine.
    RealTime,
    /// A program gives their congestion control or judge, whose code nobody can compare.
    Own,
    /// They write captures, which are files of their own.
    Captures,
    /// Kernel hosts see a folder that is too large or not below the scenario's, so nobody has read all of it.
    Files,
}

/// For people: `runs … are not kept in the store`.
impl std::fmt::Display for NotStored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            NotStored::RealTime => "in namespaces, which are of this machine and this moment,",
            NotStored::Own => "under a policy that a program gives",
            NotStored::Captures => "with `measure.capture`, whose captures are files of their own,",
            NotStored::Files => "on kernel hosts whose `files` are not below the scenario's folder, or over 64 MB,",
        })
    }
}
