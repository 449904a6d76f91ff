//! Queue disciplines: what happens to a frame that arrives at an output port, and which one leaves.
//!
//! Disciplines that decide when a frame arrives (drop-tail, RED, shared buffers) leave the port first in, first out:
//! its departures follow by arithmetic. Those that choose or drop when a frame leaves ([`Scheduler`]) need an event
//! for each departure, as long as frames wait.
//!
//! A discipline is a file of this folder, with its parameters and its state, and a line in the list below.

mod codel;
mod dcb;
mod discipline;
mod drop_tail;
mod drr;
mod fifo;
mod flows;
mod fq_codel;
#[cfg(test)]
mod gate;
mod limit;
mod limited;
mod red;
mod shared_buffer;
#[cfg(test)]
mod two_band;

use headway_units::{Bytes, Span, Time};

pub use codel::CodelLaw;
pub use dcb::{
    ClassSpec, IngressBuffer, LosslessSpec, Marks, PRIORITIES, PauseCounters, PauseKind, Thresholds, Watchdog,
    WatchdogAction,
};
pub(crate) use dcb::{DcbPort, Leaving};
pub use discipline::Verdict;
pub(crate) use discipline::{Admission, Chosen, PortParameters, Scheduler, Spec, Waiting};
pub use drop_tail::DropTail;
pub(crate) use fifo::Backlog;
pub use limit::Limit;
pub use limited::Excess;
pub use shared_buffer::SharedBufferSpec;
pub(crate) use shared_buffer::{BufferSlot, SharedBuffer};

use crate::pool::{FrameHandle, Pool};

macro_rules! disciplines {
    (
        admission { $($(#[doc = $a_about:literal])* $admission:ident($a_file:ident::$a_spec:ident);)* }
        scheduler { $($(#[doc = $s_about:literal])* $(#[cfg($cfg:meta)])? $scheduler:ident($s_file:ident::$s_spec:ident);)* }
    ) => {
        $(pub use $a_file::$a_spec;)*
        $($(#[cfg($cfg)])? pub use $s_file::$s_spec;)*

        /// The queue of an output port.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum QueueSpec {
            /// First in, first out, with optional ECN threshold marking.
            DropTail {
                /// Arrivals that would make the queue exceed this are dropped. `None`: never drops.
                limit: Option<Limit>,
                /// Arrivals that find more than this queued are marked CE if ECN-capable (RFC 8257 §3.1). `None`: never
                /// marks.
                mark: Option<Limit>,
            },
            $($(#[doc = $a_about])* $admission($a_spec),)*
            $($(#[doc = $s_about])* $(#[cfg($cfg)])? $scheduler($s_spec),)*
        }

        impl QueueSpec {
            /// What the queue holds at most, in bytes if there is such a limit; `None` without any.
            pub fn limit(&self) -> Option<Limit> {
                match self {
                    QueueSpec::DropTail { limit, .. } => *limit,
                    $(QueueSpec::$admission(spec) => Spec::limit(spec),)*
                    $($(#[cfg($cfg)])? QueueSpec::$scheduler(spec) => Spec::limit(spec),)*
                }
            }

            /// The discipline's name in texts for people.
            pub fn name(&self) -> &'static str {
                match self {
                    QueueSpec::DropTail { .. } => "drop-tail",
                    $(QueueSpec::$admission(_) => <$a_spec as Spec>::NAME,)*
                    $($(#[cfg($cfg)])? QueueSpec::$scheduler(_) => <$s_spec as Spec>::NAME,)*
                }
            }

            /// Whether frames leave in the order in which they came, and the queue decides only whether they may come.
            pub fn is_fifo(&self) -> bool {
                match self {
                    QueueSpec::DropTail { .. } => true,
                    $(QueueSpec::$admission(_) => true,)*
                    $($(#[cfg($cfg)])? QueueSpec::$scheduler(_) => false,)*
                }
            }

            /// The state of an empty queue at `port`.
            pub(crate) fn discipline(&self, port: &PortParameters) -> Discipline {
                match self {
                    QueueSpec::DropTail { limit, mark } => {
                        Discipline::Admission(AnyAdmission::DropTail(DropTail::new(*limit, *mark)))
                    }
                    $(QueueSpec::$admission(spec) => {
                        Discipline::Admission(AnyAdmission::$admission(spec.discipline(port)))
                    })*
                    $($(#[cfg($cfg)])? QueueSpec::$scheduler(spec) => {
                        Discipline::Scheduled(AnyScheduler::$scheduler(spec.discipline(port)))
                    })*
                }
            }
        }

        /// Any discipline that decides when a frame arrives.
        #[derive(Debug)]
        pub(crate) enum AnyAdmission {
            DropTail(DropTail),
            $($admission(<$a_spec as Spec>::Discipline),)*
        }

        impl Admission for AnyAdmission {
            fn offer(&mut self, bytes: Bytes, frames: u32, size: u16, idle: Span) -> Verdict {
                match self {
                    AnyAdmission::DropTail(queue) => queue.offer(bytes, frames, size),
                    $(AnyAdmission::$admission(queue) => queue.offer(bytes, frames, size, idle),)*
                }
            }
        }

        /// Any discipline that decides when a frame leaves.
        #[derive(Debug)]
        pub(crate) enum AnyScheduler {
            $($(#[cfg($cfg)])? $scheduler(<$s_spec as Spec>::Discipline),)*
            /// A port of data-centre bridging, which follows from more than a wire: see [`LosslessSpec`].
            Dcb(Box<DcbPort>),
        }

        impl Scheduler for AnyScheduler {
            fn admit(&mut self, now: Time, queued: (Bytes, u32), size: u16) -> Verdict {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.admit(now, queued, size),)*
                    AnyScheduler::Dcb(queue) => queue.admit(now, queued, size),
                }
            }

            fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.enqueue(frame, waiting),)*
                    AnyScheduler::Dcb(queue) => queue.enqueue(frame, waiting),
                }
            }

            fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.dequeue(waiting),)*
                    AnyScheduler::Dcb(queue) => queue.dequeue(waiting),
                }
            }

            fn ready(&self, backlog: &Backlog) -> Time {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.ready(backlog),)*
                    AnyScheduler::Dcb(queue) => queue.ready(backlog),
                }
            }

            fn entered(&self, priority: u8) -> Option<u64> {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.entered(priority),)*
                    AnyScheduler::Dcb(queue) => queue.entered(priority),
                }
            }

            fn leaves(&self) -> Time {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.leaves(),)*
                    AnyScheduler::Dcb(queue) => queue.leaves(),
                }
            }

            fn waiting(&self, priority: u8) -> u64 {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.waiting(priority),)*
                    AnyScheduler::Dcb(queue) => queue.waiting(priority),
                }
            }

            fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.flush(waiting),)*
                    AnyScheduler::Dcb(queue) => queue.flush(waiting),
                }
            }

            fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
                match self {
                    $($(#[cfg($cfg)])? AnyScheduler::$scheduler(queue) => queue.count(pool),)*
                    AnyScheduler::Dcb(queue) => queue.count(pool),
                }
            }
        }
    };
}

disciplines! {
    admission {
        /// Random early detection.
        Red(red::RedSpec);
    }
    scheduler {
        /// Controlled delay.
        Codel(codel::CodelSpec);
        /// Fair queueing by flow with CoDel on each.
        FqCodel(fq_codel::FqCodelSpec);
        /// Fair queueing by flow.
        Drr(drr::DrrSpec);
        /// Drop-tail, of a port that may be limited to less than its line.
        Limited(limited::LimitedSpec);
        /// A worked example.
        #[cfg(test)]
        TwoBand(two_band::TwoBandSpec);
        /// Frames that wait for a gate.
        #[cfg(test)]
        Gate(gate::GateSpec);
    }
}

/// How a port decides where more than drop-tail arithmetic is needed.
#[derive(Debug)]
pub(crate) enum Discipline {
    Admission(AnyAdmission),
    Scheduled(AnyScheduler),
}
