"""A table on its way in: what each column is read as, what the user says instead, the scores and what gives none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from literature.columns import STATED_PREFIX, Columns, find_columns
from literature.errors import TableError
from literature.formats.grid import Cell, Grid
from literature.records import ReportedScore
from literature.table import OpenedTable, Table, Unread, open_table, scores_of
from tui.remembered import columns_of, remember_columns

SCORES, LEFT_OUT = "scores", "left out"
STATES = ("decoding", "temperature", "samples", "prompt", "length", "precision", "extraction", "harness", "variant")
CHOICES: tuple[tuple[str, str, str], ...] = (
    ("model", "m", "model"),
    ("benchmark", "b", "benchmark"),
    ("metric", "a", "metric, such as pass@1"),
    ("value", "v", "value: one score a row"),
    (SCORES, "c", "scores of one benchmark or source, named by the header"),
    ("sources", "s", "source"),
    ("introduced_by", "i", "who introduced the model"),
    ("uncertainty", "u", "what stands behind ±"),
    ("place", "p", "where in its source it stands"),
    ("samples", "n", "states n: samples per problem"),
    ("temperature", "t", "states the temperature"),
    ("decoding", "d", "states the decoding"),
    ("prompt", "r", "states the prompt"),
    ("length", "l", "states the maximum length"),
    ("precision", "q", "states the precision"),
    ("extraction", "e", "states the extraction"),
    (LEFT_OUT, "x", "left out"),
)
"""What a column can be read as: role, key, words for people."""
_ROLES = ("model", "benchmark", "metric", "value", "sources", "introduced_by", "uncertainty", "place")
EXAMPLES = 3


@dataclass(frozen=True)
class Column:
    """One column of the file: its header, what it is read as, whether the user said so, and its first texts."""

    header: str
    role: str
    chosen: bool
    examples: tuple[str, ...]


class TableImport:
    """One file that is looked at before anything of it is kept; `choose` says what a column means.

    What a user said of another table with the same headers holds again.
    """

    def __init__(self, path: str) -> None:
        self._opened: OpenedTable = open_table(path)
        self._chosen: dict[str, str] = {}
        self._constants: dict[str, str] = {}
        self.problem = ""
        self.table = Table((), (), path)
        roles = {role for role, _, _ in CHOICES}
        kept = columns_of(self.headers)
        self._chosen = {header: role for header, role in kept.items() if header in self.headers and role in roles}
        self.recalled = bool(self._chosen)
        self._read()

    @property
    def path(self) -> str:
        """The file, as the user named it."""
        return self._opened.path

    @property
    def constants(self) -> dict[str, str]:
        """Role -> one text for every row."""
        return dict(self._constants)

    @property
    def scores(self) -> Sequence[ReportedScore]:
        """What would be kept."""
        return self.table.scores

    @property
    def unread(self) -> Sequence[Unread]:
        """What gives no score, with place and reason."""
        return self.table.unread

    @property
    def headers(self) -> Sequence[str]:
        """Every header of the file's tables, once."""
        names = (cell.text.strip() for grid in self._grids() for cell in grid.header)
        return list(dict.fromkeys(name for name in names if name))

    @property
    def chosen(self) -> dict[str, str]:
        """Header -> role, as far as the user has said it."""
        return dict(self._chosen)

    def remember(self) -> None:
        """Let what was said of the columns hold for the next table with the same headers."""
        remember_columns(self.headers, self._chosen)

    def choose(self, header: str, role: str) -> None:
        """Read a column as something else; a role that one column only can have is taken from the one that had it."""
        if role not in (SCORES, LEFT_OUT):
            self._chosen = {name: found for name, found in self._chosen.items() if found != role}
            self._constants.pop(role, None)
        self._chosen[header] = role
        self._read()

    def forget(self, header: str) -> None:
        """Read a column as it is understood without a word of the user's."""
        self._chosen.pop(header, None)
        self._read()

    def hold(self, role: str, text: str) -> None:
        """Let one text stand for a role in every row; empty takes that back."""
        self._constants.pop(role, None)
        if text:
            self._constants[role] = text
        self._read()

    def columns(self) -> list[Column]:
        """Every column of the file's tables, each header once."""
        found: dict[str, Column] = {}
        for grid in self._grids():
            roles = self._roles(grid)
            for index, cell in enumerate(grid.header):
                name = cell.text.strip()
                if name in found or not name:
                    continue
                texts = tuple(row[index].text for row in grid.rows if index < len(row) and row[index].text)
                role = self._chosen.get(name, roles.get(index, "not understood"))
                found[name] = Column(name, role, name in self._chosen, texts[:EXAMPLES])
        return list(found.values())

    def _grids(self) -> list[Grid]:
        return [part for part in self._opened.parts if isinstance(part, Grid)]

    def _roles(self, grid: Grid) -> dict[int, str]:
        """What each column of one table is read as without a word of the user's, and with it where that works."""
        for mapping in (self._mapping(), {}):
            changed, indices = self._changed(grid)
            if not indices:
                break
            try:
                found = find_columns(changed, mapping, self.path)
            except TableError:
                continue
            return {indices[place]: role for place, role in _named(found).items()}
        return {}

    def _mapping(self) -> dict[str, str]:
        roles = {role: header for header, role in self._chosen.items() if role in _ROLES}
        return {**roles, **{role: f"={text}" for role, text in self._constants.items()}}

    def _changed(self, grid: Grid) -> tuple[Grid, list[int]]:
        """The table without the columns left out, with headers that say what the user said; and which are left."""
        kept = [
            index for index, cell in enumerate(grid.header) if self._chosen.get(cell.text.strip(), "") != LEFT_OUT
        ]  # fmt: skip
        header = tuple(self._header(grid.header[index]) for index in kept)
        rows = tuple(
            tuple(row[index] for index in kept if index < len(row)) + row[len(grid.header) :] for row in grid.rows
        )
        return replace(grid, header=header, rows=rows), kept

    def _header(self, cell: Cell) -> Cell:
        role = self._chosen.get(cell.text.strip(), "")
        return cell if role in ("", SCORES, *_ROLES) else replace(cell, text=STATED_PREFIX + role)

    def _read(self) -> None:
        parts = tuple(self._changed(part)[0] if isinstance(part, Grid) else part for part in self._opened.parts)
        # A table of which every column is left out is no table any more.
        parts = tuple(part for part in parts if not isinstance(part, Grid) or part.header)
        try:
            self.table = scores_of(replace(self._opened, parts=parts), mapping=self._mapping())
            self.problem = ""
        except TableError as error:
            self.table, self.problem = Table((), (), self.path), str(error)


def _named(found: Columns) -> dict[int, str]:
    """Column index -> what it is read as."""
    roles = dict.fromkeys(found.unknown, "not understood")
    roles |= {column.index: SCORES for column in found.values}
    roles |= {index: f"states {axis}" for axis, index in found.stated.items()}
    return roles | {index: role for role, index in found.roles.items()}
