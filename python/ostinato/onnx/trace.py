"""Reads the nodes of a model in order and builds the graph. Operators that are not in the table but have a function
body, in ONNX or in the model, become the nodes of that body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx

from ..errors import Error
from .fold import fold
from .table import OPERATORS, Call, Unsupported
from .value import Builder, Value

_STANDARD = ("", "ai.onnx")
TYPES = {
    onnx.TensorProto.DataType.Value(long): short
    for long, short in {
        **{"BOOL": "bool", "FLOAT16": "f16", "BFLOAT16": "bf16", "FLOAT": "f32", "DOUBLE": "f64"},
        **{f"{sign}INT{bits}": f"{sign.lower() or 'i'}{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)},
    }.items()
}
_NUMBERS = {short: number for number, short in TYPES.items()}


def type_of(number: int) -> str:
    """The short name of an element type of ONNX."""
    if number not in TYPES:
        raise Unsupported(f"element type {onnx.TensorProto.DataType.Name(number).lower()}")
    return TYPES[number]


class Scope:
    """Names of values within a graph or a function. A subgraph sees those around it."""

    def __init__(self, opsets: Mapping[str, int], outer: Scope | None = None) -> None:
        self.opsets = opsets
        self.values: dict[str, Value | None] = {}
        self.outer = outer
        self.attrs: Mapping[str, onnx.AttributeProto] = outer.attrs if outer else {}

    def find(self, name: str) -> Value | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise ValueError(f"value {name!r} is used before it is made")


class Trace:
    """`problems`: (operator, reason) of all that is not covered; what depends on it is left out."""

    def __init__(self, functions: Iterable[onnx.FunctionProto], folder: str = "") -> None:
        self.builder = Builder()
        self.functions = {(f.domain, f.name): f for f in functions}
        self.folder = folder
        self.problems: dict[tuple[str, str], None] = {}

    def graph(self, graph: onnx.GraphProto, scope: Scope) -> list[Value | None]:
        """Its outputs; None where they could not be made."""
        for tensor in graph.initializer:
            scope.values[tensor.name] = self._attempt("initializer " + tensor.name, lambda t=tensor: self.tensor(t))
        if graph.sparse_initializer:
            self._note("initializer", "sparse tensors")
        self.nodes(graph.node, scope)
        return [scope.find(o.name) for o in graph.output]

    def nodes(self, nodes: Iterable[onnx.NodeProto], scope: Scope) -> None:
        for node in nodes:
            results = self._node(node, scope)
            for i, name in enumerate(node.output):
                if name:
                    scope.values[name] = results[i] if i < len(results) else None

    def tensor(self, tensor: onnx.TensorProto) -> Value:
        type_of(tensor.data_type)
        array = onnx.numpy_helper.to_array(tensor, self.folder)
        return self.builder.constant(array, TYPES[tensor.data_type])

    def _note(self, name: str, reason: str) -> None:
        self.problems[name, reason] = None

    def _attempt(self, name: str, make: Any) -> Any:
        try:
            return make()
        except Unsupported as e:
            self._note(name, str(e))
        except Error as e:
            self._note(name, f"the graph refuses it: {str(e).splitlines()[0]}")
        return None

    def _node(self, node: onnx.NodeProto, scope: Scope) -> Sequence[Value | None]:
        inputs = [scope.find(name) if name else None for name in node.input]
        if any(value is None and name for value, name in zip(inputs, node.input, strict=True)):
            self.check_name(node, scope)  # what it needs is missing already
            return []
        while inputs and inputs[-1] is None:
            inputs.pop()
        made: Sequence[Value | None] = self._attempt(node.op_type, lambda: self._apply(node, inputs, scope)) or []
        return made

    def check_name(self, node: onnx.NodeProto, scope: Scope) -> None:
        """Notes an operator that is not covered whatever its operands are."""
        domain = "" if node.domain in _STANDARD else node.domain
        known = (domain, node.op_type) in OPERATORS or (node.domain, node.op_type) in self.functions
        if not known and not self._function(node, [], scope, False):
            self._note(node.op_type, reason_for(domain, node.op_type))

    def _apply(self, node: onnx.NodeProto, inputs: list[Value | None], scope: Scope) -> Sequence[Value | None]:
        domain = "" if node.domain in _STANDARD else node.domain
        local = self.functions.get((node.domain, node.op_type))
        if local is not None:
            return self._expand(node, local, inputs, scope)
        function = OPERATORS.get((domain, node.op_type))
        if function is not None:
            since = self._schema(node, scope).since_version if domain in ("", "ai.onnx.ml") else 1
            call = Call(self, node.op_type, inputs, self._attributes(node, scope), since, len(node.output))
            call.scope = scope
            known = fold(call)
            if known is not None:
                return [self.builder.constant(known)]
            made = function(call)
            return list(made) if isinstance(made, (list, tuple)) else [made]
        body = self._function(node, inputs, scope, True)
        if body is None:
            raise Unsupported(reason_for(domain, node.op_type))
        return self._expand(node, body, inputs, scope)

    def _schema(self, node: onnx.NodeProto, scope: Scope) -> Any:
        domain = "" if node.domain in _STANDARD else node.domain
        version = scope.opsets.get(domain, scope.opsets.get("ai.onnx", 1))
        try:
            return onnx.defs.get_schema(node.op_type, version, domain)
        except onnx.defs.SchemaError:
            raise Unsupported(f"no such operator in opset {version} of {domain or 'ai.onnx'}") from None

    def _attributes(self, node: onnx.NodeProto, scope: Scope) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for a in node.attribute:
            given = scope.attrs.get(a.ref_attr_name) if a.ref_attr_name else a
            if given is None:
                continue
            value = onnx.helper.get_attribute_value(given)
            out[a.name] = value.decode() if isinstance(value, bytes) else value
        return out

    def _function(
        self, node: onnx.NodeProto, inputs: Sequence[Value | None], scope: Scope, typed: bool
    ) -> onnx.FunctionProto | None:
        """The body that ONNX defines the operator by. typed: with the types of its operands, which may decide it."""
        try:
            schema = self._schema(node, scope)
        except Unsupported:
            if typed:
                raise
            return None
        version = schema.since_version
        if schema.has_function:
            fitting = [v for v in schema.function_opset_versions if v <= scope.opsets.get("", version)]
            return _parsed(
                schema.get_function_with_opset_version(max(fitting or schema.function_opset_versions))
            )
        if not schema.has_context_dependent_function:
            return None
        if not typed:
            return onnx.FunctionProto()
        plain_node = onnx.NodeProto()
        plain_node.CopyFrom(node)
        del plain_node.attribute[:]
        for a in node.attribute:
            given = scope.attrs.get(a.ref_attr_name) if a.ref_attr_name else a
            if given is not None:
                plain_node.attribute.add().CopyFrom(given)
                plain_node.attribute[-1].name = a.name
        versions = schema.context_dependent_function_opset_versions
        version = max([v for v in versions if v <= scope.opsets.get("", version)] or versions)
        types = [_type_proto(v).SerializeToString() for v in inputs]
        return _parsed(
            schema.get_context_dependent_function_with_opset_version(
                version, plain_node.SerializeToString(), types
            )
        )

    def _expand(
        self, node: onnx.NodeProto, body: onnx.FunctionProto, inputs: Sequence[Value | None], scope: Scope
    ) -> Sequence[Value | None]:
        opsets = {("" if o.domain in _STANDARD else o.domain): o.version for o in body.opset_import}
        inner = Scope({"": onnx.defs.onnx_opset_version(), **scope.opsets, **opsets})
        attrs = {a.name: a for a in body.attribute_proto}
        schema_attrs = {}
        if (node.domain, node.op_type) not in self.functions:
            schema = self._schema(node, scope)
            schema_attrs = {k: a.default_value for k, a in schema.attributes.items() if a.default_value.type}
        given = {
            a.name: scope.attrs.get(a.ref_attr_name) if a.ref_attr_name else a for a in node.attribute
        }
        inner.attrs = {**schema_attrs, **attrs, **{k: a for k, a in given.items() if a is not None}}
        for i, name in enumerate(body.input):
            inner.values[name] = inputs[i] if i < len(inputs) else None
        # Operands that are left out are absent within too.
        absent = {name for i, name in enumerate(body.input) if i >= len(inputs) or inputs[i] is None}
        nodes = [_without(n, absent) for n in body.node] if absent else body.node
        before = len(self.problems)
        self.nodes(nodes, inner)
        if len(self.problems) > before:
            return []
        return [inner.values.get(name) for name in body.output]


def _parsed(data: bytes) -> onnx.FunctionProto:
    body = onnx.FunctionProto()
    body.ParseFromString(data)
    return body


def _without(node: onnx.NodeProto, absent: set[str]) -> onnx.NodeProto:
    if not any(name in absent for name in node.input):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for i, name in enumerate(copy.input):
        if name in absent:
            copy.input[i] = ""
    return copy


def _type_proto(v: Value | None) -> onnx.TypeProto:
    if v is None:
        return onnx.TypeProto()
    return onnx.helper.make_tensor_type_proto(_NUMBERS[v.dtype], [d if isinstance(d, (int, str)) else None for d in v.shape])


def number_of(dtype: str) -> int:
    """ONNX's number of an element type."""
    return int(_NUMBERS[dtype])


_REASONS = {
    "random": "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Multinomial Bernoulli",
    "sequence": "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap "
    "SplitToSequence ConcatFromSequence",
    "optional": "Optional OptionalGetElement OptionalHasElement",
    "text": "StringConcat StringNormalizer StringSplit RegexFullMatch TfIdfVectorizer LabelEncoder",
    "shape": "NonZero NonMaxSuppression Unique",
    "image": "ImageDecoder",
}
_WHY = {
    "random": "random numbers that ONNX does not define",
    "sequence": "sequences of tensors",
    "optional": "optional values",
    "text": "text",
    "shape": "a result whose shape depends on data",
    "image": "compressed images",
}
REASONS = {name: _WHY[why] for why, names in _REASONS.items() for name in names.split()}


def reason_for(domain: str, name: str) -> str:
    return REASONS.get(name, f"no function for it in the table ({domain or 'ai.onnx'})")

