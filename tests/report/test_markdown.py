"""Text from models, tables and users stays text: it makes no cells, no markup and no commands."""

from __future__ import annotations

import re
import shlex
from html import unescape

from hypothesis import example, given
from hypothesis import strategies as st

from literature.report.commands import rerun_all, rerun_one
from literature.report.markdown import code, fence, text


def html(markdown: str) -> str:
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark").enable("table").render(markdown))


def cells(markdown: str) -> list[str]:
    """The texts of the cells under the header, as a reader sees them."""
    return [unescape(re.sub("</?code>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", html(markdown), re.DOTALL)]


@example("a|b")
@example("`|`")
@example("<script>")
@example("\\|")
@given(st.text(alphabet="ab1 |`*_[]()<>&#~$\\!-+.\n", max_size=40))
def test_any_text_stays_inside_its_cell(value: str) -> None:
    """Pipes, backticks, tags and line ends of a value come out in its own cell as they went in, on one line."""
    plain = " ".join(value.split())
    table = f"| a | b | c |\n|---|---|---|\n| {text(value)} | {code(value)} | end |\n"
    assert cells(table) == [plain, plain, "end"]


def test_markup_in_a_value_is_shown_as_it_is() -> None:
    """Stars, links, tags and entities of a value come out as the characters that they are."""
    assert html(text("*a* [b](c) <i> &amp; `d` ~e~ # f")) == ("<p>*a* [b](c) &lt;i&gt; &amp;amp; `d` ~e~ # f</p>\n")


@given(st.text(alphabet="`ab\n", max_size=30))
def test_a_fence_is_longer_than_what_it_holds(value: str) -> None:
    """A block with backticks in it ends where it should: nothing escapes from it."""
    found = html(fence(value, "sh") + "\n\nafter\n")
    assert found.endswith("<p>after</p>\n")
    assert found.count("<pre>") == 1


@example("-rf")
@example("it's $(here) & there.toml")
@given(st.text(min_size=1, max_size=40).filter(lambda name: "\0" not in name))
def test_commands_survive_a_shell(name: str) -> None:
    """A file name with spaces, quotes, `$(...)` or a leading dash stays one argument that is no option."""
    words = shlex.split(rerun_one("0123abcd", name))
    assert words == ["scoretrace", "run", f"./{name}" if name.startswith("-") else name, "--only", "0123abcd"]
    assert shlex.split(rerun_all(name))[:2] == ["scoretrace", "run"]
