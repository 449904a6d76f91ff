//! Warnings: what to look at before trusting results.

use headway_units::Time;

use crate::record::SweepPoint;

/// A reason to look twice before trusting results.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Flows of a traffic did not finish, and none of their connections was reset.
    Unfinished {
        /// The traffic.
        traffic: String,
        /// Cells in which not all flows finished.
        touched: usize,
        /// Cells in all.
        cells: usize,
        /// The policy of the worst of them.
        policy: String,
        /// Its sweep point.
        sweep: SweepPoint,
        /// Unfinished flows in a run of that cell, on average.
        unfinished: f64,
        /// Flows in a run of that cell, on average.
        flows: f64,
        /// Unfinished flows of the traffic, in all runs together, that got nothing any more: ports waited for each other in a
        /// circle, or a link was down for most of their lives. More time does nothing for them.
        stuck: u64,
    },
    /// Flows of a traffic did not finish because a relay crashed and their connections were reset.
    Reset {
        /// The traffic.
        traffic: String,
        /// How many, in all runs together.
        flows: u64,
        /// In how many runs.
        runs: u64,
    },
    /// Flows of a traffic failed.
    Failed {
        /// The traffic.
        traffic: String,
        /// Why, as the kernel says.
        reason: String,
        /// How many.
        flows: u64,
    },
    /// Frames found no buffer in the network card of a kernel host.
    CardOverruns(u64),
    /// Frames of kernel hosts went to addresses that nobody has.
    Astray(u64),
    /// Frames found the receive ring of a modelled host full.
    RingFull(u64),
    /// Frames found the backlog of a core of a modelled host full.
    BacklogFull(u64),
    /// Frames found the queue of a card that paces full.
    PacingQueueFull(u64),
    /// Frames of lossless priorities found no room where they came in.
    HeadroomFull(u64),
    /// Servers dropped SYNs for want of a place.
    SynsDropped(u64),
    /// Ends of handshakes found the accept queue of a server full.
    AcceptQueueFull(u64),
    /// Connections were reset because the accept queue of a server was full.
    Refused(u64),
    /// Ports that were paused waited for each other in a circle.
    Deadlock {
        /// How often, in all runs together.
        count: u64,
        /// When the first one was found, in its run.
        at: Time,
        /// The policy of that run.
        policy: String,
        /// The ports of the first one.
        ports: String,
    },
    /// A command ended with an error.
    CommandFailed {
        /// Its traffic.
        traffic: String,
        /// The host of the first.
        host: String,
        /// The exit code of the first.
        code: i32,
        /// How many more there are.
        more: usize,
        /// The first line that it wrote; may be empty.
        line: String,
    },
    /// A daemon ended by itself.
    DaemonEnded {
        /// Its name.
        daemon: String,
        /// The host.
        host: String,
        /// When, in the first run in which it did.
        at: Time,
        /// The exit code then.
        code: i32,
        /// In how many more runs.
        more: usize,
        /// The last lines that it wrote; may be empty.
        line: String,
    },
    /// Commands of a traffic wrote more than is kept.
    OutputCut {
        /// The traffic.
        traffic: String,
    },
    /// Flows act on ECN marks, and queues on their way do not mark.
    Unmarked {
        /// The policy.
        policy: String,
        /// The first sweep point of the policy at which it is so.
        sweep: SweepPoint,
        /// The traffics.
        traffics: Vec<String>,
        /// One of the ports.
        port: String,
        /// How many more were found.
        more: usize,
    },
    /// Frames waited mostly in hosts' own queues, and for long.
    HostQueue {
        /// Cells in which it was so.
        touched: usize,
        /// Cells in all.
        cells: usize,
        /// The policy of the worst of them.
        policy: String,
        /// Its sweep point.
        sweep: SweepPoint,
        /// The host's port where frames waited most there.
        port: String,
        /// How long a frame waited at that port on average, in seconds.
        mean: f64,
        /// The part of hosts' own queues of all waiting there.
        share: f64,
    },
    /// A capture has not all packets of its run: its file may have no more bytes.
    CaptureCut {
        /// The host or link.
        name: String,
        /// When it ends, in the first run in which it does.
        at: Time,
        /// In how many more runs and captures.
        more: usize,
    },
    /// Of the machine that hosts are namespaces of, in words.
    Machine(String),
    /// A file that the scenario names is not kept with the results.
    NotKept {
        /// The file's name.
        name: String,
    },
}
