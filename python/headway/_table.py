"""Tables of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway import _html, _native

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from typing_extensions import CapsuleType

_SHOWN = 10


class Table:
    """A table in Arrow's layout, which other libraries read where it lies.

    It has the Arrow PyCapsule interface (``__arrow_c_stream__``, ``__arrow_c_schema__``). So ``pyarrow.table(table)``,
    ``polars.DataFrame(table)``, DuckDB's ``SELECT … FROM table`` and every other library with that interface take it
    without a copy of the columns. What they do then (pandas makes NumPy arrays of it) may copy.

    Columns, units and meanings are those of the files, see docs/results.md; times in ``_ps`` are picoseconds. Behind a
    column ``sweep_NAME`` of numbers stands ``sweep_NAME_text``, as the scenario writes them. Behind one of text whose
    values are all times, all rates or all amounts stands ``sweep_NAME_ns``, ``sweep_NAME_bps`` or ``sweep_NAME_bytes``
    with numbers.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return [name for name, _ in self._native.columns()]

    @property
    def column_types(self) -> dict[str, str]:
        """Arrow's types of the columns, by name."""
        return dict(self._native.columns())

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return self._native.num_rows()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.num_rows, len(self._native.columns())

    def column(self, name: str) -> list[object]:
        """Copy a column into a list.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        list, shape (num_rows,)
            Numbers, text or True and False; None where there is no value.

        Raises
        ------
        KeyError
            If there is no such column.
        """
        return self._native.column(name, 0, self.num_rows)

    def floats(self, name: str) -> list[float]:
        """Copy a column of numbers into a list of floats.

        Parameters
        ----------
        name : str
            Of the column.

        Returns
        -------
        list of float, shape (num_rows,)
            NaN where there is no value.

        Raises
        ------
        KeyError
            If there is no such column.
        TypeError
            If it is not one of numbers.
        """
        values: list[float] = []
        for value in self.column(name):
            if value is None:
                values.append(float("nan"))
            elif isinstance(value, int | float):
                values.append(float(value))
            else:
                raise TypeError(f"column {name} is not of numbers: {value!r}")
        return values

    def to_pydict(self) -> dict[str, list[object]]:
        """Copy all columns into lists.

        Returns
        -------
        dict of str to list, each of shape (num_rows,)
            By name of the column.
        """
        return {name: self.column(name) for name in self.column_names}

    def to_pyarrow(self) -> pa.Table:
        """Give the table to pyarrow, without a copy.

        Returns
        -------
        pyarrow.Table
            Needs pyarrow 14 or later.
        """
        import pyarrow as pa

        return pa.table(self)

    def to_pandas(self) -> pd.DataFrame:
        """Copy the table into pandas.

        Returns
        -------
        pandas.DataFrame
            Needs pandas and pyarrow.
        """
        frame: pd.DataFrame = self.to_pyarrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Give the table to Polars, without a copy of numbers.

        Returns
        -------
        polars.DataFrame
            Needs Polars 1.3 or later.
        """
        import polars as pl

        return pl.DataFrame(self)

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, name: str) -> list[object]:
        if not isinstance(name, str):
            raise TypeError(f"columns have names, unlike {name!r}")
        return self.column(name)

    def __contains__(self, name: object) -> bool:
        return name in self.column_names

    def __arrow_c_schema__(self) -> CapsuleType:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Table: {rows} rows × {columns} columns: {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        rows, columns = self.shape
        shown = min(rows, _SHOWN)
        first = [self._native.column(name, 0, shown) for name in self.column_names]
        return _html.grid(f"{rows} rows × {columns} columns", self.column_names, zip(*first, strict=True))
