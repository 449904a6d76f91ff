//! What a transport is with all that its stack gives it, as a record and as what connections are set up with.

use headway_transport::{self as transport, DelayedAck, LinuxRecovery, Offload, Profile};
use headway_units::Bytes;

use crate::schema::{
    DelayedAckRecord, HostKind, IdleRestart, Pacing, Protocol, ReceiveWindow, Recovery, Reduces, Reduction,
    RelayPolicyRecord, RoceControl, RoceRecord, RtoRule, ScenarioRecord, Stack, TransportRecord, WindowRecord,
};
use headway_language::{Limit, OrOff, all_defaults};
use headway_levers::lanes::LaneOpen;

/// The largest window without window scaling (RFC 9293 §3.1).
const UNSCALED: Bytes = Bytes::new(65_535);

/// Words of the language that are called alike in the transport.
macro_rules! same {
    ($($Word:ident = $Other:ident { $($Variant:ident),+ })+) => {
        $(
            impl From<$Word> for transport::$Other {
                fn from(word: $Word) -> transport::$Other {
                    match word { $($Word::$Variant => transport::$Other::$Variant,)+ }
                }
            }
            impl From<transport::$Other> for $Word {
                fn from(other: transport::$Other) -> $Word {
                    match other { $(transport::$Other::$Variant => $Word::$Variant,)+ }
                }
            }
        )+
    };
}
same! {
    Stack = Stack { Rfc, Linux, Linux26, WindowsXp }
    Reduction = Reduction { AtOnce, Proportional, Halving }
    IdleRestart = IdleRestart { Keep, Restart, Decay }
    RtoRule = RtoRule { Rfc6298, Linux }
    Pacing = Pacing { Control, Always }
}

/// Keys by which a record and a profile call the same thing: one list for both ways. Those of `kernels` are settings of a
/// kernel: left out, they stay as the kernel has them.
macro_rules! plain {
    (models: $($key:ident)+; kernels: $($own:ident)+) => {
        /// Writes into `record` those that it leaves to its stack, which is `own`; with `kernels`, not those of kernels.
        fn complete_plain(record: &mut TransportRecord, own: &Profile, kernels: bool) {
            $(record.$key.get_or_insert(own.$key.into());)+
            if !kernels {
                $(record.$own.get_or_insert(own.$own.into());)+
            }
        }

        /// `own` with those that `record` gives.
        fn with_plain(record: &TransportRecord, own: Profile) -> Profile {
            Profile {
                $($key: record.$key.map_or(own.$key, Into::into),)+
                $($own: record.$own.map_or(own.$own, Into::into),)+
                ..own
            }
        }
    };
}
plain! {
    models: duplicate_threshold limited_transmit idle_restart rto_rule initial_rto max_rto pacing;
    kernels: initial_window min_rto ecn timestamps
}

/// Writes into every transport of `scenario` what its stack gives it. Afterwards only
/// [`initial_ssthresh`](TransportRecord::initial_ssthresh) and
/// [`max_pacing_rate`](TransportRecord::max_pacing_rate) may be missing, which means that there is none; and, where any
/// hosts are kernels, settings that a kernel has of its own: there, no value means that nothing is set.
pub(crate) fn resolve(scenario: &mut ScenarioRecord) {
    let kinds = scenario.hosts.iter().filter_map(|(_, group)| group.kind);
    let kernels = kinds.chain([scenario.host_kind]).any(|kind| kind != HostKind::Modelled);
    for policy in &mut scenario.policy {
        for transport in std::iter::once(&mut policy.transport).chain(policy.traffic.values_mut()) {
            complete(transport, kernels);
            complete_roce(transport, scenario.topology.mtu);
        }
        if let Some(relay) = &mut policy.relay {
            complete_relay(relay);
        }
    }
}

/// As [`complete`]; the window of the long side grows up to what the relay holds, and the send buffer is the relay's.
fn complete_relay(relay: &mut RelayPolicyRecord) {
    let long = &mut relay.long.0;
    let stack = transport::Stack::from(long.stack);
    let own = stack.profile();
    if let Some(first) = own.autotuning.filter(|_| stack.window_scaling() && long.window_scaling != Some(false)) {
        let most = own.receive_window.max(relay.common.buffer);
        let grown = || ReceiveWindow::Growing(WindowRecord { initial: Some(first), most: Some(most) });
        match long.receive_window.get_or_insert_with(grown) {
            ReceiveWindow::Growing(window) => {
                window.most.get_or_insert(most);
            }
            ReceiveWindow::Fixed(_) => {}
        }
    }
    for side in [&mut relay.access, &mut relay.long] {
        // relays are modelled
        complete(&mut side.0, false);
        side.0.send_buffer = None;
    }
}

/// Writes out what queue pairs have: packets as large as datagrams of `mtu` hold, and DCQCN's parameters.
fn complete_roce(record: &mut TransportRecord, mtu: Bytes) {
    let Protocol::Roce(own) = &mut record.protocol else { return };
    own.path_mtu = own.path_mtu.or_else(|| RoceRecord::largest(mtu));
    if own.control == RoceControl::Dcqcn {
        own.dcqcn.get_or_insert_with(all_defaults);
    }
}

fn complete(record: &mut TransportRecord, kernels: bool) {
    if matches!(record.protocol, Protocol::Roce(_)) {
        // it has nothing of TCP
        return;
    }
    let stack = transport::Stack::from(record.stack);
    let own = stack.profile();
    let repair = Repair::from(own.recovery);
    if record.max_pacing_rate.is_some() {
        // A socket with such a rate is paced (`sk_pacing_status`).
        record.pacing.get_or_insert(Pacing::Always);
    }
    complete_plain(record, &own, kernels);
    if !kernels {
        record.recovery.get_or_insert(repair.recovery);
    }
    record.reduction.get_or_insert(repair.reduction);
    record.tail_loss_probe.get_or_insert(repair.tail_loss_probe);
    record.f_rto.get_or_insert(repair.f_rto);
    record.undo.get_or_insert(repair.undo);
    let growth = Some(own.growth_limit).filter(|&most| most < u32::MAX);
    record.slow_start_growth.get_or_insert(growth.into());
    record.reduces.get_or_insert(if own.reduces_cwnd { Reduces::Cwnd } else { Reduces::Flight });
    complete_delayed_ack(record.delayed_ack.get_or_insert(NO_RULES), &own.delayed_ack);
    if let Some(rules) = record.linux.as_mut().and_then(|linux| linux.delayed_ack.as_mut()) {
        complete_delayed_ack(rules, &own.delayed_ack);
    }
    complete_window(&mut record.receive_window, &own);
    record.window_scaling.get_or_insert(stack.window_scaling());
    record.send_buffer.get_or_insert(own.send_buffer.into());
    let most = own.offload.map(|offload| Bytes::new(u64::from(offload.most)));
    let offload = record.segmentation_offload.get_or_insert(most.into()).get();
    record.small_queues.get_or_insert(offload.is_some() && own.offload.is_some_and(|own| own.small_queues));
    match &mut record.protocol {
        Protocol::Tcp(tcp) => {
            tcp.control.get_or_insert_with(|| stack.control().to_owned());
        }
        Protocol::Roce(_) => {}
        Protocol::Mptcp(mptcp) => {
            // as in the thesis, whatever the judge
            mptcp.lanes.as_mut().map(|lanes| lanes.common.open.get_or_insert(LaneOpen::Early));
        }
    }
}

/// The keys of loss recovery, complete. A file can combine them in ways that no modelled sender has:
/// [`needing_sack`](Self::needing_sack).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// How losses are found.
    pub recovery: Recovery,
    /// How the window comes down.
    pub reduction: Reduction,
    /// Tail loss probes (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// F-RTO (RFC 5682).
    pub f_rto: bool,
    /// Reductions for losses that were none are undone.
    pub undo: bool,
}

impl From<transport::Recovery> for Repair {
    fn from(recovery: transport::Recovery) -> Repair {
        let letter =
            |recovery, reduction| Repair { recovery, reduction, tail_loss_probe: false, f_rto: false, undo: false };
        match recovery {
            transport::Recovery::NewReno { prr: false } => letter(Recovery::NewReno, Reduction::AtOnce),
            transport::Recovery::NewReno { prr: true } => letter(Recovery::NewReno, Reduction::Proportional),
            transport::Recovery::Sack => letter(Recovery::Sack, Reduction::AtOnce),
            transport::Recovery::Linux(linux) => Repair {
                recovery: if linux.rack { Recovery::Rack } else { Recovery::Sack },
                reduction: linux.reduction.into(),
                tail_loss_probe: linux.tail_loss_probe,
                f_rto: linux.f_rto,
                undo: linux.undo,
            },
        }
    }
}

impl Repair {
    /// As `stack` has them.
    pub fn of_stack(stack: Stack) -> Repair {
        transport::Stack::from(stack).profile().recovery.into()
    }

    /// As `record` says, and its stack where that says nothing.
    pub fn of(record: &TransportRecord) -> Repair {
        let own = Repair::of_stack(record.stack);
        Repair {
            recovery: record.recovery.unwrap_or(own.recovery),
            reduction: record.reduction.unwrap_or(own.reduction),
            tail_loss_probe: record.tail_loss_probe.unwrap_or(own.tail_loss_probe),
            f_rto: record.f_rto.unwrap_or(own.f_rto),
            undo: record.undo.unwrap_or(own.undo),
        }
    }

    /// The keys whose values need selective acknowledgements, each with the value that does not.
    pub fn needing_sack(self) -> Vec<(&'static str, &'static str)> {
        let parts = [
            (self.reduction == Reduction::Halving, "reduction", "reduction = \"at-once\""),
            (self.tail_loss_probe, "tail-loss-probe", "tail-loss-probe = false"),
            (self.f_rto, "f-rto", "f-rto = false"),
            (self.undo, "undo", "undo = false"),
        ];
        parts.into_iter().filter(|(needs, ..)| *needs).map(|(_, key, without)| (key, without)).collect()
    }
}

impl From<Repair> for transport::Recovery {
    /// Without selective acknowledgements all that needs them is left out.
    fn from(repair: Repair) -> transport::Recovery {
        let by_the_letter = repair.reduction == Reduction::AtOnce && repair.needing_sack().is_empty();
        match repair.recovery {
            Recovery::NewReno => transport::Recovery::NewReno { prr: repair.reduction == Reduction::Proportional },
            Recovery::Sack if by_the_letter => transport::Recovery::Sack,
            // any part of Linux' recovery brings its state machine
            Recovery::Sack | Recovery::Rack => transport::Recovery::Linux(LinuxRecovery {
                rack: repair.recovery == Recovery::Rack,
                reduction: repair.reduction.into(),
                tail_loss_probe: repair.tail_loss_probe,
                f_rto: repair.f_rto,
                undo: repair.undo,
            }),
        }
    }
}

const NO_RULES: DelayedAckRecord =
    DelayedAckRecord { packets: None, timeout: None, quick: None, adaptive: None, compression: None };

fn complete_delayed_ack(record: &mut DelayedAckRecord, own: &DelayedAck) {
    record.packets.get_or_insert(own.packets);
    record.timeout.get_or_insert(own.timeout);
    record.quick.get_or_insert(own.quick);
    record.adaptive.get_or_insert(own.adaptive);
    record.compression.get_or_insert(own.compression && record.adaptive == Some(true));
}

fn complete_window(window: &mut Option<ReceiveWindow>, own: &Profile) {
    match window {
        Some(ReceiveWindow::Fixed(_)) => {}
        Some(ReceiveWindow::Growing(record)) => {
            let most = *record.most.get_or_insert(own.receive_window);
            // a stack whose window does not grow has no first one
            let first = own.autotuning.or(Profile::linux().autotuning).unwrap_or(most);
            record.initial.get_or_insert(first.min(most));
        }
        None => {
            *window = Some(match own.autotuning {
                None => ReceiveWindow::Fixed(own.receive_window),
                Some(first) => {
                    ReceiveWindow::Growing(WindowRecord { initial: Some(first), most: Some(own.receive_window) })
                }
            });
        }
    }
}

/// The profile of a complete record, but for its control and what depends on packets.
pub fn profile(record: &TransportRecord) -> Profile {
    let own = with_plain(record, transport::Stack::from(record.stack).profile());
    let scaling = record.window_scaling.unwrap_or(true);
    let scaled = |window: Bytes| if scaling { window } else { window.min(UNSCALED) };
    let (first, most) = match &record.receive_window {
        None => (own.autotuning, own.receive_window),
        Some(ReceiveWindow::Fixed(window)) => (None, *window),
        Some(ReceiveWindow::Growing(window)) => (window.initial, window.most.unwrap_or(own.receive_window)),
    };
    let offload = record.segmentation_offload.and_then(OrOff::get).map(|most| Offload {
        most: u32::try_from(most.get()).unwrap_or(u32::MAX),
        small_queues: record.small_queues.unwrap_or(false),
    });
    Profile {
        recovery: Repair::of(record).into(),
        initial_ssthresh: record.initial_ssthresh,
        max_pacing_rate: record.max_pacing_rate,
        growth_limit: record.slow_start_growth.map_or(own.growth_limit, |most| most.get().unwrap_or(u32::MAX)),
        reduces_cwnd: record.reduces.map_or(own.reduces_cwnd, |what| what == Reduces::Cwnd),
        delayed_ack: record.delayed_ack.as_ref().map_or(own.delayed_ack, |rules| delayed_ack(rules, &own.delayed_ack)),
        receive_window: scaled(most),
        window_scaling: scaling,
        autotuning: first.map(scaled),
        send_buffer: record.send_buffer.map_or(own.send_buffer, Limit::get),
        offload,
        ..own
    }
}

fn delayed_ack(record: &DelayedAckRecord, own: &DelayedAck) -> DelayedAck {
    DelayedAck {
        packets: record.packets.unwrap_or(own.packets),
        timeout: record.timeout.unwrap_or(own.timeout),
        quick: record.quick.unwrap_or(own.quick),
        adaptive: record.adaptive.unwrap_or(own.adaptive),
        compression: record.compression.unwrap_or(own.compression),
    }
}

#[cfg(test)]
mod tests {
    use headway_units::Rate;

    use super::*;
    use crate::Document;

    fn record(transport: &str) -> TransportRecord {
        let text = format!(
            "{}\n[[policy]]\nname = \"p\"\ntransport = {transport}\n",
            include_str!("../tests/small.toml").split("[[policy]]").next().unwrap()
        );
        let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
        scenario.policy[0].transport.clone()
    }

    /// A kernel is told what the file says, and no more; modelled hosts beside it are as their stack has it.
    #[test]
    fn kernels_keep_what_is_left_out() {
        let small = include_str!("../tests/small.toml");
        let (head, _) = small.split_once("[[policy]]").unwrap();
        let of = |kind: &str, transport: &str| {
            let text = format!("host-kind = \"{kind}\"\n{head}\n[[policy]]\nname = \"p\"\ntransport = {transport}\n");
            let document = Document::parse(&text, "x.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
            let scenario = document.scenario(&document.points()[0]).unwrap_or_else(|problems| panic!("{problems}"));
            scenario.policy[0].transport.clone()
        };
        let set = |own: &TransportRecord| {
            let keys =
                [own.initial_window.is_some(), own.min_rto.is_some(), own.ecn.is_some(), own.timestamps.is_some()];
            [&keys[..], &[own.recovery.is_some()]].concat()
        };
        let left_out = "{ kind = \"tcp\", control = \"cubic\" }";
        assert_eq!(set(&of("modelled", left_out)), [true; 5]);
        for kind in ["linux", "namespaces"] {
            let own = of(kind, left_out);
            assert_eq!(set(&own), [false; 5], "{kind}");
            assert_eq!(format!("{:?}", profile(&own)), format!("{:?}", profile(&of("modelled", left_out))));
        }
        let said = "{ kind = \"tcp\", initial-window = 10, timestamps = false, recovery = \"rack\" }";
        assert_eq!(set(&of("linux", said)), [true, false, false, true, true]);
    }

    #[test]
    fn a_stack_alone_is_its_profile_and_is_written_out() {
        for (name, stack) in [
            ("rfc", transport::Stack::Rfc),
            ("linux", transport::Stack::Linux),
            ("linux-2.6", transport::Stack::Linux26),
            ("windows-xp", transport::Stack::WindowsXp),
        ] {
            let record = record(&format!("{{ kind = \"tcp\", stack = \"{name}\" }}"));
            assert_eq!(format!("{:?}", profile(&record)), format!("{:?}", stack.profile()), "{name}");
            let written = record.initial_window.is_some() && record.undo.is_some() && record.receive_window.is_some();
            assert!(written, "{name}");
            let Protocol::Tcp(tcp) = &record.protocol else { panic!("not TCP") };
            assert_eq!(tcp.control.as_deref(), Some(stack.control()));
        }
        assert_eq!(record("\"tcp\"").stack, Stack::Rfc);
    }

    #[test]
    fn each_part_can_be_set_by_itself() {
        let of = |keys: &str| profile(&record(&format!("{{ kind = \"tcp\", {keys} }}")));
        let linux = |keys: &str| of(&format!("stack = \"linux\", {keys}"));
        let whole = Profile::linux().recovery.linux().unwrap();
        let expected = LinuxRecovery { tail_loss_probe: false, ..whole };
        assert_eq!(linux("tail-loss-probe = false").recovery.linux(), Some(expected));
        let least = LinuxRecovery {
            rack: false,
            reduction: transport::Reduction::AtOnce,
            tail_loss_probe: false,
            f_rto: false,
            undo: false,
        };
        let expected = LinuxRecovery { reduction: transport::Reduction::Halving, ..least };
        assert_eq!(of("reduction = \"halving\"").recovery.linux(), Some(expected));
        assert_eq!(of("recovery = \"rack\"").recovery.linux(), Some(LinuxRecovery { rack: true, ..least }));
        let reno = of("recovery = \"new-reno\", reduction = \"proportional\"").recovery;
        assert_eq!(reno, transport::Recovery::NewReno { prr: true });
        let own = linux("recovery = \"new-reno\", tail-loss-probe = false, f-rto = false, undo = false");
        assert_eq!(own.recovery, transport::Recovery::NewReno { prr: true });
        let sack = of("recovery = \"sack\", reduction = \"proportional\"").recovery;
        let expected = LinuxRecovery { reduction: transport::Reduction::Proportional, ..least };
        assert_eq!(sack, transport::Recovery::Linux(expected));
        assert_eq!(of("recovery = \"new-reno\"").recovery, transport::Recovery::NEW_RENO);
        assert_eq!(of("recovery = \"sack\"").recovery, transport::Recovery::Sack);
        assert_eq!(of("duplicate-threshold = 2").duplicate_threshold, 2);
        assert_eq!(of("slow-start-growth = 2").growth_limit, 2);
        assert_eq!(of("slow-start-growth = \"unlimited\"").growth_limit, u32::MAX);
        assert!(!linux("reduces = \"flight\"").reduces_cwnd);
        assert_eq!(of("idle-restart = \"keep\"").idle_restart, transport::IdleRestart::Keep);
        assert_eq!(of("rto-rule = \"linux\"").rto_rule, transport::RtoRule::Linux);
        assert_eq!(of("pacing = \"always\"").pacing, transport::Pacing::Always);
        let limited = linux("max-pacing-rate = \"500Mbps\"");
        assert_eq!((limited.pacing, limited.max_pacing_rate), (transport::Pacing::Always, Some(Rate::from_mbps(500))));
        assert_eq!(linux("send-buffer = \"unlimited\"").send_buffer, None);
        assert_eq!(of("send-buffer = \"64KB\"").send_buffer, Some(Bytes::from_kb(64)));
        assert_eq!(linux("segmentation-offload = false").offload, None);
        let offload = Offload { most: 30_000, small_queues: false };
        assert_eq!(of("segmentation-offload = \"30KB\"").offload, Some(offload));
        assert!(!linux("small-queues = false").offload.unwrap().small_queues);
        let rules = linux("delayed-ack = { adaptive = false }").delayed_ack;
        assert_eq!(rules, DelayedAck { adaptive: false, compression: false, ..Profile::linux().delayed_ack });
        let rules = linux("delayed-ack = { compression = false }").delayed_ack;
        assert_eq!(rules, DelayedAck { compression: false, ..Profile::linux().delayed_ack });
    }

    #[test]
    fn windows_grow_stay_or_fit_in_sixteen_bits() {
        let of = |keys: &str| {
            let profile = profile(&record(&format!("{{ kind = \"tcp\", {keys} }}")));
            (profile.autotuning.map(Bytes::get), profile.receive_window.get())
        };
        assert_eq!(of("stack = \"linux\", receive-window = \"1MB\""), (None, 1_000_000));
        assert_eq!(of("stack = \"linux\", receive-window = { most = \"1MB\" }"), (Some(65_160), 1_000_000));
        assert_eq!(of("stack = \"linux\", receive-window = { most = \"10KB\" }"), (Some(10_000), 10_000));
        assert_eq!(of("receive-window = { initial = \"10KB\" }"), (Some(10_000), 6_000_000));
        assert_eq!(of("window-scaling = false"), (None, 65_535), "RFC 9293: sixteen bits");
        assert_eq!(of("stack = \"linux\", window-scaling = false"), (Some(65_160), 65_535));
    }
}
