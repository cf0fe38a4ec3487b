"""RO-Crate metadata (version 1.1): every file of a report by name, with its size and sha256."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

CRATE_FILE = "ro-crate-metadata.json"
TYPES = {
    ".md": ("text/markdown", "The report, to read"),
    ".html": ("text/html", "The report with plots, in one file"),
    ".json": ("application/json", "The report, to compute with"),
    ".tex": ("application/x-tex", "The report as LaTeX"),
    ".pdf": ("application/pdf", "The report, to print"),
    ".csv": ("text/csv", "A table of the report"),
    ".toml": ("application/toml", "The study, which runs everything again"),
    ".jsonl": ("application/jsonl", "Facts of the run, one a line"),
}  # fmt: skip


def metadata(document: Mapping[str, Any], contents: Mapping[str, bytes]) -> str:
    """The text of ro-crate-metadata.json for the files `contents` (name -> bytes) of a document's report."""
    run, software = f"#run-{document['run']['id']}", "#scoretrace"
    name = document["title"] or "Untitled study"
    graph: list[dict[str, Any]] = [
        {
            "@id": CRATE_FILE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"{name}: report of run {document['run']['id']}",
            "description": document["question"] or "Which evaluation settings reported scores are consistent with.",
            "datePublished": _iso(document["made"]),
            "license": "not stated by the author of this study",
            "hasPart": [{"@id": file} for file in contents],
            "mentions": {"@id": run},
        },
        {
            "@id": run,
            "@type": "CreateAction",
            "name": document["run"]["name"] or name,
            "startTime": _iso(document["run"]["first"]),
            "endTime": _iso(document["run"]["last"]),
            "instrument": {"@id": software},
            "result": [{"@id": file} for file in contents],
        },
        {"@id": software, "@type": "SoftwareApplication", "name": "Scoretrace", "version": document["scoretrace"]},
        *(_file(file, content) for file, content in contents.items()),
    ]
    body = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _iso(moment: str) -> str:
    return moment.replace(" UTC", "Z").replace(" ", "T")


def _file(name: str, content: bytes) -> dict[str, Any]:
    kind, about = TYPES.get(PurePosixPath(name).suffix, ("application/octet-stream", "A file of the report"))
    return {
        "@id": name,
        "@type": "File",
        "name": about,
        "encodingFormat": kind,
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
