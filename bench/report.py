"""How long reports, bundles and their verification take, and whether they hold; prints one JSON object.

    python bench/report.py [--real]

60 configurations over 60 problems of a benchmark that a fake sandbox judges; with --real also over bugfix-mini in the
machine's sandbox. Replies come from a fake model. Seconds are wall time on the machine at hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "report"))

from browser_kit import find_browser, visit
from bundle_kit import FakeBenchmark, FakeSandbox, make_run

from cache.store import Store
from engine.benchmarks import open_benchmark
from engine.protocols import Benchmark, Sandbox
from engine.sandbox import open_sandbox
from literature.report import document, latex, output
from tui.bundle import write_bundle
from tui.reporting import collect
from tui.verify import verify_bundle

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came of it."""
    started = time.perf_counter()
    found = work()
    return round(time.perf_counter() - started, 2), found


def formats(store: Store, run: int) -> dict[str, Any]:
    """Each format's seconds and bytes, and all of them from the store on."""
    collecting, given = timed(lambda: collect(store, run))
    building, content = timed(lambda: document.build(given, time.time()))
    found: dict[str, Any] = {"collect_s": collecting, "document_s": building}
    for name in output.DEFAULT_FORMATS:
        seconds, texts = timed(lambda name=name: output.texts(content, (name,)))
        found[name] = {"seconds": seconds, "bytes": sum(len(text.encode()) for text in texts.values())}
    found["all_but_pdf_s"], made = timed(lambda: output.contents(collect(store, run), time.time()))
    if latex.latex_program():
        found["all_with_pdf_s"], _ = timed(lambda: output.contents(collect(store, run), time.time(), output.FORMATS))
        found["latex"] = Path(latex.latex_program()).name
    told = set(NUMBER.findall(made["report.md"].decode()))
    found["numbers_in_markdown"] = len(told)
    found["of_them_not_in_json"] = sorted(told - set(NUMBER.findall(made["report.json"].decode())))
    found["browser"] = browser(made["report.html"])
    return found


def browser(page: bytes) -> Any:
    """Console messages and requests of a page in headless Chromium; why not, without one."""
    if not find_browser():
        return "no Chromium here"
    with tempfile.TemporaryDirectory() as name:
        found = visit(page, Path(name))
    return {"shown": "Measured scores" in found.text, "console": found.console, "requests": found.requests}


def bundle(
    store: Store, run: int, folder: Path, benchmark: Benchmark, sandbox: Callable[[], Sandbox]
) -> dict[str, Any]:
    """Seconds and size of a bundle, and what verifying it comes to."""
    made_s, made = timed(lambda: write_bundle(store, run, folder / "run.zip", lambda name, data=None: benchmark))
    verify_s, found = timed(lambda: verify_bundle(made.path, sandbox, opener=lambda name, data=None: benchmark))
    return {
        "bundle_s": made_s, "bytes": made.size, "files": made.files, "remarks": list(made.remarks),
        "verify_s": verify_s, "samples": found.samples, "programs": found.programs, "numbers": found.numbers,
        "differences": len(found.differences), "unverified": list(found.unverified), "holds": found.holds,
    }  # fmt: skip


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--real", action="store_true")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store, fake = Store(folder / "fake.sqlite"), FakeBenchmark()
        run = make_run(store, fake, FakeSandbox(), tables=("humanevalfix",))
        found["formats, 60 configurations"] = formats(store, run)
        found["bundle, 60 x 60, fake sandbox"] = bundle(store, run, folder, fake, FakeSandbox)
        store.close()
        if options.real:
            store, mini = Store(folder / "real.sqlite"), open_benchmark("bugfix-mini")
            run = make_run(store, mini, open_sandbox())
            found["bundle, 60 x 64, bugfix-mini, real sandbox"] = bundle(store, run, folder, mini, open_sandbox)
            store.close()
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
