"""Writes the capture of the first notebook, python/notebooks/rack.pcap.gz: headers of a rack's traffic.

    python python/tools/make_capture.py

A front-end asks eight servers, four of them at a time now and then; answers are of 2 to 60 KB. Two servers send copies
of 1 to 2 MB to a third. The same seed gives the same bytes. No host is real: addresses are those of documentation
(RFC 5737).
"""

from __future__ import annotations

import gzip
import heapq
import random
import struct
from pathlib import Path

FILE = Path(__file__).parent.parent / "notebooks" / "rack.pcap.gz"
SEED = 1
MSS = 1448
SYN, ACK, FIN = 0x02, 0x10, 0x01
# a rack of 1 Gb/s ports: a full frame every 12.3 us, round trips of 100 us
FRAME_NS, RTT_NS = 12_304, 100_000
BEGAN_NS = 1_700_000_000_000_000_000

Packet = tuple[int, bytes, int]


def frame(
    source: tuple[int, int], target: tuple[int, int], flags: int, numbers: tuple[int, int], data: int
) -> tuple[bytes, int]:
    """Give the headers of a segment and its length on the wire."""
    hosts = [bytes([192, 0, 2, host]) for host, _ in (source, target)]
    ethernet = b"".join(b"\x02\x00\x00\x00\x00" + host[3:] for host in reversed(hosts)) + b"\x08\x00"
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + data, 0, 0x4000, 64, 6, 0) + b"".join(hosts)
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], *numbers, 0x50, flags, 0xFFFF, 0, 0)
    headers = ethernet + ip + tcp
    return headers, len(headers) + data


def connection(sender: tuple[int, int], receiver: tuple[int, int], start: int, size: int) -> list[Packet]:
    """Give the packets of a connection over which `size` bytes are sent, as the receiver's port sees them."""
    packets: list[Packet] = []
    now = start

    def put(at: int, forth: bool, flags: int, numbers: tuple[int, int], data: int = 0) -> None:
        ends = (sender, receiver) if forth else (receiver, sender)
        packets.append((at, *frame(*ends, flags, numbers, data)))

    put(now, True, SYN, (0, 0))
    put(now + RTT_NS // 2, False, SYN | ACK, (0, 1))
    now += RTT_NS
    put(now, True, ACK, (1, 1))
    sent, window = 0, 10
    while sent < size:
        # slow start, a window a round trip
        for _ in range(window):
            if sent >= size:
                break
            data = min(MSS, size - sent)
            put(now, True, ACK, (1 + sent, 1), data)
            sent += data
            now += FRAME_NS
        put(now + RTT_NS // 2, False, ACK, (1, 1 + sent))
        now += RTT_NS
        window = min(2 * window, 64)
    put(now, True, ACK | FIN, (1 + size, 1))
    put(now + RTT_NS // 2, False, ACK | FIN, (1, 2 + size))
    put(now + RTT_NS, True, ACK, (2 + size, 2))
    return packets


def main() -> None:
    """Write the file."""
    draw = random.Random(SEED)
    front_end, store = 1, 20
    streams: list[list[Packet]] = []
    port = 40_000
    now = 0
    while now < 400_000_000:
        now += int(draw.expovariate(1 / 4e6))
        for server in draw.sample(range(11, 19), draw.choice([1, 1, 2, 4])):
            port += 1
            size = int(draw.triangular(2_000, 60_000, 8_000))
            streams.append(connection((server, 80), (front_end, port), now + draw.randrange(20_000), size))
    for number in range(6):
        port += 1
        size = draw.randrange(1_000_000, 2_000_000)
        start = number * 60_000_000 + draw.randrange(10_000_000)
        streams.append(connection((11 + number % 2, port), (store, 9000), start, size))
    with FILE.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as file:
        # nanoseconds, Ethernet
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 1))
        for at, headers, length in heapq.merge(*streams, key=lambda packet: packet[0]):
            seconds, nanos = divmod(BEGAN_NS + at, 1_000_000_000)
            file.write(struct.pack("<IIII", seconds, nanos, len(headers), length) + headers)


if __name__ == "__main__":
    main()
