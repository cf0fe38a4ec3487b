"""The app in a browser: who gets in, what arrives, and that nothing can be changed from there."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from app_kit import FakeSession, make_study, script, settled, shown, until_shown

from cache.errors import StoreError
from cache.paths import store_path
from cache.store import Store
from engine.events import to_dict
from tui.app import ScoretraceApp
from tui.errors import OptionError, ViewOnlyError
from tui.study import dumps
from tui.view import READING, REFUSED, ViewSession, first_run, refusal

aiohttp = pytest.importorskip("aiohttp", reason="textual-serve is not installed")


def stored_run() -> int:
    """A finished run in the store of this test's data folder; its id."""
    study = make_study()
    store = Store(store_path())
    run = store.create_run(study.name, dumps(study), {})
    store.append(run, (to_dict(event) for event in script(study, [48, 47], state="finished")))
    store.set_state(run, "finished", release=True)
    store.close()
    return run


@pytest.fixture
def server():
    """`scoretrace serve` as a process of its own on a free port; its address with the token."""
    stored_run()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tui", "serve", "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    yield process.stdout.readline().strip(), process.pid
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0


def listening(pid: int) -> list[tuple[str, int]]:
    """(address in hexadecimal, port) of every TCP socket on which a process listens."""
    found = []
    inodes = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, port = fields[1].split(":")
                found.append((address, int(port, 16)))
    return found


def words(data: bytes) -> str:
    """What a terminal would show of it, control sequences taken out."""
    text = data.decode("utf-8", "replace")
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[\]P][^\x07\x1b]*(\x07|\x1b\\)", " ", text)


async def read_until(socket, *texts: str) -> str:
    """Everything that the browser got until all texts are in it."""
    got = b""
    async with asyncio.timeout(300):
        async for message in socket:
            got += message.data if isinstance(message.data, bytes) else b""
            if all(text in words(got) for text in texts):
                break
    return words(got)


async def test_the_token_lets_in_and_nothing_else_does(server):
    """403 without it, with a wrong one, and for the websocket and the static files; with it the run is on screen."""
    address, pid = server
    base, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/([\w-]{32,})/", address).groups()
    wrong = token[:-1] + ("a" if token[-1] != "a" else "b")
    async with aiohttp.ClientSession() as browser:
        places = ("", "/", "/ws", "/static/js/textual.js", f"/{wrong}/", f"/{wrong}/ws", f"/{token}x/", "//" + token)
        for place in places:
            async with browser.get(base + place) as answer:
                assert answer.status == 403, place
                assert token not in await answer.text()
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await browser.ws_connect(base + place)
            assert refused.value.status == 403, place
        async with browser.get(address) as answer:
            page = await answer.text()
            assert answer.status == 200 and f"/{token}/ws" in page
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert not re.search(r"https?://(?!127\.0\.0\.1)", page), "the page fetches from elsewhere"
        for place in re.findall(r'(?:src|href)="(static/[^"]+)"|url\("([^"]+)"\)', page):
            async with browser.get(address + "".join(place)) as answer:
                assert answer.status == 200, place
        async with browser.ws_connect(f"{address}ws?width=80&height=24") as socket:
            text = await read_until(socket, "48/164", "view only", "HumanEvalFix 2025")
            assert "48/164" in text and "view only" in text and "HumanEvalFix 2025" in text
            await socket.send_json(["stdin", "1"])
            # Which model is chosen there depends on whether the matches are done; its rows do not.
            assert "CodeLlama-Inst (34B)" in await read_until(socket, "CodeLlama-Inst (34B)")
    assert {found for found, _ in listening(pid)} == {"0100007F"}, "something listens beyond 127.0.0.1"


def options(**changes) -> argparse.Namespace:
    """Options of the command."""
    return argparse.Namespace(**{"run": None, "host": "127.0.0.1", "port": 0, **changes})


def test_a_port_that_is_taken_is_named():
    """With what to do about it."""
    from tui.serve import serve

    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(OptionError, match=rf"--port {port}: another program listens.*choose another"):
            serve(options(port=port))


def test_wrong_options_are_sentences():
    """An address that is not ours, a port out of range, a run that is not there."""
    from tui.serve import serve

    with pytest.raises(OptionError, match=r"--host 192\.0\.2\.1: cannot listen there"):
        serve(options(host="192.0.2.1"))
    with pytest.raises(OptionError, match="--port 70000: expected 0 to 65535"):
        serve(options(port=70000))
    with pytest.raises(StoreError, match="holds no run 99"):
        serve(options(run=99))


def test_a_missing_package_is_named(monkeypatch):
    """With the command that installs it."""
    from tui.serve import serve

    monkeypatch.setitem(sys.modules, "textual_serve", None)
    with pytest.raises(OptionError, match=r"needs textual-serve.*pip install 'scoretrace\[serve\]'"):
        serve(options())


@pytest.mark.parametrize(
    ("host", "safe"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("gpu7", False)]
)
def test_other_addresses_than_loopback_come_with_a_warning(host, safe):
    """Whoever opens the view to a network is told that it is not encrypted."""
    from tui.serve import _hint

    assert ("not encrypted" in _hint(host, 8137)) is not safe


def test_a_view_session_writes_nothing():
    """Neither through its methods nor through the store below them; nothing runs afterwards."""
    run = stored_run()
    before = store_path().read_bytes()
    session = ViewSession(store_path())
    try:
        assert first_run(session, None).id == run
        session.attach(run)
        assert session.poll() and session.status().state == "finished"
        for act in (lambda: session.start(make_study()), session.resume, lambda: session.wish("stop"),
                    lambda: session.preflight(make_study())):  # fmt: skip
            with pytest.raises(ViewOnlyError):
                act()
        with pytest.raises(StoreError, match="readonly"):
            session.store.set_state(run, "stopped")
    finally:
        session.close()
    assert store_path().read_bytes() == before


def test_a_view_of_no_store_is_a_sentence(tmp_path):
    """A read-only store is never created."""
    with pytest.raises(StoreError, match="cannot open the store"):
        ViewSession(tmp_path / "nowhere.sqlite")
    assert not (tmp_path / "nowhere.sqlite").exists()


CHANGING = {
    "literature": {"import", "edit", "add", "remove", "undo", "redo"},
    "grid": {"toggle", "only", "custom", "preset", "file", "start", "queue", "widen"},
    "run": {"pause", "stop", "resume"}, "report": {"write", "answer"},
    "runs": {"study", "import", "resume", "up", "down", "remove"}, "problem": {"again", "copy", "edit"},
    "import": {"choose", "leave", "found", "hold", "save", "back"},
}  # fmt: skip


def test_every_command_is_either_for_views_or_known_to_change_something():
    """A new command has to be put on one side; what changes a study, a file or a run is refused in a view."""
    from test_ways_in_and_out import SCREENS

    for place, table in [("app", ScoretraceApp.TABLE), *((screen.PLACE, screen.TABLE) for screen in SCREENS)]:
        for command in table:
            changes = command.action in CHANGING.get(place, ())
            assert bool(refusal(place, command.action)) is changes, (place, command.action)
            assert changes is not (command.action in READING.get(place, ()))


async def test_keys_that_change_something_say_that_this_is_a_view():
    """On every place; q leaves without asking about the run, which goes on."""
    study = make_study()
    session = FakeSession(script(study, [48]), study)
    app = ScoretraceApp(session, study, autostart=True, view_only=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_shown(pilot, "48/164")
        for place, key in (("3", "S"), ("3", "p"), ("1", "i"), ("2", "s"), ("2", "f"), ("4", "w"), ("5", "o")):
            await pilot.press(place)
            await settled(pilot, lambda: app.base_screen.said != REFUSED, "another screen")
            await pilot.press(key)
            await until_shown(pilot, REFUSED[:60])
            app.say("")
        assert session.asked == ["start"] and "view only" in shown(app)
        await pilot.press("q")
        await settled(pilot, lambda: not app.is_running, "the app to leave")
    assert "stop" not in session.asked
