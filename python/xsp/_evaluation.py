"""The contents of an .xsp file: tables, as the xsp program returns them."""

import html
import os
from typing import Any, Iterator

from . import _program

_ROWS_SHOWN = 60


class Table:
    """Rows with named columns; times are nanoseconds, sizes bytes: each column's name ends in its unit.

    >>> table = xsp.open("infer.xsp").analysis("layer_information")
    >>> table[0]["latency_ns"], len(table), table.columns
    """

    def __init__(self, rows: "list[dict[str, Any]]", title: str = "") -> None:
        self._rows = rows
        self.title = title
        self.columns = list(rows[0]) if rows else []

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> "Iterator[dict[str, Any]]":
        return iter(self._rows)

    def __getitem__(self, index: int) -> "dict[str, Any]":
        return self._rows[index]

    def column(self, name: str) -> "list[Any]":
        """The values of one column."""
        return [row[name] for row in self._rows]

    def to_dicts(self) -> "list[dict[str, Any]]":
        """A list of dicts, one for each row."""
        return [dict(row) for row in self._rows]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns or None)

    def to_arrow(self) -> Any:
        """A pyarrow.Table; needs pyarrow."""
        import pyarrow

        return pyarrow.Table.from_pylist(self._rows)

    def __repr__(self) -> str:
        return f"<xsp.Table {self.title or 'of a query'}: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        def cell(value: Any) -> str:
            if isinstance(value, float):
                value = f"{value:.6g}"
            return f"<td>{html.escape('' if value is None else str(value))}</td>"

        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(cell(row[name]) for name in self.columns) + "</tr>"
            for row in self._rows[:_ROWS_SHOWN]
        )
        more = len(self) - _ROWS_SHOWN
        rest = f"<p>and {more} more rows</p>" if more > 0 else ""
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class Evaluation:
    """One .xsp file. `xsp.open` makes it, and `xsp.profile` when it ends."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self.path = os.fspath(path)

    def analysis(self, name: str, **parameters: object) -> Table:
        """Returns the result of an analysis of the catalogue, as a Table.

        Args:
            name: its name or id: "layer_information", "a2"; see `analyses`.
            parameters: its own, e.g. batch=8.

        Raises:
            RuntimeError: it does not exist, or its data was not measured, with the reason.
        """
        given = []
        for key, value in parameters.items():
            given += ["--param", f"{key}={value}"]
        return Table(_program.rows("analyze", name, self.path, *given), name)

    def query(self, sql: str) -> Table:
        """Returns the rows of a query in DuckDB's SQL over the tables of the file, as a Table."""
        return Table(_program.rows("query", self.path, sql))

    @property
    def facts(self) -> "dict[str, str]":
        """The facts of the evaluation: model, framework, versions, machine."""
        rows = self.query("SELECT key, value FROM evaluation ORDER BY key")
        return {row["key"]: row["value"] for row in rows}

    def report(self, path: "str | os.PathLike[str] | None" = None) -> str:
        """Writes the page of the file as one HTML file, and returns its path."""
        path = os.fspath(path or os.path.splitext(self.path)[0] + ".html")
        _program.run("report", self.path, "-o", path)
        return path

    def __repr__(self) -> str:
        return f"<xsp.Evaluation {self.path}>"

    def _repr_html_(self) -> str:
        return Table(
            [{"fact": key, "value": value} for key, value in self.facts.items()], self.path
        )._repr_html_()


def open_file(path: "str | os.PathLike[str]") -> Evaluation:
    """Opens an .xsp file.

    Raises:
        FileNotFoundError: it does not exist.
    """
    if not os.path.exists(path):
        raise FileNotFoundError(f"{os.fspath(path)}: no such file")
    return Evaluation(path)


def analyses() -> Table:
    """The catalogue of analyses, as a Table."""
    return Table(_program.rows("analyze", "--list"), "analyses")
