//! Short flows in the background.
//!
//! A network of nothing but long flows and drop-tail queues runs like clockwork, and who loses at a full queue depends
//! on fractions of a packet's time (Floyd, Jacobson: On traffic phase effects in packet-switched gateways, 1992): the
//! laws of sharing assume that packets are lost alike. Short flows of random size at random times see to that, here as in
//! that paper.

use headway_engine::Streams;
use headway_fabric::NodeId;
use headway_units::{Rate, Span};

use crate::common::{MSS, Setup};

/// Segments of a short flow: 1 to this, uniformly.
const LONGEST: u64 = 40;

/// Adds Poisson arrivals of short flows between `pair` to a run of `span`, `load` of `rate` in payload. Flows so far keep
/// their ids, and are the only ones that are sampled.
pub fn background(mut setup: Setup, pair: (NodeId, NodeId), rate: Rate, load: f64, span: Span) -> Setup {
    let mut stream = Streams::new(3).stream(&format!("background/{}", pair.0.0));
    let mean_bits = (LONGEST + 1) as f64 / 2.0 * f64::from(MSS) * 8.0;
    let mut at = 0.0;
    loop {
        at += stream.exponential(mean_bits / (load * rate.bps() as f64));
        if at > span.as_secs_f64() {
            break;
        }
        let size = u64::from(MSS) * (1 + stream.below(LONGEST));
        setup = setup.flow(pair, Some(size), Span::from_secs_f64(at));
        setup.flows.last_mut().expect("just added").traffic = 1;
    }
    setup.flows.sort_by_key(|flow| flow.time);
    setup
}
