"""One configuration run by itself, as the obvious loop does it: `bench/grid.py` extrapolates from a sample of these."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from high_level import open_llama

from engine import extraction, prompts
from engine.chat import chat_of_file
from engine.environment import free_cores
from engine.protocols import Benchmark, Problem, Sandbox
from engine.settings import Configuration


@dataclass
class Naive:
    """One configuration's independent run: seconds to load, per first and further sample of a problem with judging.

    `passed` counts the first samples.
    """

    configuration: Configuration
    load: float
    first: float
    further: float
    texts: dict[str, str]
    passed: int

    def total(self, problems: int, samples: int) -> float:
        """Extrapolated to a whole run."""
        return self.load + problems * (self.first + (samples - 1) * self.further)


def naive(c: Configuration, path: Path, benchmark: Benchmark, problems: Sequence[Problem], sandbox: Sandbox) -> Naive:
    """Load, generate two samples of each problem one after the other, judge; all of it timed."""
    chat = chat_of_file(path)
    words = prompts.stop_words(benchmark, c.template, chat.eos_token)
    began = time.perf_counter()
    model = open_llama(path, n_ctx=c.max_length, threads=free_cores())
    load = time.perf_counter() - began
    seconds: dict[int, list[float]] = {0: [], 1: []}
    texts: dict[int, dict[str, str]] = {0: {}, 1: {}}
    for problem in problems:
        text = prompts.render(c.template, benchmark, problem, prefill=c.prefill, chat=chat)
        for sample in (0, 1):
            began = time.perf_counter()
            tokens = model.tokenize(text.encode(), special=True)
            room = c.max_length - len(tokens)
            found = ""
            if room > 0:
                answer = model.create_completion(
                    tokens, max_tokens=room, temperature=c.decoding.temperature, top_p=c.decoding.top_p, top_k=0,
                    min_p=0.0, stop=list(words), seed=sample,
                )  # fmt: skip
                found = answer["choices"][0]["text"]
            texts[sample][problem.task_id] = found
            seconds[sample].append(time.perf_counter() - began)
    model.close()
    passed = {}
    for sample in (0, 1):
        began = time.perf_counter()
        passed[sample] = judge(c, benchmark, problems, texts[sample], sandbox, chat.eos_token)
        seconds[sample].append(time.perf_counter() - began)
    first, further = (sum(seconds[sample]) / len(problems) for sample in (0, 1))
    return Naive(c, load, first, further, texts[0], passed[0])


def judge(
    c: Configuration,
    benchmark: Benchmark,
    problems: Sequence[Problem],
    texts: dict[str, str],
    sandbox: Sandbox,
    eos: str,
) -> int:
    """Judge one reply to each problem, as many at a time as there are cores; how many passed."""

    def one(problem: Problem) -> bool:
        program = extraction.extract(
            c.extraction, benchmark, problem, c.template, texts[problem.task_id], prefill=c.prefill, eos_token=eos
        )
        return sandbox.run(benchmark.program(problem, program), benchmark.limits).passed

    with ThreadPoolExecutor(free_cores()) as pool:
        return sum(pool.map(one, problems))
