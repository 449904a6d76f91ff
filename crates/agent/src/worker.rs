//! One host: listens, sends its flows, runs its commands, reports.
//!
//! A single thread waits for sockets, for commands to be over and for the next thing on its agenda. In a guest it takes
//! no time but where it asks for the time, so it asks only where something is to be reported: not for what is done by
//! the agenda, whose times it knows.

use std::collections::{BTreeMap, VecDeque};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::sync::Arc;

use headway_agent::protocol::{Config, Host, Report};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use crate::agenda::{Agenda, Due};
use crate::clock::now_ns;
use crate::command::Command;
use crate::connection::info::Addresses;
use crate::connection::listener::Listener;
use crate::connection::receiver::{self, Read, Receiver};
use crate::connection::sender::{CHUNK, Sender, Step};
use crate::report::{Failure, Writer, because};
use crate::{daemon, setup, sys};

/// How long a command has between being told to end and being killed.
const GRACE_NS: u64 = 100_000_000;
/// Events taken at a time.
const EVENTS: usize = 256;

/// What an event is of. The lower bits of its number say which one.
const KIND: u64 = 0xff << 56;
const TIMER: u64 = 0;
const LISTENER: u64 = 1 << 56;
const RECEIVER: u64 = 2 << 56;
const SENDER: u64 = 3 << 56;
const COMMAND: u64 = 4 << 56;
const NOTICE: u64 = 5 << 56;

/// A host at work.
struct Worker<'a> {
    host: &'a Host,
    place: usize,
    share: &'a Path,
    report: &'a mut Writer,
    agenda: Agenda<'a>,
    addresses: Addresses,
    epoll: OwnedFd,
    timer: OwnedFd,
    armed_ns: Option<u64>,
    /// The timer has fired and is readable until it is set again.
    fired: bool,
    listeners: Vec<Listener>,
    /// By number. Numbers are not used again, so that an event can not be taken for one of a later connection, and
    /// are in order of opening, so that reports are.
    receivers: BTreeMap<u64, Receiver>,
    senders: BTreeMap<u64, Sender>,
    /// Daemons among them.
    commands: BTreeMap<u64, (Command, OwnedFd)>,
    /// Where daemons say how they are, which is of no interest once they are ready.
    notices: Vec<UnixDatagram>,
    opened: u64,
    zeros: Arc<Vec<u8>>,
    /// The long connections that are still to come: their sizes, by where they come from and arrive.
    expected: BTreeMap<(SocketAddr, u16), VecDeque<Option<u64>>>,
    ended: bool,
}

/// Sets the host at this place up and runs it to the end. `folder` is for its daemons.
pub fn run(config: &Config, place: usize, share: &Path, folder: &Path, report: &mut Writer) -> Result<(), Failure> {
    let host = config.hosts.get(place).ok_or_else(|| Failure(format!("there is no host {place}")))?;
    let agenda = Agenda::new(config, host)?;
    setup::run(&host.setup)?;
    let start = |asked| daemon::start(asked, share, place, folder, config.epoch_ns);
    let daemons = host.daemons.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let listeners = host.listeners.iter().map(Listener::open).collect::<Result<Vec<_>, _>>()?;
    let addresses = Addresses::new(sys::addresses().map_err(because("the addresses cannot be read"))?);
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(because("no epoll"))?;
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(because("no timer"))?;
    let mut worker = Worker {
        host,
        place,
        share,
        report,
        agenda,
        addresses,
        epoll,
        timer,
        armed_ns: None,
        fired: false,
        listeners,
        receivers: BTreeMap::new(),
        senders: BTreeMap::new(),
        commands: BTreeMap::new(),
        notices: Vec::new(),
        opened: 0,
        zeros: Arc::new(vec![0; CHUNK]),
        expected: BTreeMap::new(),
        ended: false,
    };
    for expected in &host.expected {
        worker.expected.entry((expected.peer, expected.port)).or_default().push_back(expected.size);
    }
    worker.watch_first()?;
    for daemon in daemons {
        worker.take_over(daemon)?;
    }
    let at_ns = now_ns();
    if at_ns > config.epoch_ns {
        let late = (at_ns - config.epoch_ns) as f64 / 1e6;
        return Err(Failure(format!("set-up ended {late} ms after the epoch")));
    }
    worker.report.add_now(&Report::Ready { at_ns })?;
    worker.serve()?;
    worker.report.add_now(&Report::Done)
}

impl Worker<'_> {
    fn watch(&self, source: impl AsFd, number: u64, events: EventFlags) -> Result<(), Failure> {
        epoll::add(&self.epoll, source, EventData::new_u64(number), events).map_err(because("cannot wait for events"))
    }

    fn watch_first(&self) -> Result<(), Failure> {
        self.watch(&self.timer, TIMER, EventFlags::IN)?;
        for (place, listener) in self.listeners.iter().enumerate() {
            self.watch(&listener.socket, LISTENER | place as u64, EventFlags::IN)?;
        }
        Ok(())
    }

    fn number(&mut self, kind: u64) -> u64 {
        self.opened += 1;
        kind | self.opened
    }

    fn serve(&mut self) -> Result<(), Failure> {
        let mut buffer = [const { MaybeUninit::<Event>::uninit() }; EVENTS];
        while !(self.ended && self.nothing_runs()) {
            self.arm()?;
            let events = match epoll::wait(&self.epoll, &mut buffer, None) {
                Ok((events, _)) => events,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(because("cannot wait for events")(error)),
            };
            // Receivers that were found to have something at one time share one reading of the clock.
            let mut clock = None;
            for event in events {
                let (number, flags) = (event.data.u64(), event.flags);
                match number & KIND {
                    LISTENER => self.accept((number & !KIND) as usize)?,
                    RECEIVER => self.receive(number, flags, &mut clock)?,
                    SENDER => self.send(number, flags)?,
                    COMMAND => self.command_over(number)?,
                    NOTICE => daemon::discard(&self.notices[(number & !KIND) as usize]),
                    _ => self.due()?,
                }
            }
        }
        Ok(())
    }

    /// Sets the timer to what is next.
    fn arm(&mut self) -> Result<(), Failure> {
        let next = self.agenda.next().map(|(at, _)| at);
        if next == self.armed_ns && !self.fired {
            return Ok(());
        }
        // A time of 0 switches the timer off.
        let at = next.map_or(0, |at| at.max(1));
        let it_value = Timespec { tv_sec: (at / 1_000_000_000) as i64, tv_nsec: (at % 1_000_000_000) as _ };
        let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval, it_value })
            .map_err(because("cannot set the timer"))?;
        self.armed_ns = next;
        self.fired = false;
        Ok(())
    }

    /// Does what the timer was set for. To set it again also makes it unreadable again.
    fn due(&mut self) -> Result<(), Failure> {
        self.fired = true;
        let Some(until_ns) = self.armed_ns else { return Ok(()) };
        while let Some((at_ns, due)) = self.agenda.take(until_ns) {
            match due {
                Due::Sample => self.sample(at_ns)?,
                Due::End => self.end(at_ns)?,
                Due::Flow(place) => self.start_flow(place)?,
                Due::Command(place) => self.start_command(at_ns, place)?,
                Due::Stop(number) => self.stop(at_ns, number as u64),
                Due::Kill(number) => self.kill(number as u64),
            }
        }
        Ok(())
    }

    fn accept(&mut self, place: usize) -> Result<(), Failure> {
        while let Some(receiver) = self.listeners.get(place).map(Listener::accept).transpose()?.flatten() {
            let number = self.number(RECEIVER);
            let receiver = self.receivers.entry(number).or_insert(receiver);
            let ends = receiver.ends();
            let size = self.expected.get_mut(&ends).and_then(VecDeque::pop_front);
            let what = match size {
                Some(size) => receiver.hand_over(size, now_ns).map_err(because("no thread for a connection"))?.as_fd(),
                None => receiver.socket.as_fd(),
            };
            let data = EventData::new_u64(number);
            epoll::add(&self.epoll, what, data, receiver::WAITS_FOR).map_err(because("cannot wait for events"))?;
        }
        Ok(())
    }

    fn receive(&mut self, number: u64, flags: EventFlags, clock: &mut Option<u64>) -> Result<(), Failure> {
        let Some(receiver) = self.receivers.get_mut(&number) else { return Ok(()) };
        let outcome = match receiver.handed_back() {
            Some(outcome) => outcome,
            None => receiver.read(flags, || *clock.get_or_insert_with(now_ns)),
        };
        if outcome != Read::Open {
            let report = receiver.over(outcome == Read::Ended);
            self.receivers.remove(&number);
            self.report.add(&report)?;
        }
        Ok(())
    }

    fn start_flow(&mut self, place: usize) -> Result<(), Failure> {
        let flow = &self.host.flows[place];
        for (connection, ends) in flow.connections.iter().enumerate() {
            let connection = connection as u32;
            match Sender::open(flow, connection, *ends) {
                Ok(sender) => {
                    let number = self.number(SENDER);
                    self.watch(&sender.socket, number, Sender::WAITS_FOR)?;
                    self.senders.insert(number, sender);
                }
                Err(error) => self.report.add(&Report::Sent {
                    flow: flow.id,
                    connection,
                    error: Some(error),
                    subflows: Vec::new(),
                })?,
            }
        }
        Ok(())
    }

    fn send(&mut self, number: u64, flags: EventFlags) -> Result<(), Failure> {
        let Some(sender) = self.senders.get_mut(&number) else { return Ok(()) };
        let handed_back = sender.is_handed_over();
        let step = if handed_back {
            sender.handed_back(&self.addresses)
        } else {
            sender.event(flags, &self.zeros, &self.addresses)
        };
        let data = EventData::new_u64(number);
        let error = match step {
            Step::Wait => return Ok(()),
            // the socket was taken out when the thread got it
            Step::WaitFor(events) if handed_back => {
                return epoll::add(&self.epoll, &sender.socket, data, events)
                    .map_err(because("cannot wait for events"));
            }
            Step::WaitFor(events) => {
                return epoll::modify(&self.epoll, &sender.socket, data, events)
                    .map_err(because("cannot wait for events"));
            }
            Step::HandOver => {
                epoll::delete(&self.epoll, &sender.socket).map_err(because("cannot wait for events"))?;
                let zeros = Arc::clone(&self.zeros);
                let done = sender.hand_over(zeros).map_err(because("no thread for a connection"))?;
                return epoll::add(&self.epoll, done, data, EventFlags::IN).map_err(because("cannot wait for events"));
            }
            Step::Done => None,
            Step::Failed(error) => Some(error),
        };
        let report = sender.over(error);
        self.senders.remove(&number);
        self.report.add(&report)
    }

    fn sample(&mut self, at_ns: u64) -> Result<(), Failure> {
        for sender in self.senders.values_mut() {
            for sample in sender.sample(at_ns, &self.addresses) {
                self.report.add(&sample)?;
            }
        }
        for receiver in self.receivers.values_mut() {
            if let Some(sample) = receiver.sample(at_ns) {
                self.report.add(&sample)?;
            }
        }
        Ok(())
    }

    fn start_command(&mut self, at_ns: u64, place: usize) -> Result<(), Failure> {
        let asked = &self.host.commands[place];
        let (command, over) = Command::start(asked, self.share, self.place, now_ns)?;
        let number = self.number(COMMAND);
        self.watch(&over, number, EventFlags::IN)?;
        self.commands.insert(number, (command, over));
        if let Some(stop_ns) = asked.stop_ns {
            self.agenda.add(stop_ns.max(at_ns), Due::Stop(number as usize));
        }
        Ok(())
    }

    /// Keeps a daemon that is ready.
    fn take_over(&mut self, daemon: daemon::Daemon) -> Result<(), Failure> {
        let number = self.number(COMMAND);
        self.watch(&daemon.over, number, EventFlags::IN)?;
        self.commands.insert(number, (daemon.command, daemon.over));
        self.watch(&daemon.notices, NOTICE | self.notices.len() as u64, EventFlags::IN)?;
        self.notices.push(daemon.notices);
        Ok(())
    }

    fn command_over(&mut self, number: u64) -> Result<(), Failure> {
        let Some((command, over)) = self.commands.get_mut(&number) else { return Ok(()) };
        epoll::delete(&self.epoll, &*over).map_err(because("cannot wait for events"))?;
        let report = command.over(now_ns())?;
        self.report.add_now(&report)
    }

    fn stop(&mut self, at_ns: u64, number: u64) {
        if let Some((command, _)) = self.commands.get_mut(&number)
            && command.is_there()
            && command.stop()
        {
            self.agenda.add(at_ns.saturating_add(GRACE_NS), Due::Kill(number as usize));
        }
    }

    fn kill(&mut self, number: u64) {
        if let Some((command, _)) = self.commands.get_mut(&number) {
            command.kill();
        }
    }

    /// Reports what is unfinished and tells the commands to end. What happens to connections from now on is of no
    /// interest any more.
    fn end(&mut self, at_ns: u64) -> Result<(), Failure> {
        self.ended = true;
        for sender in self.senders.values_mut() {
            self.report.add(&sender.unfinished(&self.addresses))?;
        }
        for receiver in self.receivers.values_mut() {
            self.report.add(&receiver.unfinished(at_ns))?;
        }
        self.report.write()?;
        let running: Vec<u64> = self.commands.keys().copied().collect();
        for number in running {
            self.stop(at_ns, number);
        }
        self.senders.clear();
        self.receivers.clear();
        self.listeners.clear();
        Ok(())
    }

    fn nothing_runs(&self) -> bool {
        !self.commands.values().any(|(command, _)| command.is_there())
    }
}
