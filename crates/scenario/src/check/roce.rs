//! RoCE, as far as the file alone can tell.

use crate::checker::Checker;
use crate::schema::{
    PolicyRecord, Protocol, Retransmission, RoceControl, RoceRecord, ScenarioRecord, Stack, TransportRecord,
};

pub(super) fn check(scenario: &ScenarioRecord, checker: &mut Checker) {
    for (index, policy) in scenario.policy.iter().enumerate() {
        let index = index.to_string();
        let mut any = transport(policy, &policy.transport, &["policy", &index, "transport"], checker);
        for (name, own) in policy.traffic.iter() {
            any |= transport(policy, own, &["policy", &index, "traffic", name], checker);
        }
        if any {
            combination(policy, &index, checker);
        }
    }
}

/// Checks one transport; says whether it is RoCE.
fn transport(policy: &PolicyRecord, transport: &TransportRecord, at: &[&str], checker: &mut Checker) -> bool {
    let Protocol::Roce(roce) = &transport.protocol else { return false };
    let name = &policy.name;
    for key in of_tcp(transport) {
        let message = format!("policy `{name}` has RoCE with `{key}`, which is a key of TCP");
        let help = (key == "recovery").then_some("how RoCE repairs losses is `retransmission`");
        checker.problem(&[at, &[key]].concat(), message, "not with kind = \"roce\"", help);
    }
    keys(name, roce, at, checker);
    true
}

fn keys(name: &str, roce: &RoceRecord, at: &[&str], checker: &mut Checker) {
    let path = |key: &'static str| [at, &[key]].concat();
    if roce.dcqcn.is_some() && roce.control == RoceControl::None {
        let message = format!("policy `{name}` has parameters of DCQCN, and control = \"none\"");
        checker.problem(&path("dcqcn"), message, "of no control", Some("control = \"dcqcn\""));
    }
    if roce.cnp_priority.is_some() && roce.control == RoceControl::None {
        let message = format!("policy `{name}` has a priority of congestion notifications, and control = \"none\"");
        checker.problem(&path("cnp-priority"), message, "nothing notifies", Some("control = \"dcqcn\""));
    }
    if roce.nak_interval.is_some() && roce.retransmission == Retransmission::SelectiveRepeat {
        let message = format!("policy `{name}` repeats reports of a missing packet, and has selective repeat");
        let help = "leave it out: every packet out of order is reported";
        checker.problem(&path("nak-interval"), message, "of go-back-n", Some(help));
    }
    if let Some(mtu) = roce.path_mtu
        && !RoceRecord::PATH_MTUS.contains(&mtu.get())
    {
        let message = format!("RoCE has no path MTU of {mtu}");
        let help = "InfiniBand knows 256B, 512B, 1024B, 2048B and 4096B";
        checker.problem(&path("path-mtu"), message, "", Some(help));
    }
}

/// The keys of TCP that are given.
fn of_tcp(transport: &TransportRecord) -> Vec<&'static str> {
    let all = [
        ("stack", transport.stack != Stack::Rfc),
        ("recovery", transport.recovery.is_some()),
        ("reduction", transport.reduction.is_some()),
        ("tail-loss-probe", transport.tail_loss_probe.is_some()),
        ("f-rto", transport.f_rto.is_some()),
        ("undo", transport.undo.is_some()),
        ("duplicate-threshold", transport.duplicate_threshold.is_some()),
        ("initial-window", transport.initial_window.is_some()),
        ("initial-ssthresh", transport.initial_ssthresh.is_some()),
        ("slow-start-growth", transport.slow_start_growth.is_some()),
        ("reduces", transport.reduces.is_some()),
        ("idle-restart", transport.idle_restart.is_some()),
        ("rto-rule", transport.rto_rule.is_some()),
        ("min-rto", transport.min_rto.is_some()),
        ("initial-rto", transport.initial_rto.is_some()),
        ("max-rto", transport.max_rto.is_some()),
        ("delayed-ack", transport.delayed_ack.is_some()),
        ("limited-transmit", transport.limited_transmit.is_some()),
        ("receive-window", transport.receive_window.is_some()),
        ("window-scaling", transport.window_scaling.is_some()),
        ("send-buffer", transport.send_buffer.is_some()),
        ("segmentation-offload", transport.segmentation_offload.is_some()),
        ("small-queues", transport.small_queues.is_some()),
        ("pacing", transport.pacing.is_some()),
        ("max-pacing-rate", transport.max_pacing_rate.is_some()),
        ("ecn", transport.ecn.is_some()),
        ("timestamps", transport.timestamps.is_some()),
        ("control-parameters", !transport.control_parameters.is_empty()),
        ("linux", transport.linux.is_some()),
    ];
    all.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
}

/// What cannot be had together with RoCE in one policy.
fn combination(policy: &PolicyRecord, index: &str, checker: &mut Checker) {
    let name = &policy.name;
    let parts = [
        ("pacing", policy.pacing.is_some(), "cards that pace", "cards of RoCE pace by themselves: `rate`, or DCQCN"),
        ("replicate", policy.replicate.is_some(), "copies of flows", "flows of TCP and MPTCP are replicated"),
    ];
    for (key, given, what, help) in parts {
        if given {
            let message = format!("policy `{name}` has {what}, and RoCE");
            checker.problem(&["policy", index, key], message, "not with kind = \"roce\"", Some(help));
        }
    }
}
