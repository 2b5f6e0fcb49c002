"""Where preset ``linux`` and the kernel disagree, and why."""

from collections.abc import Mapping
from types import MappingProxyType

EXPLAINED: Mapping[tuple[str, str], str] = MappingProxyType({})
"""Reasons, by case and figure."""

UNEXPLAINED: Mapping[tuple[str, str], str] = MappingProxyType({})
"""What is known, by case and figure."""
