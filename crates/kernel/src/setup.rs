//! From settings to the programs that set a host up: addresses, routes, sysctls, queueing disciplines, MPTCP.
//!
//! All is routed, as in a fabric of layer 3: every interface has a gateway that is nowhere (`169.254.0.1`, `fe80::1`)
//! with a fixed MAC address, and what is sent to it goes where its IP address says. So there is no ARP and no neighbour
//! discovery, whose frames the model does not have either. Interface i of every host is in the plane `10.i.0.0/16` and
//! `fd00:0:0:i::/64`; a socket bound to an address leaves by its interface.
//!
//! Sources: Documentation/networking/ip-sysctl.rst and mptcp-sysctl.rst of the kernel; ip-route(8), ip-mptcp(8).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Hosts are numbered below this: their addresses have 16 bits for them.
pub const MAX_HOSTS: u32 = 65_535;
/// Interfaces of a guest at most: the fast path has 64 bits for the interrupts of their two rings each.
pub const MAX_CARDS: u32 = 32;
/// Subflows beyond the first that the kernel's path manager keeps at most (`MPTCP_SUBFLOWS_MAX`).
pub const MAX_EXTRA_SUBFLOWS: u32 = 8;

/// The gateway of every interface, which nobody is.
pub const GATEWAY: &str = "169.254.0.1";
const GATEWAY6: &str = "fe80::1";
/// The MAC address of the gateway.
pub const GATEWAY_MAC: &str = "02:00:00:00:00:01";
/// The routing table of interface 0's address; those of the others follow.
const TABLE: u32 = 100;
/// IPv6 needs an MTU of this (RFC 8200 §5).
const MIN_MTU6: u32 = 1280;
/// Leaves the paths of MPTCP to a program: since Linux 6.16 by name, before by number.
const USERSPACE: &str = "if [ -e /proc/sys/net/mptcp/path_manager ]; \
                         then w net/mptcp/path_manager userspace; else w net/mptcp/pm_type 1; fi\n";
/// What the kernel allows a connection to receive ahead of the application and to keep for sending, at least.
const MIN_BUFFER: u64 = 8 << 20;
/// A receive buffer smaller than two packets holds none.
const MIN_RECEIVE: u64 = 8192;

/// The IPv4 address of interface `interface` of host number `host`.
pub fn ipv4(host: u32, interface: u32) -> Ipv4Addr {
    let [.., high, low] = (host + 1).to_be_bytes();
    Ipv4Addr::new(10, interface as u8, high, low)
}

/// The IPv6 address of interface `interface` of host number `host`.
pub fn ipv6(host: u32, interface: u32) -> Ipv6Addr {
    let [.., a, b] = [(host + 1) >> 16, (host + 1) & 0xffff];
    Ipv6Addr::new(0xfd00, 0, 0, interface as u16, 0, 0, a as u16, b as u16)
}

/// The MAC address of interface `interface` of host number `host`.
pub fn mac(host: u32, interface: u32) -> [u8; 6] {
    let [_, a, b, c] = (host + 1).to_be_bytes();
    [2, 0, interface as u8, a, b, c]
}

/// How TCP of a host is set up. What is none stays as the kernel has it: nothing is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The congestion window at the start, in packets.
    pub initial_window: Option<u32>,
    /// The shortest retransmission timeout, in milliseconds.
    pub min_rto_ms: Option<u32>,
    /// Whether every packet is acknowledged at once.
    pub quick_ack: bool,
    /// What a receiver accepts ahead of the application, in bytes.
    pub receive_window: u64,
    /// The same in the beginning, if not as Linux comes.
    pub first_window: Option<u64>,
    /// What a sender may have written that is not acknowledged, in bytes; twice the receive window when left out.
    pub send_buffer: Option<u64>,
    /// Whether ECN is asked for and granted.
    pub ecn: Option<bool>,
    /// Whether packets carry timestamps.
    pub timestamps: Option<bool>,
    /// Whether lost packets are found by selective acknowledgements, RACK and tail loss probes; by duplicate
    /// acknowledgements alone otherwise.
    pub sack: Option<bool>,
    /// Further kernel settings of it, each with its value.
    pub settings: Vec<(&'static str, String)>,
}

/// How MPTCP of a host is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mptcp {
    /// The kernel manages paths.
    Kernel(Endpoints),
    /// A program does, by generic netlink: the kernel has no endpoints.
    Userspace,
}

/// What the kernel's path manager opens and announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// Subflows of a connection.
    pub subflows: u32,
    /// Those that carry data only when no other can; never 0.
    pub backup: Vec<u32>,
    /// Whether the host opens connections.
    pub opens: bool,
    /// Whether it accepts them.
    pub accepts: bool,
}

/// The cards of a host. How much memory a received packet takes beside its payload depends on them, and so does the window
/// that a receive buffer gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cards {
    /// virtio-net of guests, which does not merge what arrives.
    Virtio,
    /// Ends of veth pairs: what arrives is the sender's own packet.
    Veth,
}

impl Cards {
    /// How much of a buffer is payload, in 1/256 (`scaling_ratio`): Linux 6.12 finds it when the first full segment
    /// arrives, as its payload over its `truesize` (`net/ipv4/tcp_input.c: tcp_measure_rcv_mss`). The `truesize` of a card is
    /// from `drivers/net/virtio_net.c`: `add_recvbuf_small` has one piece of memory for a packet of up to 1,500 bytes, of
    /// 1,920 bytes, beside `struct sk_buff` of 256; larger ones lie in whole pages behind a head of 1,280 bytes
    /// (`page_to_skb`).
    fn scaling_ratio(self, mtu: u64, payload: u64) -> u64 {
        const ETHERNET_AND_VIRTIO: u64 = 14 + 12;
        const PAGE: u64 = 4096;
        let truesize = match self {
            // the sender's packet: about as much beside the payload (1,280 bytes)
            Cards::Veth => return 128,
            Cards::Virtio if mtu <= 1500 => 2176,
            Cards::Virtio => 1280 + (mtu + ETHERNET_AND_VIRTIO).next_multiple_of(PAGE),
        };
        (payload * 256 / truesize).max(1)
    }
}

/// A host to be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Its number among the hosts of the network.
    pub number: u32,
    /// How many interfaces it has.
    pub interfaces: u32,
    /// What its interfaces are.
    pub cards: Cards,
    /// The largest IP packet.
    pub mtu: u32,
    /// Bytes of memory of its guest.
    pub memory: u64,
    /// Whether its kernel has other hosts, so that it is a namespace of it.
    pub shared: bool,
    /// TCP; as Linux comes when left out.
    pub stack: Option<Stack>,
    /// The congestion control of sockets that do not choose one; Linux' own default when left out.
    pub control: Option<String>,
    /// MPTCP; as Linux comes when left out.
    pub mptcp: Option<Mptcp>,
    /// The first and last port that the kernel chooses by itself; as Linux comes when left out.
    pub local_ports: Option<(u16, u16)>,
    /// The queueing discipline of every interface, as `tc qdisc replace dev … root` takes it.
    pub queue: Option<String>,
    /// Further kernel settings, later ones over earlier ones.
    pub sysctls: Vec<(String, String)>,
    /// Lines for a shell, when all else is done.
    pub lines: Vec<String>,
}

impl Setup {
    /// The programs that do it, one after the other. As few as can be, since every program costs a guest wall time, but
    /// one for each thing that the user has written, since one that fails is shown whole.
    pub fn programs(&self) -> Vec<Vec<String>> {
        let (whole, own): (Vec<Setting>, Vec<Setting>) =
            self.settings().into_iter().partition(|setting| setting.of == Of::Kernel && self.shared);
        let mut first = script(&own);
        if self.mptcp == Some(Mptcp::Userspace) {
            first += USERSPACE;
        }
        if !whole.is_empty() {
            let _ = writeln!(first, "busybox nsenter -t 1 -n /bin/sh -c {} || :", quoted(&script(&whole)));
        }
        let _ = write!(first, "ip -batch - <<'END'\n{}END\n", self.addresses());
        let rules = self.rules6();
        if !rules.is_empty() {
            let _ = write!(first, "ip -6 -batch - <<'END'\n{rules}END\n");
        }
        let mut programs = vec![shell(first)];
        if !self.sysctls.is_empty() {
            let own = |(name, value): &(String, String)| Setting::new(Of::Host, name, value);
            programs.push(shell(script(&self.sysctls.iter().map(own).collect::<Vec<_>>())));
        }
        if let Some(queue) = &self.queue {
            let line = |interface| format!("qdisc replace dev eth{interface} root {queue}\n");
            let lines: String = (0..self.interfaces).map(line).collect();
            programs.push(shell(format!("tc -batch - <<'END'\n{lines}END\n")));
        }
        programs.extend(self.lines.iter().map(|line| shell(line.clone())));
        programs
    }

    /// Kernel settings in order.
    fn settings(&self) -> Vec<Setting> {
        let mut all = Vec::new();
        let mut add = |of, name: &str, value: &str| all.push(Setting::new(of, name, value));
        // Nothing on the wire that the scenario does not ask for.
        let interfaces = (0..self.interfaces).map(|i| format!("eth{i}"));
        for interface in ["default".to_owned()].into_iter().chain(interfaces) {
            for (name, value) in [
                ("accept_dad", "0"),
                ("dad_transmits", "0"),
                ("accept_ra", "0"),
                ("router_solicitations", "0"),
                ("addr_gen_mode", "1"),
                ("mldv2_unsolicited_report_interval", "1"),
            ] {
                add(Of::Some, &format!("net/ipv6/conf/{interface}/{name}"), value);
            }
        }
        add(Of::Kernel, "net.ipv6.mld_qrv", "1");
        add(Of::Kernel, "net.ipv4.igmp_qrv", "1");
        // No flow learns from the one before it.
        add(Of::Host, "net.ipv4.tcp_no_metrics_save", "1");
        if let Some(stack) = &self.stack {
            let receive = self.receive_buffer(stack).max(MIN_RECEIVE);
            let send = stack.send_buffer.unwrap_or((2 * stack.receive_window).max(MIN_BUFFER));
            add(Of::Kernel, "net.core.rmem_max", &receive.to_string());
            add(Of::Kernel, "net.core.wmem_max", &send.to_string());
            // of the first buffer Linux offers half, before it has seen a packet (`TCP_DEFAULT_SCALING_RATIO`)
            let start = stack.first_window.map_or(131_072, |first| (2 * first).max(MIN_RECEIVE)).min(receive);
            add(Of::Host, "net.ipv4.tcp_rmem", &format!("4096 {start} {receive}"));
            add(Of::Host, "net.ipv4.tcp_wmem", &format!("4096 {} {send}", send.min(16_384)));
            // Pages of all connections together: Linux' own choice is next to nothing in a small guest.
            let pages = self.memory / 4096;
            add(Of::Kernel, "net.ipv4.tcp_mem", &format!("{} {} {}", pages / 8, pages * 3 / 16, pages / 4));
            for (name, wanted) in [("ecn", stack.ecn), ("timestamps", stack.timestamps), ("sack", stack.sack)] {
                if let Some(on) = wanted {
                    add(Of::Host, &format!("net.ipv4.tcp_{name}"), if on { "1" } else { "0" });
                }
            }
            if stack.sack == Some(false) {
                add(Of::Host, "net.ipv4.tcp_dsack", "0");
                add(Of::Host, "net.ipv4.tcp_recovery", "0");
                add(Of::Host, "net.ipv4.tcp_early_retrans", "0");
            }
            for (name, value) in &stack.settings {
                add(Of::Host, name, value);
            }
        }
        if let Some(control) = &self.control {
            add(Of::Host, "net.ipv4.tcp_congestion_control", control);
        }
        if let Some((first, last)) = self.local_ports {
            add(Of::Host, "net.ipv4.ip_local_port_range", &format!("{first} {last}"));
        }
        if self.mptcp.is_some() {
            add(Of::Host, "net.mptcp.enabled", "1");
        }
        all
    }

    /// The buffer whose window is the one that is asked for.
    fn receive_buffer(&self, stack: &Stack) -> u64 {
        const IP_AND_TCP: u64 = 20 + 20;
        const TIMESTAMPS: u64 = 12;
        const DATA_SEQUENCE_SIGNAL: u64 = 24;
        // a kernel's own default is to carry them
        let timestamps = if stack.timestamps.unwrap_or(true) { TIMESTAMPS } else { 0 };
        let signal = if self.mptcp.is_some() { DATA_SEQUENCE_SIGNAL } else { 0 };
        let mtu = u64::from(self.mtu);
        let ratio = self.cards.scaling_ratio(mtu, mtu.saturating_sub(IP_AND_TCP + timestamps + signal));
        (u128::from(stack.receive_window) * 256).div_ceil(u128::from(ratio)).try_into().unwrap_or(u64::MAX)
    }

    /// Attributes of every route.
    fn metrics(&self) -> String {
        let mut text = String::new();
        if let Some(stack) = &self.stack {
            if let Some(packets) = stack.initial_window {
                let _ = write!(text, " initcwnd {packets}");
            }
            if let Some(ms) = stack.min_rto_ms {
                let _ = write!(text, " rto_min {ms}ms");
            }
            if stack.quick_ack {
                text += " quickack 1";
            }
        }
        text
    }

    /// Lines for `ip -batch`.
    fn addresses(&self) -> String {
        let metrics = self.metrics();
        let six = self.mtu >= MIN_MTU6;
        let mut text = "link set lo up\n".to_owned();
        let several = self.interfaces > 1;
        for i in 0..self.interfaces {
            let (own, own6) = (ipv4(self.number, i), ipv6(self.number, i));
            let mut line = |line: String| {
                text += &line;
                text.push('\n');
            };
            line(format!("link set eth{i} mtu {} txqueuelen 1000 up", self.mtu));
            line(format!("addr add {own}/32 dev eth{i}"));
            line(format!("neigh replace {GATEWAY} lladdr {GATEWAY_MAC} dev eth{i} nud permanent"));
            let mut ways = vec![(format!("10.{i}.0.0/16"), "")];
            if i == 0 {
                ways.push(("0.0.0.0/0".to_owned(), ""));
            }
            let table = format!(" table {}", TABLE + i);
            if several {
                line(format!("rule add from {own} lookup {}", TABLE + i));
                ways.push(("0.0.0.0/0".to_owned(), &table));
            }
            for (to, table) in ways {
                line(format!("route add {to} via {GATEWAY} dev eth{i} onlink src {own}{table}{metrics}"));
            }
            if !six {
                continue;
            }
            line(format!("addr add {own6}/128 dev eth{i} nodad"));
            line(format!("neigh replace {GATEWAY6} lladdr {GATEWAY_MAC} dev eth{i} nud permanent"));
            let mut ways = vec![(format!("fd00:0:0:{i:x}::/64"), "")];
            if i == 0 {
                ways.push(("::/0".to_owned(), ""));
            }
            if several {
                ways.push(("::/0".to_owned(), &table));
            }
            for (to, table) in ways {
                // Without `src`: the address may not be usable yet, and is the interface's only one.
                line(format!("route add {to} via {GATEWAY6} dev eth{i}{table}{metrics}"));
            }
        }
        if let Some(Mptcp::Kernel(endpoints)) = &self.mptcp {
            text += &self.endpoints(endpoints);
        }
        text
    }

    /// Lines for `ip -6 -batch`, which takes rules for IPv4's otherwise.
    fn rules6(&self) -> String {
        let several = self.interfaces > 1 && self.mtu >= MIN_MTU6;
        let line = |i| format!("rule add from {} lookup {}\n", ipv6(self.number, i), TABLE + i);
        (0..self.interfaces).filter(|_| several).map(line).collect()
    }

    /// Who accepts connections announces its further addresses, and who opens them connects to what is announced. The
    /// route to an announced address says which own one is used, so subflows go from interface i to interface i. To
    /// let the opener connect from its further addresses by itself would not do: it would take the other end's first
    /// address for all of them.
    fn endpoints(&self, mptcp: &Endpoints) -> String {
        let extra = mptcp.subflows.saturating_sub(1);
        // Who does both also announces where it opens, and the other end tries in vain to connect there, since nobody
        // listens; the place this takes for a moment must not be that of another subflow.
        let both = mptcp.opens && mptcp.accepts;
        let places = (if both { 2 * extra } else { extra }).min(MAX_EXTRA_SUBFLOWS);
        let accepted = if mptcp.opens { extra } else { 0 };
        let mut text = format!("mptcp limits set subflows {places} add_addr_accepted {accepted}\n");
        for i in 1..self.interfaces.min(mptcp.subflows) {
            let backup = mptcp.backup.contains(&i);
            let kind = match (mptcp.accepts, backup) {
                (true, true) => "signal backup",
                (true, false) => "signal",
                (false, true) => "backup",
                (false, false) => continue,
            };
            let _ = writeln!(text, "mptcp endpoint add {} dev eth{i} {kind}", ipv4(self.number, i));
        }
        text
    }
}

/// A kernel setting.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    of: Of,
    name: String,
    value: String,
}

/// What has a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Every host: it must be there.
    Host,
    /// Some hosts, of some kernels: it may be missing.
    Some,
    /// A kernel as a whole: namespaces may not have it.
    Kernel,
}

impl Setting {
    fn new(of: Of, name: &str, value: &str) -> Setting {
        Setting { of, name: name.to_owned(), value: value.to_owned() }
    }
}

/// Lines that make settings: those that must be there (`w`) and others (`o`).
fn script(settings: &[Setting]) -> String {
    let mut text = "set -e\n\
         w() { { printf '%s\\n' \"$2\" >\"/proc/sys/$1\"; } 2>/dev/null || \
         { echo \"the kernel refuses $1 = $2\" >&2; exit 1; }; }\n\
         o() { { printf '%s\\n' \"$2\" >\"/proc/sys/$1\"; } 2>/dev/null || :; }\n"
        .to_owned();
    for Setting { of, name, value } in settings {
        let _ = writeln!(text, "{} {} {}", if *of == Of::Host { 'w' } else { 'o' }, path(name), quoted(value));
    }
    text
}

fn shell(line: String) -> Vec<String> {
    vec!["/bin/sh".to_owned(), "-c".to_owned(), line]
}

/// The file of a kernel setting below `/proc/sys`. As sysctl(8) reads names: the first separator decides which one it
/// is, so that names of interfaces may have dots.
fn path(name: &str) -> String {
    match name.find(['.', '/']) {
        Some(at) if name[at..].starts_with('.') => {
            let swap = |c| match c {
                '.' => '/',
                '/' => '.',
                other => other,
            };
            name.chars().map(swap).collect()
        }
        _ => name.to_owned(),
    }
}

/// As one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        Setup {
            number: 0,
            interfaces: 1,
            cards: Cards::Virtio,
            mtu: 1500,
            memory: 32 << 20,
            shared: false,
            stack: None,
            control: None,
            mptcp: None,
            local_ports: None,
            queue: None,
            sysctls: Vec::new(),
            lines: Vec::new(),
        }
    }

    fn stack() -> Stack {
        Stack {
            initial_window: None,
            min_rto_ms: None,
            quick_ack: false,
            receive_window: 6_000_000,
            first_window: None,
            send_buffer: None,
            ecn: None,
            timestamps: Some(false),
            sack: None,
            settings: Vec::new(),
        }
    }

    fn value(setup: &Setup, name: &str) -> Option<String> {
        setup.settings().into_iter().rev().find(|setting| setting.name == name).map(|setting| setting.value)
    }

    #[test]
    fn addresses_follow_from_the_host_and_the_interface() {
        assert_eq!(ipv4(0, 0), Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(ipv4(255, 3), Ipv4Addr::new(10, 3, 1, 0));
        assert_eq!(ipv4(65_534, 0), Ipv4Addr::new(10, 0, 255, 255));
        assert_eq!(ipv6(0, 0).to_string(), "fd00::1");
        assert_eq!(ipv6(254, 2).to_string(), "fd00:0:0:2::ff");
        assert_eq!(mac(0, 0), [2, 0, 0, 0, 0, 1]);
        assert_eq!(mac(65_534, 31), [2, 0, 31, 0, 0xff, 0xff]);
    }

    #[test]
    fn one_interface_has_two_routes_and_no_rules() {
        let text = setup().addresses();
        let expected = "\
link set lo up
link set eth0 mtu 1500 txqueuelen 1000 up
addr add 10.0.0.1/32 dev eth0
neigh replace 169.254.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent
route add 10.0.0.0/16 via 169.254.0.1 dev eth0 onlink src 10.0.0.1
route add 0.0.0.0/0 via 169.254.0.1 dev eth0 onlink src 10.0.0.1
addr add fd00::1/128 dev eth0 nodad
neigh replace fe80::1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent
route add fd00:0:0:0::/64 via fe80::1 dev eth0
route add ::/0 via fe80::1 dev eth0
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_socket_bound_to_an_address_leaves_by_its_interface() {
        let text = Setup { interfaces: 2, ..setup() }.addresses();
        for line in [
            "rule add from 10.1.0.1 lookup 101\n",
            "route add 0.0.0.0/0 via 169.254.0.1 dev eth1 onlink src 10.1.0.1 table 101\n",
            "route add ::/0 via fe80::1 dev eth1 table 101\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let rules = Setup { interfaces: 2, ..setup() }.rules6();
        assert_eq!(rules, "rule add from fd00::1 lookup 100\nrule add from fd00:0:0:1::1 lookup 101\n");
        assert_eq!(text.matches("0.0.0.0/0").count(), 3, "one way out, and one for each address");
    }

    #[test]
    fn a_small_mtu_leaves_no_ipv6() {
        assert!(!Setup { mtu: 1279, ..setup() }.addresses().contains("::"));
    }

    #[test]
    fn what_routes_can_carry_they_do() {
        let stack = Stack { initial_window: Some(12), min_rto_ms: Some(10), quick_ack: true, ..stack() };
        let metrics = Setup { stack: Some(stack), ..setup() }.metrics();
        assert_eq!(metrics, " initcwnd 12 rto_min 10ms quickack 1");
    }

    /// A kernel whose own values are another's patch must show it.
    #[test]
    fn what_is_not_said_is_not_set() {
        let own = Setup { stack: Some(Stack { timestamps: None, ..stack() }), ..setup() };
        assert_eq!(own.metrics(), "");
        for name in ["ecn", "timestamps", "sack", "dsack", "recovery", "early_retrans"] {
            assert_eq!(value(&own, &format!("net.ipv4.tcp_{name}")), None, "{name}");
        }
        // 1,448 bytes of payload for the 1,460 without timestamps: 170/256 of the buffer, not 171
        assert_eq!(value(&own, "net.ipv4.tcp_rmem").unwrap(), "4096 131072 9035295");
        let said = Stack { ecn: Some(false), timestamps: Some(true), sack: Some(true), ..stack() };
        let said = Setup { stack: Some(said), ..setup() };
        for (name, wanted) in [("ecn", "0"), ("timestamps", "1"), ("sack", "1")] {
            assert_eq!(value(&said, &format!("net.ipv4.tcp_{name}")).unwrap(), wanted, "{name}");
        }
        assert_eq!(value(&said, "net.ipv4.tcp_recovery"), None, "as the kernel has it");
    }

    #[test]
    fn settings_of_tcp() {
        let own = Setup { stack: Some(stack()), control: Some("cubic".into()), ..setup() };
        assert_eq!(value(&own, "net.ipv4.tcp_rmem").unwrap(), "4096 131072 8982457");
        assert_eq!(value(&own, "net.ipv4.tcp_wmem").unwrap(), "4096 16384 12000000");
        assert_eq!(value(&own, "net.ipv4.tcp_mem").unwrap(), "1024 1536 2048");
        assert_eq!(value(&own, "net.ipv4.tcp_timestamps").unwrap(), "0");
        assert_eq!(value(&own, "net.ipv4.tcp_congestion_control").unwrap(), "cubic");
        let reno = Setup {
            stack: Some(Stack { sack: Some(false), ecn: Some(true), receive_window: 1, ..stack() }),
            ..setup()
        };
        for (name, wanted) in [("sack", "0"), ("dsack", "0"), ("recovery", "0"), ("early_retrans", "0"), ("ecn", "1")] {
            assert_eq!(value(&reno, &format!("net.ipv4.tcp_{name}")).unwrap(), wanted, "{name}");
        }
        assert_eq!(value(&reno, "net.ipv4.tcp_rmem").unwrap(), "4096 8192 8192");
        let settings = vec![("net.ipv4.tcp_frto", "0".to_owned())];
        let small = Stack { first_window: Some(10_000), send_buffer: Some(8_000), settings, ..stack() };
        let small = Setup { stack: Some(small), ..setup() };
        assert_eq!(
            value(&small, "net.ipv4.tcp_rmem").unwrap(),
            "4096 20000 8982457",
            "half of the first is the window"
        );
        assert_eq!(value(&small, "net.ipv4.tcp_wmem").unwrap(), "4096 8000 8000");
        assert_eq!(value(&small, "net.ipv4.tcp_frto").unwrap(), "0");
    }

    #[test]
    fn what_is_of_the_whole_kernel_is_set_outside_of_namespaces() {
        let first = |shared| Setup { stack: Some(stack()), shared, ..setup() }.programs().remove(0).remove(2);
        let (alone, shared) = (first(false), first(true));
        assert!(alone.contains("\no net/ipv4/tcp_mem '1024 1536 2048'\n") && !alone.contains("nsenter"));
        let inside = shared.split("nsenter").next().unwrap();
        assert!(!inside.contains("tcp_mem") && inside.contains("\nw net/ipv4/tcp_rmem"), "{shared}");
        assert!(shared.contains("nsenter -t 1 -n /bin/sh -c 'set -e") && shared.contains("tcp_mem"), "{shared}");
    }

    #[test]
    fn the_users_settings_come_last() {
        let own = [("net.ipv4.tcp_ecn".to_owned(), "2".to_owned())].to_vec();
        let lines = vec!["true".to_owned()];
        let stack = Stack { ecn: Some(false), ..stack() };
        let setup = Setup { stack: Some(stack), sysctls: own, queue: Some("fq".into()), lines, ..setup() };
        let programs: Vec<String> = setup.programs().into_iter().map(|mut words| words.remove(2)).collect();
        assert!(programs[0].contains("\nw net/ipv4/tcp_ecn '0'\n"), "{}", programs[0]);
        assert!(programs[0].ends_with("END\n"));
        assert!(programs[1].ends_with("\nw net/ipv4/tcp_ecn '2'\n"), "{}", programs[1]);
        assert_eq!(programs[2], "tc -batch - <<'END'\nqdisc replace dev eth0 root fq\nEND\n");
        assert_eq!(programs[3], "true");
    }

    #[test]
    fn one_end_announces_and_the_other_connects() {
        let lines = |opens, accepts, backup: &[u32]| {
            let mptcp = Endpoints { subflows: 3, backup: backup.to_vec(), opens, accepts };
            Setup { interfaces: 3, ..setup() }.endpoints(&mptcp)
        };
        assert_eq!(lines(true, false, &[]), "mptcp limits set subflows 2 add_addr_accepted 2\n");
        assert_eq!(
            lines(false, true, &[2]),
            "mptcp limits set subflows 2 add_addr_accepted 0\n\
             mptcp endpoint add 10.1.0.1 dev eth1 signal\n\
             mptcp endpoint add 10.2.0.1 dev eth2 signal backup\n"
        );
        assert_eq!(
            lines(true, false, &[1]),
            "mptcp limits set subflows 2 add_addr_accepted 2\nmptcp endpoint add 10.1.0.1 dev eth1 backup\n"
        );
        assert!(lines(true, true, &[]).starts_with("mptcp limits set subflows 4 add_addr_accepted 2\n"));
    }

    #[test]
    fn a_program_that_manages_paths_has_them_to_itself() {
        let programs = Setup { mptcp: Some(Mptcp::Userspace), interfaces: 2, ..setup() }.programs();
        let text = &programs[0][2];
        assert!(text.contains("\nw net/mptcp/enabled '1'\n"), "{text}");
        assert!(text.contains("w net/mptcp/path_manager userspace; else w net/mptcp/pm_type 1; fi\n"), "{text}");
        assert!(!text.contains("\nmptcp ") && text.contains("rule add from 10.1.0.1 lookup 101"), "{text}");
    }

    #[test]
    fn dots_in_names_of_interfaces_stay() {
        assert_eq!(path("net.ipv4.conf.eth0/1.rp_filter"), "net/ipv4/conf/eth0.1/rp_filter");
        assert_eq!(path("net/ipv4/conf/eth0.1/rp_filter"), "net/ipv4/conf/eth0.1/rp_filter");
    }

    #[test]
    fn a_value_is_one_word() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }
}
