//! The set-up of a kernel host, from the transports of all traffic that it has.

use std::sync::Arc;

use headway_agent::protocol;
use headway_fabric::NodeId;
use headway_kernel::setup::{Cards, Endpoints, MAX_CARDS, MAX_HOSTS, Mptcp, Setup};
use headway_scenario::plan::PlanError;

use crate::context::Context;
use crate::kernels::{Host, Where, memory};
use crate::policy::{Multipath, Resolved};
use crate::roster::Roster;

/// The remedy for hosts without a lane for long flows.
const LANES: &str = "a lane is an interface: take fewer short ones, more subflows, or hosts with more interfaces";

/// A traffic that a host has, with its transport.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenant<'a> {
    pub traffic: &'a str,
    pub resolved: &'a Resolved,
    /// Whether the host opens its connections.
    pub opens: bool,
    /// Whether the host accepts its connections.
    pub accepts: bool,
}

/// Sets `host` up for its `tenants`; `only_commands` if no flows are sent at all.
pub(crate) fn host(
    context: &Context<'_>,
    roster: &Roster<'_>,
    host: NodeId,
    tenants: &[Tenant<'_>],
    only_commands: bool,
) -> Result<Host, PlanError> {
    let member = &roster.kernels[&host];
    let name = context.network.name(host);
    let links = context.network.built.graph.interfaces(host).to_vec();
    if member.number >= MAX_HOSTS || links.len() > MAX_CARDS as usize {
        let number = member.number;
        let message =
            format!("`{name}` cannot be a kernel host: it is number {number} with {} interfaces", links.len());
        let help = format!("kernel hosts are among the first {MAX_HOSTS}, with at most {MAX_CARDS} interfaces");
        return Err(PlanError::new(&["hosts"], message).help(help));
    }
    let interfaces = links.len() as u32;
    let (mptcp, daemon) = multipath(context, &name, interfaces, tenants)?;
    let control = control(context, &name, tenants)?;
    let (policy, record) = (context.policy, &member.record);
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let of_policy = policy.linux.iter().flat_map(|linux| linux.sysctl.iter());
    let setup = Setup {
        number: member.number,
        interfaces,
        cards: if roster.place == Where::Namespaces { Cards::Veth } else { Cards::Virtio },
        mtu: context.scenario.topology.mtu.get() as u32,
        memory: memory(record),
        shared: roster.can_share(member),
        stack: Some(tenants[0].resolved.stack.clone()),
        control,
        mptcp,
        // what the kernel chooses by itself must not be in the way of the ports that flows are given
        local_ports: (!only_commands).then_some((60_000, 65_535)),
        queue: policy.linux.as_ref().and_then(|linux| linux.qdisc.clone()),
        sysctls: of_policy.chain(record.sysctl.iter()).map(own).collect(),
        lines: policy.linux.iter().flat_map(|linux| &linux.setup).chain(&record.setup).cloned().collect(),
    };
    Ok(Host { name, record: Arc::clone(record), links, setup, daemon })
}

/// MPTCP of the host `name`, and the daemon that manages its paths, if there is one. All that a host has one of must be
/// the same for its tenants: everything but the congestion control.
fn multipath(
    context: &Context<'_>,
    name: &str,
    interfaces: u32,
    tenants: &[Tenant<'_>],
) -> Result<(Option<Mptcp>, Option<protocol::Daemon>), PlanError> {
    let policy = context.policy;
    let subflows = |own: &Multipath| own.subflows.unwrap_or(interfaces).min(interfaces).min(8);
    let (mut mptcp, mut daemon) = (None, None);
    let mut first: Option<(&Multipath, &str)> = None;
    for tenant in tenants {
        let differ = |other: &str| {
            let message = format!(
                "under policy `{}`, traffic `{other}` and `{}` want different settings of host `{name}`, which has one \
                 kernel for both",
                policy.name, tenant.traffic
            );
            let fault = PlanError::new(&["policy", context.number, "traffic", tenant.traffic], message);
            fault.help("on one kernel host only `control` and the protocol may differ")
        };
        if tenant.resolved.stack != tenants[0].resolved.stack {
            return Err(differ(tenants[0].traffic));
        }
        let Some(own) = &tenant.resolved.mptcp else { continue };
        if let Some((known, other)) = first {
            let alike =
                subflows(known) == subflows(own) && (&known.backup, &known.daemon) == (&own.backup, &own.daemon);
            if !alike {
                return Err(differ(other));
            }
        } else {
            first = Some((own, tenant.traffic));
            mptcp = Some(if let Some(lanes) = &own.daemon {
                daemon = Some(lanes.program(subflows(own)).map_err(|what| {
                    let message = format!("policy `{}` on host `{name}` {what}", policy.name);
                    PlanError::new(&["policy", context.number], message).help(LANES)
                })?);
                Mptcp::Userspace
            } else {
                let backup = own.backup.clone();
                Mptcp::Kernel(Endpoints { subflows: subflows(own), backup, opens: false, accepts: false })
            });
        }
        if let Some(Mptcp::Kernel(endpoints)) = &mut mptcp {
            endpoints.opens |= tenant.opens;
            endpoints.accepts |= tenant.accepts;
        }
    }
    Ok((mptcp, daemon))
}

/// The congestion control of the host `name`: sockets of flows are given theirs, those of commands have the host's.
fn control(context: &Context<'_>, name: &str, tenants: &[Tenant<'_>]) -> Result<Option<String>, PlanError> {
    let is_command = |tenant: &&Tenant<'_>| {
        let mut all = context.scenario.traffic.iter();
        all.any(|traffic| traffic.name.as_str() == tenant.traffic && traffic.command().is_some())
    };
    let decides = tenants.iter().find(is_command).unwrap_or(&tenants[0]);
    let differs = |tenant: &&Tenant<'_>| tenant.resolved.control != decides.resolved.control;
    if let Some(other) = tenants.iter().filter(is_command).find(differs) {
        let message = format!(
            "under policy `{}`, commands `{}` and `{}` want different congestion controls of host `{name}`",
            context.policy.name, decides.traffic, other.traffic
        );
        let path = ["policy", context.number, "traffic", other.traffic];
        return Err(PlanError::new(&path, message).help("run them on hosts of their own"));
    }
    let agreed = is_command(&decides) || !tenants.iter().any(|tenant| differs(&tenant));
    Ok(agreed.then(|| decides.resolved.control.clone()))
}
