"""The servers that bench/peers.py compares with: `llama_cpp.server`, and llama.cpp's own `llama-server` with slots.

Run as a program it is a launcher: `python bench/servers.py --model FILE ...` is `python -m llama_cpp.server ...`, with
the weights laid out as ours. The server has no option for that, and in some AMX builds its own choice ends the process.

No package ships a `llama-server` that could be relied on; the source package of llama-cpp-python holds its source:

    pip download --no-deps --no-binary :all: llama-cpp-python==0.3.36 && tar xzf llama_cpp_python-0.3.36.tar.gz
    cmake -S llama_cpp_python-0.3.36/vendor/llama.cpp -B build -DCMAKE_BUILD_TYPE=Release -DLLAMA_BUILD_TESTS=OFF \
        -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF
    cmake --build build -j --target llama-server && python bench/peers.py --llama-server build/bin/llama-server ...
"""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from high_level import weights_as_ours

from engine.models import llamacpp

PACKAGES = ("fastapi", "uvicorn", "sse_starlette", "starlette_context", "pydantic_settings")
READY_S = 60


@dataclass
class Served:
    """One pass over the prompts: wall seconds, new tokens, and the replies' texts by problem."""

    seconds: float = 0.0
    tokens: int = 0
    replies: dict[int, str] = field(default_factory=dict)

    @property
    def rates(self) -> dict[str, float]:
        """New tokens per second; a server does not say what its prefill took."""
        return {"with_prefill": self.tokens / self.seconds}


def python_server(path: Path, prompts: Mapping[int, str], limit: int, threads: int, slot_tokens: int) -> Served | str:
    """The package's server, prompt by prompt as it has no slots; why it was not measured, where it was not."""
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"absent: llama_cpp.server needs {', '.join(missing)}"
    port = _free_port()
    command = [sys.executable, __file__, "--model", str(path), "--port", str(port), "--n_ctx", str(slot_tokens)]
    command += ["--n_threads", str(threads), "--n_threads_batch", str(threads)]

    def ask(prompt: str) -> tuple[int, str]:
        body = {"prompt": prompt, "max_tokens": limit, "temperature": 0.0, "repeat_penalty": 1.0}
        answer = _post(port, "/v1/completions", body)
        return int(answer["usage"]["completion_tokens"]), answer["choices"][0]["text"]

    with _running(command, port, "/v1/models"):
        return _pass(ask, prompts, 1)


def slot_server(
    binary: Path,
    path: Path,
    prompts: Mapping[int, Sequence[int]],
    limit: int,
    threads: int,
    slot_tokens: int,
    slots: int,
) -> Served:
    """llama.cpp's server with `slots` slots, asked for as many replies at a time; its other settings as they come."""
    port = _free_port()
    command = [str(binary), "--model", str(path), "--port", str(port), "--parallel", str(slots), "--no-webui"]
    command += ["--ctx-size", str(slot_tokens * slots), "--threads", str(threads), "--threads-batch", str(threads)]
    command += ["--no-repack"] if llamacpp.amx() else []

    def ask(prompt: Sequence[int]) -> tuple[int, str]:
        body = {"prompt": list(prompt), "n_predict": limit, "temperature": 0.0, "repeat_penalty": 1.0}
        answer = _post(port, "/completion", {**body, "cache_prompt": False})
        return int(answer["tokens_predicted"]), answer["content"]

    with _running(command, port, "/health"):
        return _pass(ask, prompts, slots)


def _pass(ask: Any, prompts: Mapping[int, Any], at_a_time: int) -> Served:
    """Ask for all replies, some at a time; the server's start is not timed."""
    found, began = Served(), time.perf_counter()
    with ThreadPoolExecutor(at_a_time) as pool:
        for problem, (tokens, text) in zip(prompts, pool.map(ask, prompts.values()), strict=True):
            found.tokens += tokens
            found.replies[problem] = text
    found.seconds = time.perf_counter() - began
    return found


@contextmanager
def _running(command: list[str], port: int, ready: str) -> Iterator[None]:
    """The server's process, once it answers; its last words where it does not."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        lines: list[bytes] = []
        with ThreadPoolExecutor(1) as reader:
            reader.submit(lambda: lines.extend(process.stderr or ()))
            try:
                if not _answers(process, port, ready):
                    process.kill()
                    process.wait()
                    last = b"".join(lines[-5:]).decode(errors="replace")
                    raise SystemExit(f"{command[0]} did not answer within {READY_S} s: {last}")
                yield
            finally:
                process.terminate()


def _answers(process: subprocess.Popen[bytes], port: int, path: str) -> bool:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                return True
        except OSError:
            time.sleep(0.1)
    return False


def _post(port: int, path: str, body: Mapping[str, Any]) -> Any:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


if __name__ == "__main__":
    with weights_as_ours():
        from llama_cpp.server.__main__ import main

        main()
