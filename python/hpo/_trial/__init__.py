# SPDX-License-Identifier: MIT
"""What the program of a trial says and asks."""
