"""Matrix products and Einstein sums."""

from __future__ import annotations

from .table import Call, Unsupported, operator
from .value import Value, times


@operator("MatMul")
def matmul(c: Call) -> Value:
    return c[0].matmul(c[1])


@operator("Gemm")
def gemm(c: Call) -> Value:
    a = c[0].op("transpose") if c.attr("transA", 0) else c[0]
    b = c[1].op("transpose") if c.attr("transB", 0) else c[1]
    y = a.matmul(b)
    if c.attr("alpha", 1.0) != 1:
        y = y * c.attr("alpha")
    if not c.has(2):
        return y
    beta = c.attr("beta", 1.0)
    return y + (c[2] if beta == 1 else c[2] * beta)


@operator("Det")
def determinant(c: Call) -> Value:
    """By minors: of up to 4 rows."""
    n = c.numbers_of(c[0])[-1]
    if not 1 <= n <= 4:
        raise Unsupported(f"Det of {n} rows; it is made for 1 to 4")
    lead = c[0].rank - 2
    at = {
        (i, j): c[0].slice(lead, i, i + 1).slice(lead + 1, j, j + 1).reshape(*c[0].shape[:-2])
        for i in range(n)
        for j in range(n)
    }

    def minor(row: int, columns: tuple[int, ...]) -> Value:
        if len(columns) == 1:
            return at[row, columns[0]]
        out = at[row, columns[0]] * minor(row + 1, columns[1:])
        for k in range(1, len(columns)):
            term = at[row, columns[k]] * minor(row + 1, columns[:k] + columns[k + 1 :])
            out = out - term if k % 2 else out + term
        return out

    return minor(0, tuple(range(n)))


@operator("Einsum")
def einsum(c: Call) -> Value:
    """Two operands at a time, each pair as one batched matrix product."""
    operands = [c[i] for i in range(len(c.inputs))]
    terms, result = _labels(c.attr("equation").replace(" ", ""), operands)
    parts = [_diagonals(x, t) for x, t in zip(operands, terms, strict=True)]
    x, labels = parts[0]
    for i, (y, others) in enumerate(parts[1:], 1):
        needed = set(result).union(*(p[1] for p in parts[i + 1 :]))
        x, labels = _product(x, labels, y, others, needed)
    gone = [k for k, label in enumerate(labels) if label not in result]
    x = x.sum(gone)
    labels = [label for label in labels if label in result]
    return x.permute([labels.index(label) for label in result])


def _labels(equation: str, operands: list[Value]) -> tuple[list[list[str]], list[str]]:
    """One label for each axis; the axes of "..." are numbered from the last."""
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        raise ValueError(f"Einsum: {equation!r} is of {len(texts)} operands, {len(operands)} were given")
    hidden = 0
    terms = []
    for text, x in zip(texts, operands, strict=True):
        head, dots, tail = text.partition("...")
        count = x.rank - len(head) - len(tail) if dots else 0
        if count < 0 or (not dots and len(text) != x.rank):
            raise ValueError(f"Einsum: {text!r} does not fit {x.rank} axes")
        hidden = max(hidden, count)
        terms.append([*head, *[f"...{k}" for k in range(count, 0, -1)], *tail])
    dotted = [f"...{k}" for k in range(hidden, 0, -1)]
    if arrow:
        head, dots, tail = right.partition("...")
        return terms, [*head, *(dotted if dots else []), *tail]
    letters = [label for t in terms for label in t if not label.startswith("...")]
    return terms, dotted + sorted(label for label in set(letters) if letters.count(label) == 1)


def _diagonals(x: Value, labels: list[str]) -> tuple[Value, list[str]]:
    while len(set(labels)) < len(labels):
        second = next(i for i, label in enumerate(labels) if label in labels[:i])
        first = labels.index(labels[second])
        place = x.builder.arange(x.shape[first])
        rows = place.reshape(-1, *[1] * (x.rank - first - 1))
        columns = place.reshape(-1, *[1] * (x.rank - second - 1))
        x = x.select(rows.equals(columns), x.builder.scalar(0, x.dtype)).sum([second])
        labels = labels[:second] + labels[second + 1 :]
    return x, labels


def _product(x: Value, a: list[str], y: Value, b: list[str], needed: set[str]) -> tuple[Value, list[str]]:
    for value, mine, other in ((x, a, b), (y, b, a)):  # labels of one operand alone
        alone = [k for k, label in enumerate(mine) if label not in other and label not in needed]
        if alone:
            value = value.sum(alone)
            mine = [label for label in mine if label in other or label in needed]
        if other is b:
            x, a = value, mine
        else:
            y, b = value, mine
    both = [label for label in a if label in b]
    batch = [label for label in both if label in needed]
    inner = [label for label in both if label not in needed]
    rows, columns = [label for label in a if label not in b], [label for label in b if label not in a]
    size = {label: d for v, t in ((y, b), (x, a)) for label, d in zip(t, v.shape, strict=True)}
    for label, d in zip(b, y.shape, strict=True):  # 1 stretches
        size[label] = d if size[label] == 1 else size[label]
    left = _grouped(x, a, batch, rows, inner, size)
    right = _grouped(y, b, batch, inner, columns, size)
    made = left.matmul(right)
    return made.reshape([size[label] for label in [*batch, *rows, *columns]]), [*batch, *rows, *columns]


def _grouped(
    x: Value, labels: list[str], batch: list[str], second: list[str], third: list[str], size: dict[str, int | str]
) -> Value:
    order = [*batch, *second, *third]
    wide = x.permute([labels.index(label) for label in order]).broadcast_to([size[label] for label in order])
    groups = ([size[label] for label in group] for group in (second, third))
    return wide.reshape([*[size[label] for label in batch], *map(times, groups)])
