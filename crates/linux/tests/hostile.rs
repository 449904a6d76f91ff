//! Whatever comes, no parser panics or reads what is not there.

use std::path::Path;

use headway_linux::diag::{Mptcp, Tcp};
use headway_linux::mptcp::{Endpoint, Event, Limits};
use headway_linux::netlink::codec::{Message, attributes, messages};
use headway_linux::netlink::generic::Family;
use headway_linux::route::{Address, Change, Link, Route, Rule};
use proptest::prelude::*;

/// All of them on the same bytes. What they say does not matter; whether any of them takes the bytes is counted.
fn parse_all(payload: &[u8]) -> usize {
    let changes = [16, 17, 20, 21].map(|kind| Message { kind, flags: 0, sequence: 0, payload });
    let outcomes = [2, 3].map(|kind| Message { kind, flags: 0x200, sequence: 0, payload });
    [
        Event::parse(payload).is_ok(),
        Endpoint::parse(payload).is_ok(),
        Limits::parse(payload).is_ok(),
        Family::parse(payload).is_ok(),
        Tcp::parse(payload).is_ok(),
        Mptcp::parse(payload).is_ok(),
        Link::parse(payload).is_ok(),
        Address::parse(payload).is_ok(),
        Route::parse(payload).is_ok(),
        Rule::parse(payload).is_ok(),
        changes.iter().any(|m| Change::parse(m).is_ok()),
        outcomes.iter().any(|m| m.outcome().is_ok()),
    ]
    .iter()
    .filter(|taken| **taken)
    .count()
}

/// What a read of a socket would be made into. Iterators end: each step takes some bytes.
fn read(datagram: &[u8]) -> usize {
    let mut taken = 0;
    for (steps, message) in messages(datagram).enumerate() {
        assert!(steps <= datagram.len() / 16);
        let Ok(message) = message else { continue };
        taken += parse_all(message.payload);
        for (steps, attribute) in attributes(message.payload).enumerate() {
            assert!(steps <= message.payload.len() / 4);
            taken += attribute.map_or(0, |a| a.nested().count());
        }
    }
    taken
}

/// Everything that was captured.
fn captured() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured");
    let mut list = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for datagram in text.split_once('\n').unwrap().1.split("\n\n") {
            list.push(datagram.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect());
        }
    }
    list
}

#[test]
fn every_message_is_cut_everywhere() {
    for datagram in captured() {
        for end in 0..datagram.len() {
            read(&datagram[..end]);
            // The header says what is left: the cut is inside the message.
            let mut datagram = datagram[..end].to_vec();
            if let Some(length) = datagram.first_chunk_mut::<4>() {
                *length = u32::try_from(end).unwrap().to_ne_bytes();
            }
            read(&datagram);
        }
    }
}

#[test]
fn a_cut_event_is_an_error_and_not_another_event() {
    let first = captured();
    let event = first.iter().find(|d| d.len() == 84 && d[16] == 1).expect("MPTCP_EVENT_CREATED");
    let whole = Event::parse(&event[16..]).unwrap();
    for end in 16..event.len() {
        match Event::parse(&event[16..end]) {
            Err(_) => {}
            // Cut behind the last attribute that counts.
            Ok(cut) => assert_eq!(cut, whole),
        }
    }
    // Padding behind the last attribute only.
    assert!(Event::parse(&event[16..event.len() - 24]).is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        read(&bytes);
        parse_all(&bytes);
    }

    #[test]
    fn captured_bytes_that_are_changed(which in any::<prop::sample::Index>(), changes in prop::collection::vec(
        (any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let all = captured();
        let mut datagram = which.get(&all).clone();
        if !datagram.is_empty() {
            for (place, byte) in changes {
                *place.get_mut(&mut datagram) = byte;
            }
            read(&datagram);
        }
    }
}
