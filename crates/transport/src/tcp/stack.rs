//! TCP as operating systems have it: named sets of choices.
//!
//! A scenario takes one of them and may change any part. Behaviour for which [`Profile`] has no choice is left out,
//! above all: forward acknowledgements and the burst moderation of old Linux kernels, bursts by the pace of Linux
//! 3.12 in older ones, limits of how often a segment is retransmitted (`TcpMaxDataRetransmissions`: 5;
//! `tcp_retries2`: 15), and Windows' send window of its socket layer.

use headway_units::{Bytes, Span};

use crate::tcp::profile::{
    DelayedAck, IdleRestart, LinuxRecovery, Offload, Pacing, Profile, Recovery, Reduction, RtoRule,
};

/// A TCP as standards or an operating system define it, with its defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// The letter of the RFCs: [`Profile::default`].
    Rfc,
    /// Linux 6.12: [`Profile::linux`].
    Linux,
    /// Linux 2.6.32 (2009), which stands for 2.6.24 to 2.6.38: before larger initial windows, proportional rate
    /// reduction, tail loss probes and RACK.
    Linux26,
    /// Windows XP and Windows Server 2003.
    WindowsXp,
}

impl Stack {
    /// All of them.
    pub const ALL: [Stack; 4] = [Stack::Rfc, Stack::Linux, Stack::Linux26, Stack::WindowsXp];

    /// The name of the congestion control of plain TCP.
    pub fn control(self) -> &'static str {
        match self {
            Stack::Rfc | Stack::WindowsXp => "new-reno",
            // net/ipv4/Kconfig: DEFAULT_CUBIC since 2.6.19; BIC from 2.6.8 on
            Stack::Linux | Stack::Linux26 => "cubic",
        }
    }

    /// Whether windows may be larger than 65,535 bytes (RFC 7323 §2). Windows XP scales them only if the other end
    /// asks for it (`Tcp1323Opts` unset).
    pub fn window_scaling(self) -> bool {
        self != Stack::WindowsXp
    }

    /// Every choice, but for what depends on packets (`mss`, `overhead`, `sack_blocks`) and for the control:
    /// [`Stack::control`] names it.
    pub fn profile(self) -> Profile {
        match self {
            Stack::Rfc => Profile::default(),
            Stack::Linux => Profile::linux(),
            Stack::Linux26 => linux_26(),
            Stack::WindowsXp => windows_xp(),
        }
    }
}

/// Sources are files of Linux 2.6.32 unless they say otherwise.
fn linux_26() -> Profile {
    Profile {
        recovery: Recovery::Linux(LinuxRecovery {
            // net/ipv4/tcp_recovery.c came with 4.4
            rack: false,
            // tcp_input.c: tcp_cwnd_down; proportional since 3.2
            reduction: Reduction::Halving,
            // since 3.10
            tail_loss_probe: false,
            // sysctl_tcp_frto = 2 since 2.6.24
            f_rto: true,
            undo: true,
        }),
        // tcp_init_cwnd: RFC 3390, 3 for segments of 1096 to 1460 bytes; 10 since 2.6.39
        initial_window: 3,
        // sysctl_tcp_abc = 0: a segment for each acknowledgement
        growth_limit: 1,
        reduces_cwnd: true,
        idle_restart: IdleRestart::Decay,
        rto_rule: RtoRule::Linux,
        min_rto: Span::from_millis(200),
        // include/net/tcp.h: TCP_TIMEOUT_INIT; 1 s since 3.1
        initial_rto: Span::from_secs(3),
        max_rto: Span::from_secs(120),
        timestamps: true,
        sack_blocks: 3,
        // tcp_input.c: __tcp_ack_snd_check; compression of acknowledgements since 4.18
        delayed_ack: DelayedAck {
            packets: 2,
            timeout: Span::from_millis(40),
            quick: 16,
            adaptive: true,
            compression: false,
        },
        // tcp.c: tcp_rmem[2] of 4 MiB, of which tcp_win_from_space gives three quarters
        receive_window: Bytes::new(3 << 20),
        // tcp_output.c: tcp_select_initial_window, four segments of 1460 bytes; ten since 2.6.38
        autotuning: Some(Bytes::new(4 * 1460)),
        // tcp.c: tcp_rmem[1] of 87,380 bytes, of which three quarters
        first_buffer: Bytes::new(65_535),
        send_buffer: Some(Bytes::new(4 << 20)),
        // TCP small queues came with 3.6
        offload: Some(Offload { most: 65_160, small_queues: false }),
        pacing: Pacing::Control,
        max_pacing_rate: None,
        ..Profile::default()
    }
}

/// Sources: Microsoft KB 314053 ("TCP/IP and NBT configuration parameters for Windows XP"); "Microsoft Windows Server
/// 2003 TCP/IP Implementation Details" (white paper, 2003).
fn windows_xp() -> Profile {
    Profile {
        // SackOpts = 1
        recovery: Recovery::Sack,
        // TcpMaxDupAcks = 2
        duplicate_threshold: 2,
        // in no list of what these versions support; RFC 3517, RFC 2883 and F-RTO came with Windows Vista
        limited_transmit: false,
        // Tcp1323Opts unset: only if the other end asks for them
        timestamps: false,
        sack_blocks: 4,
        // RFC 2581, as growth, reductions and idle restart
        initial_window: 2,
        growth_limit: 1,
        reduces_cwnd: false,
        idle_restart: IdleRestart::Restart,
        rto_rule: RtoRule::Rfc6298,
        // not documented: what later versions have (`Get-NetTCPSetting`: MinRto)
        min_rto: Span::from_millis(300),
        // TcpInitialRtt = 3
        initial_rto: Span::from_secs(3),
        // TcpDelAckTicks = 2 of 100 ms, TcpAckFrequency = 2; no more at once in a connection's beginning
        delayed_ack: DelayedAck {
            packets: 2,
            timeout: Span::from_millis(200),
            quick: 0,
            adaptive: false,
            compression: false,
        },
        // TcpWindowSize: 16 KiB rounded up to whole segments on links of 1 to 100 Mb/s
        receive_window: Bytes::new(12 * 1460),
        window_scaling: Stack::WindowsXp.window_scaling(),
        autotuning: None,
        send_buffer: None,
        offload: None,
        pacing: Pacing::Control,
        max_pacing_rate: None,
        ..Profile::default()
    }
}

#[cfg(test)]
mod tests {
    use headway_control::congestion::AnyController;

    use super::*;

    #[test]
    fn every_stack_names_a_control_that_there_is() {
        for stack in Stack::ALL {
            let control = AnyController::by_name(stack.control()).expect("it is known");
            assert!(!control.is_coupled(), "{stack:?}");
        }
        assert_eq!(Stack::Rfc.control(), "new-reno");
    }

    /// The values of every stack fit each other.
    #[test]
    fn every_stack_is_one_that_senders_know() {
        for stack in Stack::ALL {
            let profile = stack.profile();
            assert!(profile.min_rto <= profile.initial_rto && profile.initial_rto <= profile.max_rto, "{stack:?}");
            assert!(stack.window_scaling() || profile.receive_window <= Bytes::new(65_535), "{stack:?}");
            assert!(profile.autotuning.is_none_or(|first| first <= profile.receive_window), "{stack:?}");
        }
    }
}
