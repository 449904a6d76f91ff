//! The guest's side of virtual time: messages on a socket, and the page of memory that both sides see.
//!
//! Source: `include/uapi/linux/um_timetravel.h` and `arch/um/kernel/time.c` of Linux. We are the calendar and client 0;
//! every guest has a page and a socket of its own and is client 1 of it, which gives each a clock of its own.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use vm_memory::{FileOffset, MmapRegion, VolatileMemory};

/// What a message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    Ack,
    Start,
    Request,
    Wait,
    Get,
    Update,
    Run,
    FreeUntil,
    GetTimeOfDay,
    Broadcast,
}

/// `struct um_timetravel_msg`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub op: Op,
    pub sequence: u32,
    /// Nanoseconds.
    pub time: u64,
}

impl Message {
    pub const SIZE: usize = 16;

    pub fn to_bytes(self) -> [u8; Message::SIZE] {
        let mut bytes = [0; Message::SIZE];
        bytes[0..4].copy_from_slice(&(self.op as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    /// `None` if the operation is unknown.
    pub fn from_bytes(bytes: [u8; Message::SIZE]) -> Option<Message> {
        const OPS: [Op; 10] = [
            Op::Ack,
            Op::Start,
            Op::Request,
            Op::Wait,
            Op::Get,
            Op::Update,
            Op::Run,
            Op::FreeUntil,
            Op::GetTimeOfDay,
            Op::Broadcast,
        ];
        let word = |at: usize| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let time = u64::from(word(8)) | u64::from(word(12)) << 32;
        Some(Message { op: *OPS.get(word(0) as usize)?, sequence: word(4), time })
    }
}

/// `struct um_timetravel_schedshm` with two clients.
#[derive(Debug)]
pub(crate) struct Page {
    memory: MmapRegion,
    file: OwnedFd,
}

const HEADER: usize = 4096;
const CLIENT: usize = 128;
const CLIENTS: usize = 2;
const LENGTH: usize = HEADER + CLIENTS * CLIENT;

const VERSION: usize = 0;
const LEN: usize = 4;
const FREE_UNTIL: usize = 8;
const CURRENT_TIME: usize = 16;
const RUNNING: usize = 24;
const MAX_CLIENTS: usize = 26;
const CAPABILITIES: usize = 0;
const FLAGS: usize = 4;
const REQUEST: usize = 8;

/// The client that the guest is; 0 is the calendar.
pub(crate) const GUEST: u16 = 1;

const GUEST_AT: usize = HEADER + GUEST as usize * CLIENT;

// The fast path of our patch to the kernel (data/patches): pending interrupts come with RUN as bits, two per card, and
// doorbells are written down with their times and read at WAIT.
const FAST_INTERRUPTS: usize = GUEST_AT + 24;
const FAST_LOOKAHEAD: usize = GUEST_AT + 32;
const FAST_COUNT: usize = 1024;
const FAST_KICKS: usize = 1032;
const FAST_MOST: usize = 120;

/// A doorbell that was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kick {
    pub time: u64,
    pub card: u32,
    pub queue: u32,
    /// The ring's index of available buffers then.
    pub available: u16,
}

impl Page {
    /// A page at time zero.
    pub fn new() -> io::Result<Page> {
        use rustix::fs::{MemfdFlags, SealFlags};
        let file = rustix::fs::memfd_create("headway-clock", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        rustix::fs::ftruncate(&file, LENGTH as u64)?;
        // a guest that made it shorter would end us with SIGBUS
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let copy = File::from(file.try_clone()?);
        let memory = MmapRegion::from_file(FileOffset::new(copy, 0), LENGTH).map_err(io::Error::other)?;
        let page = Page { memory, file };
        page.set_u32(VERSION, 2);
        page.set_u32(LEN, LENGTH as u32);
        page.set_u16(MAX_CLIENTS, CLIENTS as u16);
        // the calendar reads requests from the page
        page.set_u32(HEADER + CAPABILITIES, 1);
        Ok(page)
    }

    pub fn file(&self) -> rustix::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn set_u16(&self, at: usize, value: u16) {
        self.memory.get_ref(at).expect("inside the page").store(value);
    }

    fn set_u32(&self, at: usize, value: u32) {
        self.memory.get_ref(at).expect("inside the page").store(value);
    }

    fn set_u64(&self, at: usize, value: u64) {
        self.memory.get_ref(at).expect("inside the page").store(value);
    }

    fn u32(&self, at: usize) -> u32 {
        self.memory.get_ref(at).expect("inside the page").load()
    }

    fn u64(&self, at: usize) -> u64 {
        self.memory.get_ref(at).expect("inside the page").load()
    }

    /// The guest may go on by itself before this time.
    pub fn set_free_until(&self, time: u64) {
        self.set_u64(FREE_UNTIL, time);
    }

    pub fn free_until(&self) -> u64 {
        self.u64(FREE_UNTIL)
    }

    pub fn set_time(&self, time: u64) {
        self.set_u64(CURRENT_TIME, time);
    }

    /// The guest's time at its last doorbell.
    pub fn time(&self) -> u64 {
        self.u64(CURRENT_TIME)
    }

    /// Who runs: [`GUEST`] or, with 0, the calendar.
    pub fn set_running(&self, client: u16) {
        self.set_u16(RUNNING, client);
    }

    /// When the guest asked to run, if it did.
    pub fn request(&self) -> Option<u64> {
        (self.u32(GUEST_AT + FLAGS) & 1 != 0).then(|| self.u64(GUEST_AT + REQUEST))
    }

    pub fn clear_request(&self) {
        self.set_u32(GUEST_AT + FLAGS, 0);
    }

    /// Turns the fast path on. Doorbells do not stop the guest; it stops by itself so long after the first.
    pub fn set_lookahead(&self, nanos: u64) {
        self.set_u64(FAST_LOOKAHEAD, nanos);
    }

    /// Adds interrupts to those that come with the next RUN.
    pub fn interrupt(&self, card: u32, queue: u32) {
        let bits = self.u64(FAST_INTERRUPTS) | 1 << (2 * card + queue);
        self.set_u64(FAST_INTERRUPTS, bits);
    }

    /// The doorbells since the last call, in order.
    pub fn take_kicks(&self, kicks: &mut Vec<Kick>) {
        kicks.clear();
        let count = (self.u32(FAST_COUNT) as usize).min(FAST_MOST);
        if count == 0 {
            return;
        }
        self.set_u32(FAST_COUNT, 0);
        kicks.extend((0..count).map(|i| {
            let at = FAST_KICKS + 24 * i;
            Kick {
                time: self.u64(at),
                card: self.u32(at + 8),
                queue: self.u32(at + 12),
                available: self.u32(at + 16) as u16,
            }
        }));
    }
}
