# SPDX-License-Identifier: MIT
"""Limits PyTorch to what hpo has reserved of the GPU for this trial."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Optional


def used_cuda() -> Any:
    """torch.cuda, if the program has initialised CUDA with PyTorch. Else None. It imports nothing and initialises nothing."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def limit_torch() -> None:
    """Limits the caching allocator once the program initialises CUDA. PyTorch then raises its own out-of-memory error, and others lose nothing.

    Nothing here imports PyTorch or initialises CUDA. Where PyTorch is not imported yet, its environment may limit it.
    """
    limit = os.environ.get("HPO_TORCH_BYTES", "")
    cuda: Any = getattr(sys.modules.get("torch"), "cuda", None)
    if not limit.isdigit() or not hasattr(cuda, "_lazy_call"):
        return

    def apply() -> None:
        try:
            _apply(cuda, int(limit))
        except Exception as error:  # a program does not fail because it could not be limited
            print(f"hpo: PyTorch could not be limited to its share of the GPU: {error}", file=sys.stderr)

    cuda._lazy_call(apply)


def refused() -> Optional[Dict[str, int]]:
    """The limit, if PyTorch refused memory because of it, though the program caught that and went on with less."""
    limit = os.environ.get("HPO_TORCH_BYTES", "")
    cuda = used_cuda()
    if not limit.isdigit() or cuda is None or not cuda.memory_stats(0).get("num_ooms", 0):
        return None
    return {"limit": int(limit), "capacity": int(cuda.get_device_properties(0).total_memory)}


def _apply(cuda: Any, limit: int) -> None:
    total = cuda.get_device_properties(0).total_memory
    # PyTorch cuts the product down to whole bytes.
    cuda.set_per_process_memory_fraction(min(1.0, (limit + 1) / total), 0)
