//! Guests that misbehave: every one of them ends in an error that says what it did, and leaves nothing behind.
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "a thread and a clock to stop a run by")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headway_agent::protocol::{Config, Host};
use headway_fabric::LinkId;
use headway_kernel::{CardSpec, Cpu, EPOCH_NS, GuestError, GuestPlan, Guests, RunPlan};
use headway_units::{Bytes, Rate};

/// The tests look at this process' children, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

/// The program of examples/hostile.rs, which is built with the tests.
fn kernel() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().join("examples/hostile")
}

fn plan(seed: u64, patience: Duration) -> RunPlan {
    let host = Host {
        name: "victim".to_owned(),
        interfaces: 1,
        setup: Vec::new(),
        listeners: Vec::new(),
        expected: Vec::new(),
        daemons: Vec::new(),
        flows: Vec::new(),
        commands: Vec::new(),
        sample_ns: None,
    };
    let card = CardSpec {
        mac: [2, 0, 0, 0, 0, 1],
        mtu: 1500,
        rate: Rate::from_mbps(100),
        gap: Bytes::new(20),
        segmentation: true,
        checksums: true,
        cpu: 0,
    };
    RunPlan {
        linux: kernel(),
        initramfs: PathBuf::from("/dev/null"),
        system: PathBuf::from("/"),
        fast_path: false,
        guests: vec![GuestPlan {
            config: Config {
                epoch_ns: EPOCH_NS,
                end_ns: 2 * EPOCH_NS,
                files: false,
                names: BTreeMap::new(),
                hosts: vec![host],
            },
            cards: vec![(LinkId(0), card)],
            carriers: BTreeMap::new(),
            cpus: vec![Cpu::default()],
            memory: 32 << 20,
            seed,
        }],
        addresses: BTreeMap::new(),
        files: None,
        captures: Vec::new(),
        processors: Vec::new(),
        threads: 1,
        patience,
    }
}

/// The processes that this one has started and not yet buried.
fn children() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().map(str::to_owned));
    }
    found
}

/// The temporary folders of this process' guests.
fn folders() -> usize {
    let prefix = format!("headway-guests-{}-", std::process::id());
    let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix)).count()
}

fn outcome(seed: u64, patience: Duration, stop: &Arc<AtomicBool>) -> GuestError {
    let error = Guests::boot(&plan(seed, patience), stop).expect_err("a hostile kernel never becomes ready");
    assert_eq!(children(), BTreeSet::new(), "no process is left");
    assert_eq!(folders(), 0, "no folder is left");
    error
}

#[test]
fn each_misdeed_is_named() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let expected = [
        (0, "it ended with exit status: 3: this kernel does not like to be started"),
        (1, "it does not begin"),
        (2, "seems to hang"),
        (3, "seems to hang"),
        (4, "an unknown message about time"),
        (5, "sends Run, which only the calendar may"),
        (6, "vhost-user messages of version 3"),
        (7, "request 99, which a network card does not know"),
        (8, "request 9 of 3 bytes"),
        (9, "speaks of ring 7"),
        (10, "cannot be talked to any more"),
        (11, "not ready within its first second"),
        (13, "seems to hang"),
    ];
    let stop = Arc::new(AtomicBool::new(false));
    for (seed, text) in expected {
        let error = outcome(seed, Duration::from_millis(500), &stop).to_string();
        assert!(error.contains("victim"), "{seed}: {error}");
        assert!(error.contains(text), "{seed}: `{error}` does not say `{text}`");
        if seed == 3 {
            assert!(error.ends_with("its console ends with:\nlooping"), "{error}");
        }
    }
}

#[test]
fn a_guest_that_never_lets_time_go_on_can_be_stopped() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = Arc::new(AtomicBool::new(false));
    let error = outcome(12, Duration::from_millis(500), &stop).to_string();
    assert!(error.contains("does not let time go on"), "{error}");
}

#[test]
fn stopping_ends_a_guest_at_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = Arc::new(AtomicBool::new(false));
    let later = Arc::clone(&stop);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        later.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let error = outcome(3, Duration::from_secs(60), &stop);
    assert!(matches!(error, GuestError::Interrupted), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30));
    thread.join().unwrap();
}

#[test]
fn random_messages_do_no_harm() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let stop = Arc::new(AtomicBool::new(false));
    for seed in 100..140 {
        let _ = outcome(seed, Duration::from_millis(300), &stop);
    }
}
