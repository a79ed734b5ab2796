# SPDX-License-Identifier: MIT
"""The loop in which a program's objective runs its trials, as hpo-tune says."""
