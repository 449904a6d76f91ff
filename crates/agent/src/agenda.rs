//! What a host has to do and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headway_agent::protocol::{Config, Host};

use crate::report::Failure;

/// Something to do. What is due at one time is done in this order; a place is one in the host's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// Take samples.
    Sample,
    /// End the run.
    End,
    /// Kill the command at this place.
    Kill(usize),
    /// Tell the command at this place to end.
    Stop(usize),
    /// Start the flow at this place.
    Flow(usize),
    /// Start the command at this place.
    Command(usize),
}

/// Everything a host still has to do.
pub struct Agenda<'a> {
    host: &'a Host,
    end_ns: u64,
    ended: bool,
    sample_ns: Option<u64>,
    flow: usize,
    command: usize,
    later: BinaryHeap<Reverse<(u64, Due)>>,
}

impl<'a> Agenda<'a> {
    /// From what the host is asked to do.
    pub fn new(config: &Config, host: &'a Host) -> Result<Self, Failure> {
        if config.end_ns < config.epoch_ns {
            return Err(Failure(format!("the end, {} ns, is before the epoch, {} ns", config.end_ns, config.epoch_ns)));
        }
        if !host.flows.is_sorted_by_key(|flow| flow.start_ns) {
            return Err(Failure("the flows are not in order of time".to_owned()));
        }
        if !host.commands.is_sorted_by_key(|command| command.start_ns) {
            return Err(Failure("the commands are not in order of time".to_owned()));
        }
        let sample_ns = match host.sample_ns {
            Some(0) => return Err(Failure("samples must be more than 0 ns apart".to_owned())),
            Some(step) => config.epoch_ns.checked_add(step),
            None => None,
        };
        Ok(Self { host, end_ns: config.end_ns, ended: false, sample_ns, flow: 0, command: 0, later: BinaryHeap::new() })
    }

    /// Adds something.
    pub fn add(&mut self, at_ns: u64, due: Due) {
        self.later.push(Reverse((at_ns, due)));
    }

    /// What is to be done next, and when. After the end that is only what was added.
    pub fn next(&self) -> Option<(u64, Due)> {
        let later = self.later.peek().map(|Reverse(next)| *next);
        if self.ended {
            return later;
        }
        let sample = self.sample_ns.map(|at| (at, Due::Sample));
        let flow = self.host.flows.get(self.flow).map(|flow| (flow.start_ns, Due::Flow(self.flow)));
        let command = self.host.commands.get(self.command).map(|c| (c.start_ns, Due::Command(self.command)));
        let end = Some((self.end_ns, Due::End));
        [sample, flow, command, end, later].into_iter().flatten().min()
    }

    /// Takes out what is to be done next if that is at this time at the latest.
    pub fn take(&mut self, until_ns: u64) -> Option<(u64, Due)> {
        let (at, due) = self.next().filter(|(at, _)| *at <= until_ns)?;
        match due {
            Due::Sample => self.sample_ns = at.checked_add(self.host.sample_ns.unwrap_or(u64::MAX)),
            Due::End => self.ended = true,
            Due::Flow(_) => self.flow += 1,
            Due::Command(_) => self.command += 1,
            Due::Kill(_) | Due::Stop(_) => _ = self.later.pop(),
        }
        Some((at, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_agent::protocol::{Command, Flow};

    fn flow(start_ns: u64) -> Flow {
        Flow {
            id: 0,
            start_ns,
            size: Some(1),
            sampled: false,
            mptcp: false,
            control: None,
            max_pacing_rate: None,
            connections: Vec::new(),
        }
    }

    fn command(start_ns: u64) -> Command {
        Command { name: "c".to_owned(), shell: "true".to_owned(), start_ns, stop_ns: None }
    }

    fn host() -> Host {
        Host {
            name: "h".to_owned(),
            interfaces: 0,
            setup: Vec::new(),
            daemons: Vec::new(),
            listeners: Vec::new(),
            expected: Vec::new(),
            flows: vec![flow(10), flow(20), flow(40)],
            commands: vec![command(20)],
            sample_ns: Some(10),
        }
    }

    fn config() -> Config {
        Config { epoch_ns: 10, end_ns: 40, files: false, names: [].into(), hosts: Vec::new() }
    }

    #[test]
    fn what_is_due_at_one_time_has_an_order_and_nothing_starts_at_the_end() {
        let host = host();
        let mut agenda = Agenda::new(&config(), &host).expect("valid");
        agenda.add(20, Due::Stop(7));
        agenda.add(50, Due::Kill(7));
        let mut all = Vec::new();
        while let Some(next) = agenda.take(u64::MAX) {
            all.push(next);
        }
        let expected = [
            (10, Due::Flow(0)),
            (20, Due::Sample),
            (20, Due::Stop(7)),
            (20, Due::Flow(1)),
            (20, Due::Command(0)),
            (30, Due::Sample),
            (40, Due::Sample),
            (40, Due::End),
            (50, Due::Kill(7)),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn nothing_is_taken_before_its_time() {
        let host = host();
        let mut agenda = Agenda::new(&config(), &host).expect("valid");
        assert_eq!(agenda.take(9), None);
        assert_eq!(agenda.next(), Some((10, Due::Flow(0))));
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let check = |change: fn(&mut Host)| {
            let mut host = host();
            change(&mut host);
            Agenda::new(&config(), &host).err().expect("refused").0
        };
        assert!(check(|host| host.sample_ns = Some(0)).contains("0 ns apart"));
        assert!(check(|host| host.flows.reverse()).contains("flows"));
        assert!(check(|host| host.commands.insert(0, command(30))).contains("commands"));
        let before = Config { end_ns: 9, ..config() };
        assert!(Agenda::new(&before, &host()).err().expect("refused").0.contains("before the epoch"));
    }
}
