"""Kernels that tests boot. None is built for tests: those that need one are skipped without."""

import pytest

from marqueue.kernels import Kernel, built

RELEASED = [each for each in built() if (each.record.get("source") or {}).get("release")]


def every_kernel(function):  # type: ignore[no-untyped-def]
    """Runs a test with each kernel of a release that is built here."""
    reason = "no kernel is built here (make kernels)"
    kernels = RELEASED or [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    return pytest.mark.parametrize("kernel", kernels, ids=lambda each: _name(each))(function)


def _name(kernel: Kernel | None) -> str:
    return kernel.name if kernel else "none"
