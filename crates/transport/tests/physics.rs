//! The transport against theory: every expected number is derived beside its test, with the tolerance and its reason.

mod common;

mod physics {
    mod climbs;
    mod completion;
    mod coupled;
    mod coupling;
    mod dctcp;
    mod determinism;
    mod fairness;
    mod goodput;
    mod loss_law;
    mod phases;
    mod queues;
    mod responses;
    mod sawtooth;
    mod sharing;
    mod timeouts;
    mod traffic;
}
