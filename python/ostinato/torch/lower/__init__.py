"""The lowering of ATen operations to the tensor graph."""

from . import conv, create, index, matmul, norm, pointwise, pool, reduce, shape
from .graph import Lowered, Lowering, Slot
from .table import TABLE

__all__ = ["TABLE", "Lowered", "Lowering", "Slot"]
_families = (conv, create, index, matmul, norm, pointwise, pool, reduce, shape)  # they fill the table
