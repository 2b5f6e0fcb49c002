"""marqueue._core in a browser: what scenarios need of it, through JavaScript from crates/wasm."""

import json
from typing import Any

# Registered by compiler.worker.ts.
import marqueue_engine as engine  # type: ignore[import-not-found]

_KNOWN: dict[str, Any] = json.loads(engine.catalogue())

TIMESTAMPS_BYTES: int = _KNOWN["TIMESTAMPS_BYTES"]
MARKING_CURVE: str = _KNOWN["MARKING_CURVE"]
REASONS: list[str] = _KNOWN["REASONS"]


class PlanError(ValueError):
    """The plan cannot be run: path, message."""


def version() -> str:
    return str(_KNOWN["version"])


def aqm_catalogue() -> Any:
    return _KNOWN["aqm_catalogue"]


def loss_catalogue() -> Any:
    return _KNOWN["loss_catalogue"]


def rate_catalogue() -> Any:
    return _KNOWN["rate_catalogue"]


def jitter_params() -> Any:
    return _KNOWN["jitter_params"]


def reorder_params() -> Any:
    return _KNOWN["reorder_params"]


def tcp_params() -> Any:
    return _KNOWN["tcp_params"]


def tcp_presets() -> Any:
    return _KNOWN["tcp_presets"]


def dscps() -> Any:
    return _KNOWN["dscps"]


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
