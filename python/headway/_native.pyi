"""The native part of headway; use the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import final

from typing_extensions import CapsuleType

__all__ = [
    "Folder",
    "Session",
    "Source",
    "Table",
    "Worker",
    "bundled",
    "command",
    "from_toml",
    "inline",
    "report",
    "run",
    "schema",
    "to_toml",
    "topology",
    "trace",
    "version",
]

@final
class Source:
    def __new__(
        cls,
        text: str,
        name: str,
        folder: str | PathLike[str],
        sets: Sequence[str],
        policies: Sequence[str],
        hosts: str | None,
        kernel: str | None,
        quick: bool,
    ) -> Source: ...
    def facts(self) -> str: ...
    def show(self) -> str: ...
    def kept(self) -> str: ...
    def check(self, seed: int | None, repeats: int | None) -> tuple[int, int, int]: ...

@final
class Table:
    def num_rows(self) -> int: ...
    def columns(self) -> list[tuple[str, str]]: ...
    def column(self, name: str, start: int, stop: int) -> list[object]: ...
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

@final
class Folder:
    def __new__(cls, path: str | PathLike[str]) -> Folder: ...
    def manifest(self) -> str: ...
    def summary(self) -> Table: ...
    def table(self, file: str) -> Table: ...
    def commands(self) -> Table: ...

def bundled() -> list[tuple[str, str]]: ...
def command(arguments: Sequence[str]) -> int: ...
def from_toml(text: str, name: str) -> str: ...
def report(folders: Sequence[str | PathLike[str]], path: str | PathLike[str]) -> None: ...
def inline(json: str) -> str: ...
def run(
    source: Source,
    place: str,
    path: str | PathLike[str],
    *,
    seed: int | None,
    repeats: int | None,
    threads: int | None,
    verify: bool,
    report: bool,
    command: Sequence[str],
    progress: Callable[[int, int], object] | None,
) -> tuple[Path, str | None]: ...

class Session:
    def __new__(
        cls,
        source: Source,
        place: str,
        path: str | PathLike[str],
        *,
        seed: int | None,
        repeats: int | None,
        verify: bool,
        report: bool,
        store: str | PathLike[str] | None,
        command: Sequence[str],
    ) -> Session: ...
    def counts(self) -> tuple[int, int]: ...
    def finish(self) -> tuple[Path, str | None]: ...
    def missing(self) -> list[tuple[int, int]]: ...
    def take(self, outcome: bytes) -> None: ...
    def work(self) -> tuple[str, str, list[tuple[str, bytes, bool]], Path, bool]: ...

class Worker:
    def __new__(cls, work: tuple[str, str, list[tuple[str, bytes, bool]], PathLike[str], bool]) -> Worker: ...
    def run(self, cell: int, repeat: int) -> bytes: ...

def schema() -> str: ...
def to_toml(json: str) -> str: ...
def topology(source: Source) -> str: ...
def trace(
    files: Sequence[str],
    folder: str | PathLike[str],
    *,
    idle: str,
    short: str,
    long: str,
    window: str,
    burst: int,
    interval: str,
    max_flows: int,
    host: str | None,
) -> str: ...
def version() -> str: ...
