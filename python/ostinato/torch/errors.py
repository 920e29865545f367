"""What the lowering says where it cannot go on."""

from __future__ import annotations


class Unsupported(Exception):
    """An operation, or a use of it, that the graph does not have; the text is the reason."""
