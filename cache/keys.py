"""What can change a token, or an outcome, spelled out and hashed: the store's keys.

Left out on purpose, since none of them changes a token: maximum length (prefix rule), extraction, benchmark name,
order, batch neighbours (the engine's shapes are independent of them; the numerics say which shape).
"""

from __future__ import annotations

import array
import hashlib
import json
from collections.abc import Mapping, Sequence

VERSION = 1
"""Raised when the engine changes how it draws or decodes, so that nothing older is reused."""


def generation_key(
    *,
    model_sha256: str,
    prompt: Sequence[int],
    decoding: Mapping[str, float],
    stream: int,
    numerics: Mapping[str, str],
) -> str:
    """Hex key of one generation: the loaded file, exact prompt token ids, decoding, random stream, and numerics.

    Greedy decoding draws nothing, so its key ignores the stream, top_p and top_k.
    """
    greedy = decoding["temperature"] == 0
    head = {
        "version": VERSION,
        "model": model_sha256,
        "decoding": {"temperature": 0} if greedy else dict(decoding),
        "stream": None if greedy else stream,
        "numerics": dict(numerics),
    }
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    digest.update(array.array("i", prompt).tobytes())
    return digest.hexdigest()[:40]


def stream_seed(seed: int, task_id: str, sample: int) -> int:
    """The 63-bit seed of one sample's own random stream: the same for every order, width and neighbour."""
    digest = hashlib.sha256(f"{seed}\x1f{task_id}\x1f{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def outcome_key(parts: Sequence[str], limits: Mapping[str, float], sandbox: str) -> str:
    """Hex key of one outcome: the program's parts, its limits, and the sandbox's identity."""
    body = json.dumps([VERSION, list(parts), dict(limits), sandbox], sort_keys=True)
    return hashlib.sha256(body.encode()).hexdigest()[:40]
