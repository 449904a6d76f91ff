//! An application for kernel hosts in tests: connections of MPTCP whose bytes are known, and which end when they are told
//! to. Started as
//!
//! ```text
//! peer serve ADDRESS:PORT…                  takes in what is sent there, and answers how much of it was right
//! peer send ADDRESS:PORT BYTES [KEY=VALUE…] connections that send so much each
//! peer cut ADDRESS COUNT START STEP         resets the n-th subflow that is opened to ADDRESS n·STEP after START (µs)
//! ```
//!
//! `send` knows `from` (an address: plain TCP from there instead of MPTCP), `count` (of connections, 1), `gap` (µs between
//! their starts, 0), `chunk` and `every` (bytes, and µs between them: not faster than that), `life` and `step` (the n-th one
//! ends after `life` + n·`step` µs) and `end` (`wait` for the answer, `close`, or `reset`); with `pull=yes` the other end
//! sends. Each connection gives a line on stdout when it is over.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a program of kernel hosts, which have a clock"
)]

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use headway_linux::mptcp::{Command, Event, Events, PathManager};
use headway_linux::mptcp_socket;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", ref addresses @ ..] => serve(addresses),
        ["send", to, bytes, ref keys @ ..] => send(to.parse()?, bytes.parse()?, keys),
        ["cut", address, count, start, step] => cut(address.parse()?, count.parse()?, start.parse()?, step.parse()?),
        _ => Err("serve, send or cut".into()),
    }
}

/// The bytes from `start` on, as many as there is room for.
fn pattern(start: u64, bytes: &mut [u8]) {
    for (byte, at) in bytes.iter_mut().zip(start..) {
        let word = (at / 8).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        *byte = word[(at % 8) as usize];
    }
}

fn serve(addresses: &[&str]) -> Outcome {
    let mut listening = Vec::new();
    for address in addresses {
        let listener = mptcp_socket::listen(address.parse()?, 4096)?;
        listening.push(thread::spawn(move || -> io::Result<()> {
            loop {
                let (stream, peer) = listener.accept()?;
                thread::Builder::new().stack_size(64 << 10).spawn(move || {
                    let (mut right, mut announced) = (0, 0);
                    let end = match take(stream, &mut right, &mut announced) {
                        Ok(()) => String::new(),
                        Err(error) => format!(" {error}"),
                    };
                    println!("{peer} {right}/{announced}{end}");
                })?;
            }
        }));
    }
    for one in listening {
        one.join().expect("it does not panic")?;
    }
    Ok(())
}

/// In what a connection begins with: its other end sends.
const PULL: u64 = 1 << 63;

/// Reads what is announced in the first eight bytes, and answers with how much of it was right; or sends so much.
fn take(mut stream: TcpStream, right: &mut u64, announced: &mut u64) -> io::Result<()> {
    let mut word = [0; 8];
    stream.read_exact(&mut word)?;
    *announced = u64::from_le_bytes(word);
    if *announced & PULL != 0 {
        *announced &= !PULL;
        let mut buffer = vec![0; 16 << 10];
        while *right < *announced {
            let room = buffer.len().min((*announced - *right) as usize);
            pattern(*right, &mut buffer[..room]);
            stream.write_all(&buffer[..room])?;
            *right += room as u64;
        }
    } else {
        check(&mut stream, right, *announced)?;
        stream.write_all(&right.to_le_bytes())?;
    }
    match stream.read(&mut word)? {
        0 => Ok(()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Reads `bytes`, and counts those that are right.
fn check(stream: &mut TcpStream, right: &mut u64, bytes: u64) -> io::Result<()> {
    let (mut got, mut wanted) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    while *right < bytes {
        let count = stream.read(&mut got)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        pattern(*right, &mut wanted[..count]);
        if got[..count] != wanted[..count] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        *right += count as u64;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Wait,
    Close,
    Reset,
}

#[derive(Debug, Clone, Copy)]
struct Sender {
    to: SocketAddr,
    from: Option<IpAddr>,
    bytes: u64,
    chunk: usize,
    every: Duration,
    end: End,
    pull: bool,
}

fn send(to: SocketAddr, bytes: u64, keys: &[&str]) -> Outcome {
    let micros = |value: &str| value.parse().map(Duration::from_micros);
    let mut sender =
        Sender { to, from: None, bytes, chunk: 16 << 10, every: Duration::ZERO, end: End::Wait, pull: false };
    let (mut count, mut gap, mut life, mut step) = (1, Duration::ZERO, Duration::MAX, Duration::ZERO);
    for key in keys {
        match key.split_once('=').ok_or("KEY=VALUE")? {
            ("from", value) => sender.from = Some(value.parse()?),
            ("count", value) => count = value.parse()?,
            ("gap", value) => gap = micros(value)?,
            ("chunk", value) => sender.chunk = value.parse()?,
            ("every", value) => sender.every = micros(value)?,
            ("life", value) => life = micros(value)?,
            ("step", value) => step = micros(value)?,
            ("pull", "yes") => sender.pull = true,
            ("end", "wait") => sender.end = End::Wait,
            ("end", "close") => sender.end = End::Close,
            ("end", "reset") => sender.end = End::Reset,
            (key, value) => return Err(format!("{key} = {value}").into()),
        }
    }
    let start = Instant::now();
    let mut all = Vec::new();
    for n in 0..count {
        thread::sleep((gap * n).saturating_sub(start.elapsed()));
        let life = life.saturating_add(step * n);
        let run = move || {
            let what = sender.run(life).unwrap_or_else(|error| error.to_string());
            println!("{n}: {what}");
        };
        all.push(thread::Builder::new().stack_size(64 << 10).spawn(run)?);
    }
    for one in all {
        one.join().expect("it does not panic");
    }
    Ok(())
}

impl Sender {
    fn run(self, life: Duration) -> io::Result<String> {
        let began = Instant::now();
        let mut stream = match self.from {
            None => mptcp_socket::connect(self.to, None)?,
            Some(ip) => plain(self.to, ip)?,
        };
        if self.pull {
            stream.write_all(&(self.bytes | PULL).to_le_bytes())?;
            let mut right = 0;
            check(&mut stream, &mut right, self.bytes)?;
            return Ok(format!("{right} right"));
        }
        stream.write_all(&self.bytes.to_le_bytes())?;
        let mut buffer = vec![0; self.chunk];
        let (mut sent, mut chunks) = (0, 0);
        while sent < self.bytes {
            thread::sleep((self.every * chunks).saturating_sub(began.elapsed()));
            let room = buffer.len().min(usize::try_from(self.bytes - sent).unwrap_or(usize::MAX));
            pattern(sent, &mut buffer[..room]);
            let left = life.saturating_sub(began.elapsed());
            let count = if left.is_zero() {
                0
            } else {
                stream.set_write_timeout(Some(left).filter(|left| *left < Duration::from_secs(1 << 30)))?;
                match stream.write(&buffer[..room]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                    other => other?,
                }
            };
            if count == 0 {
                return self.over(&stream, sent);
            }
            sent += count as u64;
            chunks += 1;
        }
        if self.end == End::Wait {
            let mut word = [0; 8];
            stream.read_exact(&mut word)?;
            return Ok(format!("{} right", u64::from_le_bytes(word)));
        }
        thread::sleep(life.saturating_sub(began.elapsed()));
        self.over(&stream, sent)
    }

    /// Before the answer.
    fn over(self, stream: &TcpStream, sent: u64) -> io::Result<String> {
        if self.end == End::Reset {
            rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
        }
        Ok(format!("ended after {sent}"))
    }
}

/// A connection of plain TCP.
fn plain(to: SocketAddr, from: IpAddr) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family, SocketType::STREAM, None)?;
    bind(&socket, &SocketAddr::new(from, 0))?;
    connect(&socket, &to)?;
    Ok(socket.into())
}

fn cut(address: IpAddr, most: u64, start: u64, step: u64) -> Outcome {
    let (mut events, mut commands) = (Events::open()?, PathManager::open()?);
    let mut due: Vec<(Instant, Command)> = Vec::new();
    let mut count = 0;
    loop {
        let next = due.iter().map(|(time, _)| *time).min();
        let left = next.map(|next| next.saturating_duration_since(Instant::now()));
        let left = left.map(|left| left.try_into().expect("less than ages"));
        poll(&mut [PollFd::new(&events.as_fd(), PollFlags::IN)], left.as_ref())?;
        while let Some(event) = events.next()? {
            if let Event::SubflowEstablished(subflow) = event
                && subflow.pair.local.ip() == address
                && count < most
            {
                let after = Duration::from_micros(start + step * count);
                due.push((Instant::now() + after, Command::Destroy { token: subflow.token, pair: subflow.pair }));
                count += 1;
            }
        }
        let now = Instant::now();
        for (_, command) in due.extract_if(.., |(time, _)| *time <= now) {
            let Command::Destroy { pair, .. } = command else { continue };
            match commands.run(&command) {
                Ok(()) => println!("{} cut", pair.remote),
                Err(error) => println!("{} {error}", pair.remote),
            }
        }
    }
}
