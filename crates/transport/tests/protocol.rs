//! The transport against the RFCs: every expectation is derived beside its test from the sentence it stands on.

mod common;

mod protocol {
    mod applications;
    mod autotuning;
    mod datagrams;
    mod delivery;
    mod ecn;
    mod failures;
    mod given_paths;
    mod handshake;
    mod lanes;
    mod lifecycle;
    mod linux;
    mod metering;
    mod multipath;
    mod pacing;
    mod path;
    mod qcn;
    mod recovery;
    mod relay;
    mod replication;
    mod roce;
    mod samples;
    mod servers;
    mod stress;
    mod timeout;
    mod two_way;
    mod waits;
    mod windows;
}
