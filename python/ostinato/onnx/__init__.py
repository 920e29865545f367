"""Models of ONNX, read into programs: ostinato.onnx.load("model.onnx"). docs/python-onnx.md."""

from __future__ import annotations

from . import (  # noqa: F401  (each enters its operators into the table)
    contract,
    control,
    elementwise,
    indexed,
    movement,
    norm,
    quantised,
    recurrent,
    reduce,
    resize,
    sources,
    training,
    trigonometry,
    window,
)
from .model import DEFAULT_BOUNDS, Model, UnsupportedError, load
from .table import OPERATORS

__all__ = ["DEFAULT_BOUNDS", "Model", "UnsupportedError", "load", "operators"]


def operators() -> list[str]:
    """Operators that the table has, "domain:name" where the domain is not ONNX's own. Those with a function body in ONNX
    are covered too if its nodes are."""
    return sorted(f"{domain}:{name}" if domain else name for domain, name in OPERATORS)
