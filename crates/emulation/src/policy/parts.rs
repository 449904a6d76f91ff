//! Parts of a TCP stack on kernel hosts: those a kernel can switch, and those it has its own way.
//!
//! With stack = "rfc" a kernel does as it comes wherever the scenario does not ask for anything else: what is not a
//! default of that stack or of Linux is refused, or switched. Sources: `net/ipv4` of Linux 6.12;
//! Documentation/networking/ip-sysctl.rst.

use headway_transport::{self as transport, IdleRestart, Pacing, Profile};

use crate::refusal::Refusal;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{PolicyRecord, Protocol, Recovery, Stack, TransportRecord};
use headway_scenario::stack::Repair;

/// A key whose part a kernel has its own way: how to compare it, and what to write for kernels.
type Fixed = (&'static str, fn(&Profile, &Profile) -> bool, &'static str);

const FIXED: [Fixed; 5] = [
    // tcp_cong.c: tcp_slow_start
    ("slow-start-growth", |a, b| a.growth_limit == b.growth_limit, "slow-start-growth = \"unlimited\""),
    // tcp_cong.c: tcp_reno_ssthresh
    ("reduces", |a, b| a.reduces_cwnd == b.reduces_cwnd, "reduces = \"cwnd\""),
    // tcp_input.c: tcp_rtt_estimator
    ("rto-rule", |a, b| a.rto_rule == b.rto_rule, "rto-rule = \"linux\""),
    // tcp_output.c: tcp_small_queue_check
    ("small-queues", |a, b| small_queues(a) == small_queues(b), "small-queues = true"),
    // tcp_input.c: tcp_measure_rcv_mss, tcp_event_data_recv
    ("delayed-ack", |a, b| a.delayed_ack.adaptive == b.delayed_ack.adaptive, "delayed-ack = { adaptive = true }"),
];

fn small_queues(profile: &Profile) -> bool {
    profile.offload.is_some_and(|offload| offload.small_queues)
}

fn largest(profile: &Profile) -> Option<u32> {
    profile.offload.map(|offload| offload.most)
}

/// Rejects settings of `transport` of `policy`, which is `own`, that no kernel has.
pub(super) fn refuse(
    policy: &PolicyRecord,
    transport: &TransportRecord,
    own: &Profile,
    refusal: &Refusal<'_>,
) -> Result<(), PlanError> {
    let known = [transport::Stack::from(transport.stack).profile(), Profile::linux()];
    if known.iter().all(|known| largest(own) != largest(known)) {
        let what = "a `segmentation-offload` of its own, and a kernel's is a matter of its network cards";
        let help = "for kernel hosts, `hosts.NAME.linux` has `segmentation`";
        return Err(refusal.without_help("segmentation-offload", what).help(help));
    }
    let repair = Repair::of(transport);
    let repairs = known.each_ref().map(|known| Repair::from(known.recovery));
    let fixed = [
        // tcp_input.c: tcp_cwnd_reduction
        ("reduction", repairs.iter().any(|r| r.reduction == repair.reduction), "reduction = \"proportional\""),
        // tcp_input.c: tcp_try_undo_recovery
        ("undo", repairs.iter().any(|r| r.undo == repair.undo), "undo = true"),
    ];
    let others = FIXED.map(|(key, same, remedy)| (key, known.iter().any(|known| same(own, known)), remedy));
    if let Some((key, _, remedy)) = fixed.iter().chain(&others).find(|(_, is_known, _)| !is_known) {
        let what = format!("a `{key}` of its own, and a kernel has no setting for it");
        return Err(refusal.of(key, &what, remedy));
    }
    if own.idle_restart == IdleRestart::Restart && known[0].idle_restart != IdleRestart::Restart {
        let what = "idle-restart = \"restart\", and a kernel's windows decay, or stay";
        return Err(refusal.of("idle-restart", what, "idle-restart = \"decay\" or \"keep\""));
    }
    let queue = policy.linux.as_ref().and_then(|linux| linux.qdisc.as_deref()).unwrap_or_default();
    if own.max_pacing_rate.is_some() && matches!(transport.protocol, Protocol::Mptcp(_)) {
        let what =
            "`max-pacing-rate`, which is set on sockets of plain TCP; those of MPTCP's subflows are the kernel's own";
        return Err(refusal.without_help("max-pacing-rate", what));
    }
    // net/core/sock.c: a socket with a largest rate paces itself, with any discipline
    if own.pacing == Pacing::Always && own.max_pacing_rate.is_none() && queue.split_whitespace().next() != Some("fq") {
        let what = "pacing = \"always\", which kernels do with the discipline `fq`";
        let help = "for kernel hosts, put linux = { qdisc = \"fq\" } into the policy";
        return Err(refusal.without_help("pacing", what).help(help));
    }
    Ok(())
}

/// The kernel settings of parts that are not as Linux comes.
pub(super) fn settings(transport: &TransportRecord, own: &Profile, recovery: Recovery) -> Vec<(&'static str, String)> {
    let linux = transport.stack == Stack::Linux;
    let repair = Repair::of(transport);
    let mut all = Vec::new();
    let mut switch = |wanted: bool, name: &'static str, value: &str| {
        if wanted {
            all.push((name, value.to_owned()));
        }
    };
    // with stack = "rfc", `sack` has always meant all that a kernel does with selective acknowledgements
    switch(linux && recovery == Recovery::Sack, "net.ipv4.tcp_recovery", "0");
    let reports = recovery != Recovery::NewReno;
    switch(linux && reports && !repair.tail_loss_probe, "net.ipv4.tcp_early_retrans", "0");
    switch(linux && !repair.f_rto, "net.ipv4.tcp_frto", "0");
    // Documentation/networking/ip-sysctl.rst: "Setting 0 would disable SACK compression."
    let compressed = own.delayed_ack.compression || !own.delayed_ack.adaptive;
    switch(linux && reports && !compressed, "net.ipv4.tcp_comp_sack_nr", "0");
    switch(own.idle_restart == IdleRestart::Keep, "net.ipv4.tcp_slow_start_after_idle", "0");
    switch(transport.window_scaling == Some(false), "net.ipv4.tcp_window_scaling", "0");
    let threshold = own.duplicate_threshold;
    let usual = threshold == Profile::linux().duplicate_threshold;
    switch(!usual, "net.ipv4.tcp_reordering", &threshold.to_string());
    all
}
