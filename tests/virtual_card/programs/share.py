# SPDX-License-Identifier: MIT
"""Allocates 200 MiB, gives them back, and allocates as many MiB as it is told. PyTorch would keep both."""
import sys

import torch

if sys.argv[1] == "module":
    import os

    import hpo

    os.environ.pop("PYTORCH_ALLOC_CONF", None)  # PyTorch has not read it yet
    hpo.trial()
torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
kept = torch.empty(int(sys.argv[2]) << 20, dtype=torch.uint8, device="cuda")
print('@hpo {"value": %d}' % torch.cuda.memory_reserved(), flush=True)
