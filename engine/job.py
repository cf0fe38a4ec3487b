"""What a worker is told to do, as plain data in the run's row: configurations, where model files and benchmarks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.settings import Configuration
from engine.stopping import Target


@dataclass(frozen=True)
class Job:
    """`models` maps a study's model names to file specs; `data` benchmark names to local paths (absent: hub or
    embedded).

    `width` 0 means the shape that is fastest here, and `shapes` (model -> precision -> `8` or `8x4`) goes before it;
    `threads` 0 the free cores; `level` "" the best sandbox level there is;
    `origin` says where an imported run's replies are from (`file`, its `sha256`, `kind`, `results`) and which `run` of
    the same store a re-scored one read; empty for a run of models. `audit` is how many samples are to be recomputed
    alone once all is judged (`engine.audit`), `repeats` how many other seeds programs are then executed again under
    (`engine.repeating`). `stop` is the rule by which configurations are asked no further
    (`engine.stopping`; empty: none is stopped), `targets` the counts that it compares with, by configuration id;
    `order` holds task ids by benchmark, likely passes first, for those of them that want an order.
    """

    configurations: tuple[Configuration, ...]
    models: Mapping[str, str]
    data: Mapping[str, str] = field(default_factory=dict)
    width: int = 0
    shapes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    threads: int = 0
    level: str = ""
    audit: int = 0
    repeats: int = 0
    origin: Mapping[str, str] = field(default_factory=dict)
    stop: str = ""
    targets: Mapping[str, Target] = field(default_factory=dict)
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `from_dict` reads it back."""
        return {
            "configurations": [configuration.as_dict() for configuration in self.configurations],
            "models": dict(self.models),
            "data": dict(self.data),
            "width": self.width,
            "shapes": {model: dict(shapes) for model, shapes in self.shapes.items()},
            "threads": self.threads,
            "level": self.level,
            "audit": self.audit,
            "repeats": self.repeats,
            "origin": dict(self.origin),
            "stop": self.stop,
            "order": {benchmark: list(task_ids) for benchmark, task_ids in self.order.items()},
            "targets": {id_: target.as_dict() for id_, target in self.targets.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Job:
        """Rebuild what `as_dict` wrote."""
        configurations = tuple(Configuration.from_dict(values) for values in data["configurations"])
        targets = {id_: Target.from_dict(values) for id_, values in data.get("targets", {}).items()}
        return cls(**{**data, "configurations": configurations, "targets": targets})
