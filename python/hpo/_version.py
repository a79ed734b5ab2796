# SPDX-License-Identifier: MIT
"""The version of hpo. A test compares it with the one in CMakeLists.txt."""

__version__ = "0.1.0"
