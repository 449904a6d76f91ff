//! Queues and shared buffers.

use headway_fabric::{CodelLaw, CodelSpec, DrrSpec, FqCodelSpec, Limit, QueueSpec, RedSpec, SharedBufferSpec};
use headway_units::Bytes;

use crate::schema::{QueueRecord, SharedBufferRecord};
use headway_language::{Amount, QueueLimit};

/// The queue that a scenario describes.
pub(super) fn spec(record: &QueueRecord) -> QueueSpec {
    match record {
        QueueRecord::DropTail(record) => {
            QueueSpec::DropTail { limit: most(record.limit), mark: record.mark.map(limit) }
        }
        QueueRecord::Red(record) => QueueSpec::Red(RedSpec {
            limit: most(record.limit),
            min: limit(record.min),
            max: limit(record.max),
            probability: record.probability.get(),
            weight: record.weight,
            packet: record.average_packet,
            gentle: record.gentle,
            ecn: record.ecn,
            hard_drop: record.hard_drop,
        }),
        QueueRecord::Codel(record) => {
            let law = CodelLaw { target: record.target, interval: record.interval, ecn: record.ecn, mark: record.mark };
            QueueSpec::Codel(CodelSpec { limit: most(record.limit), law })
        }
        QueueRecord::FqCodel(record) => {
            let law = CodelLaw { target: record.target, interval: record.interval, ecn: record.ecn, mark: record.mark };
            QueueSpec::FqCodel(FqCodelSpec {
                limit: most(record.limit),
                memory: record.memory,
                queues: record.flows,
                quantum: record.quantum.get() as u32,
                batch: record.drop_batch,
                law,
            })
        }
        QueueRecord::Drr(record) => QueueSpec::Drr(DrrSpec {
            limit: most(record.limit),
            queues: record.flows,
            quantum: record.quantum.get() as u32,
        }),
    }
}

/// The least that a queue holds in bytes, and the key that says so.
pub(super) fn bytes(record: &QueueRecord) -> Option<(&'static str, Bytes)> {
    let limit = match record {
        QueueRecord::DropTail(record) => record.limit,
        QueueRecord::Red(record) => record.limit,
        QueueRecord::Codel(record) => record.limit,
        QueueRecord::Drr(record) => record.limit,
        QueueRecord::FqCodel(record) => match record.limit {
            QueueLimit::AtMost(Amount::Bytes(bytes)) if bytes < record.memory => record.limit,
            _ => return Some(("memory", record.memory)),
        },
    };
    match limit {
        QueueLimit::AtMost(Amount::Bytes(bytes)) => Some(("limit", bytes)),
        _ => None,
    }
}

/// The buffer of every switch.
pub(super) fn buffer(record: &SharedBufferRecord) -> SharedBufferSpec {
    SharedBufferSpec { size: record.size, alpha: record.alpha, reserve: record.reserve }
}

fn limit(amount: Amount) -> Limit {
    match amount {
        Amount::Bytes(bytes) => Limit::Bytes(bytes),
        Amount::Packets(packets) => Limit::Packets(packets),
    }
}

fn most(record: QueueLimit) -> Option<Limit> {
    match record {
        QueueLimit::Unlimited => None,
        QueueLimit::AtMost(amount) => Some(limit(amount)),
    }
}
