//! Packets in packets: IP in IP, GRE, VXLAN, Geneve, PPPoE, and mirrored traffic in ERSPAN.
//!
//! Sources: RFC 2003 and RFC 4213 (IP in IP), RFC 2784 and RFC 2890 (GRE), RFC 7348 (VXLAN), RFC 8926 (Geneve),
//! RFC 2516 and RFC 1661 (PPPoE), draft-foschiano-erspan-03.

use super::{Content, Place, be16, beyond, by_type, ip};

/// Packets are looked into as deep as this: a mirror of an overlay over an underlay has three.
pub(super) const DEEPEST: u8 = 8;

/// Ethernet in GRE and Geneve.
const BRIDGED: u16 = 0x6558;
/// ERSPAN, types I and II, and type III.
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;

/// What an IP header of protocol `protocol` has behind it, at `place`, if that is a tunnel.
#[cold]
pub(super) fn in_ip(data: &[u8], protocol: u8, place: Place) -> Option<Content<'_>> {
    match protocol {
        4 | 41 => Some(deeper(place, |place| ip(data, place))),
        47 => Some(gre(data, place)),
        17 => in_udp(data, place),
        _ => None,
    }
}

/// The place within one more tunnel, unless there are too many.
fn deeper<'a>(place: Place, look: impl FnOnce(Place) -> Content<'a>) -> Content<'a> {
    if place.depth >= DEEPEST { Content::TooDeep } else { look(Place { depth: place.depth + 1, ..place }) }
}

fn gre(data: &[u8], place: Place) -> Content<'_> {
    let (Some(flags), Some(kind)) = (be16(data, place.at), be16(data, place.at + 2)) else { return Content::Cut };
    // Version 1 is PPTP's, and routing (RFC 1701) was given up.
    if flags & 0x4007 != 0 {
        return Content::OtherIp(47);
    }
    let optional = [0x8000, 0x2000, 0x1000].into_iter().filter(|flag| flags & flag != 0).count();
    let place = place.behind(4 + 4 * optional);
    let sequenced = flags & 0x1000 != 0;
    match kind {
        BRIDGED => deeper(place, |place| by_type(data, place.behind(12))),
        // Type I has no header of its own, and no sequence number before it.
        ERSPAN if !sequenced => deeper(place, |place| by_type(data, place.behind(12))),
        ERSPAN => deeper(place, |place| by_type(data, place.behind(8 + 12))),
        ERSPAN_3 => {
            // With O, the last bit, a header for the platform follows.
            let Some(&last) = data.get(place.at + 11) else { return Content::Cut };
            let header = if last & 1 == 1 { 20 } else { 12 };
            deeper(place, |place| by_type(data, place.behind(header + 12)))
        }
        _ => deeper(place, |place| beyond(data, kind, place)),
    }
}

/// Tunnels over UDP, by the port that the receiver has for them.
fn in_udp(data: &[u8], place: Place) -> Option<Content<'_>> {
    let port = be16(data, place.at + 2)?;
    let inner = place.behind(8);
    match port {
        // The registered one, and Linux' from before it was. The flag says that there is a network's number.
        4789 | 8472 => {
            let flags = data.get(inner.at)?;
            (flags & 0x08 != 0).then(|| deeper(inner, |place| by_type(data, place.behind(8 + 12))))
        }
        6081 => {
            let (&first, kind) = (data.get(inner.at)?, be16(data, inner.at + 2)?);
            if first >> 6 != 0 {
                return None;
            }
            let place = inner.behind(8 + usize::from(first & 0x3f) * 4);
            Some(deeper(place, |place| match kind {
                BRIDGED => by_type(data, place.behind(12)),
                _ => beyond(data, kind, place),
            }))
        }
        _ => None,
    }
}

/// A session of PPPoE.
#[cold]
pub(super) fn pppoe(data: &[u8], place: Place) -> Content<'_> {
    let (Some(head), Some(protocol)) = (be16(data, place.at), be16(data, place.at + 6)) else { return Content::Cut };
    match (head, protocol) {
        (0x1100, 0x0021 | 0x0057) => deeper(place, |place| ip(data, place.behind(8))),
        (0x1100, 0x0281) => deeper(place, |place| beyond(data, 0x8847, place.behind(8))),
        _ => Content::NotIp,
    }
}
