//! What this process may do.

use rustix::thread::{CapabilitySet, capabilities};

/// What the daemons need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// `CAP_NET_ADMIN`: to give commands to the path manager, to change routes, rules and sysctls below `net`, to see
    /// subflow information of other processes' sockets.
    pub net_admin: bool,
    /// `CAP_SYS_ADMIN`: to enter other network namespaces.
    pub sys_admin: bool,
}

impl Capabilities {
    /// The calling thread's effective ones. Where it is in another user namespace than the network namespace belongs to,
    /// they do not count there.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn effective() -> std::io::Result<Self> {
        let effective = capabilities(None)?.effective;
        Ok(Self {
            net_admin: effective.contains(CapabilitySet::NET_ADMIN),
            sys_admin: effective.contains(CapabilitySet::SYS_ADMIN),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_proc() {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|l| l.strip_prefix("CapEff:\t")).unwrap();
        let bits = u64::from_str_radix(line, 16).unwrap();
        let expected = Capabilities { net_admin: bits & 1 << 12 != 0, sys_admin: bits & 1 << 21 != 0 };
        assert_eq!(Capabilities::effective().unwrap(), expected);
    }
}
