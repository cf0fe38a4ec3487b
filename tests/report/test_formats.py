"""Every format says what the document says: HTML that loads nothing, LaTeX that compiles, CSV, RO-Crate, templates."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser_kit import find_browser, visit

from cache.store import Store
from engine.events import Noted
from engine.settings import Decoding, Grid
from literature.report import document, html, latex, output
from literature.report.errors import ReportError
from tui.reporting import collect, write_report
from tui.study import ModelChoice

MADE = 1_700_000_000.0
NUMBER = re.compile(r"\d+(?:\.\d+)?")
HOSTILE = "<img src=https://example.org/x onerror=alert(1)> \\input{/etc/passwd} {{ 7*7 }} %&$#_^~ \u4e2d"


@pytest.fixture
def rich(study_of: Any, scene: Any) -> Any:
    """A run with claims, effects, two extraction rules, and hostile text in every place that a user can fill."""
    benchmark = study_of().grid.benchmark
    grid = Grid(
        benchmark=benchmark, template=("chat", "instruct"), decoding=(Decoding(), Decoding(0.2)), samples=(2,),
        extraction=("harness", "raw"),
    )  # fmt: skip
    models = (ModelChoice("small", "small.gguf", ("DeepSeekCoder-Inst (1.3B)",)),)
    stated = {**study_of().stated, "hardware": HOSTILE}
    study = study_of(
        name=f"S {HOSTILE}", note=HOSTILE, grid=grid, models=models, tables=("humanevalfix",), stated=stated
    )
    return scene(study=study, problems=8, passing=range(3), notes=[Noted("warning", HOSTILE)])


@pytest.fixture
def content(store: Store, rich: Any) -> dict[str, Any]:
    """Its document."""
    return document.build(collect(store, rich.write(store)), MADE)


class Page(HTMLParser):
    """What a page loads, which ids and inner links it has, and its visible words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self._hidden = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden += tag in ("style", "svg", "title")
        for name, value in attributes:
            if name in ("src", "srcset", "data", "poster", "action") or (
                name == "href" and tag in ("link", "use", "image")
            ):
                self.loads.append(value or "")
            if name == "href" and tag == "a":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            assert not name.startswith("on"), f"{tag} has {name}"

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "svg", "title")

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.words.append(data)


def test_html_loads_nothing_and_runs_nothing(content: dict[str, Any]) -> None:
    """No script, no address of another host, no url() in a style; hostile text of the study stays text."""
    text = html.render(content)
    page = Page(text)
    assert page.loads == ["data:,"]
    assert not {"script", "iframe", "object", "embed", "img", "image", "use", "foreignobject"} & set(page.tags)
    style = "".join(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'" in text
    assert "<img src=https" not in text and "&lt;img src=https" in text
    assert "49" not in "".join(page.words[:3]), "text of the study is no template"


def test_html_can_be_walked_with_the_keyboard(content: dict[str, Any]) -> None:
    """Inner links lead somewhere, ids are unique, every wide table or plot can take the focus and has a name."""
    text = html.render(content)
    page = Page(text)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert page.links[0] == "#main" and len(page.links) > 20
    scrolls = re.findall(r'<div class="scroll"[^>]*>', text)
    assert scrolls and all('tabindex="0"' in s and 'role="region"' in s and "aria-label=" in s for s in scrolls)
    assert text.count('role="img"') == text.count("<svg") == 3


def test_html_knows_light_dark_and_paper(content: dict[str, Any]) -> None:
    """Each colour that is used is defined, in the dark and on paper too; plots have no colours of their own."""
    text = html.render(content)
    style = text[text.index("<style>") : text.index("</style>")]
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    used = set(re.findall(r"var\((--[\w-]+)\)", style)) - {"--focus"}
    assert len(blocks) == 3 and "prefers-color-scheme: dark" in style and "@media print" in style
    assert all(used <= set(re.findall(r"(--[\w-]+):", block)) for block in blocks)
    assert not re.findall(r'(?:fill|stroke)="', text)


@pytest.mark.parametrize("name", ["html", "tex"])
def test_every_number_stands_in_the_json(store: Store, rich: Any, name: str) -> None:
    """What HTML and LaTeX print is in the JSON, number by number."""
    given = collect(store, rich.write(store))
    made = {k: v.decode() for k, v in output.contents(given, MADE, ("json", name)).items()}
    if name == "html":
        shown = " ".join(Page(made["report.html"]).words)
    else:
        body = made["report.tex"].partition("\\begin{document}")[2]
        plain = body.replace(r"\allowbreak{}", "").replace("-{}", "-").replace(r"\symbol{34}", '"')
        shown = re.sub(r"\\begin\{longtable\}\{.*\}|\[U\+\w+\]|\\[a-z]+", " ", plain)
    extra = {"95", "0"}
    assert set(NUMBER.findall(shown)) - extra <= set(NUMBER.findall(made["report.json"]))


def test_html_in_a_browser_without_error_or_request(content: dict[str, Any], tmp_path: Path) -> None:
    """Headless Chromium shows the page with no console message, and the page asks no host for anything."""
    if not find_browser():
        pytest.skip("no Chromium here (Debian: apt install chromium)")
    found = visit(html.render(content).encode(), tmp_path)
    assert "Measured scores" in found.text
    assert (found.console, found.requests) == ([], [])


def test_the_browser_would_tell(tmp_path: Path) -> None:
    """A page with a faulty script and an image of another host is caught at both."""
    if not find_browser():
        pytest.skip("no Chromium here (Debian: apt install chromium)")
    found = visit(b"<img src='http://127.0.0.1:9/x.png'><script>nonesuch()</script>", tmp_path)
    assert any("nonesuch" in line for line in found.console)
    assert found.requests == ["http://127.0.0.1:9/x.png"]


@pytest.mark.parametrize("program", latex.PROGRAMS)
def test_latex_compiles(content: dict[str, Any], program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each LaTeX that is installed makes a PDF of it, hostile text and all; booktabs rules every table."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    text = latex.render(content)
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\end{longtable}") > 10
    monkeypatch.setattr(latex, "PROGRAMS", (program,))
    try:
        latex.pdf(r"\documentclass{article}\begin{document}x\end{document}")
    except ReportError as error:
        pytest.skip(f"{program} does not work on this machine: {error}")
    assert "run 1 ({}" in text and "(((" not in text and "((*" not in text
    assert latex.pdf(text).startswith(b"%PDF")


def test_latex_special_characters_are_characters() -> None:
    """No character of a value is a command; what no Latin font has is named by its number."""
    assert latex.text(r"a_b & 50% {x} \input~^") == (
        r"a\_b \& 50\% \{x\} \textbackslash{}input\textasciitilde{}\textasciicircum{}"
    )
    assert latex.text("é \u4e2d") == "é [U+4E2D]"
    assert latex.code("") == ""


def test_without_latex_a_pdf_is_refused_with_the_remedy(
    store: Store, scene: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says what to install, or what to ask for instead; nothing is written."""
    run = scene().write(store)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError, match=r"no PDF: .*apt install.*--formats tex"):
        write_report(store, run, tmp_path / "out", ("md", "pdf"))
    assert not (tmp_path / "out").exists()


def test_what_latex_says_is_passed_on() -> None:
    """A document that does not compile gives LaTeX's own message."""
    if not latex.latex_program():
        pytest.skip(f"none of {', '.join(latex.PROGRAMS)} is installed")
    with pytest.raises(ReportError, match="Undefined control sequence"):
        latex.pdf(r"\documentclass{article}\begin{document}\nonesuch\end{document}")


def test_each_table_is_a_csv(content: dict[str, Any]) -> None:
    """Every list of the document is a CSV with as many rows, and without half-written values."""
    made = output.texts(content, ("csv",))
    rows = {name: list(csv.DictReader(io.StringIO(text, newline=""))) for name, text in made.items()}
    sizes = {name.removeprefix("tables/").removesuffix(".csv"): len(found) for name, found in rows.items()}
    answers = sum(len(item["answers"]) for item in (*content["checklist"], *content["further"]))
    assert sizes["checklist"] == answers > 20
    assert (sizes["scores"], sizes["reported"], sizes["verdicts"]) == (8, 3, 3)
    assert sizes["matches"] == sum(len(row["matches"]) for row in content["matches"]) > 0
    assert (sizes["effects"], sizes["extraction"]) == (len(content["effects"]), 2 * len(content["extraction"]))
    cells = [cell for found in rows.values() for row in found for cell in row.values()]
    assert not [cell for cell in cells if re.match(r"\[\'|\{\'|\[\d", cell or "")], "a list or dict went in as it is"


def test_the_crate_lists_every_file_with_its_hash(store: Store, scene: Any, tmp_path: Path) -> None:
    """ro-crate-metadata.json names each file beside it, its size and its sha256, and nothing else."""
    paths = write_report(store, scene().write(store), tmp_path)
    crate = json.loads((tmp_path / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    listed = {e["@id"]: e for e in crate["@graph"] if e["@type"] == "File"}
    files = {str(p.relative_to(tmp_path)): p.read_bytes() for p in paths if p.name != "ro-crate-metadata.json"}
    assert {name: (e["sha256"], e["contentSize"]) for name, e in listed.items()} == {
        name: (hashlib.sha256(data).hexdigest(), str(len(data))) for name, data in files.items()
    }
    (root,) = [e for e in crate["@graph"] if e["@id"] == "./"]
    assert [part["@id"] for part in root["hasPart"]] == list(files)
    assert crate["@graph"][0]["conformsTo"]["@id"] == "https://w3id.org/ro/crate/1.1"


def test_a_users_template_takes_the_place_of_ours(store: Store, scene: Any, tmp_path: Path) -> None:
    """A file of the same name in the folder is used; the other formats keep ours."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "report.md.j2").write_text("# {{ title|text }}: {{ scores|length }}\n", encoding="utf-8")
    (own / "report.css").write_text("body { color: teal }", encoding="utf-8")
    write_report(store, scene().write(store), tmp_path / "out", ("md", "html"), own)
    assert (tmp_path / "out" / "report.md").read_text(encoding="utf-8") == "# Which settings?: 2\n"
    assert "color: teal" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{% for x in %}", "line 1: not a template"),
        ("{{ nonesuch }}", "nonesuch"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
    ],
)
def test_a_template_that_does_not_work_is_named(
    store: Store, scene: Any, tmp_path: Path, text: str, words: str
) -> None:
    """The error names the template and what is wrong; a template gets at nothing but the document."""
    (tmp_path / "report.md.j2").write_text(text, encoding="utf-8")
    with pytest.raises(ReportError, match=words):
        write_report(store, scene().write(store), tmp_path / "out", ("md",), tmp_path)


def test_unknown_formats_and_folders_are_named(store: Store, scene: Any, tmp_path: Path) -> None:
    """The error lists the formats there are, or names the folder that is not there."""
    run = scene().write(store)
    with pytest.raises(ReportError, match="'doc' is unknown; expected some of md,json,html,tex,csv,pdf"):
        write_report(store, run, tmp_path, ("md", "doc"))
    with pytest.raises(ReportError, match="gone: no such folder of templates"):
        write_report(store, run, tmp_path, ("md",), tmp_path / "gone")
