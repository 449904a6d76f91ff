"""Units: ``5 * us`` is the text ``"5us"`` wherever a scenario wants a quantity.

Scenarios take quantities as text with a unit (``"100Gbps"``, ``"2us"``, ``"64KiB"``), as a number times a unit of this
module, or, for times, as :class:`datetime.timedelta`. A bare number is an error.

Times: ``ps``, ``ns``, ``us``, ``ms``, ``s``, ``minute``, ``hour``. Rates: ``bps``, ``kbps``, ``Mbps``, ``Gbps``,
``Tbps``. Data: ``B``, ``KB``, ``MB``, ``GB``, ``TB`` (powers of 1000), ``KiB``, ``MiB``, ``GiB``, ``TiB`` (powers of
1024), ``pkt`` (packets, for limits of queues).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real

__all__ = [
    "GB",
    "KB",
    "MB",
    "TB",
    "B",
    "Gbps",
    "GiB",
    "KiB",
    "Mbps",
    "MiB",
    "Quantity",
    "Tbps",
    "TiB",
    "Unit",
    "bps",
    "hour",
    "kbps",
    "minute",
    "ms",
    "ns",
    "pkt",
    "ps",
    "s",
    "us",
]


@dataclass(frozen=True)
class Quantity:
    """A number with a unit.

    Parameters
    ----------
    number : float
        Not negative, finite.
    unit : str
        As scenarios write it.

    Examples
    --------
    >>> from headway.units import us
    >>> str(2.5 * us)
    '2.5us'
    """

    number: float
    unit: str

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, Real):
            raise TypeError(f"a quantity is a number with a unit, not {self.number!r}")
        if not math.isfinite(self.number) or self.number < 0:
            raise ValueError(f"a quantity is finite and not negative, unlike {self.number!r}")

    def __str__(self) -> str:
        # scenarios know no exponents
        number = self.number if isinstance(self.number, int) else float(self.number)
        return f"{Decimal(str(number)):f}{self.unit}"


@dataclass(frozen=True)
class Unit:
    """A unit; a number times it is a :class:`Quantity`.

    Parameters
    ----------
    name : str
        As scenarios write it.
    """

    name: str

    def __mul__(self, number: float) -> Quantity:
        return Quantity(number, self.name)

    __rmul__ = __mul__


ps, ns, us, ms, s = Unit("ps"), Unit("ns"), Unit("us"), Unit("ms"), Unit("s")
minute, hour = Unit("min"), Unit("h")
bps, kbps, Mbps, Gbps, Tbps = Unit("bps"), Unit("kbps"), Unit("Mbps"), Unit("Gbps"), Unit("Tbps")
B, KB, MB, GB, TB = Unit("B"), Unit("KB"), Unit("MB"), Unit("GB"), Unit("TB")
KiB, MiB, GiB, TiB = Unit("KiB"), Unit("MiB"), Unit("GiB"), Unit("TiB")
pkt = Unit("pkt")
