//! The fabric against theory: queues, latencies, drops, marks and losses.
//!
//! Frames are injected open-loop: what a test offers does not depend on what becomes of it.

mod physics {
    mod disciplines;
    mod drops;
    mod failures;
    mod fairness;
    mod latency;
    mod loss;
    mod marking;
    mod open_loop;
    mod queueing;
    mod shared_buffer;
}
