//! Headroom as SONiC computes it for chips whose constants are published, and memory in cells.

use headway_units::{Bytes, Rate, Span};

/// Frames of this size fill the fewest bytes of a cell.
const SMALLEST: u64 = 64;
/// Light in a cable, as SONiC has it: m/s.
const LIGHT: f64 = 198_000_000.0;
/// SONiC's tables are in units of this.
const KIB: f64 = 1024.0;

/// What a switch's chip adds to headroom. Sources: `ASIC_TABLE` of SONiC's design of computed headroom (`mac_phy_delay`,
/// `peer_response_time`, `cell_size`); the pipeline's 19 KiB are in the profiles for these chips since version 1.0.4 of the
/// configuration (sonic-utilities, `mellanox_buffer_migrator.py`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chip {
    /// Its name, as it is asked for.
    pub name: &'static str,
    /// Its memory is given out in cells of so many bytes.
    pub cell: Bytes,
    /// What its pipeline holds when it lets the sender go on (XON).
    pub pipeline: Bytes,
    /// What leaves its MAC and PHY before a pause, in units of 1,024 B.
    pub mac_phy: f64,
    /// What leaves the peer before it obeys, in the same units.
    pub peer_response: f64,
}

/// Chips whose constants are published.
pub const CHIPS: [Chip; 3] = [
    Chip { name: "spectrum", cell: Bytes::new(96), pipeline: Bytes::new(19_456), mac_phy: 0.8, peer_response: 3.8 },
    Chip { name: "spectrum-2", cell: Bytes::new(144), pipeline: Bytes::new(19_456), mac_phy: 0.8, peer_response: 3.8 },
    Chip { name: "spectrum-3", cell: Bytes::new(144), pipeline: Bytes::new(19_456), mac_phy: 0.8, peer_response: 3.8 },
];

impl Chip {
    /// The chip called `name`.
    pub fn find(name: &str) -> Option<Chip> {
        CHIPS.into_iter().find(|chip| chip.name == name)
    }

    /// What must find room beyond XOFF on a cable of this one-way `delay`: the lossless frame that was begun, and, in cells
    /// of the worst filling, a frame of `mtu` that the pause waits for, what is on the cable both ways, and what MAC, PHY
    /// and the peer take (`cfgmgr/buffer_headroom_mellanox.lua` of sonic-swss). Rounded up to a KiB. All frames
    /// have headers and checksum.
    pub fn xoff(&self, rate: Rate, delay: Span, mtu: Bytes, lossless: Bytes) -> Bytes {
        let cable = 2.0 * delay.as_secs_f64() * rate.bps() as f64 / 8.0;
        let counted = mtu.get() as f64 + cable + (self.mac_phy + self.peer_response) * KIB;
        let bytes = lossless.get() as f64 + counted * filling(self.cell);
        Bytes::new(((bytes / KIB).ceil() * KIB) as u64)
    }
}

/// The delay of a cable of so many metres, as SONiC reckons it.
pub fn cable_delay(metres: f64) -> Span {
    Span::from_secs_f64(metres / LIGHT)
}

/// The length of a cable of this delay, m.
pub fn cable_metres(delay: Span) -> f64 {
    delay.as_secs_f64() * LIGHT
}

/// How many times its bytes a stream of frames takes of memory in cells of `cell`, at worst: frames of a byte more than a
/// cell, or the smallest frames where two fit into a cell (SONiC's `worst_case_factor`).
pub fn filling(cell: Bytes) -> f64 {
    let cell = cell.get().max(1) as f64;
    if cell > 2.0 * SMALLEST as f64 { cell / SMALLEST as f64 } else { 2.0 * cell / (1.0 + cell) }
}

/// Cells of `cell` bytes that `bytes` of frames take, at worst.
pub fn cells(bytes: Bytes, cell: Bytes) -> u64 {
    (bytes.get() as f64 * filling(cell) / cell.get().max(1) as f64).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `xoff` in KiB by rate in Gb/s at 5, 40 and 300 m: sonic-utilities, `mellanox_buffer_migrator.py`, version 1.0.4, size
    /// less XON of `pg_lossless_RATE_LENGTH_profile`.
    const SPECTRUM: [(u64, [u64; 3]); 5] =
        [(10, [29, 29, 36]), (25, [29, 31, 47]), (40, [29, 32, 58]), (50, [29, 33, 65]), (100, [30, 38, 102])];
    const SPECTRUM_2: [(u64, [u64; 3]); 6] = [
        (10, [32, 33, 40]),
        (25, [32, 35, 53]),
        (40, [33, 37, 65]),
        (50, [33, 38, 74]),
        (100, [33, 43, 115]),
        (200, [35, 54, 199]),
    ];

    /// 33 published profiles: never less, and at most one step of rounding more.
    #[test]
    fn headroom_of_chips_is_the_published_one() {
        let (mtu, lossless) = (Bytes::new(9_100), Bytes::new(1_518));
        for (name, published) in [("spectrum", &SPECTRUM[..]), ("spectrum-2", &SPECTRUM_2[..])] {
            let chip = Chip::find(name).unwrap();
            for (gbps, row) in published {
                for (metres, kib) in [5.0, 40.0, 300.0].into_iter().zip(row) {
                    let found = chip.xoff(Rate::from_gbps(*gbps), cable_delay(metres), mtu, lossless).get();
                    let steps = found / 1024 - kib;
                    assert!(
                        found.is_multiple_of(1024) && steps <= 1,
                        "{name} {gbps} Gb/s {metres} m: {found}, {kib} KiB"
                    );
                }
            }
        }
        assert_eq!(Chip::find("tomahawk"), None);
    }

    /// 97 B take two cells of 96 B; two frames of 64 B fit into 144 B, and take a cell each.
    #[test]
    fn cells_are_counted_at_their_worst() {
        assert!((filling(Bytes::new(96)) - 192.0 / 97.0).abs() < 1e-12);
        assert!((filling(Bytes::new(144)) - 2.25).abs() < 1e-12);
        assert_eq!(cells(Bytes::new(97), Bytes::new(96)), 2);
        assert_eq!(cells(Bytes::new(64 * 1000), Bytes::new(144)), 1000);
        assert_eq!(cells(Bytes::ZERO, Bytes::new(96)), 0);
        assert!((cable_metres(cable_delay(300.0)) - 300.0).abs() < 1e-3);
    }
}
