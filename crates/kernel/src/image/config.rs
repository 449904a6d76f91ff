//! The kernel's configuration: what it must have, and what it says about the kernel.

use std::collections::BTreeMap;

/// Ours, which `make allnoconfig` completes.
pub const FRAGMENT: &str = include_str!("../../data/kernel.config");

/// Timer ticks per second. Linux keeps TCP's timers in ticks; those of User-Mode Linux, 100, would round them to 10 ms.
pub const HZ: u32 = 1000;

/// Without these, kernel hosts do not work as they are documented to.
const NEEDED: [(&str, &str); 24] = [
    ("UML", "a kernel that runs as a program"),
    ("64BIT", "x86-64"),
    ("STATIC_LINK", "one file that needs no libraries"),
    ("UML_TIME_TRAVEL_SUPPORT", "time from outside"),
    ("HIGH_RES_TIMERS", "timers in nanoseconds"),
    ("VIRTIO_UML", "network cards"),
    ("VIRTIO_NET", "network cards"),
    ("HOSTFS", "folders from outside"),
    ("BLK_DEV_INITRD", "its first files"),
    ("BINFMT_ELF", "programs"),
    ("BINFMT_SCRIPT", "scripts"),
    ("PROC_FS", "/proc"),
    ("PROC_SYSCTL", "settings"),
    ("SYSFS", "/sys"),
    ("TMPFS", "/tmp"),
    ("MULTIUSER", "users"),
    ("NET_NS", "several hosts in one kernel"),
    ("PACKET", "captures"),
    ("UNIX", "sockets within a host"),
    ("INET_TCP_DIAG", "what `ss` tells"),
    ("IPV6", "IPv6"),
    ("MPTCP", "MPTCP"),
    ("MPTCP_IPV6", "MPTCP over IPv6"),
    ("NET_SCHED", "queueing disciplines"),
];

/// Congestion controls whose symbol is not their name in capitals.
const CONTROLS: [(&str, &str); 1] = [("HSTCP", "highspeed")];
/// Symbols of congestion controls that are no controls.
const NOT_CONTROLS: [&str; 1] = ["ADVANCED"];

/// Queueing disciplines that are always there with `NET_SCHED` (net/sched/sch_fifo.c, sch_generic.c, sch_mq.c).
const ALWAYS: [&str; 6] = ["bfifo", "mq", "noqueue", "pfifo", "pfifo_fast", "pfifo_head_drop"];
/// Symbols of queueing disciplines that are none, or have other names.
const QUEUES: [(&str, &[&str]); 5] =
    [("DEFAULT", &[]), ("FIFO", &[]), ("MQPRIO_LIB", &[]), ("INGRESS", &["clsact", "ingress"]), ("TEQL", &["teql0"])];

/// A complete configuration, as in `.config`.
#[derive(Debug)]
pub struct Config(BTreeMap<String, String>);

impl Config {
    /// Reads `CONFIG_NAME=value` lines; the rest are comments.
    pub fn parse(text: &str) -> Config {
        let line = |line: &str| {
            let (name, value) = line.trim().strip_prefix("CONFIG_")?.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        Config(text.lines().filter_map(line).collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| value == "y")
    }

    /// What it lacks of what is needed.
    pub fn missing(&self) -> Vec<String> {
        let lacks = NEEDED.iter().filter(|(name, _)| !self.has(name));
        let mut missing: Vec<String> = lacks.map(|(name, what)| format!("CONFIG_{name} ({what})")).collect();
        if self.hz() != HZ {
            missing.push(format!("CONFIG_HZ={HZ} (timers in milliseconds)"));
        }
        missing
    }

    /// What a fragment asks for and did not get.
    pub fn refused(&self, fragment: &str) -> Vec<String> {
        let asked = Config::parse(fragment).0.into_iter().filter(|(_, value)| value != "n");
        let refused = asked.filter(|(name, value)| self.0.get(name) != Some(value));
        refused.map(|(name, value)| format!("CONFIG_{name}={value}")).collect()
    }

    /// Timer ticks per second.
    pub fn hz(&self) -> u32 {
        self.0.get("HZ").and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// The names of its congestion controls, sorted.
    pub fn controls(&self) -> Vec<String> {
        let mut names = vec!["reno".to_owned()];
        for symbol in self.enabled("TCP_CONG_").filter(|symbol| !NOT_CONTROLS.contains(symbol)) {
            let other = CONTROLS.iter().find(|(known, _)| *known == symbol).map(|(_, name)| (*name).to_owned());
            names.push(other.unwrap_or_else(|| symbol.to_lowercase()));
        }
        names.sort_unstable();
        names
    }

    /// The names of its queueing disciplines, sorted.
    pub fn queues(&self) -> Vec<String> {
        if !self.has("NET_SCHED") {
            return Vec::new();
        }
        let mut names: Vec<String> = ALWAYS.iter().map(ToString::to_string).collect();
        for symbol in self.enabled("NET_SCH_") {
            match QUEUES.iter().find(|(known, _)| *known == symbol) {
                Some((_, others)) => names.extend(others.iter().map(ToString::to_string)),
                None => names.push(symbol.to_lowercase()),
            }
        }
        names.sort_unstable();
        names
    }

    fn enabled<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(|(_, value)| *value == "y").filter_map(move |(name, _)| name.strip_prefix(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_have_the_names_the_kernel_knows() {
        let config = "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_HSTCP=y\nCONFIG_TCP_CONG_BBR=y\n\
                      # CONFIG_TCP_CONG_CDG is not set\nCONFIG_DEFAULT_TCP_CONG=\"bbr\"\n";
        assert_eq!(Config::parse(config).controls(), ["bbr", "highspeed", "reno"]);
    }

    #[test]
    fn queues_have_the_names_tc_knows() {
        let config = "CONFIG_NET_SCHED=y\nCONFIG_NET_SCH_FQ_CODEL=y\nCONFIG_NET_SCH_INGRESS=y\nCONFIG_NET_SCH_FIFO=y\n\
                      CONFIG_NET_SCH_MQPRIO_LIB=y\n# CONFIG_NET_SCH_DEFAULT is not set\n";
        let queues = Config::parse(config).queues();
        let wanted =
            ["bfifo", "clsact", "fq_codel", "ingress", "mq", "noqueue", "pfifo", "pfifo_fast", "pfifo_head_drop"];
        assert_eq!(queues, wanted);
        assert!(Config::parse("CONFIG_NET_SCH_FQ=y\n").queues().is_empty());
    }

    #[test]
    fn our_fragment_asks_for_all_that_is_needed() {
        // UML is the architecture, and HZ is set in the source.
        let complete = format!("{FRAGMENT}CONFIG_UML=y\nCONFIG_HZ={HZ}\n");
        assert_eq!(Config::parse(&complete).missing(), Vec::<String>::new());
    }

    #[test]
    fn what_is_missing_is_named() {
        let complete = format!("{FRAGMENT}CONFIG_UML=y\nCONFIG_HZ=100\n").replace("CONFIG_MPTCP=y", "");
        let missing = Config::parse(&complete).missing();
        assert_eq!(missing, ["CONFIG_MPTCP (MPTCP)", "CONFIG_HZ=1000 (timers in milliseconds)"]);
    }

    #[test]
    fn what_a_fragment_does_not_get_is_named() {
        let config = Config::parse("CONFIG_A=y\nCONFIG_B=3\n");
        let refused = config.refused("CONFIG_A=y\nCONFIG_B=4\n# CONFIG_C is not set\nCONFIG_D=n\nCONFIG_E=y\n");
        assert_eq!(refused, ["CONFIG_B=4", "CONFIG_E=y"]);
    }
}
