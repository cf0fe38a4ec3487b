"""What this machine can do, as sentences with the remedy for what it cannot."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from cache.errors import CacheError
from cache.paths import home
from tui.lines import print_objects

BUILD = "pip install llama-cpp-python"
CUDA_BUILD = 'CMAKE_ARGS="-DGGML_CUDA=on" pip install --force-reinstall --no-cache-dir llama-cpp-python'


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `state` is `ok`, `limited` or `missing`; `remedy` empty where nothing is to do."""

    subject: str
    state: str
    text: str
    remedy: str = ""


def doctor(options: argparse.Namespace) -> int:
    """Print the findings; exit 1 when running a model is not possible here."""
    findings = list(look())
    if options.format == "plain":
        for found in findings:
            print(f"{found.state:<8} {found.subject}: {found.text}")
            if found.remedy:
                print(f"         -> {found.remedy}")
    else:
        print_objects((asdict(found) for found in findings), options.format)
    return 1 if any(found.state == "missing" for found in findings) else 0


def look() -> Iterator[Finding]:
    """All findings, in the order in which they stand in one another's way."""
    yield _machine()
    yield _folder()
    yield from _llama()
    yield _sandbox()
    # Before the model: looking for that closes the hub for this process.
    yield _hub()
    yield _model()


def _machine() -> Finding:
    from engine.crowding import crowding
    from engine.environment import describe

    here, crowded = describe(), crowding()
    text = f"{here.system}, {here.python}, {here.cpu}, {here.cores} of {here.cores_total} cores"
    text = f"{text}, {here.memory / 2**30:.1f} GiB memory"
    if crowded:
        return Finding("machine", "limited", f"{text}; {crowded}", "end other programs before times are measured")
    return Finding("machine", "ok", text)


def _folder() -> Finding:
    folder = home()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".doctor-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        return Finding("data folder", "missing", f"{folder} cannot be written: {error.strerror}", "set SCORETRACE_HOME")
    free = shutil.disk_usage(folder).free
    if free < 2 << 30:
        return Finding("data folder", "limited", f"{folder}, only {free / 2**30:.1f} GiB free", "free disk space")
    return Finding("data folder", "ok", f"{folder}, {free / 2**30:.0f} GiB free")


def _llama() -> Iterator[Finding]:
    # In a child: a broken native library must not take this process with it.
    code = (
        "import json; from engine.models.llamacpp import build, devices; "
        "print(json.dumps({'build': dict(build()), 'devices': devices()}))"
    )
    child = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if child.returncode:
        words = (child.stderr.strip().splitlines() or [f"exit status {child.returncode}"])[-1]
        yield Finding(
            "llama.cpp", "missing", f"llama-cpp-python does not load: {words}",
            f"build it (4-6 minutes, needs gcc and g++): {BUILD}; everything but running models works without",
        )  # fmt: skip
        return
    import json

    found = json.loads(child.stdout.strip().splitlines()[-1])
    yield Finding("llama.cpp", "ok", ", ".join(f"{key} {value}" for key, value in found["build"].items()))
    gpus = [device for device in found["devices"] if "CPU" not in device]
    if gpus:
        yield Finding("GPU", "ok", ", ".join(gpus))
    else:
        remedy = f"on an NVIDIA machine: {CUDA_BUILD}" if shutil.which("nvidia-smi") else ""
        yield Finding("GPU", "limited", "this build of llama.cpp offers none; models run on the CPU", remedy)


def _sandbox() -> Finding:
    from engine.errors import SandboxUnavailable
    from engine.sandbox import open_sandbox, probe_levels

    try:
        sandbox = open_sandbox(jobs=1)
    except SandboxUnavailable as error:
        remedy = probe_levels()["wasm"].remedy or "programs are not run on this machine; scores need another one"
        return Finding("sandbox", "missing", str(error), remedy)
    sandbox.close()
    text = f"level {sandbox.level}: untrusted programs run confined"
    best = next(iter(probe_levels().values()))
    if best.available:
        return Finding("sandbox", "ok", text)
    return Finding("sandbox", "ok", f"{text}; {best.level} does not work here: {best.reason}", best.remedy)


def _model() -> Finding:
    from cache.files import find_model
    from tui.study import embedded

    # Looking is no reason to download; this process does nothing else with the hub.
    os.environ["HF_HUB_OFFLINE"] = "1"
    spec = embedded().models[0].file
    try:
        found = find_model(spec)
    except CacheError as error:
        return Finding("embedded model", "limited", str(error))
    return Finding("embedded model", "ok", f"{found.source}, {found.path.stat().st_size / 1e6:.0f} MB")


def _hub() -> Finding:
    if os.environ.get("HF_HUB_OFFLINE", "") in ("1", "true", "TRUE", "yes", "on"):
        return Finding("hub", "limited", "HF_HUB_OFFLINE is set: only cached files are used", "unset it to download")
    return Finding("hub", "ok", "files that are not cached are fetched at pinned revisions when a study needs them")
