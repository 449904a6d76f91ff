//! Writes a capture, for benchmarks: `generate FLOWS BYTES_OF_A_FLOW PAYLOAD [CONCURRENT] > FILE`.
//!
//! TCP connections from 65,536 clients to 256 servers, each with a handshake, its data in segments of PAYLOAD bytes with
//! an acknowledgement for every second, and FINs. CONCURRENT (default: 64) take turns, a segment each. The same arguments
//! give the same bytes.

use std::io::{self, BufWriter, Write};

use headway_capture::Address;
use headway_capture::packet::{ACK, FIN, SYN};
use headway_capture::synthetic::{Frame, PcapWriter};

/// Between packets, in nanoseconds: 1,500 bytes at 10 Gb/s.
const GAP: u64 = 1230;

#[derive(Clone, Copy)]
struct Flow {
    client: (Address, u16),
    server: (Address, u16),
    sent: u32,
    step: u8,
}

impl Flow {
    fn new(number: u64) -> Flow {
        // A permutation of the numbers (odd factor), so that neighbours in time are not neighbours in anything else.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        let client = [10, (mixed >> 8) as u8, mixed as u8, 1];
        let server = [172, 16, 0, (mixed >> 16) as u8];
        Flow {
            client: (Address::from(std::net::IpAddr::from(client)), (number >> 3) as u16 | 1024),
            server: (Address::from(std::net::IpAddr::from(server)), 80),
            sent: 0,
            step: 0,
        }
    }

    /// Its next packet, or `None` after the last.
    fn next(&mut self, bytes: u32, payload: u32) -> Option<Frame<'static>> {
        let client = |flags, sequence, acknowledgement, payload| Frame {
            source: self.client,
            destination: self.server,
            sequence,
            acknowledgement,
            flags,
            payload,
            id: 0,
            options: &[],
        };
        let server = |flags, sequence, acknowledgement| Frame {
            source: self.server,
            destination: self.client,
            ..client(flags, sequence, acknowledgement, 0)
        };
        let end = self.sent + 1;
        let (frame, step) = match self.step {
            0 => (client(SYN, 0, 0, 0), 1),
            1 => (server(SYN | ACK, 0, 1), 2),
            2 => (client(ACK, 1, 1, 0), 3),
            // Two segments and their acknowledgement.
            3 | 4 if self.sent < bytes => {
                let size = payload.min(bytes - self.sent);
                self.sent += size;
                (client(ACK, end, 1, size), self.step + 1)
            }
            5 => (server(ACK, 1, end), 3),
            3 | 4 => (client(ACK | FIN, end, 1, 0), 6),
            6 => (server(ACK | FIN, 1, end + 1), 7),
            7 => (client(ACK, end + 1, 2, 0), 8),
            _ => return None,
        };
        self.step = step;
        Some(frame)
    }
}

fn main() -> io::Result<()> {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let (flows, bytes, payload, concurrent) = match numbers[..] {
        [flows, bytes, payload] => (flows, bytes as u32, payload as u32, 64),
        [flows, bytes, payload, concurrent] => (flows, bytes as u32, payload as u32, concurrent),
        _ => {
            return Err(io::Error::other("usage: generate FLOWS BYTES_OF_A_FLOW PAYLOAD [CONCURRENT] > FILE"));
        }
    };
    let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut writer = PcapWriter::new(out, 1)?;
    let mut open: Vec<Flow> = (0..flows.min(concurrent)).map(Flow::new).collect();
    let (mut next, mut now) = (open.len() as u64, 1_700_000_000_000_000_000);
    let mut frame = Vec::new();
    while !open.is_empty() {
        let mut at = 0;
        while at < open.len() {
            if let Some(segment) = open[at].next(bytes, payload) {
                frame.clear();
                segment.ethernet(&[], &mut frame);
                writer.packet(now, &frame, frame.len() as u32)?;
                now += GAP;
                at += 1;
            } else if next < flows {
                open[at] = Flow::new(next);
                next += 1;
            } else {
                open.swap_remove(at);
            }
        }
    }
    writer.into_inner().flush()
}
