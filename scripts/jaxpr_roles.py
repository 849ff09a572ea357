"""What the arguments of a JAX function are to it, read in its jaxpr: which are weights, and whether inputs saturate a softmax.

scripts/dump_hlo.py draws inputs by that. A weight is an argument of two or more dims that is contracted with activations: an
operand of a dot, or the kernel of a convolution, that is the argument itself, moved or converted at most. Its fan-in is the
number of products in a sum. Where both operands are arguments, the activations are the one that anything else reads as well,
then the one that lies in no structure, then the left one.
"""

import jax
import numpy as np

# What leaves an array's numbers as they are: moved, in part, or converted.
VIEWS = {
    "transpose", "reshape", "squeeze", "expand_dims", "broadcast_in_dim", "rev", "slice", "dynamic_slice", "copy", "copy_p",
    "convert_element_type", "reduce_precision", "stop_gradient", "optimization_barrier", "sharding_constraint",
}  # fmt: skip
# Calls whose arguments are those of the jaxpr that they call, under one of these names.
CALLS = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def is_literal(atom):
    return hasattr(atom, "val")


def closed(found):
    """A jaxpr, and its constants."""
    return (found.jaxpr, list(found.consts)) if hasattr(found, "consts") else (found, [])


def called(equation):
    """The jaxpr that a call, and nothing else, is of; None for other equations."""
    if equation.primitive.name in ("scan", "while", "cond"):
        return None
    for name in CALLS:
        found = equation.params.get(name)
        if found is not None and hasattr(found, "eqns") and len(closed(found)[0].invars) == len(equation.invars):
            return found
    return None


def parts_of_scan(params):
    """The number of constants of a scan, and of values that it carries; releases of jax before 0.12 have them as numbers."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carried, _ = params["ft_in"].unpack()
    return len(consts), len(carried)


class Roles:
    """Which argument each value is, and what is done with arguments."""

    def __init__(self):
        # Contractions: origins of both operands, and the fan-in.
        self.dots = []
        # Arguments that something other than a contraction reads.
        self.read = set()

    def walk(self, jaxpr, origins):
        """Follows arguments through a jaxpr; `origins` are the numbers of arguments that its inputs are, or None."""
        jaxpr, _ = closed(jaxpr)
        known = dict(zip(jaxpr.invars, origins))

        def origin(atom):
            return None if is_literal(atom) else known.get(atom)

        for equation in jaxpr.eqns:
            name, own = equation.primitive.name, [origin(atom) for atom in equation.invars]
            results = [None] * len(equation.outvars)
            inner = called(equation)
            if name == "dot_general":
                self.dot(equation, own)
            elif name == "conv_general_dilated":
                kernel = equation.invars[1].aval.shape
                fan_in = int(np.prod(kernel)) // max(kernel[equation.params["dimension_numbers"].rhs_spec[0]], 1)
                self.dots.append((own[0], own[1], fan_in, True))
            elif name == "gather":
                pass  # A row of a table, such as a token's embedding, is an activation: the table may be a weight elsewhere.
            elif name in VIEWS and own:
                results = own[:1] * len(results) if name != "optimization_barrier" else own
            elif inner is not None:
                results = self.walk(inner, own)
            elif name == "scan":
                consts, carried = parts_of_scan(equation.params)
                # What a trip hands to the next is computed but for the first.
                self.read.update(one for one in own[consts : consts + carried] if one is not None)
                self.walk(equation.params["jaxpr"], own[:consts] + [None] * carried + own[consts + carried :])
            elif name == "while":
                first = equation.params["cond_nconsts"]
                last = first + equation.params["body_nconsts"]
                carried = [None] * (len(own) - last)
                self.read.update(one for one in own[last:] if one is not None)
                self.walk(equation.params["cond_jaxpr"], own[:first] + carried)
                self.walk(equation.params["body_jaxpr"], own[first:last] + carried)
            elif name == "cond":
                for branch in equation.params["branches"]:
                    self.walk(branch, own[1:])
            else:
                self.read.update(one for one in own if one is not None)
            known.update(zip(equation.outvars, results))
        return [origin(atom) for atom in jaxpr.outvars]

    def dot(self, equation, own):
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        self.dots.append((own[0], own[1], int(np.prod([shape[dim] for dim in contracted], dtype=np.int64)), False))


def weights(f, arguments, in_structure):
    """The fan-in of each weight among the leaves of a function's arguments, by the leaf's number.

    `arguments` have a shape and a dtype; `in_structure` says of each leaf whether it lies in a structure.
    """
    jaxpr = jax.make_jaxpr(f)(*arguments)
    avals = [var.aval for var in jaxpr.jaxpr.invars]
    roles = Roles()
    roles.walk(jaxpr, list(range(len(avals))))
    # What is contracted with what was computed is a weight, unless something else reads it.
    fan_in, activations = {}, set(roles.read)
    for left, right, _, is_kernel in roles.dots:
        if left is not None and right is not None and left != right and not is_kernel:
            if (left in activations) != (right in activations):
                continue
            if in_structure[left] != in_structure[right]:
                activations.add(right if in_structure[left] else left)
            else:
                activations.add(left)
    for left, right, size, is_kernel in roles.dots:
        # Of two arguments the activations are one; a product of an argument with itself has no weight.
        for one, other in ((left, right), (right, left)) if not is_kernel else ((right, left),):
            if one is None or one == other or one in activations or len(avals[one].shape) < 2:
                continue
            fan_in[one] = max(fan_in.get(one, 1), size)
    return fan_in


# From which share on one element of a softmax has it all, and of how many of the rows that is told.
NEARLY_ALL = 0.999
ROWS_TOLD = 0.5
# Logits so far below the largest are masked.
MASKED = 1e6
# Trips of a scan that are run one by one, and values of a softmax that are looked at.
TRIPS = 256


class Softmaxes:
    """Evaluates a function step by step, and counts rows of softmaxes in which one element has nearly all."""

    def __init__(self):
        # By what JAX knows of the place: rows that are saturated, and rows with several elements.
        self.rows = {}

    def run(self, jaxpr, values):
        jaxpr, consts = closed(jaxpr)
        known = dict(zip(jaxpr.constvars, consts)) | dict(zip(jaxpr.invars, values))

        def value(atom):
            return atom.val if is_literal(atom) else known[atom]

        # The exponentials that a value is, moved or converted at most; their logits.
        logits = {}
        for equation in jaxpr.eqns:
            given, name, inner = [value(atom) for atom in equation.invars], equation.primitive.name, called(equation)
            first = equation.invars[0] if equation.invars else None
            if inner is not None:
                results = self.run(inner, given)
            elif name == "scan" and 0 < equation.params["length"] <= TRIPS:
                results = self.scan(equation.params, given)
            else:
                bound = equation.primitive.get_bind_params(equation.params)
                # Older releases have the functions beside the parameters.
                functions, params = bound if isinstance(bound, tuple) else ((), bound)
                results = equation.primitive.bind(*functions, *given, **params)
                results = list(results) if equation.primitive.multiple_results else [results]
            if name == "exp":
                logits[equation.outvars[0]] = given[0]
            elif name in ("convert_element_type", "reduce_precision", "copy") and first in logits:
                logits[equation.outvars[0]] = logits[first]
            elif name == "reduce_sum" and not is_literal(first) and first in logits:
                self.count(equation, np.asarray(logits[first], np.float64))
            known.update(zip(equation.outvars, results))
        return [value(atom) for atom in jaxpr.outvars]

    def scan(self, params, given):
        (consts, carried), length = parts_of_scan(params), params["length"]
        constant, carry, each = given[:consts], given[consts : consts + carried], given[consts + carried :]
        stacked = [None] * length
        for trip in reversed(range(length)) if params["reverse"] else range(length):
            results = self.run(params["jaxpr"], [*constant, *carry, *(array[trip] for array in each)])
            carry, stacked[trip] = results[:carried], results[carried:]
        return [*carry, *(jax.numpy.stack(arrays) for arrays in zip(*stacked))]

    def count(self, equation, logits):
        axes = tuple(equation.params["axes"])
        if logits.size == 0:
            return
        below = logits - logits.max(axes, keepdims=True)
        with np.errstate(over="ignore", invalid="ignore"):
            share = 1 / np.exp(below).sum(axes)
        several = (below > -MASKED).sum(axes) > 1
        frame = str(getattr(equation.source_info, "name_stack", "")) or "the function"
        saturated, rows = self.rows.get(frame, (0, 0))
        self.rows[frame] = saturated + int((several & (share > NEARLY_ALL)).sum()), rows + int(several.sum())


def saturated(f, arguments):
    """A line for each softmax of a function of these arrays in which one element has nearly all in most rows."""
    softmaxes = Softmaxes()
    softmaxes.run(jax.make_jaxpr(f)(*arguments), jax.tree.leaves(arguments))
    return [
        f"a softmax in {frame} is saturated in {few} of {rows} rows: one element has more than {NEARLY_ALL} of the sum, "
        "so that most of what differs does not show"
        for frame, (few, rows) in softmaxes.rows.items()
        if few > ROWS_TOLD * rows
    ]
