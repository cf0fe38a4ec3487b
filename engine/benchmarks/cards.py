"""What is known of each benchmark's published data: where it comes from, its licence, its hash; for the report."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.benchmarks.hub import Pinned
from engine.benchmarks.rows import rows_hash


@dataclass(frozen=True)
class Card:
    """One published file: what its rows hash to (`rows_hash`), and what may then be said of them."""

    sha256: str
    source: str
    revision: str
    licence: str


_MBPP = "MBPP (Austin et al. 2021, google-research/mbpp)"
CARDS = (
    Card(
        "62eeaa082ca375405caa318234d2eadb3536c69ab5a5cbf7a70138aac686645c",
        "HumanEval (Chen et al. 2021, openai/human-eval)",
        "openai/human-eval, HumanEval.jsonl.gz",
        "MIT",
    ),
    Card(
        "5a0743641857fd04ee1f8623d830eb545a5df5f3469c425f064ce69dd15f8ea3", _MBPP, "mbpp.jsonl, 974 rows", "CC-BY-4.0"
    ),
    Card(
        "3164dbf036449ed03295936595709f736f3e67ff34d13a10d10d71bdae0f1eca",
        _MBPP,
        "the test split of mbpp.jsonl, 500 rows",
        "CC-BY-4.0",
    ),
    Card(
        "ef4cb4babcf6987b31b4a151c553a39dd0967d0f025d9ddc073e34db6d099ffd",
        f"{_MBPP}, sanitized",
        "427 rows, as a public study carries them",
        "CC-BY-4.0",
    ),
    Card(
        "ea8a90f92559a0a4c2ad3719dc1cd7029a976a983a2a289c25b0fb6020453e98",
        "MBPP+ (Liu et al. 2023, evalplus)",
        "MBPP+ v0.1.0, 399 rows",
        "Apache-2.0; MBPP CC-BY-4.0",
    ),
    Card(
        "247c5d32c4debb9cdfdb75868c3943a2851a8e4aa430ab50d472281da7d0a4fc",
        "QuixBugs (Lin et al. 2017, jkoppel/QuixBugs)",
        "40 Python programs",
        "MIT",
    ),
)


def facts_of(rows: Sequence[Mapping[str, Any]], paths: Sequence[Path], pinned: Pinned | None = None) -> dict[str, Any]:
    """Source, revision and licence of rows read from files; `unknown` unless they are exactly a published file's.

    `pinned` is the dataset that the files were downloaded from, at its commit. The hash of several files is that of
    their contents one after the other.
    """
    found = rows_hash(rows)
    card = next((card for card in CARDS if card.sha256 == found), None)
    content = hashlib.sha256()
    for path in paths:
        content.update(path.read_bytes())
    facts: dict[str, Any] = {
        "source": card.source if card else str(paths[0]),
        "revision": card.revision if card else "unknown: not the rows of a published file known here",
        "licence": card.licence if card else "unknown",
        "rows_sha256": found,
        "file_sha256": content.hexdigest(),
    }
    if pinned:
        # The commit and the files say more than the name under which the rows are known.
        facts |= {
            "source": f"{pinned.repository} ({', '.join(pinned.files)})",
            "revision": pinned.revision,
            "licence": pinned.licence,
            "rows_known": card.source if card else "no: this project has not had these rows at hand before",
        }
    return facts
