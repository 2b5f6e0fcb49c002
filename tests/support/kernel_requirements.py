"""Kernels that tests boot. None is built for tests: those that need one are skipped without."""

from typing import Any

import pytest

from marqueue.kernels import Kernel, built
from marqueue.kernels.verification import UnfitProcessor, boot


def _runs_here(kernel: Kernel) -> bool:
    """Whether this machine's processor is one for it: those that use seccomp run on any."""
    try:
        return kernel.seccomp or bool(boot(kernel, "power-off 1000000\n"))
    except UnfitProcessor:
        return False


RELEASED = [
    each
    for each in built()
    if (each.record.get("source") or {}).get("release") and _runs_here(each)
]


def every_kernel(function):  # type: ignore[no-untyped-def]
    """Runs a test with each kernel of a release that is built here."""
    reason = "no kernel is built here that this processor can run (make kernels)"
    kernels: list[Any] = RELEASED or [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return pytest.mark.parametrize("kernel", kernels, ids=lambda each: _name(each))(function)


def _name(kernel: Kernel | None) -> str:
    return kernel.name if kernel else "none"
