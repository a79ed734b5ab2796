# SPDX-License-Identifier: MIT
"""How ``study.optimize`` of Optuna is taken over. The modules name Optuna's private parts, so they follow its releases."""
