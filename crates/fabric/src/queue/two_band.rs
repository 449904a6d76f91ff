//! A worked example of a discipline, for tests alone: frames of up to `small` bytes go first.
//!
//! This file and its line in the list of `mod.rs` are all that the fabric needs of it.

use super::discipline::{Chosen, PortParameters, Scheduler, Spec, Waiting};
use super::fifo::{Backlog, Fifo};
use super::limit::Limit;
use crate::pool::{FrameHandle, Pool};

/// Two bands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoBandSpec {
    /// The largest frame of the first band, in bytes.
    pub small: u64,
    /// Frames held at most, over both bands.
    pub frames: u32,
}

impl Spec for TwoBandSpec {
    type Discipline = TwoBand;
    const NAME: &'static str = "two bands";

    fn discipline(&self, _port: &PortParameters) -> TwoBand {
        TwoBand { spec: *self, bands: [Fifo::EMPTY; 2] }
    }

    fn limit(&self) -> Option<Limit> {
        Some(Limit::Packets(self.frames))
    }
}

/// The queues of a port.
#[derive(Debug)]
pub(crate) struct TwoBand {
    spec: TwoBandSpec,
    bands: [Fifo; 2],
}

impl Scheduler for TwoBand {
    fn enqueue<B: Copy>(&mut self, frame: FrameHandle, waiting: &mut Waiting<'_, B>) -> Result<(), FrameHandle> {
        if waiting.backlog.frames >= self.spec.frames {
            return Err(frame);
        }
        let band = usize::from(waiting.size(&frame) > self.spec.small);
        waiting.push(&mut self.bands[band], frame);
        Ok(())
    }

    fn dequeue<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) -> Option<Chosen> {
        let taken = self.bands.iter_mut().find_map(|band| waiting.pop(band))?;
        Some(Chosen { frame: taken.frame, size: taken.size, marked: false })
    }

    fn flush<B: Copy>(&mut self, waiting: &mut Waiting<'_, B>) {
        self.bands.iter_mut().for_each(|band| waiting.flush(band));
    }

    fn count<B: Copy>(&self, pool: &Pool<B>) -> Backlog {
        self.bands.iter().map(|band| band.count(pool)).sum()
    }
}

/// In a port, by the graph's and the fabric's public methods alone: 1000 B, 1000 B, 64 B, 1000 B offered at once to a
/// port that holds two; the first is transmitted at once, the small one overtakes the second, and the last finds the
/// queue full.
#[test]
fn small_frames_overtake_in_a_port() {
    use crate::{Endpoint, Fabric, Graph, Packet, QueueSpec, Step, Wire};
    use headway_engine::{EventClass, EventQueue, Streams};
    use headway_units::{Bytes, Rate, Span, Time};

    let spec = QueueSpec::TwoBand(TwoBandSpec { small: 64, frames: 2 });
    assert_eq!((spec.name(), spec.limit()), ("two bands", Some(Limit::Packets(2))));
    let wire =
        Wire { rate: Rate::from_gbps(1), delay: Span::from_micros(1), gap: Bytes::new(20), loss: 0.0, queue: spec };
    let mut graph = Graph::new();
    let [a, b] = ["a", "b"].map(|name| graph.add_host(name, Span::ZERO).unwrap());
    let (link, _) = graph.connect(a, b, wire, wire).unwrap();
    let (mut fabric, mut queue) = (Fabric::new(&graph, Streams::new(1)), EventQueue::new());
    let hop = fabric.routes.insert(&[link], Endpoint(7));
    let sent = [1000, 1000, 64, 1000]
        .map(|size| fabric.send(&mut queue, Time::ZERO, Packet { hop, size, tos: 0, tag: 0, body: () }).is_ok());
    assert_eq!(sent, [true, true, true, false]);
    let mut sizes = Vec::new();
    while let Some((now, source, sequence)) = queue.peek() {
        if source.class() == EventClass::Arrival {
            match fabric.arrival(&mut queue, now, source.entity()) {
                Step::Delivered(Endpoint(7), packet) => sizes.push(packet.size),
                other => panic!("{other:?}"),
            }
        } else {
            fabric.departure(&mut queue, now, source.entity(), sequence);
        }
        fabric.assert_conserved();
    }
    assert_eq!(sizes, [1000, 64, 1000]);
}
