# SPDX-License-Identifier: MIT
"""How a trial runs.

Written from include/hpo/core/plan.hpp by HPO_UPDATE_EXPECTED=1 ctest --preset release -R "Python's plan".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional


@dataclass(frozen=True)
class Plan:
    """How the trial should run. The memory guard and the recovery policy choose it; it changes no searched parameter."""

    effective_batch: Optional[int]
    """Examples whose gradients are averaged for one step of the optimizer. Not set for a trainer without such a parameter."""
    micro_batch: Optional[int]
    """Examples in one forward and backward pass. If it is not set, as many as the effective batch."""
    activation_checkpointing: bool
    """True: activations are computed again in the backward pass."""
    precision: str
    """The arithmetic that the trial computes in: fp32, bf16 or fp16."""
    device: str
    """The device as this program sees it: cpu, cuda:0."""
    cap_bytes: Optional[int]
    """The most device memory that the attempt may take, in bytes. If it is not set, there is no limit."""
    accumulation_steps: int
    """Micro-batches for one step of the optimizer, at least 1. The last one may be smaller."""


def plan_of(told: Mapping[str, Any], device: str) -> Plan:
    """The plan that hpo tells a program. ``device`` is the device as the program sees it."""
    return Plan(
        effective_batch=told.get("effective_batch"),
        micro_batch=told.get("micro_batch"),
        activation_checkpointing=told.get("activation_checkpointing", False),
        precision=told.get("precision", "fp32"),
        device=device,
        cap_bytes=told.get("cap_bytes"),
        accumulation_steps=told.get("accumulation_steps", 1),
    )
