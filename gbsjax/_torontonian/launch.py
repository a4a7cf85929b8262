"""Sizes: how many modes are looped over one branch at a time, and how many matrices run side by side."""

from __future__ import annotations

from typing import NamedTuple

# Nodes of the tree that run side by side, all matrices together: the arrays of the last levels stay near 1 MB.
LANES = 2**12


class Tree(NamedTuple):
    """The Schur tree over `modes` modes, with displacement or without."""

    modes: int
    loops: bool

    @property
    def terms(self) -> int:
        # Multiply-adds are about 48 a leaf: matrices shrink as the tree widens.
        return 2**self.modes

    @property
    def together(self) -> int:
        """Matrices that run side by side."""
        return max(1, LANES // 2 ** max(self.modes - 2, 0))

    @property
    def looped(self) -> int:
        """Modes at the top of the tree that are looped over."""
        return max(0, self.modes - 2 - (LANES.bit_length() - 1))
