//! Stands in for a kernel in tests and misbehaves: started as a guest would be, it does what the number in `UML_SEED`
//! says. Not of use by itself.
#![expect(clippy::disallowed_methods, reason = "a guest's seed comes by the environment")]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const START: u32 = 1;
const WAIT: u32 = 3;
const REQUEST: u32 = 2;
const GET: u32 = 4;

fn message(op: u32, sequence: u32, time: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(op.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(time.to_ne_bytes());
    bytes
}

fn vhost(request: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [request, 1 | 8, payload.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// A generator of our own: xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn main() -> std::io::Result<()> {
    let seed: u64 = std::env::var("UML_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let for_ever = || -> ! {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    };
    if seed == 0 {
        eprintln!("this kernel does not like to be started");
        std::process::exit(3);
    }
    if seed == 1 {
        for_ever();
    }
    let mut clock = UnixStream::connect("clock")?;
    let mut card = UnixStream::connect("card0")?;
    let mut answer = [0; 16];
    if seed != 2 {
        clock.write_all(&message(START, 1, 0))?;
        clock.read_exact(&mut answer)?;
    }
    match seed {
        2 | 3 => {
            println!("looping");
            for_ever()
        }
        4 => clock.write_all(&message(77, 2, 0))?,
        5 => clock.write_all(&message(6, 2, 0))?,
        6 => card.write_all(&[0xff; 12])?,
        7 => card.write_all(&vhost(99, &[]))?,
        8 => card.write_all(&vhost(9, &[1, 2, 3]))?,
        9 => card.write_all(&vhost(8, &[7, 0, 0, 0, 16, 0, 0, 0]))?,
        // half a message
        10 => card.write_all(&vhost(8, &[0; 8])[..14])?,
        11 => std::process::abort(),
        // asks to run at once, for ever
        12 => loop {
            clock.write_all(&message(REQUEST, 2, 0))?;
            clock.read_exact(&mut answer)?;
            clock.write_all(&message(WAIT, 3, 0))?;
            clock.read_exact(&mut answer)?;
        },
        // asks what time it is, for ever
        13 => loop {
            clock.write_all(&message(GET, 2, 0))?;
            clock.read_exact(&mut answer)?;
        },
        _ => {
            let mut random = Random(seed);
            for _ in 0..10_000 {
                let mut bytes = Vec::new();
                for _ in 0..random.next() % 6 {
                    let payload: Vec<u8> = (0..random.next() % 40).map(|_| (random.next() % 5) as u8).collect();
                    bytes.extend(vhost(
                        [1, 2, 3, 5, 8, 9, 10, 12, 15, 18, 24, 35][random.next() as usize % 12],
                        &payload,
                    ));
                }
                if random.next().is_multiple_of(50) {
                    bytes.push(random.next() as u8);
                }
                card.write_all(&bytes)?;
                if random.next().is_multiple_of(4) {
                    clock.write_all(&message(random.next() as u32 % 11, 9, random.next() % 3_000_000_000))?;
                }
                card.set_nonblocking(true)?;
                let _ = card.read(&mut [0; 4096]);
                card.set_nonblocking(false)?;
            }
        }
    }
    for_ever()
}
