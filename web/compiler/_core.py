"""marqueue._core in a browser: what scenarios need of it, through JavaScript from crates/wasm."""

import json
from collections.abc import Sequence
from typing import Any

# Registered by compiler.worker.ts.
import marqueue_engine as engine  # type: ignore[import-not-found]


class PlanError(ValueError):
    """The plan cannot be run: path, message."""


def version() -> str:
    return str(engine.version())


def catalogue() -> str:
    return str(engine.catalogue())


def read_marking_curve(text: str) -> str:
    answer = json.loads(engine.read_marking_curve(text))
    if "error" in answer:
        raise ValueError(answer["error"])
    return str(answer["curve"])


def red_parameters(given: str, per_second: float, delay: float) -> tuple[float, float, float]:
    answer: dict[str, Any] = json.loads(engine.red_parameters(given, per_second, delay))
    if "message" in answer:
        raise PlanError(answer["path"], answer["message"])
    min_th, max_th, w_q = answer["parameters"]
    return min_th, max_th, w_q


def check(plan: str) -> list[str]:
    answer: dict[str, Any] = json.loads(engine.check(plan))
    if "message" in answer:
        raise PlanError(answer["path"], answer["message"])
    return list(answer["warnings"])


def estimated_bytes(plan: str) -> float:
    return float(engine.estimated_bytes(plan))


def shortest_routes(
    nodes: int,
    edges: Sequence[tuple[int, int, int, str, int]],
    pairs: Sequence[tuple[int, int]],
) -> list[tuple[int, ...]]:
    return [
        tuple(route)
        for route in json.loads(engine.shortest_routes(nodes, json.dumps([edges, pairs])))
    ]
