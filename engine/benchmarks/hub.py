"""HumanEvalPack from the Hugging Face hub, at one pinned revision, checked against known contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from engine.benchmarks.rows import Row, rows_hash
from engine.errors import BenchmarkError

REPOSITORY = "bigcode/humanevalpack"

REVISION = "570eda266bf21065c9697cbec0335d0ed9687f15"
"""The dataset's commit "Remove spurious double quotation mark in the Python test suite" (2024), the last in JSON Lines;
later ones hold the rows as Parquet. Scores from before it used a faulty test in Python/142."""

FILE_HASHES = {
    "python": "b1376d72be4bd016a62ad043d9de3846edb8d63edf1222da802a31330c14c3a7",
    "js": "04c86c1fac5f33818d9187cba278ed1dfc66cc259372dd8342126aa580fb7569",
    "java": "a8d077d300bbdc2eda91e1a733deb2944678bce8fcc7eb272214626516768cc1",
    "go": "0ee2cdca46d70afb33d913a0d4b205624fe4ded2f28c2efdb241727221837993",
    "cpp": "891a390c1b9d2cb85dd8fbebcf1d88dbdd565734a6b2b3259f9ddb3fe95e33d7",
    "rust": "01ece28eaf490d7af037ce53095083dacfd38022cf5b82662ccb78024dc269a1",
}
"""Sha256 of the files in the octopack repository at 526627a (2024-05-01)."""

ROW_HASHES = {
    "python": "45d6c11ceba00f9f12ed4b6b112edb21df1cb45927c3c567a3274e7231cde648",
    "js": "289e38da7848d5ea37046ffd27598c03d780fb5face78771c8d8ccdf30145c5f",
    "java": "6a747ba4080b9d050ce28ad6773250165556697a6360f0328bc5fb78029b8b3e",
    "go": "c13411d43d8d1f3999fe794667aff469e6fd43bf9abff84622dd47fc38a592e0",
    "cpp": "a6d5e68f1edaeb7b11025b03bce279057c70ffb7760d7da8c9a42baf9662631f",
    "rust": "746fc76a06beffcf49d23f336fd4979b8eb5343ec8fe7fdfc278c15f0e1b32c9",
}
"""`rows_hash` of the same files: what a file holds, however its lines are laid out."""


def fetch(language: str) -> Path:
    """The pinned file of a language, from the hub's cache or downloaded once; HF_ENDPOINT names another hub."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    name = f"data/{language}/data/humanevalpack.jsonl"
    try:
        found = hf_hub_download(
            REPOSITORY, name, repo_type="dataset", revision=REVISION, endpoint=os.environ.get("HF_ENDPOINT") or None
        )
    # A broken connection is an OSError or the HTTP library's own error, by version; all mean the same to the user.
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        raise BenchmarkError(_unreachable(name, error)) from error
    return Path(found)


def check(language: str, rows: Sequence[Row], path: Path) -> None:
    """Raise `BenchmarkError` when downloaded rows are not the known ones."""
    found = rows_hash(rows)
    if found != ROW_HASHES[language]:
        raise BenchmarkError(
            f"{path}: rows with hash {found[:16]}, expected {ROW_HASHES[language][:16]} "
            f"({REPOSITORY} at {REVISION[:7]}); the hub or mirror served other data: delete the file and "
            "download it again, or name it with --data to use it knowingly"
        )


def _unreachable(name: str, error: Exception) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return (
        f"{REPOSITORY} at {REVISION[:7]}, {name}: not in the cache and not downloaded ({reason}); "
        "connect to the network once, set HF_ENDPOINT to a mirror, or give a local copy with --data"
    )
