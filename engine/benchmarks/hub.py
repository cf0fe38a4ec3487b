"""Benchmarks from the Hugging Face hub, each at one pinned revision, checked against known contents."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cache.files import host_resolves
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


@dataclass(frozen=True)
class Pinned:
    """Files of a dataset on the hub at one commit, in the order in which their rows are read.

    `files` maps a path to its sha256, empty where none is known here. `rows` is then what the rows together hash to
    (`rows_hash`), empty where this project has not had them at hand.
    """

    repository: str
    revision: str
    licence: str
    files: Mapping[str, str]
    rows: str = ""


_HUMANEVAL = Pinned(
    "openai/openai_humaneval",
    "7dce6050a7d6d172f3cc5c32aa97f52fa1a2e544",
    "MIT",
    {
        "openai_humaneval/test-00000-of-00001.parquet": (
            "2f2871a15fbc95b6c683043359f4ed8e144c5a1c4f24f25f66bc51f598dfcfb6"
        )
    },
    "62eeaa082ca375405caa318234d2eadb3536c69ab5a5cbf7a70138aac686645c",
)
_HUMANEVAL_PLUS = Pinned(
    "evalplus/humanevalplus",
    "d32357cf319e50e9c8d8dab5ea876c72b0fd321b",
    "Apache-2.0 (HumanEval+); MIT (HumanEval)",
    {"test.jsonl": "908377f1daf28dcb36846db73a5662b2e05a9907407c2696c89ad9d3b0b04492"},
)
_MBPP = "google-research-datasets/mbpp", "4bb6404fdc6cacfda99d4ac4205087b89d32030c", "CC-BY-4.0"
_SPLIT = "test-00000-of-00001.parquet"
PINNED: Mapping[str, Pinned] = {
    "humaneval": _HUMANEVAL,
    "humaneval-unstripped": _HUMANEVAL,
    "humanevalplus": _HUMANEVAL_PLUS,
    "humanevalplus-unstripped": _HUMANEVAL_PLUS,
    "mbpp": Pinned(
        *_MBPP,
        {f"full/{_SPLIT}": "566fd53060ffba5766dace1d1e2f4c38906781526de222b0dfbdbc325b696c77"},
        "3164dbf036449ed03295936595709f736f3e67ff34d13a10d10d71bdae0f1eca",
    ),
    "mbpp-full": Pinned(
        *_MBPP,
        {
            "full/prompt-00000-of-00001.parquet": "",
            f"full/{_SPLIT}": "566fd53060ffba5766dace1d1e2f4c38906781526de222b0dfbdbc325b696c77",
            "full/validation-00000-of-00001.parquet": (
                "3f0ec060987432d99fe8fb409d31e6c67445b208a01741c5583517c80a10fe80"
            ),
            "full/train-00000-of-00001.parquet": "09d125ca31edacb7800be8c67c45abff618faf0214ff551291817d06bdb914ae",
        },
        "5a0743641857fd04ee1f8623d830eb545a5df5f3469c425f064ce69dd15f8ea3",
    ),
    "mbpp-sanitized": Pinned(
        *_MBPP,
        {
            "sanitized/prompt-00000-of-00001.parquet": (
                "73c623309b7b5d65fd5661204b35f779f8e66301aa9832d1ad4b8fc3b21151fd"
            ),
            f"sanitized/{_SPLIT}": "e9e9efa2c0d59ef5e55537a9d126b8f875d5ac010a8d75628d76824884e15850",
            "sanitized/validation-00000-of-00001.parquet": (
                "27e065fcab3c863959933328a7fdbf404e1bcb5464b1be6fe0dcd9530e420204"
            ),
            "sanitized/train-00000-of-00001.parquet": (
                "d95f8ad6d2fff08fe4826122d6e3e31f75716825d0c5c340d297aca5e9e0de0e"
            ),
        },
    ),
    "mbppplus": Pinned(
        "evalplus/mbppplus",
        "b2d74c91837c3f2a20c1299ae98133cbe7cfa077",
        "Apache-2.0 (MBPP+); CC-BY-4.0 (MBPP)",
        {
            "data/test-00000-of-00001-d5781c9c51e02795.parquet": (
                "dc20030b3788fccf617444edcb34138ef13d7e4fafd17bfcb8c1279dbb12399b"
            )
        },
    ),
}
"""Commits, paths and sha256 as public projects that pin them record them; rows' hashes are those of the originals."""


def fetch(language: str) -> Path:
    """HumanEvalPack's pinned file of a language, from the hub's cache or downloaded once."""
    return _download(REPOSITORY, REVISION, f"data/{language}/data/humanevalpack.jsonl")


def fetch_pinned(pinned: Pinned) -> list[Path]:
    """A dataset's files, from the hub's cache or downloaded once.

    `BenchmarkError` when one cannot be had, or is not the file with the known sha256.
    """
    found = []
    for name, known in pinned.files.items():
        path = _download(pinned.repository, pinned.revision, name)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest() if known else ""
        if sha256 != known:
            raise BenchmarkError(_other(path, "sha256", sha256, known, pinned.repository, pinned.revision))
        found.append(path)
    return found


def check_pinned(pinned: Pinned, rows: Sequence[Mapping[str, object]], path: Path) -> None:
    """Raise `BenchmarkError` when downloaded rows are not the known ones, and not every file's sha256 was known."""
    found = rows_hash(rows)
    if pinned.rows and found != pinned.rows and not all(pinned.files.values()):
        raise BenchmarkError(_other(path, "rows with hash", found, pinned.rows, pinned.repository, pinned.revision))


def _download(repository: str, revision: str, name: str) -> Path:
    """One file of a dataset; HF_ENDPOINT names another hub. `BenchmarkError` says what to do without it."""
    from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    cached = try_to_load_from_cache(repository, name, repo_type="dataset", revision=revision)
    if isinstance(cached, str):
        return Path(cached)
    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    if not host_resolves(endpoint):
        raise BenchmarkError(_unreachable(repository, revision, name, OSError(f"{endpoint} cannot be reached")))
    try:
        found = hf_hub_download(repository, name, repo_type="dataset", revision=revision, endpoint=endpoint)
    # A broken connection is an OSError or the HTTP library's own error, by version; all mean the same to the user.
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError) as error:
        raise BenchmarkError(_unreachable(repository, revision, name, error)) from error
    return Path(found)


def check(language: str, rows: Sequence[Row], path: Path) -> None:
    """Raise `BenchmarkError` when HumanEvalPack's downloaded rows are not the known ones."""
    found = rows_hash(rows)
    if found != ROW_HASHES[language]:
        raise BenchmarkError(_other(path, "rows with hash", found, ROW_HASHES[language], REPOSITORY, REVISION))


def _other(path: Path, what: str, found: str, expected: str, repository: str, revision: str) -> str:
    return (
        f"{path}: {what} {found[:16]}, expected {expected[:16]} "
        f"({repository} at {revision[:7]}); the hub or mirror served other data: delete the file and "
        "download it again, or name it with --data to use it knowingly"
    )


def _unreachable(repository: str, revision: str, name: str, error: Exception) -> str:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return (
        f"{repository} at {revision[:7]}, {name}: not in the cache and not downloaded ({reason}); connect to "
        "the network once, set HF_ENDPOINT to a mirror, or give a local copy with --data FILE "
        '(in a study file: data = "FILE")'
    )
