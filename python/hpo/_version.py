# SPDX-License-Identifier: MIT
"""The version of hpo. CMake and the wheel read it here."""

__version__ = "0.2.0rc1"
