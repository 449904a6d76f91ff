//! One guest: a process, its clock, its cards, and the loop that serves it while it runs.
#![expect(clippy::disallowed_types, reason = "only to see that a guest hangs; no result depends on it")]

pub(crate) mod clock;
mod process;
pub(crate) mod vhost;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use headway_units::Span;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};

use crate::card::{Busy, Card, CardSpec, Cpu};
use crate::epoch::EPOCH_NS;
use crate::error::GuestError;
use clock::{GUEST, Kick, Message, Op, Page};
use process::Process;
use vhost::{Envelope, Request};

/// What a guest is made of.
#[derive(Debug, Clone)]
pub(crate) struct GuestSpec<'a> {
    /// Its hosts, for errors.
    pub hosts: String,
    /// The kernel.
    pub linux: &'a Path,
    /// Its first files.
    pub initramfs: &'a Path,
    /// Programs that it mounts.
    pub system: &'a Path,
    /// Its own folder, which exists; it runs there, and its sockets are there: `clock`, and `card<n>` of card `n`.
    pub folder: PathBuf,
    /// Bytes of memory.
    pub memory: u64,
    /// Where its random numbers start.
    pub seed: u64,
    /// Each with the times (ns) at which its carrier goes, comes back, …
    pub cards: Vec<(CardSpec, Vec<u64>)>,
    pub cpus: Vec<Cpu>,
    /// Whether the kernel has our fast path.
    pub fast: bool,
    /// So long may a guest not answer, in wall time.
    pub patience: Duration,
    pub stop: Arc<AtomicBool>,
}

/// A card with its connections to the guest.
#[derive(Debug)]
struct Port {
    listener: Option<UnixListener>,
    socket: Option<UnixStream>,
    backchannel: Option<UnixStream>,
    card: Card,
    /// The guest has had a first interrupt from it, after which the fast path knows it.
    known: bool,
}

/// Where a guest stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Waiting,
    Gone,
}

/// A guest. All times are nanoseconds of its own clock.
#[derive(Debug)]
pub(crate) struct Guest {
    hosts: String,
    process: Process,
    clock: UnixStream,
    page: Page,
    ports: Vec<Port>,
    cpus: Vec<Busy>,
    state: State,
    /// When it wants to run; [`NEVER`] if it waits for an interrupt alone.
    request: u64,
    fast: bool,
    patience: Duration,
    stop: Arc<AtomicBool>,
    sequence: u32,
    /// When it was told to run last.
    ran: u64,
    /// It may run until then.
    limit: u64,
    /// The wall time that it may take to answer at most ends here.
    deadline: Instant,
    kicks: Vec<Kick>,
    /// Times it was told to run, and interrupts.
    pub runs: u64,
    pub calls: u64,
}

/// Later than any time of a guest.
pub(crate) const NEVER: u64 = i64::MAX as u64;

impl Guest {
    /// Starts a guest and lets it boot until it has nothing more to do before `until`.
    pub fn boot(spec: GuestSpec<'_>, until: u64) -> Result<Guest, GuestError> {
        let failed = |source: io::Error| GuestError::Start { hosts: spec.hosts.clone(), source };
        let listen = |name: String| listen(&spec.folder, &name);
        let clock = listen("clock".to_owned()).map_err(failed)?;
        let ports = spec.cards.iter().enumerate().map(|(n, (card, carrier))| {
            let listener = Some(listen(format!("card{n}"))?);
            let card = Card::new(*card, !spec.fast, carrier.clone());
            Ok(Port { listener, socket: None, backchannel: None, card, known: false })
        });
        let ports = ports.collect::<io::Result<Vec<Port>>>().map_err(failed)?;
        let mut process = Process::start(&spec).map_err(failed)?;
        let deadline = Instant::now() + spec.patience;
        clock.set_nonblocking(true).map_err(failed)?;
        let socket = loop {
            match clock.accept() {
                Ok((socket, _)) => break socket,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(failed(error)),
            }
            if spec.stop.load(Ordering::Relaxed) {
                return Err(GuestError::Interrupted);
            }
            if let Some(status) = process.ended() {
                let source = io::Error::other(format!("it ended with {status}: {}", process.console()));
                return Err(GuestError::Start { hosts: spec.hosts, source });
            }
            if Instant::now() > deadline {
                let source = io::Error::other(format!("it does not begin: {}", process.console()));
                return Err(GuestError::Start { hosts: spec.hosts, source });
            }
            let mut ready = [PollFd::new(&clock, PollFlags::IN)];
            wait(&mut ready, Duration::from_millis(100)).map_err(failed)?;
        };
        socket.set_nonblocking(false).map_err(failed)?;
        patient(&socket, spec.patience).map_err(failed)?;
        let page = Page::new().map_err(failed)?;
        let mut guest = Guest {
            hosts: spec.hosts,
            process,
            clock: socket,
            page,
            ports,
            cpus: spec.cpus.iter().map(|&cost| Busy { cost, until: 0 }).collect(),
            state: State::Running,
            request: NEVER,
            fast: spec.fast,
            patience: spec.patience,
            stop: spec.stop,
            sequence: 0,
            ran: 0,
            limit: until,
            deadline,
            kicks: Vec::new(),
            runs: 0,
            calls: 0,
        };
        guest.page.set_running(GUEST);
        guest.page.set_free_until(until);
        guest.serve()?;
        guest.go_on(until)?;
        for name in (0..guest.ports.len()).map(|n| format!("card{n}")).chain(["clock".to_owned()]) {
            let _ = std::fs::remove_file(spec.folder.join(name));
        }
        Ok(guest)
    }

    /// When it has something to do; [`NEVER`] if it waits for the network alone, or is gone.
    pub fn next(&self) -> u64 {
        if self.state == State::Gone {
            return NEVER;
        }
        self.ports.iter().fold(self.request, |next, port| next.min(port.card.next(&self.cpus[port.card.spec().cpu])))
    }

    /// Whether it has switched itself off.
    pub fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// The card `n`.
    pub fn card(&mut self, n: usize) -> &mut Card {
        &mut self.ports[n].card
    }

    /// The last lines of its console.
    pub fn console(&self) -> String {
        self.process.console()
    }

    /// Does all that comes before `until`, before which nothing arrives.
    pub fn go_on(&mut self, until: u64) -> Result<(), GuestError> {
        let (mut last, mut turns) = (0, 0);
        loop {
            let now = self.next();
            if now >= until || self.state == State::Gone {
                return Ok(());
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(GuestError::Interrupted);
            }
            turns = if now == last { turns + 1 } else { 0 };
            last = now;
            if turns > MAX_TURNS {
                return Err(self.gone("does not let time go on".to_owned()));
            }
            self.step(now, until)?;
        }
    }

    /// Does what is due at `now`.
    fn step(&mut self, now: u64, until: u64) -> Result<(), GuestError> {
        for n in 0..self.ports.len() {
            let port = &mut self.ports[n];
            if port.card.act(now, &mut self.cpus[port.card.spec().cpu]) {
                self.interrupt(n, now)?;
            }
        }
        if self.request > now || self.state == State::Gone {
            return Ok(());
        }
        self.request = NEVER;
        self.runs += 1;
        self.ran = now;
        let until = self
            .ports
            .iter()
            .fold(until, |until, port| until.min(port.card.next(&self.cpus[port.card.spec().cpu]).max(now + 1)));
        self.limit = until.min(NEVER);
        self.page.set_free_until(until);
        self.page.set_time(now);
        self.page.set_running(GUEST);
        self.page.clear_request();
        self.state = State::Running;
        self.sequence = self.sequence.wrapping_add(1);
        self.say(Message { op: Op::Run, sequence: self.sequence, time: now })?;
        self.serve()
    }

    /// Delivers the interrupts of card `n` at `now`, while the guest waits.
    fn interrupt(&mut self, n: usize, now: u64) -> Result<(), GuestError> {
        if self.ports[n].card.take_config_changed() {
            self.calls += 1;
            self.call(n, now, &vhost::config_changed())?;
        }
        for ring in 0..2 {
            if !std::mem::take(&mut self.ports[n].card.interrupts[ring]) {
                continue;
            }
            self.calls += 1;
            if self.fast && self.ports[n].known {
                self.page.interrupt(n as u32, ring as u32);
                self.request = self.request.min(now);
                continue;
            }
            self.ports[n].known = true;
            self.call(n, now, &vhost::call(ring as u32))?;
            if self.state == State::Gone {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Says something about card `n` to the guest, which waits, and waits for its answer.
    fn call(&mut self, n: usize, now: u64, message: &[u8]) -> Result<(), GuestError> {
        let Some(channel) = &self.ports[n].backchannel else { return Ok(()) };
        self.page.set_time(now);
        send_all(channel, message).map_err(|error| self.broken(&error))?;
        self.deadline = Instant::now() + self.patience;
        // it answers on the same channel, and may say something about time before
        loop {
            let channel = self.ports[n].backchannel.as_ref().expect("looked at above");
            let mut ready = [PollFd::new(channel, PollFlags::IN), PollFd::new(&self.clock, PollFlags::IN)];
            wait(&mut ready, TICK).map_err(|error| self.broken(&error))?;
            let (answered, said) = (!ready[0].revents().is_empty(), !ready[1].revents().is_empty());
            if answered {
                let mut answer = [0; vhost::CALL_ANSWER];
                receive_all(channel, &mut answer).map_err(|error| self.broken(&error))?;
                break;
            }
            if said {
                self.hear()?;
                if self.state == State::Gone {
                    return Ok(());
                }
            }
            self.patiently()?;
        }
        self.take_request();
        Ok(())
    }

    fn take_request(&mut self) {
        if let Some(time) = self.page.request() {
            self.page.clear_request();
            self.request = self.request.min(time.max(self.ran));
        }
    }

    /// Serves the guest until it waits or is gone.
    fn serve(&mut self) -> Result<(), GuestError> {
        self.deadline = Instant::now() + self.patience;
        let mut said_so_far = 0u32;
        while self.state == State::Running {
            // one that never stops talking hangs, too
            said_so_far = said_so_far.wrapping_add(1);
            if said_so_far.is_multiple_of(1024) {
                self.patiently()?;
            }
            let ports = self.ports.iter().map(|port| match &port.socket {
                Some(socket) => socket.as_fd(),
                None => port.listener.as_ref().map_or(self.clock.as_fd(), AsFd::as_fd),
            });
            let all = ports.chain([self.clock.as_fd()]);
            let mut ready: Vec<PollFd<'_>> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            wait(&mut ready, TICK).map_err(|error| self.broken(&error))?;
            let mut said = 0u64;
            for (n, fd) in ready.iter().enumerate() {
                said |= u64::from(!fd.revents().is_empty()) << n;
            }
            drop(ready);
            if said == 0 {
                self.patiently()?;
                continue;
            }
            // cards first: the last doorbell comes before the guest is gone
            let clock = self.ports.len();
            let mut heard = false;
            for n in 0..clock {
                if said >> n & 1 == 1 && (self.ports[n].socket.is_some() || self.ports[n].listener.is_some()) {
                    self.hear_card(n)?;
                    heard = true;
                }
            }
            if said >> clock & 1 == 1 && !heard {
                self.hear()?;
            }
        }
        Ok(())
    }

    /// Looks whether the guest may go on not answering.
    fn patiently(&mut self) -> Result<(), GuestError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(GuestError::Interrupted);
        }
        if let Some(status) = self.process.ended() {
            return Err(self.gone(format!("has ended with {status}")));
        }
        if Instant::now() > self.deadline {
            let seconds = self.patience.as_secs();
            return Err(self.gone(format!("has not answered for {seconds} s of wall time and seems to hang")));
        }
        Ok(())
    }

    /// Handles a message about time.
    fn hear(&mut self) -> Result<(), GuestError> {
        let mut bytes = [0; Message::SIZE];
        if receive_all(&self.clock, &mut bytes).is_err() {
            self.take_kicks();
            self.state = State::Gone;
            return Ok(());
        }
        let Some(message) = Message::from_bytes(bytes) else {
            return Err(self.nonsense(&format!("sends an unknown message about time, {bytes:?}")));
        };
        let mut answer = Message { op: Op::Ack, time: 0, ..message };
        match message.op {
            Op::Start => {
                answer.time = u64::from(GUEST);
                return self.begin(answer);
            }
            Op::Wait => {
                self.take_kicks();
                self.page.set_running(0);
                self.state = State::Waiting;
                self.take_request();
                return Ok(());
            }
            Op::Ack => return Ok(()),
            Op::Request => self.request = self.request.min(message.time.max(self.ran)),
            Op::Get => answer.time = self.page.time(),
            // all guests begin at the same wall clock: that of the epoch of their runs
            Op::GetTimeOfDay => answer.time = TIME_OF_DAY.saturating_add(self.page.time()),
            Op::Update | Op::Broadcast => {}
            Op::Run | Op::FreeUntil => {
                return Err(self.nonsense(&format!("sends {:?}, which only the calendar may", message.op)));
            }
        }
        self.say(answer)
    }

    /// Answers the first message, with the page that the guest shares with us.
    fn begin(&mut self, answer: Message) -> Result<(), GuestError> {
        if self.fast {
            let shortest = self.ports.iter().map(|port| port.card.shortest()).min();
            self.page.set_lookahead(shortest.unwrap_or(1).max(1));
        }
        let log = std::fs::File::options().write(true).open("/dev/null").map_err(|error| self.broken(&error))?;
        let files = [self.page.file(), log.as_fd()];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&files));
        let bytes = answer.to_bytes();
        let parts = [io::IoSlice::new(&bytes)];
        rustix::net::sendmsg(&self.clock, &parts, &mut control, SendFlags::NOSIGNAL)
            .map_err(|error| self.broken(&error.into()))?;
        Ok(())
    }

    fn say(&mut self, message: Message) -> Result<(), GuestError> {
        match send_all(&self.clock, &message.to_bytes()) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.state = State::Gone;
                Ok(())
            }
            Err(error) => Err(self.broken(&error)),
        }
    }

    /// Handles a message about card `n`.
    fn hear_card(&mut self, n: usize) -> Result<(), GuestError> {
        self.take_kicks();
        let port = &mut self.ports[n];
        let Some(socket) = &port.socket else {
            let listener = port.listener.take().expect("looked at before");
            let (socket, _) = listener.accept().map_err(|error| self.broken(&error))?;
            patient(&socket, self.patience).map_err(|error| self.broken(&error))?;
            self.ports[n].socket = Some(socket);
            return Ok(());
        };
        let (header, files) = match receive_header(socket) {
            Ok(Some(received)) => received,
            Ok(None) => {
                // the guest has let go of the card
                port.socket = None;
                return Ok(());
            }
            Err(error) => return Err(self.broken(&error)),
        };
        let nonsense = |guest: &Guest, what: String| Err(guest.nonsense(&what));
        let (number, flags, size) = match vhost::header(header) {
            Ok(header) => header,
            Err(what) => return nonsense(self, what),
        };
        let mut payload = [0; vhost::LONGEST];
        let payload = &mut payload[..size];
        receive_all(socket, payload).map_err(|error| self.broken(&error))?;
        let mut envelope = match Envelope::parse(number, flags, payload, files) {
            Ok(envelope) => envelope,
            Err(what) => return nonsense(self, what),
        };
        let port = &mut self.ports[n];
        let mut reply = None;
        match &mut envelope.request {
            Request::Kick { ring } => {
                let now = self.page.time().clamp(self.ran, self.limit);
                let cpu = &mut self.cpus[port.card.spec().cpu];
                port.card.kick(now, *ring, None, cpu);
                let next = port.card.next_sent().max(now + 1);
                if next < self.page.free_until() {
                    self.page.set_free_until(next);
                }
            }
            Request::SetBackchannel(_) => {
                let request = std::mem::replace(&mut envelope.request, Request::SetOwner);
                if let Request::SetBackchannel(file) = request {
                    let channel = UnixStream::from(file);
                    if let Err(error) = patient(&channel, self.patience) {
                        return Err(self.broken(&error));
                    }
                    self.ports[n].backchannel = Some(channel);
                }
            }
            request => match port.card.configure(request) {
                Ok(payload) => reply = payload,
                Err(what) => return nonsense(self, what),
            },
        }
        if let Some(answer) = envelope.answer(reply.as_deref())
            && let Some(socket) = &self.ports[n].socket
        {
            send_all(socket, &answer).map_err(|error| self.broken(&error))?;
        }
        Ok(())
    }

    /// Handles the doorbells that the fast path wrote down.
    fn take_kicks(&mut self) {
        if !self.fast {
            return;
        }
        let mut kicks = std::mem::take(&mut self.kicks);
        self.page.take_kicks(&mut kicks);
        for kick in &kicks {
            if let Some(port) = self.ports.get_mut(kick.card as usize) {
                let now = kick.time.clamp(self.ran, self.limit);
                port.card.kick(now, kick.queue, Some(kick.available), &mut self.cpus[port.card.spec().cpu]);
            }
        }
        self.kicks = kicks;
    }

    fn now(&self) -> String {
        Span::from_nanos(self.ran.saturating_sub(EPOCH_NS)).to_string()
    }

    fn gone(&self, what: String) -> GuestError {
        GuestError::Gone { hosts: self.hosts.clone(), what, at: self.now(), console: self.console() }
    }

    fn broken(&self, error: &io::Error) -> GuestError {
        self.gone(format!("cannot be talked to any more ({error})"))
    }

    fn nonsense(&self, what: &str) -> GuestError {
        GuestError::Protocol { hosts: self.hosts.clone(), what: what.to_owned(), console: self.console() }
    }
}

/// A guest that has acted so often at one instant will not come to an end.
const MAX_TURNS: u32 = 100_000;

/// How often a wait is interrupted to look at what else may have happened.
const TICK: Duration = Duration::from_millis(200);

/// The time of day at the guests' time zero: 2023-11-14 22:13:20 UTC.
const TIME_OF_DAY: u64 = 1_700_000_000_000_000_000;

/// Listens in `folder`, however long its name is.
fn listen(folder: &Path, name: &str) -> io::Result<UnixListener> {
    use std::os::fd::AsRawFd;
    let directory = std::fs::File::open(folder)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

/// Half a message must not hold us up for ever.
fn patient(socket: &UnixStream, patience: Duration) -> io::Result<()> {
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))
}

fn wait(ready: &mut [PollFd<'_>], most: Duration) -> io::Result<()> {
    let most = rustix::event::Timespec::try_from(most).expect("a fraction of a second");
    match rustix::event::poll(ready, Some(&most)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn send_all(to: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(&to, bytes, SendFlags::NOSIGNAL) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn receive_all(from: impl AsFd, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::read(&from, &mut *bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => bytes = &mut bytes[n..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The header of a message and the files that came with it; `None` if the other end is closed.
fn receive_header(from: &UnixStream) -> io::Result<Option<([u8; vhost::HEADER], Vec<OwnedFd>)>> {
    let mut header = [0; vhost::HEADER];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut parts = [io::IoSliceMut::new(&mut header)];
        match rustix::net::recvmsg(from, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Ok(received) => break received.bytes,
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::CONNRESET) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    };
    if received == 0 {
        return Ok(None);
    }
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(list) = message {
            files.extend(list);
        }
    }
    receive_all(from, &mut header[received..])?;
    Ok(Some((header, files)))
}
