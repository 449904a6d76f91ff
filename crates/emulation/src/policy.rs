//! Policies on kernel hosts: from the keys of a transport to settings of Linux.
//!
//! Every key is either mapped or, where Linux has no setting for it, rejected. Sources: `net/ipv4`
//! and `net/mptcp` of Linux 6.12; Documentation/networking/ip-sysctl.rst.

mod parts;

use std::path::Path;

use headway_control::congestion::AnyController;
use headway_kernel::setup::{MAX_EXTRA_SUBFLOWS, Stack};
use headway_language::all_defaults;
use headway_transport::Profile;
use headway_units::{Bytes, Rate, Span};

use crate::daemon::Daemon;
use crate::refusal::Refusal;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::{
    self, AddressPairs, DelayedAckRecord, LinuxTransportRecord, MptcpRecord, PolicyRecord, Protocol, TransportRecord,
};
use headway_scenario::stack;

/// Linux' retransmission timeout before a round trip is measured (`TCP_TIMEOUT_INIT`).
const INITIAL_RTO: Span = Span::from_secs(1);
/// Linux' longest one (`TCP_RTO_MAX`).
const MAX_RTO: Span = Span::from_secs(120);
/// Congestion controls that kernels call otherwise.
const NAMES: [(&str, &str); 2] = [("new-reno", "reno"), ("h-tcp", "htcp")];
const MILLISECOND: u64 = 1_000_000_000;

/// A transport as a kernel is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resolved {
    /// The congestion control, as the kernel calls it.
    pub control: String,
    /// Connections of flows are paced, at this rate at most.
    pub max_pacing_rate: Option<Rate>,
    /// TCP, the same for all of a host.
    pub stack: Stack,
    /// MPTCP, if it is used, the same for all of a host.
    pub mptcp: Option<Multipath>,
}

/// MPTCP of a transport.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Multipath {
    /// Subflows of a connection; one for each interface when left out.
    pub subflows: Option<u32>,
    /// Those that carry data only when no other can.
    pub backup: Vec<u32>,
    /// Who manages the paths, if it is not the kernel.
    pub daemon: Option<Daemon>,
}

impl Resolved {
    /// Resolves `transport` of `policy`, which stands at `at`; files it names are in `folder`.
    pub fn new(
        policy: &PolicyRecord,
        transport: &TransportRecord,
        at: &[&str],
        folder: &Path,
    ) -> Result<Resolved, PlanError> {
        let refusal = Refusal { policy: &policy.name, at };
        let none = all_defaults();
        let linux = transport.linux.as_ref().unwrap_or(&none);
        let own = stack::profile(transport);
        if matches!(transport.stack, schema::Stack::Linux26 | schema::Stack::WindowsXp) {
            let what = format!("stack = \"{}\", and a kernel is a Linux of today", transport.stack.as_str());
            let help = "kernel hosts are stack = \"linux\", or \"rfc\"; --policy runs the other policies";
            return Err(refusal.without_help("stack", &what).help(help));
        }
        if !transport.control_parameters.is_empty() {
            let what = "parameters of a control, and a kernel's have settings of their own";
            let help = "for kernel hosts, put the kernel's settings into `linux.sysctl` of the policy";
            return Err(refusal.without_help("control-parameters", what).help(help));
        }
        let min_rto = timeouts(transport, linux, &own, &refusal)?;
        if !own.limited_transmit {
            let what = "no limited transmit, and a kernel always does it";
            return Err(refusal.without_help("limited-transmit", what));
        }
        if transport.initial_ssthresh.is_some() {
            let what = "an initial slow-start threshold, and a kernel has no setting for it";
            return Err(refusal.without_help("initial-ssthresh", what));
        }
        let ecn = linux.ecn.or(transport.ecn);
        let control = control(transport, linux, &refusal)?;
        if control == "dctcp" && ecn != Some(true) {
            let what = "`dctcp`, which needs packets to be marked, without ECN";
            return Err(refusal.of("ecn", what, "ecn = true"));
        }
        parts::refuse(policy, transport, &own, &refusal)?;
        // Settings that are left out stay as the kernel has them, for it may be a patch of theirs that is looked at.
        let recovery = linux.recovery.or(transport.recovery);
        let known = recovery.unwrap_or(stack::Repair::of(transport).recovery);
        let stack = Stack {
            initial_window: transport.initial_window,
            min_rto_ms: min_rto.map(|span| (span.picos() / MILLISECOND) as u32),
            quick_ack: quick_ack(linux.delayed_ack.as_ref().or(transport.delayed_ack.as_ref()), &refusal)?,
            receive_window: own.receive_window.get(),
            first_window: own.autotuning.filter(|_| own.autotuning != Profile::linux().autotuning).map(Bytes::get),
            send_buffer: own.send_buffer.map(Bytes::get),
            ecn,
            timestamps: linux.timestamps.or(transport.timestamps),
            sack: recovery.map(|recovery| recovery != schema::Recovery::NewReno),
            settings: parts::settings(transport, &own, known),
        };
        let mptcp = match &transport.protocol {
            Protocol::Tcp(_) | Protocol::Roce(_) => None,
            Protocol::Mptcp(record) => {
                let daemon = Daemon::new(policy, record, folder, &refusal)?;
                Some(Multipath { daemon, ..multipath(record, linux, &refusal)? })
            }
        };
        Ok(Resolved { control, max_pacing_rate: own.max_pacing_rate, stack, mptcp })
    }
}

/// Checks the timeouts. Returns the shortest one, the only one that a kernel can set, if the scenario has it.
fn timeouts(
    transport: &TransportRecord,
    linux: &LinuxTransportRecord,
    own: &Profile,
    refusal: &Refusal<'_>,
) -> Result<Option<Span>, PlanError> {
    let shortest = linux.min_rto.or(transport.min_rto);
    if let Some(min_rto) = shortest
        && (!min_rto.picos().is_multiple_of(MILLISECOND) || min_rto > MAX_RTO)
    {
        let what = format!("a shortest timeout of {min_rto}, and a kernel's are whole milliseconds up to {MAX_RTO}");
        return Err(refusal.of("min-rto", &what, "linux = { min-rto = \"10ms\" }"));
    }
    for (key, wanted, known) in [
        ("initial-rto", linux.initial_rto.unwrap_or(own.initial_rto), INITIAL_RTO),
        ("max-rto", linux.max_rto.unwrap_or(own.max_rto), MAX_RTO),
    ] {
        if wanted != known {
            let what = format!("`{key}` = {wanted}, and a kernel has no setting for it: it is {known}");
            return Err(refusal.of(key, &what, &format!("linux = {{ {key} = \"{known}\" }}")));
        }
    }
    Ok(shortest)
}

fn control(
    transport: &TransportRecord,
    linux: &LinuxTransportRecord,
    refusal: &Refusal<'_>,
) -> Result<String, PlanError> {
    let (name, multipath) = match &transport.protocol {
        Protocol::Tcp(tcp) => (tcp.control.as_deref().unwrap_or("new-reno"), false),
        Protocol::Mptcp(mptcp) => (&*mptcp.control, true),
        Protocol::Roce(_) => {
            let what = "RoCE, and kernel hosts have no cards for it";
            return Err(refusal.without_help("kind", what).help("--policy runs the other policies"));
        }
    };
    if let Some(own) = &linux.control {
        return Ok(own.clone());
    }
    if let Some(own) = headway_control::own::name_of(name) {
        let what = format!("the congestion control `{own}` of a program, and a kernel runs without the program");
        return Err(refusal.of("control", &what, "linux = { control = \"cubic\" }"));
    }
    if let Some((_, kernels)) = NAMES.iter().find(|(ours, _)| *ours == name) {
        return Ok((*kernels).to_owned());
    }
    let coupled = AnyController::by_name(name).is_ok_and(|control| control.is_coupled());
    if coupled {
        let what = if multipath {
            format!("`{name}`, and mainline Linux couples no subflows: its MPTCP runs a control of TCP in each")
        } else {
            format!("`{name}`, which couples the subflows of MPTCP; a TCP connection has none")
        };
        return Err(refusal.of("control", &what, "linux = { control = \"reno\" }"));
    }
    Ok(name.to_owned())
}

fn quick_ack(record: Option<&DelayedAckRecord>, refusal: &Refusal<'_>) -> Result<bool, PlanError> {
    let Some(record) = record else { return Ok(false) };
    if record.packets == Some(1) {
        return Ok(true);
    }
    // a kernel adapts, whatever is asked of modelled hosts
    let own = Profile::linux().delayed_ack;
    if (record.packets, record.timeout, record.quick) == (Some(own.packets), Some(own.timeout), Some(own.quick)) {
        return Ok(false);
    }
    let what = "delayed acknowledgements of its own, and a kernel has its way (the default here) or none";
    Err(refusal.of("delayed-ack", what, "linux = { delayed-ack = { packets = 1 } }"))
}

fn multipath(
    record: &MptcpRecord,
    linux: &LinuxTransportRecord,
    refusal: &Refusal<'_>,
) -> Result<Multipath, PlanError> {
    if linux.join_after.unwrap_or(record.join_after) != Bytes::ZERO {
        let what = format!("`join-after` = {}, and a kernel opens further subflows at once", record.join_after);
        return Err(refusal.of("join-after", &what, "linux = { join-after = \"0B\" }"));
    }
    if record.address_pairs != AddressPairs::OneToOne {
        let what = "`address-pairs = \"full-mesh\"`, and kernel hosts are set up one to one";
        return Err(refusal.without_help("address-pairs", what));
    }
    let subflows = linux.subflows.or(record.subflows);
    if let Some(most) = subflows.filter(|&n| n > MAX_EXTRA_SUBFLOWS + 1) {
        return Err(refusal.without_help("subflows", &format!("{most} subflows, more than a kernel opens")));
    }
    if record.syn_fallback {
        let what = "`syn-fallback`, and a kernel connects as its application says";
        return Err(refusal.without_help("syn-fallback", what));
    }
    if record.backup.contains(&0) {
        let what = "subflow 0 as a backup, and a kernel's first subflow never is one";
        return Err(refusal.without_help("backup", what));
    }
    let mut backup = record.backup.clone();
    backup.sort_unstable();
    Ok(Multipath { subflows, backup, daemon: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_scenario::Document;

    fn resolve(transport: &str) -> Result<Resolved, String> {
        let text = format!(
            "{}\n[[policy]]\nname = \"p\"\ntransport = {transport}\n",
            include_str!("../../scenario/tests/small.toml").split("[[policy]]").next().unwrap()
        );
        let text = format!("host-kind = \"linux\"\n{text}");
        let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        let policy = &scenario.policy[0];
        Resolved::new(policy, &policy.transport, &["policy", "0", "transport"], Path::new("."))
            .map_err(|fault| format!("{}: {}", fault.path.join("."), fault.message))
    }

    #[test]
    fn what_is_left_out_is_the_kernels_own() {
        let resolved = resolve("\"tcp\"").unwrap();
        let stack = Stack {
            initial_window: None,
            min_rto_ms: None,
            quick_ack: false,
            receive_window: 6_000_000,
            first_window: None,
            send_buffer: None,
            ecn: None,
            timestamps: None,
            sack: None,
            settings: Vec::new(),
        };
        assert_eq!(resolved, Resolved { control: "reno".to_owned(), max_pacing_rate: None, stack, mptcp: None });
    }

    #[test]
    fn keys_are_mapped() {
        let resolved = resolve(
            "{ kind = \"tcp\", control = \"bbr\", recovery = \"new-reno\", min-rto = \"10ms\", timestamps = true, \
             delayed-ack = { packets = 1 }, initial-window = 3, receive-window = \"64KB\", ecn = true }",
        )
        .unwrap();
        let stack = Stack {
            initial_window: Some(3),
            min_rto_ms: Some(10),
            quick_ack: true,
            receive_window: 64_000,
            first_window: None,
            send_buffer: None,
            ecn: Some(true),
            timestamps: Some(true),
            sack: Some(false),
            settings: Vec::new(),
        };
        assert_eq!(resolved, Resolved { control: "bbr".to_owned(), max_pacing_rate: None, stack, mptcp: None });
    }

    #[test]
    fn linux_is_as_linux_comes() {
        let resolved = resolve("{ kind = \"tcp\", stack = \"linux\", control = \"cubic\" }").unwrap();
        let stack = Stack {
            initial_window: None,
            min_rto_ms: None,
            quick_ack: false,
            receive_window: 6_000_000,
            first_window: None,
            // Documentation/networking/ip-sysctl.rst, tcp_wmem: 4 MB at most
            send_buffer: Some(4 << 20),
            ecn: None,
            timestamps: None,
            sack: None,
            settings: Vec::new(),
        };
        assert_eq!(resolved, Resolved { control: "cubic".to_owned(), max_pacing_rate: None, stack, mptcp: None });
    }

    /// Documentation/networking/ip-sysctl.rst of Linux 6.12 has each of them.
    #[test]
    fn parts_that_a_kernel_can_switch_are_switched() {
        let of = |stack: &str, keys: &str| {
            let resolved = resolve(&format!("{{ kind = \"tcp\", stack = \"{stack}\", {keys} }}")).unwrap();
            let text = |(name, value): &(&'static str, String)| format!("{name}={value}").replace("net.ipv4.tcp_", "");
            resolved.stack.settings.iter().map(text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("linux", "recovery = \"sack\""), "recovery=0");
        assert_eq!(of("linux", "tail-loss-probe = false"), "early_retrans=0");
        assert_eq!(of("linux", "f-rto = false"), "frto=0");
        assert_eq!(of("linux", "idle-restart = \"keep\""), "slow_start_after_idle=0");
        assert_eq!(of("linux", "window-scaling = false"), "window_scaling=0");
        assert_eq!(of("linux", "duplicate-threshold = 5"), "reordering=5");
        assert_eq!(of("rfc", "recovery = \"sack\", idle-restart = \"keep\""), "slow_start_after_idle=0", "as before");
        assert_eq!(of("rfc", "tail-loss-probe = true, f-rto = true, undo = true, recovery = \"rack\""), "");
        let windows = "receive-window = { initial = \"20KB\", most = \"2MB\" }, send-buffer = \"1MB\"";
        let stack = resolve(&format!("{{ kind = \"tcp\", {windows} }}")).unwrap().stack;
        assert_eq!((stack.first_window, stack.receive_window), (Some(20_000), 2_000_000));
        assert_eq!(stack.send_buffer, Some(1_000_000));
    }

    /// socket(7): a socket with a rate is paced with and without `fq`.
    #[test]
    fn a_largest_rate_is_for_sockets() {
        let resolved = resolve("{ kind = \"tcp\", stack = \"linux\", max-pacing-rate = \"500Mbps\" }").unwrap();
        assert_eq!(resolved.max_pacing_rate, Some(Rate::from_mbps(500)));
    }

    #[test]
    fn what_is_said_of_kernel_hosts_comes_first() {
        let resolved = resolve(
            "{ kind = \"mptcp\", control = \"lia\", join-after = \"80KB\", recovery = \"new-reno\", min-rto = \"1us\", \
             backup = [2, 1], \
             linux = { control = \"cubic\", join-after = \"0B\", recovery = \"sack\", subflows = 2, min-rto = \"5ms\" } }",
        )
        .unwrap();
        assert_eq!(resolved.control, "cubic");
        assert_eq!(resolved.stack.sack, Some(true));
        assert_eq!(resolved.stack.min_rto_ms, Some(5));
        assert_eq!(resolved.mptcp, Some(Multipath { subflows: Some(2), backup: vec![1, 2], daemon: None }));
    }

    #[test]
    fn what_a_kernel_cannot_do_is_refused_by_its_key() {
        for (transport, path) in [
            ("{ kind = \"tcp\", min-rto = \"1500us\" }", "min-rto"),
            ("{ kind = \"tcp\", initial-rto = \"3s\" }", "initial-rto"),
            ("{ kind = \"tcp\", max-rto = \"60s\" }", "max-rto"),
            ("{ kind = \"tcp\", limited-transmit = false }", "limited-transmit"),
            ("{ kind = \"tcp\", initial-ssthresh = \"64KB\" }", "initial-ssthresh"),
            ("{ kind = \"tcp\", delayed-ack = { packets = 4 } }", "delayed-ack"),
            ("{ kind = \"tcp\", control = \"dctcp\" }", "ecn"),
            ("{ kind = \"tcp\", stack = \"linux-2.6\" }", "stack"),
            ("{ kind = \"tcp\", stack = \"windows-xp\" }", "stack"),
            ("{ kind = \"tcp\", control-parameters = { hystart = 0 } }", "control-parameters"),
            ("{ kind = \"tcp\", reduction = \"halving\" }", "reduction"),
            ("{ kind = \"tcp\", stack = \"linux\", reduction = \"at-once\" }", "reduction"),
            ("{ kind = \"tcp\", stack = \"linux\", undo = false }", "undo"),
            ("{ kind = \"tcp\", stack = \"linux\", reduces = \"flight\" }", "reduces"),
            ("{ kind = \"tcp\", slow-start-growth = 2 }", "slow-start-growth"),
            ("{ kind = \"tcp\", stack = \"linux\", idle-restart = \"restart\" }", "idle-restart"),
            ("{ kind = \"tcp\", stack = \"linux\", rto-rule = \"rfc6298\" }", "rto-rule"),
            ("{ kind = \"tcp\", stack = \"linux\", segmentation-offload = false }", "segmentation-offload"),
            ("{ kind = \"tcp\", stack = \"linux\", small-queues = false }", "small-queues"),
            ("{ kind = \"tcp\", stack = \"linux\", delayed-ack = { adaptive = false } }", "delayed-ack"),
            ("{ kind = \"tcp\", pacing = \"always\" }", "pacing"),
            ("{ kind = \"mptcp\", control = \"new-reno\", max-pacing-rate = \"1Mbps\" }", "max-pacing-rate"),
            ("{ kind = \"mptcp\" }", "control"),
            ("{ kind = \"mptcp\", control = \"new-reno\", join-after = \"1KB\" }", "join-after"),
            ("{ kind = \"mptcp\", control = \"new-reno\", syn-fallback = true }", "syn-fallback"),
            (
                "{ kind = \"mptcp\", control = \"new-reno\", subflows = 2, lanes = { judge = \"deadline\", back = {} } }",
                "lanes.back",
            ),
            ("{ kind = \"mptcp\", control = \"new-reno\", backup = [0] }", "backup"),
        ] {
            let refused = resolve(transport).expect_err(transport);
            assert!(refused.starts_with(&format!("policy.0.transport.{path}: policy `p` has ")), "{refused}");
        }
    }
}
