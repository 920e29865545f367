"""Models of ONNX as programs: what is read, compiled once for each signature, and called."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import onnx

from .. import dtypes, interchange
from ..errors import InvalidArgumentError, UnimplementedError
from ..program import Program, Runnable
from .table import Unsupported, ValueNeeded
from .trace import Scope, Trace, type_of
from .value import Array

Bounds = int | tuple[int, int]
DEFAULT_BOUNDS = (1, 1024)


class UnsupportedError(UnimplementedError):
    """`operators`: (name, reason) of each that is not covered, found before anything was compiled."""

    def __init__(self, operators: Sequence[tuple[str, str]]) -> None:
        self.operators = list(operators)
        lines = "".join(f"\n  {name}: {reason}" for name, reason in self.operators)
        super().__init__(f"the model has what is not covered:{lines}")


class Input:
    """An input of the model. Sizes are numbers, names of variables, or None: known with the data."""

    def __init__(self, info: onnx.ValueInfoProto, dims: Mapping[str, Bounds], vars: dict[str, tuple[int, int]]) -> None:
        kind = info.type.WhichOneof("value")
        if kind != "tensor_type":
            raise Unsupported(f"input {info.name} is {(kind or 'nothing').removesuffix('_type')}, not a tensor")
        tensor = info.type.tensor_type
        self.name = info.name
        self.dtype = type_of(tensor.elem_type)
        self.shape: list[int | str] | None = None
        if tensor.HasField("shape"):
            self.shape = [self._size(i, d, dims, vars) for i, d in enumerate(tensor.shape.dim)]

    def _size(
        self, axis: int, d: Any, dims: Mapping[str, Bounds], vars: dict[str, tuple[int, int]]
    ) -> int | str:
        if d.WhichOneof("value") == "dim_value":
            return int(d.dim_value)
        given = d.dim_param or f"{self.name}_{axis}"
        name = re.sub(r"\W", "_", given)
        name = name if re.match(r"[A-Za-z_]", name) else f"n{name}"
        bounds = dims.get(given, DEFAULT_BOUNDS)
        if isinstance(bounds, int):
            return bounds
        vars[name] = (int(bounds[0]), int(bounds[1]))
        return name

    def check(self, value: Any) -> Array:
        """The data as an array; its type must be the declared one, and its sizes where they are numbers."""
        numbers = isinstance(value, (bool, int, float, list, tuple))
        array = interchange.host_array(value, self.dtype if numbers else None)
        if dtypes.short_name(array.dtype) != self.dtype:
            raise InvalidArgumentError(
                f"input {self.name} is {dtypes.short_name(array.dtype)}, wanted {self.dtype}; convert it before the call"
            )
        fits = self.shape is None or (
            len(self.shape) == array.ndim
            and all(isinstance(d, str) or d == n for d, n in zip(self.shape, array.shape, strict=True))
        )
        if not fits:
            wanted = ", ".join(map(str, self.shape or ()))
            raise InvalidArgumentError(f"input {self.name} has the shape {list(array.shape)}, wanted [{wanted}]")
        return array

    def __repr__(self) -> str:
        return f"{self.name}: {self.dtype}[{'...' if self.shape is None else ', '.join(map(str, self.shape))}]"


class Model:
    """A model. Calls take its inputs by position or name, and give one array, or a dict of several by name.

    Inputs in `fixed` decide the program: their values (and the shapes of inputs that declare none) are part of the
    signature, and each signature is compiled once. All others may have any data.
    """

    def __init__(self, proto: onnx.ModelProto, dims: Mapping[str, Bounds], folder: str, device: str = "auto") -> None:
        self._proto = proto
        self._folder = folder
        self._device = device
        self._dims = dict(dims)
        self._vars: dict[str, tuple[int, int]] = {}
        stored = {t.name for t in proto.graph.initializer}
        problems = []
        self.inputs: list[Input] = []
        for info in proto.graph.input:
            if info.name in stored:
                continue
            try:
                self.inputs.append(Input(info, dims, self._vars))
            except Unsupported as e:
                problems.append(("input", str(e)))
        unknown = set(dims) - _names_of_dims(proto)
        if unknown:
            names = ", ".join(sorted(_names_of_dims(proto))) or "none"
            raise ValueError(f"dims names {sorted(unknown)[0]!r}, which no input has; the inputs' are {names}")
        self.fixed: list[str] = []
        self._programs: dict[Any, Program] = {}
        self._runnables: dict[Any, Runnable] = {}
        if problems:  # what else there is, is listed as well
            raise UnsupportedError([*problems, *self._problems_of_nodes()])
        if all(i.shape is not None for i in self.inputs):
            self._compile({}, only_if_complete=True)

    @property
    def program(self) -> Program:
        """The program: to save, explain, replay. Where inputs are fixed there is one for each signature that was called or
        given to specialise(); an error unless it is one."""
        if len(self._programs) != 1:
            raise ValueError(
                f"the model has {len(self._programs)} programs, because inputs decide it: "
                f"{', '.join(self.fixed) or 'the shapes'}; specialise() gives that for their values"
            )
        return next(iter(self._programs.values()))

    def specialise(self, *args: Any, **kwargs: Any) -> Program:
        """The program for these inputs; of those that are not fixed only the type matters."""
        return self._program(self._arrays(args, kwargs))[1]

    def on(self, device: str) -> Model:
        """The same model on one device. Programs are shared, compiled kernels are not."""
        other = Model.__new__(Model)
        other.__dict__.update(self.__dict__)
        other._device = device
        other._runnables = {}
        return other

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = self._arrays(args, kwargs)
        key, program = self._program(arrays)
        run = self._runnables.get(key)
        if run is None:
            run = self._runnables[key] = program.on(self._device)
        return run(*[arrays[name] for name, _, _ in program.inputs])

    def _arrays(self, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Array]:
        names = [i.name for i in self.inputs]
        listed = ", ".join(names) or "none"
        if len(args) > len(names):
            raise TypeError(f"{len(args)} arguments were given, the model has {len(names)} inputs: {listed}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"the model has no input {name}; its inputs are {listed}")
            if name in given:
                raise TypeError(f"input {name} was given by position and by name")
            given[name] = value
        missing = [n for n in names if n not in given]
        if missing:
            raise TypeError(f"input {missing[0]} is missing; the model's inputs are {listed}")
        return {i.name: i.check(given[i.name]) for i in self.inputs}

    def _signature(self, arrays: Mapping[str, Array]) -> Any:
        values = [(n, arrays[n].shape, arrays[n].tobytes()) for n in self.fixed]
        return (*values, *[(i.name, arrays[i.name].shape) for i in self.inputs if i.shape is None])

    def _program(self, arrays: Mapping[str, Array]) -> tuple[Any, Program]:
        key = self._signature(arrays)
        if key not in self._programs:
            self._compile(arrays)
            key = self._signature(arrays)  # inputs may have become fixed
        return key, self._programs[key]

    def _compile(self, arrays: Mapping[str, Array], only_if_complete: bool = False) -> None:
        """Finds out which inputs are fixed; without their values there is nothing to compile yet."""
        while True:
            trace = Trace(self._proto.functions, self._folder)
            try:
                outputs = self._trace(trace, arrays)
                break
            except ValueNeeded as e:
                new = [i.name for i in self.inputs if i.name in e.inputs and i.name not in self.fixed]
                if not new:
                    raise UnsupportedError([(str(e), "needed at compile time, but computed by the model")]) from None
                self.fixed.extend(new)
                if only_if_complete:
                    problems = self._problems_of_nodes()
                    if problems:
                        raise UnsupportedError(problems) from None
                    return
        if trace.problems:
            raise UnsupportedError(list(trace.problems))
        for info, value in zip(self._proto.graph.output, outputs, strict=True):
            assert value is not None
            trace.builder.graph.output(info.name, value.node)
        program = Program(trace.builder.graph.compile())
        self._programs[self._signature(arrays)] = program

    def _trace(self, trace: Trace, arrays: Mapping[str, Array]) -> list[Any]:
        scope = Scope(_opsets(self._proto))
        for name, (low, high) in self._vars.items():
            trace.builder.graph.var(name, low, high)
        for i in self.inputs:
            if i.name in self.fixed:
                scope.values[i.name] = trace.builder.constant(arrays[i.name], i.dtype)
                continue
            shape = list(arrays[i.name].shape) if i.shape is None else i.shape
            node = trace.builder.graph.input(i.name, i.dtype, shape)
            scope.values[i.name] = trace.builder.node(node, frozenset([i.name]))
        return trace.graph(self._proto.graph, scope)

    def _problems_of_nodes(self) -> list[tuple[str, str]]:
        """By name alone, where a trace is not possible."""
        trace = Trace(self._proto.functions, self._folder)
        scope = Scope(_opsets(self._proto))
        for node in self._proto.graph.node:
            trace.check_name(node, scope)
        return list(trace.problems)

    def __repr__(self) -> str:
        outputs = ", ".join(o.name for o in self._proto.graph.output)
        return f"Model({', '.join(map(repr, self.inputs))} -> {outputs})"


def _opsets(proto: onnx.ModelProto) -> dict[str, int]:
    return {("" if o.domain == "ai.onnx" else o.domain): o.version for o in proto.opset_import}


def _names_of_dims(proto: onnx.ModelProto) -> set[str]:
    out: set[str] = set()
    for info in proto.graph.input:
        for axis, d in enumerate(info.type.tensor_type.shape.dim):
            if d.WhichOneof("value") != "dim_value":
                out.add(d.dim_param or f"{info.name}_{axis}")
    return out


def load(model: Any, dims: Mapping[str, Bounds] | None = None, device: str = "auto") -> Model:
    """Reads a model: a path, or a ModelProto.

    dims: bounds of the sizes that have names: {"batch": (1, 64)}, or a number to fix one; 1 to 1024 where nothing is given.
    A size without a name is called INPUT_AXIS. UnsupportedError lists what is not covered.
    """
    if isinstance(model, onnx.ModelProto):
        return Model(model, dims or {}, "", device)
    path = os.fspath(model)
    if not os.path.exists(path):
        raise FileNotFoundError(f"no model at {path}")
    try:
        proto = onnx.load(path, load_external_data=False)
    except Exception as e:  # protobuf's own classes differ between its implementations
        raise InvalidArgumentError(f"{path} is no ONNX model, or is damaged: {e}") from None
    if not proto.HasField("graph") or not proto.opset_import:
        raise InvalidArgumentError(f"{path} is no ONNX model: it has no graph or no opset")
    folder = os.path.dirname(os.path.abspath(path))
    try:
        onnx.external_data_helper.load_external_data_for_model(proto, folder)
    except (OSError, ValueError, RuntimeError, onnx.checker.ValidationError) as e:
        raise InvalidArgumentError(f"external data of {path}: {e}") from None
    return Model(proto, dims or {}, folder, device)

