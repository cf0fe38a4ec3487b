"""LaTeX tables: tabular and its relatives, booktabs rules, multirow and multicolumn, footnote marks, citations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from literature.cells import LONGEST
from literature.errors import TableError
from literature.formats.grid import Cell, Grid, joined_header, shown_again, unused_block

_ENVIRONMENTS = r"tabular[xy*]?|longtable|tblr|supertabular|array"
_BEGIN = re.compile(rf"\\begin\{{({_ENVIRONMENTS})\}}")
_NESTING = re.compile(
    rf"[{{}}&]|\\\\(?:\s*\[[^\]]*\])?|(?P<begin>\\begin\{{(?:{_ENVIRONMENTS})\}})|(?P<end>\\end\{{(?:{_ENVIRONMENTS})\}})"
)
_NOT_NEWLINE = re.compile(r"[^\n]")
_COLUMNS = re.compile(r"\s*(?:\[[^\]]*\])?\{(?:[^{}]|\{[^{}]*\})*\}")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_RULE = re.compile(
    r"\\(?:toprule|bottomrule|hline|cmidrule|cline|specialrule|addlinespace|endfirsthead|endhead|endfoot|endlastfoot|"
    r"noalign|rowcolor|arrayrulecolor)(?:\[[^\]]*\]|\([^)]*\)|\{[^{}]*\})*"
)
_MID = re.compile(r"\\midrule(?:\[[^\]]*\])?")
_ROW = re.compile(r"\\\\(?:\s*\[[^\]]*\])?|\\tabularnewline\b")
_RAISED = re.compile(
    r"\\(?:footnotemark|footnote|textsuperscript|tnote|thanks)(?![a-zA-Z])(?:\[[^\]]*\])?(?:\{(?:[^{}]|\{[^{}]*\})*\})?|"
    r"\^\{[^{}]*\}|\^\\?\w+|\^[*]|"
    r"\\(?:dag|ddag|dagger|ddagger|ast|star)\b"
)
# What is raised or lowered is a mark, but for a deviation or a citation.
_SPREAD = re.compile(r"[_^]\s*\{((?:\\[a-zA-Z]+\s*)*\\pm(?![a-zA-Z])[^{}]*)\}")
_RAISED_CITE = re.compile(r"(?:\\textsuperscript|\^)\s*\{\s*(\[[^\[\]{}]*\])\s*\}")
_CITE = re.compile(r"~?\\(?:cite\w*|parencite|textcite)\*?(?:\[[^\]]*\])*\{([^{}]*)\}")
_DROP_ARGUMENT = re.compile(
    r"\\(?:cellcolor|rowcolor|color|vspace|hspace|label|phantom|hphantom)\*?(?:\[[^\]]*\])?\{[^{}]*\}"
)
_KEEP_ARGUMENT = re.compile(r"\\[a-zA-Z]+\*?(?:\[[^\]]*\])?\{([^{}]*)\}")
_TWO_ARGUMENTS = re.compile(r"\\(?:textcolor|colorbox|resizebox|scalebox|href)\*?(?:\[[^\]]*\])?\{[^{}]*\}\{([^{}]*)\}")
_MULTICOLUMN = re.compile(r"\\multicolumn\s*\{\s*(\d{1,3})\s*\}\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}\s*")
_MULTIROW = re.compile(
    r"\\multirow(?:\[[^\]]*\])?\s*\{\s*(-?\d{1,3})\s*\}(?:\[[^\]]*\])?\s*(?:\{[^{}]*\}|\*)\s*(?:\[[^\]]*\])?"
)
_SYMBOLS = (
    (r"\pm", "±"), (r"\textpm", "±"),
    (r"\,", " "), (r"\;", " "), (r"\ ", " "), (r"\!", ""), ("~", " "), ("---", "-"), ("--", "-"),
)  # fmt: skip

_TEXT_COMMANDS = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^"}
_LITERAL = re.compile(r"\\\\|" + "|".join(map(re.escape, _TEXT_COMMANDS)) + r"|\\([&%#_${}])")
_SPECIAL = {
    **{chr(code): f"\\{chr(code)}" for code in b"&%#_${}"},
    **{char: command for command, char in _TEXT_COMMANDS.items()},
}


@dataclass(frozen=True)
class _Raw:
    text: str
    line: int
    rows: int = 1


def read(text: str, file: str) -> list[Grid]:
    """Every table environment with a header and a row; `TableError` when there is none."""
    # Literal characters wait among those that the text has not, while markup is undone.
    base = unused_block(text)
    text = _flattened(_COMMENT.sub("", _LITERAL.sub(lambda found: _hidden(found, base), text)))
    newlines = [match.start() for match in re.finditer("\n", text)]
    found = []
    for begin in _BEGIN.finditer(text):
        end = text.find(f"\\end{{{begin[1]}}}", begin.end())
        if end < 0:
            line = text.count("\n", 0, begin.start()) + 1
            raise TableError(
                f"\\begin{{{begin[1]}}} is never closed", file=file, line=line, column=1,
                expected=f"\\end{{{begin[1]}}}", remedy="complete the table",
            )  # fmt: skip
        grid = _grid(text, newlines, _after_arguments(text, begin.end(), end), end, shown_again(base))
        if grid is not None:
            found.append(grid)
    if not found:
        raise TableError("no tabular with rows", file=file, expected="\\begin{tabular}", remedy="check the file")
    return found


def _flattened(text: str) -> str:
    """The text with rows inside a cell (`\\makecell`, a tabular in a tabular) made spaces of equal length."""
    parts: list[str] = []
    position, inside, depth = 0, 0, 0
    for found in _NESTING.finditer(text):
        if found.start() < position:
            continue
        token, end = found[0], found.end()
        if token in "{}":
            depth += 1 if token == "{" else -1
        elif found["begin"]:
            inside += 1
            if inside == 1:
                # What is open around the table says nothing of its cells.
                depth = 0
            elif columns := _COLUMNS.match(text, end):
                end = columns.end()
        elif found["end"]:
            inside = max(0, inside - 1)
        within = inside > 1 or (inside == 1 and (depth > 0 or found["end"] is not None))
        blank = within and token not in "{}"
        parts += [text[position : found.start()], _NOT_NEWLINE.sub(" ", text[found.start() : end]) if blank else token]
        position = end
    return "".join([*parts, text[position:]])


def _hidden(found: re.Match[str], base: int) -> str:
    """A literal character in hiding; `\\\\` ends a row and stays."""
    char = found[1] or _TEXT_COMMANDS.get(found[0], "")
    return chr(base + ord(char)) if char else found[0]


def written(rows: Sequence[Sequence[str]]) -> str:
    """Rows, the first of them the header, as one booktabs table; reading it gives the same cells."""
    head, *body = (" & ".join(_escaped(cell) for cell in row) + r" \\" for row in rows)
    lines = [
        rf"\begin{{tabular}}{{{'l' * len(rows[0])}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    text = "".join(_SPECIAL.get(char, char) for char in cell)
    # Dashes would be joined, and a bracket after the end of a row would be its argument.
    return re.sub(r"^\[", "{}[", text.replace("--", "-{}-").replace("--", "-{}-"))


def _after_arguments(text: str, start: int, end: int) -> int:
    """Position behind the column specification and other arguments of \\begin{...}."""
    while start < end:
        rest = text[start:end]
        skip = len(rest) - len(rest.lstrip())
        if not rest[skip : skip + 1] or rest[skip] not in "[{":
            return start
        start += skip + _closed(rest[skip:])
    return start


def _closed(text: str) -> int:
    """Length of the bracketed group with which `text` starts."""
    opening, depth = text[0], 0
    closing = {"[": "]", "{": "}"}[opening]
    for index, char in enumerate(text):
        depth += (char == opening) - (char == closing)
        if depth == 0:
            return index + 1
    return len(text)


def _grid(text: str, newlines: list[int], start: int, end: int, shown: Mapping[int, str]) -> Grid | None:
    head: list[list[_Raw]] = []
    rows: list[list[_Raw]] = []
    position = start
    middle = _MID.search(text, start, end)
    header_end = middle.start() if middle else -1
    for match in [*_ROW.finditer(text, start, end), None]:
        stop = match.start() if match else end
        raw = _split(text, newlines, position, stop, shown)
        if any(cell.text.strip() for cell in raw):
            (head if stop <= header_end else rows).append(raw)
        position = match.end() if match else end
    if not head and rows:
        head, rows = rows[:1], rows[1:]
    if not rows:
        return None
    filled = _fill_down([*head, *rows])
    numbered = [_numbered(row) for row in filled]
    return Grid(joined_header(numbered[: len(head)]), tuple(numbered[len(head) :]))


def _split(text: str, newlines: list[int], start: int, stop: int, shown: Mapping[int, str]) -> list[_Raw]:
    """The cells of one row, with \\multicolumn repeated over its columns."""
    chunk = _MID.sub(lambda found: " " * len(found[0]), _RULE.sub(lambda found: " " * len(found[0]), text[start:stop]))
    found: list[_Raw] = []
    offset = 0
    for part in chunk.split("&"):
        lead = len(part) - len(part.lstrip())
        line = bisect_right(newlines, start + offset + lead) + 1
        offset += len(part) + 1
        columns, rows = 1, 1
        if wide := _MULTICOLUMN.search(part):
            columns, part = int(wide[1]), part[: wide.start()] + part[wide.end() :]
        if tall := _MULTIROW.search(part):
            rows, part = int(tall[1]), part[: tall.start()] + part[tall.end() :]
        cell = _Raw(plain(part).translate(shown), line, rows)
        found.extend([cell] * max(1, columns))
    return found


def _fill_down(rows: list[list[_Raw]]) -> list[list[_Raw]]:
    """Repeat a \\multirow cell in the rows that it spans, below or above, where they leave its place blank."""
    pending: dict[int, tuple[_Raw, int]] = {}
    filled = []
    for row in rows:
        row = list(row)
        for column, (cell, left) in list(pending.items()):
            if column < len(row) and not row[column].text:
                row[column] = _Raw(cell.text, row[column].line)
            pending[column] = (cell, left - 1)
            if left <= 1:
                del pending[column]
        filled.append(row)
        for column, cell in enumerate(row):
            if cell.rows > 1:
                pending[column] = (cell, cell.rows - 1)
            # A negative number spans the rows above.
            for above in filled[cell.rows : -1] if cell.rows < -1 else ():
                if column < len(above) and not above[column].text:
                    above[column] = _Raw(cell.text, above[column].line)
    return filled


def _numbered(row: list[_Raw]) -> tuple[Cell, ...]:
    return tuple(Cell(cell.text, cell.line, column) for column, cell in enumerate(row, start=1))


def plain(text: str) -> str:
    """A cell's text: citations as [key], emphasis undone, raised marks dropped; left alone when too long for scores."""
    if len(text) > LONGEST:
        return text
    text = _RAISED_CITE.sub(r" \1", _SPREAD.sub(r" \1", _CITE.sub(r" [\1]", text)))
    text = _RAISED.sub("", text)
    text = _DROP_ARGUMENT.sub("", text)
    for _ in range(6):
        shorter = _KEEP_ARGUMENT.sub(r"\1", _TWO_ARGUMENTS.sub(r"\1", text))
        if shorter == text:
            break
        text = shorter
    for symbol, spelled in _SYMBOLS:
        text = text.replace(symbol, spelled)
    text = re.sub(
        r"\\(?:bf|it|bfseries|itshape|small|footnotesize|scriptsize|tiny|centering|textbackslash)\b", "", text
    )
    # Thin and other spaces of Unicode are part of a name; only what LaTeX itself takes for space is joined.
    return re.sub(r"[ \t\r\n]+", " ", re.sub(r"[{}$]", "", text)).strip()
