//! Programs of a scenario on its kernel hosts.

use headway_fabric::NodeId;
use headway_scenario::plan::PlanError;
use headway_scenario::schema::CommandRecord;

use crate::context::Context;
use crate::kernels::Command;
use crate::policy::Resolved;
use crate::roster::Roster;

/// The programs of a scenario.
#[derive(Debug)]
pub(crate) struct Commands<'a> {
    pub commands: Vec<Command>,
    /// How TCP of their hosts is set up, by traffic.
    pub transports: Vec<(&'a str, Resolved)>,
}

impl<'a> Commands<'a> {
    /// The programs of the scenario.
    pub fn new(context: &Context<'a>, roster: &Roster<'_>) -> Result<Commands<'a>, PlanError> {
        let scenario = context.scenario;
        let (mut commands, mut transports) = (Vec::new(), Vec::new());
        for (index, traffic) in scenario.traffic.iter().enumerate() {
            let Some(record) = traffic.command().filter(|_| traffic.takes_part(scenario)) else { continue };
            let name = &*traffic.name;
            let fault = |key: &str, message: String| PlanError::new(&["traffic", &index.to_string(), key], message);
            let hosts = context.network.group(&record.on);
            if hosts.iter().any(|host| !roster.kernels.contains_key(host)) {
                let message = format!("traffic `{name}` is a program, and the hosts of `{}` are modelled", record.on);
                let help = format!(
                    "programs need kernel hosts: set kind = \"linux\" in hosts.{}, or run with --hosts linux",
                    record.on
                );
                return Err(fault("on", message).help(help));
            }
            let count = record.hosts.map_or(hosts.len(), |n| n as usize);
            if count > hosts.len() {
                let message =
                    format!("`traffic.{name}.hosts` is more than the {} hosts of `{}`", hosts.len(), record.on);
                return Err(fault("hosts", message));
            }
            for (place, &host) in hosts.iter().take(count).enumerate() {
                commands.push(command(name, record, host, &context.network.name(host), place));
            }
            transports.push((name, context.resolve(name)?));
        }
        Ok(Commands { commands, transports })
    }
}

/// A program of a policy: it is there before the first flow, and no traffic can have its name.
pub(crate) fn beside(number: usize, line: &str, host: NodeId) -> Command {
    let traffic = format!("run.{number}").into();
    Command { traffic, host, shell: line.to_owned(), start: None, stop: None }
}

fn command(traffic: &str, record: &CommandRecord, host: NodeId, name: &str, place: usize) -> Command {
    Command {
        traffic: traffic.into(),
        host,
        shell: record.run.replace("{host}", name).replace("{index}", &place.to_string()),
        start: Some(record.start),
        stop: record.stop,
    }
}
