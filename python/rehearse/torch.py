"""Layers from PyTorch: a module becomes StableHLO text, which ``rehearse.cost`` prices.

``torch.export`` records what the module does with inputs of these shapes and breaks it down into PyTorch's core operations;
each becomes one or a few operations of StableHLO. Values of parameters are not read, so that a module on the "meta"
device, which has no memory, is as good as any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Callable

TYPES = {
    "torch.float64": "f64", "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16",
    "torch.float8_e4m3fn": "f8E4M3FN", "torch.float8_e5m2": "f8E5M2",
    "torch.int64": "i64", "torch.int32": "i32", "torch.int16": "i16", "torch.int8": "i8", "torch.uint8": "ui8",
    "torch.bool": "i1",
}  # fmt: skip

# Minus infinity; "0xFF80" is that of bf16.
LOWEST = {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00"}

# Operations of one result and as many operands, element by element.
UNARY = {
    "exp": "exponential", "log": "log", "sqrt": "sqrt", "rsqrt": "rsqrt", "tanh": "tanh", "sigmoid": "logistic",
    "neg": "negate", "abs": "abs", "cos": "cosine", "sin": "sine", "floor": "floor", "ceil": "ceil", "bitwise_not": "not",
    "logical_not": "not", "erf": "tanh",  # an erf is a polynomial that costs as a tanh does
}  # fmt: skip
BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "maximum": "maximum", "minimum": "minimum",
    "pow": "power", "bitwise_and": "and", "bitwise_or": "or", "logical_and": "and", "logical_or": "or",
}  # fmt: skip
COMPARE = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
RESHAPE = {"view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "flatten"}
SAME = {"clone", "alias", "detach", "lift_fresh_copy", "contiguous", "dropout", "copy"}


class Unknown(NotImplementedError):
    """A module does what has no translation."""


def type_text(shape: Sequence[int], kind: str) -> str:
    return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"


class Writer:
    """One function of StableHLO: values are names, and every line has its types."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.types: dict[str, tuple[tuple[int, ...], str]] = {}

    def text(self, name: str) -> str:
        return type_text(*self.types[name])

    def emit(self, body: str, shape: Sequence[int], kind: str) -> str:
        name = f"%{len(self.lines)}"
        self.types[name] = (tuple(shape), kind)
        self.lines.append(f"    {name} = {body if body[0] == chr(34) else 'stablehlo.' + body}")
        return name

    def constant(self, value: float, shape: Sequence[int], kind: str) -> str:
        if kind[0] in "iu":
            number = str(bool(value)).lower() if kind == "i1" else str(int(value))
        else:
            number = LOWEST.get(kind, "0xFF80") if value == -math.inf else f"{value:.6e}"
        return self.emit(f"constant dense<{number}> : {type_text(shape, kind)}", shape, kind)

    def same(self, operation: str, *operands: str) -> str:
        """Element by element: all operands have one type, which is the result's."""
        shape, kind = self.types[operands[0]]
        return self.emit(f"{operation} {', '.join(operands)} : {type_text(shape, kind)}", shape, kind)

    def convert(self, value: str, kind: str) -> str:
        shape, old = self.types[value]
        if old == kind:
            return value
        return self.emit(f"convert {value} : ({self.text(value)}) -> {type_text(shape, kind)}", shape, kind)

    def reshape(self, value: str, shape: Sequence[int]) -> str:
        old, kind = self.types[value]
        if tuple(shape) == old:
            return value
        return self.emit(f"reshape {value} : ({self.text(value)}) -> {type_text(shape, kind)}", shape, kind)

    def transpose(self, value: str, order: Sequence[int]) -> str:
        old, kind = self.types[value]
        shape = [old[place] for place in order]
        return self.emit(
            f"transpose {value}, dims = {list(order)} : ({self.text(value)}) -> {type_text(shape, kind)}", shape, kind
        )

    def broadcast(self, value: str, shape: Sequence[int], dims: Sequence[int]) -> str:
        """Dimension i of the value becomes dimension dims[i]; a dimension of 1 is repeated."""
        old, kind = self.types[value]
        if tuple(shape) == old:
            return value
        return self.emit(
            f"broadcast_in_dim {value}, dims = {list(dims)} : ({self.text(value)}) -> {type_text(shape, kind)}", shape, kind
        )

    def fit(self, value: str, shape: Sequence[int], kind: str) -> str:
        """As PyTorch broadcasts: the last dimensions are matched."""
        value = self.convert(value, kind)
        old = self.types[value][0]
        return self.broadcast(value, shape, range(len(shape) - len(old), len(shape)))

    def reduce(self, value: str, dims: Sequence[int], operation: str, start: float) -> str:
        old, kind = self.types[value]
        shape = [size for place, size in enumerate(old) if place not in dims]
        first = self.constant(start, (), kind)
        return self.emit(
            f"reduce({value} init: {first}) applies stablehlo.{operation} across dimensions = {sorted(dims)} : "
            f"({self.text(value)}, {type_text((), kind)}) -> {type_text(shape, kind)}",
            shape, kind,
        )  # fmt: skip

    def dot(self, left: str, right: str, batch: int, contract: tuple[int, int]) -> str:
        """The first `batch` dimensions go together, the dimensions `contract` are summed over."""
        (a, kind), (b, _) = self.types[left], self.types[right]
        shape = [*a[:batch]]
        shape += [size for place, size in enumerate(a) if place >= batch and place != contract[0]]
        shape += [size for place, size in enumerate(b) if place >= batch and place != contract[1]]
        batching = f"batching_dims = {list(range(batch))} x {list(range(batch))}, " if batch else ""
        return self.emit(
            f"dot_general {left}, {right}, {batching}contracting_dims = [{contract[0]}] x [{contract[1]}] : "
            f"({self.text(left)}, {self.text(right)}) -> {type_text(shape, kind)}",
            shape, kind,
        )  # fmt: skip


class Translation:
    """The graph of an exported program, node by node."""

    def __init__(self) -> None:
        self.out = Writer()
        self.names: dict[Any, Any] = {}

    def value(self, argument: Any, shape: Sequence[int], kind: str) -> str:
        """An operand as a tensor of this shape: a number is repeated."""
        if argument in self.names:
            return self.out.fit(self.names[argument], shape, kind)
        return self.out.constant(float(argument), shape, kind)

    def node(self, node: Any) -> None:
        name = node.target.__name__.split(".")[0] if hasattr(node.target, "__name__") else str(node.target)
        if name == "getitem":
            self.names[node] = self.names[node.args[0]][node.args[1]]
            return
        method: Callable[..., Any] | None = getattr(self, f"do_{name}", None)
        tensor = node.meta["val"]
        tensor = tensor[0] if isinstance(tensor, (tuple, list)) else tensor
        shape, kind = tuple(int(size) for size in tensor.shape), TYPES[str(tensor.dtype)]
        arguments = [argument for argument in node.args]
        operand = self.names.get(arguments[0]) if arguments and _hashable(arguments[0]) else None
        if name in UNARY:
            self.names[node] = self.out.same(UNARY[name], self.value(arguments[0], shape, kind))
        elif name in BINARY:
            both = [self.value(argument, shape, kind) for argument in arguments[:2]]
            self.names[node] = self.out.same(BINARY[name], *both)
        elif name in COMPARE:
            self.names[node] = self.compare(COMPARE[name], arguments, shape)
        elif name in RESHAPE:
            self.names[node] = self.out.reshape(operand, shape)
        elif name in SAME:
            self.names[node] = operand
        elif name in ("_to_copy", "to"):
            self.names[node] = self.out.convert(operand, kind)
        elif name in ("full", "full_like", "zeros", "ones", "zeros_like", "ones_like", "scalar_tensor", "empty"):
            self.names[node] = self.out.constant(0, shape, kind)
        elif method:
            self.names[node] = method(node, shape, kind)
        else:
            raise Unknown(f"the operation {node.target} has no translation to StableHLO yet")

    def compare(self, how: str, arguments: list[Any], shape: Sequence[int]) -> str:
        first = self.out.types[self.names[arguments[0]]][1]
        one, two = (self.value(argument, shape, first) for argument in arguments[:2])
        both = self.out.text(one)
        return self.out.emit(f"compare {how}, {one}, {two} : ({both}, {both}) -> {type_text(shape, 'i1')}", shape, "i1")

    def do_mm(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.dot(self.names[node.args[0]], self.names[node.args[1]], 0, (1, 0))

    def do_bmm(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.dot(self.names[node.args[0]], self.names[node.args[1]], 1, (2, 1))

    def do_addmm(self, node: Any, shape: Any, kind: str) -> str:
        product = self.out.dot(self.names[node.args[1]], self.names[node.args[2]], 0, (1, 0))
        return self.out.same("add", product, self.value(node.args[0], shape, kind))

    def do_permute(self, node: Any, shape: Any, kind: str) -> str:
        order = [place % len(shape) for place in node.args[1]]
        return self.out.transpose(self.names[node.args[0]], order)

    def do_transpose(self, node: Any, shape: Any, kind: str) -> str:
        order = list(range(len(shape)))
        one, two = (place % len(shape) for place in node.args[1:3])
        order[one], order[two] = two, one
        return self.out.transpose(self.names[node.args[0]], order)

    def do_t(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.transpose(self.names[node.args[0]], [1, 0])

    def do_expand(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.fit(self.names[node.args[0]], shape, kind)

    def do_where(self, node: Any, shape: Any, kind: str) -> str:
        test = self.value(node.args[0], shape, "i1")
        one, two = (self.value(argument, shape, kind) for argument in node.args[1:3])
        return self.out.emit(f"select {test}, {one}, {two} : {self.out.text(test)}, {self.out.text(one)}", shape, kind)

    def over(self, node: Any, operation: str, start: float) -> tuple[str, int]:
        """Reduces over the dimensions of the second argument, or all. Also the number of elements of each sum."""
        value = self.names[node.args[0]]
        old = self.out.types[value][0]
        dims = node.args[1] if len(node.args) > 1 and node.args[1] not in (None, []) else range(len(old))
        dims = [place % len(old) for place in ([dims] if isinstance(dims, int) else dims)]
        return self.out.reduce(value, dims, operation, start), math.prod(old[place] for place in dims)

    def do_sum(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.reshape(self.out.convert(self.over(node, "add", 0)[0], kind), shape)

    def do_mean(self, node: Any, shape: Any, kind: str) -> str:
        total, count = self.over(node, "add", 0)
        total = self.out.reshape(total, shape)
        return self.out.same("divide", total, self.out.constant(count, shape, kind))

    def do_amax(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.reshape(self.over(node, "maximum", -math.inf)[0], shape)

    def do_any(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.reshape(self.over(node, "or", 0)[0], shape)

    def do__softmax(self, node: Any, shape: Any, kind: str) -> str:
        value, place = self.names[node.args[0]], node.args[1] % len(shape)
        rest = [each for each in range(len(shape)) if each != place]
        high = self.out.broadcast(self.out.reduce(value, [place], "maximum", -math.inf), shape, rest)
        raised = self.out.same("exponential", self.out.same("subtract", value, high))
        total = self.out.broadcast(self.out.reduce(raised, [place], "add", 0), shape, rest)
        return self.out.same("divide", raised, total)

    def do_native_layer_norm(self, node: Any, shape: Any, kind: str) -> list[str | None]:
        value, kept = self.names[node.args[0]], len(shape) - len(node.args[1])
        dims, rest = range(kept, len(shape)), range(kept)
        count = math.prod(shape[kept:])

        def mean(of: str) -> str:
            total = self.out.reduce(of, dims, "add", 0)
            return self.out.same("divide", total, self.out.constant(count, shape[:kept], kind))

        centred = self.out.same("subtract", value, self.out.broadcast(mean(value), shape, rest))
        spread = mean(self.out.same("multiply", centred, centred))
        spread = self.out.same("rsqrt", self.out.same("add", spread, self.out.constant(node.args[4], shape[:kept], kind)))
        result = self.out.same("multiply", centred, self.out.broadcast(spread, shape, rest))
        for operation, argument in (("multiply", node.args[2]), ("add", node.args[3])):
            if argument is not None:
                result = self.out.same(operation, result, self.value(argument, shape, kind))
        return [result, None, None]

    def do_relu(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.same("maximum", self.names[node.args[0]], self.out.constant(0, shape, kind))

    def do_silu(self, node: Any, shape: Any, kind: str) -> str:
        value = self.names[node.args[0]]
        return self.out.same("multiply", value, self.out.same("logistic", value))

    def do_gelu(self, node: Any, shape: Any, kind: str) -> str:
        value = self.names[node.args[0]]
        half = self.out.same("multiply", value, self.out.constant(0.5, shape, kind))
        curve = self.out.same("tanh", self.out.same("multiply", value, self.out.constant(math.sqrt(0.5), shape, kind)))
        return self.out.same("multiply", half, self.out.same("add", curve, self.out.constant(1, shape, kind)))

    def do_cat(self, node: Any, shape: Any, kind: str) -> str:
        values = [self.out.convert(self.names[each], kind) for each in node.args[0]]
        place = (node.args[1] if len(node.args) > 1 else 0) % len(shape)
        types = ", ".join(self.out.text(value) for value in values)
        return self.out.emit(
            f"concatenate {', '.join(values)}, dim = {place} : ({types}) -> {type_text(shape, kind)}", shape, kind
        )

    def cut(self, value: str, place: int, start: int, end: int, step: int) -> str:
        old, kind = self.out.types[value]
        ranges = [f"0:{size}" for size in old]
        ranges[place] = f"{start}:{end}" + (f":{step}" if step != 1 else "")
        shape = list(old)
        shape[place] = -(-(end - start) // step)
        return self.out.emit(
            f"slice {value} [{', '.join(ranges)}] : ({self.out.text(value)}) -> {type_text(shape, kind)}", shape, kind
        )

    def do_slice(self, node: Any, shape: Any, kind: str) -> str:
        value = self.names[node.args[0]]
        place, start, end, step = [*node.args[1:], *(0, None, None, 1)[len(node.args) - 1 :]]
        size = self.out.types[value][0][place]
        start, end = (each + size if each < 0 else min(each, size) for each in (start or 0, size if end is None else end))
        return self.cut(value, place, start, end, step)

    def do_select(self, node: Any, shape: Any, kind: str) -> str:
        value, place, index = self.names[node.args[0]], node.args[1], node.args[2]
        old = self.out.types[value][0]
        place, index = place % len(old), index % old[place]
        return self.out.reshape(self.cut(value, place, index, index + 1, 1), shape)

    def do_split_with_sizes(self, node: Any, shape: Any, kind: str) -> list[str]:
        value, start, parts = self.names[node.args[0]], 0, []
        place = (node.args[2] if len(node.args) > 2 else 0) % len(self.out.types[value][0])
        for size in node.args[1]:
            parts.append(self.cut(value, place, start, start + size, 1))
            start += size
        return parts

    def do_arange(self, node: Any, shape: Any, kind: str) -> str:
        return self.out.emit(f"iota dim = 0 : {type_text(shape, kind)}", shape, kind)

    def do_embedding(self, node: Any, shape: Any, kind: str) -> str:
        table, index = (self.names[argument] for argument in node.args[:2])
        width, rank = self.out.types[table][0][1], len(shape)
        return self.out.emit(
            f'"stablehlo.gather"({table}, {index}) {{dimension_numbers = #stablehlo.gather<offset_dims = [{rank - 1}], '
            f"collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {rank - 1}>, "
            f"slice_sizes = array<i64: 1, {width}>, indices_are_sorted = false}} : "
            f"({self.out.text(table)}, {self.out.text(index)}) -> {type_text(shape, kind)}",
            shape, kind,
        )  # fmt: skip

    def do_convolution(self, node: Any, shape: Any, kind: str) -> str:
        value, weight, bias, stride, padding, dilation, transposed, _, groups = node.args[:9]
        if transposed:
            raise Unknown("a transposed convolution has no translation to StableHLO yet")
        left, right = self.names[value], self.names[weight]
        places = ", ".join(str(place) for place in range(len(shape) - 2))
        pads = ", ".join(f"[{pad}, {pad}]" for pad in padding)
        result = self.out.emit(
            f"convolution({left}, {right}) dim_numbers = [b, f, {places}]x[o, i, {places}]->[b, f, {places}], "
            f"window = {{stride = {list(stride)}, pad = [{pads}], rhs_dilate = {list(dilation)}}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}} : "
            f"({self.out.text(left)}, {self.out.text(right)}) -> {type_text(shape, kind)}",
            shape, kind,
        )  # fmt: skip
        if bias is None:
            return result
        return self.out.same("add", result, self.out.broadcast(self.names[bias], shape, [1]))


def _hashable(value: Any) -> bool:
    return not isinstance(value, (list, dict, set))


def from_torch(module: Any, inputs: tuple[Any, ...], name: str = "torch") -> str:
    """StableHLO text of a module for these inputs: save it as a .mlir file, and rehearse.cost(path, devices=…) prices it."""
    import torch

    program = torch.export.export(module, tuple(inputs)).run_decompositions()
    translation, results = Translation(), []
    parameters = []
    for node in program.graph.nodes:
        if node.op == "placeholder":
            tensor = node.meta["val"]
            argument = f"%arg{len(parameters)}"
            kind = (tuple(int(size) for size in tensor.shape), TYPES[str(tensor.dtype)])
            translation.out.types[argument] = kind
            translation.names[node] = argument
            parameters.append(f"{argument}: {type_text(*kind)}")
        elif node.op == "call_function":
            translation.node(node)
        elif node.op == "output":
            results = [translation.names[each] for each in node.args[0] if each in translation.names]
    out = translation.out
    types = ", ".join(out.text(result) for result in results)
    lines = [
        f"module @{''.join(each if each.isalnum() else '_' for each in name)} {{",
        f"  func.func public @main({', '.join(parameters)}) -> ({types}) {{",
        *out.lines,
        f"    return {', '.join(results)} : {types}",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"
