# SPDX-License-Identifier: MIT
"""How copies of a program are made, one for each trial."""
