"""`scoretrace serve`: the app in a browser, for looking on; loopback unless told otherwise, a token in every address.

textual-serve runs the app and speaks to the browser, but lets everybody in who can reach the port. Here all its routes
lie below `/TOKEN/`, and whatever does not begin so is refused before it is routed.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import hmac
import ipaddress
import secrets
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from cache.paths import store_path
from tui import cli
from tui.errors import OptionError
from tui.local import LocalSession
from tui.view import first_run

if TYPE_CHECKING:
    from aiohttp import web

VIEWERS = 8
"""Browsers at once; each is a process of about 100 MB."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self' ws: wss:"
    ),
}
"""Nothing is fetched from elsewhere, and the address with its token is handed to nobody."""


def serve(options: argparse.Namespace) -> int:
    """Serve until interrupted; the address is the result on stdout."""
    try:
        import textual_serve  # noqa: F401
    except ImportError:
        raise OptionError(
            "`scoretrace serve` needs textual-serve, which is not installed: pip install 'scoretrace[serve]', "
            "or pip install textual-serve into the environment of Scoretrace"
        ) from None
    if not 0 <= options.port <= 65535:
        raise OptionError(f"--port {options.port}: expected 0 to 65535 (0: any that is free)")
    session = LocalSession(store_path())
    try:
        first_run(session, options.run)
    finally:
        session.close()
    with asyncio.Runner() as runner:
        runner.run(_serve(viewer_command(options.run), options.host, options.port))
    return cli.DONE


def viewer_command(run: int | None) -> str:
    """The shell command that runs one viewer's app."""
    # -P keeps the current folder off sys.path, as for the worker.
    command = [sys.executable, "-P", "-m", "tui.view", *(("--run", str(run)) if run is not None else ())]
    return shlex.join(command)


async def _serve(command: str, host: str, port: int) -> None:
    from aiohttp import web

    token = secrets.token_urlsafe(24)
    runner = web.AppRunner(make_app(command, token), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise OptionError(_why_not(error, host, port)) from None
        port = runner.addresses[0][1]
        print(f"http://{f'[{host}]' if ':' in host else host}:{port}/{token}/", flush=True)
        print(_hint(host, port), file=sys.stderr, flush=True)
        await _interrupted()
    finally:
        await runner.cleanup()


async def _interrupted() -> None:
    """Wait for ctrl-C or a polite end."""
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(sign, end.set)
    await end.wait()


def _why_not(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port {port}: another program listens on {host}:{port}; choose another, or 0 for any that is free"
    if error.errno == errno.EACCES:
        return f"--port {port}: this user may not listen there; choose one from 1024 to 65535"
    return f"--host {host}: cannot listen there ({error.strerror or error}); 127.0.0.1 always works"


def is_loopback(host: str) -> bool:
    """True when only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _hint(host: str, port: int) -> str:
    if is_loopback(host):
        return (
            "view only; whoever has this address can look on. From another machine: "
            f"ssh -L {port}:127.0.0.1:{port} THIS-MACHINE, then open the address there. ctrl-C ends."
        )
    return (
        f"scoretrace: warning: {host} can be reached from other machines, and the connection is not encrypted: "
        "whoever reads it on its way has the token too. An ssh tunnel to 127.0.0.1 is safer. ctrl-C ends."
    )


def make_app(command: str, token: str) -> web.Application:
    """The web application: textual-serve below `/TOKEN/`, 403 for all else; `command` runs a viewer's app."""
    from aiohttp import web
    from jinja2 import Template
    from textual_serve.server import Server

    server = Server(command)
    page = Template((files("tui") / "data" / "serve.html").read_text(encoding="utf-8"), autoescape=True)
    viewers = 0

    async def index(request: web.Request) -> web.StreamResponse:
        kind = "wss" if request.scheme == "https" else "ws"
        text = page.render(websocket=f"{kind}://{request.host}/{token}/ws")
        return web.Response(text=text, content_type="text/html")

    async def websocket(request: web.Request) -> web.StreamResponse:
        nonlocal viewers
        if viewers >= VIEWERS:
            raise web.HTTPServiceUnavailable(text=f"{VIEWERS} browsers are looking on already: close one first")
        viewers += 1
        try:
            return await server.handle_websocket(request)
        finally:
            viewers -= 1

    inside = web.Application()
    inside.add_routes([web.get("/", index), web.get("/ws", websocket), web.static("/static", server.statics_path)])
    app = web.Application(middlewares=[_gate(token)])
    app.add_subapp(f"/{token}/", inside)
    return app


def _gate(token: str) -> Callable[..., Awaitable[web.StreamResponse]]:
    from aiohttp import web

    @web.middleware
    async def gate(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        # Compared over the whole length, so that the time taken tells nothing about how much of it was right.
        shown = request.path.split("/", 2)[1]
        if not hmac.compare_digest(shown.encode(), token.encode()):
            raise web.HTTPForbidden(text="403: the address lacks its token; take it whole from `scoretrace serve`.\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    return gate
