#!/usr/bin/env python3
"""A second opinion on the oracle's answers, by mpmath: for review, by hand.

    ULPGATE_DUMP=target/dump.jsonl cargo test --test oracle_search -- --ignored programs_are_written
    python3 -m venv venv && venv/bin/pip install mpmath
    venv/bin/python scripts/judge_mpmath.py target/dump.jsonl

Each line holds a program as HLO text, the codes of its arguments and the oracle's answers. A float element is NAN, an
infinity, a zero with its sign, or an mpf of PRECISION bits that is not zero; None stands for what this precision does
not tell (a sum that cancels). Nothing here comes from ulpgate: the text is read and evaluated anew. Prints each
difference, and how many answers were compared, open, or not known here.
"""

import fractions
import json
import re
import struct
import sys

import mpmath
from mpmath import mpf

PRECISION = 2500
mpmath.mp.prec = PRECISION
# A result this much smaller than what it was made of may be a rounding error.
LOST = mpf(2) ** -(PRECISION - 200)
NAN, INF, NEG_INF, ZERO, NEG_ZERO = "nan", "inf", "-inf", "0", "-0"
FLOATS = {"f64": (11, 52), "f32": (8, 23), "bf16": (8, 7), "f16": (5, 10), "f8e5m2": (5, 2), "f8e4m3fn": (4, 3)}
INTEGERS = {f"{kind}{bits}": (kind == "s", bits) for kind in "su" for bits in (8, 16, 32, 64)}


class Unsupported(Exception):
    """What this script does not evaluate."""


def decode(dtype, code):
    if dtype == "pred":
        return code & 1
    if dtype in INTEGERS:
        return wrap(dtype, code)
    exponent_bits, fraction_bits = FLOATS[dtype]
    neg = code >> (exponent_bits + fraction_bits) & 1
    exponent = code >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    ones = exponent == (1 << exponent_bits) - 1
    if dtype == "f8e4m3fn":
        if ones and fraction == 7:
            return NAN
    elif ones:
        return NAN if fraction else (NEG_INF if neg else INF)
    if exponent == 0 and fraction == 0:
        return NEG_ZERO if neg else ZERO
    significand = fraction | (1 << fraction_bits if exponent else 0)
    value = mpmath.ldexp(significand, max(exponent, 1) - (1 << (exponent_bits - 1)) + 1 - fraction_bits)
    return -value if neg else value


def wrap(dtype, value):
    if dtype == "pred":
        return int(value != 0)
    signed, bits = INTEGERS[dtype]
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def number(text, dtype):
    """A literal, in the type that stores it."""
    if dtype not in FLOATS:
        return {"true": 1, "false": 0}.get(text) if dtype == "pred" else int(text)
    if "nan" in text:
        return NAN
    if "inf" in text:
        return NEG_INF if text[0] == "-" else INF
    # The text is the shortest of an f64 that the type holds.
    return decode("f64", struct.unpack("<Q", struct.pack("<d", float(text)))[0])


def is_real(x):
    return isinstance(x, mpf)


def is_neg(x):
    return x < 0 if is_real(x) else x in (NEG_INF, NEG_ZERO)


def signed(magnitude, neg):
    return {INF: (INF, NEG_INF), ZERO: (ZERO, NEG_ZERO)}[magnitude][int(neg)]


def neg(x):
    return -x if is_real(x) else {INF: NEG_INF, NEG_INF: INF, ZERO: NEG_ZERO, NEG_ZERO: ZERO}.get(x, x)


def add(x, y):
    if None in (x, y):
        return None if NAN not in (x, y) else NAN
    if NAN in (x, y) or {x, y} == {INF, NEG_INF}:
        return NAN
    for infinity in (INF, NEG_INF):
        if infinity in (x, y):
            return infinity
    if not is_real(x):
        return y if is_real(y) else (NEG_ZERO if x == y == NEG_ZERO else ZERO)
    if not is_real(y):
        return x
    total = x + y
    if total == 0:
        # Equal numbers of few bits cancel exactly; long ones may only look equal.
        return ZERO if max(bits(x), bits(y)) < PRECISION // 2 else None
    return None if abs(total) < LOST * max(abs(x), abs(y)) else total


def bits(x):
    return x.man.bit_length()


def multiply(x, y):
    if NAN in (x, y):
        return NAN
    if None in (x, y):
        return None
    sign = is_neg(x) != is_neg(y)
    kinds = {INF if v in (INF, NEG_INF) else ZERO if v in (ZERO, NEG_ZERO) else "real" for v in (x, y)}
    if kinds == {INF, ZERO}:
        return NAN
    return x * y if kinds == {"real"} else signed(INF if INF in kinds else ZERO, sign)


def divide(x, y):
    if NAN in (x, y):
        return NAN
    if None in (x, y):
        return None
    inverse = 1 / y if is_real(y) else signed(ZERO if y in (INF, NEG_INF) else INF, is_neg(y))
    if is_real(x) and is_real(y):
        return x / y
    return multiply(x, inverse)


def order(x, y):
    """-1, 0 or 1; NAN if unordered, None if not known."""
    if NAN in (x, y):
        return NAN
    if None in (x, y):
        return None
    if is_real(x) and is_real(y):
        gap = add(x, -y)
        return None if gap is None else (gap != ZERO) * (1 if gap != ZERO and gap > 0 else -1)
    rank = {NEG_INF: mpf("-inf"), INF: mpf("inf"), ZERO: mpf(0), NEG_ZERO: mpf(0)}
    a, b = rank.get(x, x) if not is_real(x) else x, rank.get(y, y) if not is_real(y) else y
    return (a > b) - (a < b)


def extreme(largest):
    def pick(x, y):
        if isinstance(x, int):
            return max(x, y) if largest else min(x, y)
        ordering = order(x, y)
        if ordering in (NAN, None):
            return ordering
        if ordering == 0:
            best, other = (ZERO, NEG_ZERO) if largest else (NEG_ZERO, ZERO)
            return best if best in (x, y) else x
        return x if (ordering > 0) == largest else y

    return pick


def remainder(x, y):
    if NAN in (x, y) or x in (INF, NEG_INF) or y in (ZERO, NEG_ZERO):
        return NAN
    if None in (x, y) or not is_real(x) or y in (INF, NEG_INF):
        return None if None in (x, y) else x
    if max(bits(x), bits(y)) > 64:
        return None
    (a, b) = (exact(abs(x)), exact(abs(y)))
    rest = a - b * (a // b)
    rest = mpf(rest.numerator) / rest.denominator
    return signed(ZERO, is_neg(x)) if rest == 0 else (-rest if is_neg(x) else rest)


def exact(x):
    return fractions.Fraction(int(x.man)) * fractions.Fraction(2) ** int(x.exp) * (1 if x >= 0 else -1)


FUNCTIONS = (
    "exponential exponential-minus-one tanh logistic log log-plus-one sqrt rsqrt abs negate sign floor ceil "
    "round-nearest-afz round-nearest-even"
).split()


def function(name, x):
    if x is None or x == NAN:
        return x
    one = mpf(1)
    # Beyond this mpmath would run out of memory.
    if is_real(x) and abs(x) > mpf(2) ** 64 and name in ("exponential", "exponential-minus-one", "logistic"):
        return None
    real = {
        "exponential": mpmath.exp, "exponential-minus-one": mpmath.expm1,
        "tanh": lambda v: mpmath.tanh(v) if abs(v) < 2**20 else None,
        "logistic": lambda v: 1 / (1 + mpmath.exp(-v)),
        "log": lambda v: NAN if v < 0 else ZERO if v == 1 else mpmath.log(v),
        "log-plus-one": lambda v: NAN if v < -1 else NEG_INF if v == -1 else mpmath.log1p(v),
        "sqrt": lambda v: NAN if v < 0 else mpmath.sqrt(v),
        "rsqrt": lambda v: NAN if v < 0 else 1 / mpmath.sqrt(v),
        "abs": abs, "negate": neg, "sign": lambda v: one if v > 0 else -one,
    }
    if is_real(x):
        if name in ("floor", "ceil", "round-nearest-afz", "round-nearest-even"):
            return whole(name, x)
        value = real[name](x)
        return None if is_real(value) and value == 0 else value
    table = {
        "exponential": [mpf(1), mpf(1), INF, ZERO], "exponential-minus-one": [ZERO, NEG_ZERO, INF, -one],
        "tanh": [ZERO, NEG_ZERO, one, -one], "logistic": [one / 2, one / 2, one, ZERO],
        "log": [NEG_INF, NEG_INF, INF, NAN], "log-plus-one": [ZERO, NEG_ZERO, INF, NAN],
        "sqrt": [ZERO, NEG_ZERO, INF, NAN], "rsqrt": [INF, NEG_INF, ZERO, NAN], "abs": [ZERO, ZERO, INF, INF],
        "negate": [NEG_ZERO, ZERO, NEG_INF, INF], "sign": [ZERO, NEG_ZERO, one, -one],
    }
    return table.get(name, [ZERO, NEG_ZERO, INF, NEG_INF])[[ZERO, NEG_ZERO, INF, NEG_INF].index(x)]


def whole(name, x):
    if mpmath.mag(x) > PRECISION // 2:
        return x if bits(x) < PRECISION // 2 else None
    if mpmath.mag(x) < -PRECISION // 2:
        away = {"floor": is_neg(x), "ceil": not is_neg(x)}.get(name, False)
        return (mpf(-1) if is_neg(x) else mpf(1)) if away else signed(ZERO, is_neg(x))
    if bits(x) > PRECISION // 2 and abs(2 * x - mpmath.nint(2 * x)) < mpf(2) ** (-PRECISION // 4):
        return None
    value = exact(x)
    floor = value.numerator // value.denominator
    rest = value - floor
    half = fractions.Fraction(1, 2)
    up = {
        "floor": False, "ceil": rest > 0, "round-nearest-even": rest > half or rest == half and floor % 2 == 1,
        "round-nearest-afz": rest > half or rest == half and value > 0,
    }[name]
    return mpf(floor + up) if floor + up else signed(ZERO, is_neg(x))


def integer_binary(name, dtype, x, y):
    width = 8 if dtype == "pred" else INTEGERS[dtype][1]
    code = x & ((1 << width) - 1)
    top = code - (1 << width) if code >> (width - 1) else code
    inside = 0 <= y < width
    value = {
        "add": lambda: x + y, "subtract": lambda: x - y, "multiply": lambda: x * y, "mulhi": lambda: x * y >> width, "and": lambda: x & y,
        "or": lambda: x | y, "xor": lambda: x ^ y, "maximum": lambda: max(x, y), "minimum": lambda: min(x, y),
        "divide": lambda: -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        "remainder": lambda: x if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1),
        "shift-left": lambda: x << y if inside else 0,
        "shift-right-logical": lambda: code >> y if inside else 0,
        "shift-right-arithmetic": lambda: top >> (y if inside else width),
    }[name]()
    return wrap(dtype, value)


BINARIES = {
    "add": add, "subtract": lambda x, y: add(x, neg(y) if y is not None else None), "multiply": multiply,
    "divide": divide, "maximum": extreme(True), "minimum": extreme(False), "remainder": remainder,
}
HOLDS = {
    "EQ": lambda o: o == 0, "NE": lambda o: o != 0, "LT": lambda o: o == -1, "GT": lambda o: o == 1,
    "LE": lambda o: o in (-1, 0), "GE": lambda o: o in (0, 1),
}


def binary(name, dtype, x, y):
    if dtype in FLOATS:
        if name not in BINARIES:
            raise Unsupported(name)
        return BINARIES[name](x, y)
    return None if None in (x, y) else integer_binary(name, dtype, x, y)


def indices(dims):
    result = [()]
    for n in dims:
        result = [index + (i,) for index in result for i in range(n)]
    return result


def flat(index, dims):
    at = 0
    for i, n in zip(index, dims):
        at = at * n + i
    return at


LINE = re.compile(r"\s*(?:ROOT )?(\S+) = (\(.*?\)|\S+) ([a-z-]+)\((.*?)\)(.*)$")


def shape(text):
    dtype, dims = re.match(r"(\w+)\[([\d,]*)\]", text).groups()
    return dtype, [int(d) for d in dims.split(",") if d]


def attribute(text, name):
    found = re.search(name + r"=\{([^}]*)\}", text)
    return [int(d) for d in found.group(1).split(",") if d] if found else []


def evaluate(text, arguments):
    regions, entry = {}, []
    blocks = re.split(r"\n(?=\S)", text)
    for block in blocks:
        lines = [LINE.match(line) for line in block.split("\n")[1:] if LINE.match(line)]
        if block.startswith("ENTRY"):
            entry = lines
        elif lines:
            regions[block.split()[0]] = lines
    values = {}
    for match in entry:
        name, claimed, opcode, operands, rest = match.groups()
        if name == "results":
            return [(values[o.strip()][0], values[o.strip()][2]) for o in operands.split(",")]
        if claimed.startswith("("):
            raise Unsupported(opcode)
        dtype, dims = shape(claimed)
        if opcode == "constant":
            texts = re.sub(r"[{}\s]", "", operands).split(",")
            values[name] = (dtype, dims, [number(t, dtype) for t in texts])
            continue
        if opcode == "parameter":
            values[name] = (dtype, dims, [decode(dtype, int(c, 16)) for c in arguments[int(operands)]])
            continue
        given = [values[o.strip()] for o in operands.split(",") if o.strip()]
        values[name] = (dtype, dims, operation(opcode, dtype, dims, given, rest, regions))
    raise Unsupported("a root that is no tuple")


def spread(elements, like):
    """A scalar repeated for each element."""
    return elements * len(like) if len(elements) == 1 else elements


def operation(opcode, dtype, dims, given, rest, regions):
    elements = [g[2] for g in given]
    of = given[0][0] if given else dtype
    if opcode in ("copy", "opt-barrier", "reshape", "reduce-precision"):
        return elements[0]
    if opcode == "iota":
        dim = int(re.search(r"iota_dimension=(\d+)", rest).group(1))
        whole_number = lambda i: (mpf(i) if i else ZERO) if dtype in FLOATS else wrap(dtype, i)
        return [whole_number(index[dim]) for index in indices(dims)]
    if opcode == "broadcast":
        along = attribute(rest, "dimensions")
        return [elements[0][flat([index[d] for d in along], given[0][1])] for index in indices(dims)]
    if opcode == "transpose":
        order_of = attribute(rest, "dimensions")
        place = lambda index: [index[order_of.index(d)] for d in range(len(dims))]
        return [elements[0][flat(place(index), given[0][1])] for index in indices(dims)]
    if opcode == "reverse":
        flipped = attribute(rest, "dimensions")
        place = lambda index: [n - 1 - i if d in flipped else i for d, (i, n) in enumerate(zip(index, dims))]
        return [elements[0][flat(place(index), dims)] for index in indices(dims)]
    if opcode == "is-finite":
        return [None if x is None else int(x not in (NAN, INF, NEG_INF)) for x in elements[0]]
    if opcode == "convert":
        return [convert(x, of, dtype) for x in elements[0]]
    if opcode == "compare":
        if "TOTALORDER" in rest:
            raise Unsupported("TOTALORDER")
        holds = HOLDS[re.search(r"direction=(\w+)", rest).group(1)]
        pairs = zip(*elements)
        if of in FLOATS:
            orders = [order(x, y) for x, y in pairs]
        else:
            orders = [None if None in (x, y) else (x > y) - (x < y) for x, y in pairs]
        return [None if o is None else int(holds(o)) for o in orders]
    if opcode == "select":
        flags = spread(elements[0], elements[1])
        return [None if p is None else (a if p else b) for p, a, b in zip(flags, *elements[1:])]
    if opcode == "clamp":
        low, high = (spread(e, elements[1]) for e in (elements[0], elements[2]))
        return [extreme(False)(extreme(True)(x, l), h) if None not in (x, l, h) else None
                for l, x, h in zip(low, elements[1], high)]
    if opcode == "reduce" and len(given) == 2:
        region = regions[re.search(r"to_apply=(\w+)", rest).group(1)]
        if len(region) != 3:
            raise Unsupported("a region that is no operation")
        kept = [d for d in range(len(given[0][1])) if d not in attribute(rest, "dimensions")]
        results = [elements[1][0]] * len(indices(dims))
        for at, index in enumerate(indices(given[0][1])):
            into = flat([index[d] for d in kept], dims)
            results[into] = binary(region[-1].group(3), dtype, results[into], elements[0][at])
        return results
    if opcode in BINARIES or opcode in ("and", "or", "xor") or opcode.startswith("shift"):
        return [binary(opcode, dtype, x, y) for x, y in zip(*elements)]
    if dtype in FLOATS and opcode in FUNCTIONS:
        return [function(opcode, x) for x in elements[0]]
    raise Unsupported(opcode)


def convert(x, of, to):
    if x is None or of in FLOATS and to in FLOATS:
        return x
    if of in FLOATS:
        if to == "pred":
            return int(x not in (ZERO, NEG_ZERO))
        signed_type, width = INTEGERS[to]
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed_type else (0, (1 << width) - 1)
        if not is_real(x):
            return {INF: high, NEG_INF: low}.get(x, 0)
        if abs(x) > mpf(2) ** 70:
            return low if is_neg(x) else high
        if bits(x) > 1000 and abs(x - mpmath.nint(x)) < mpf(2) ** -1000:
            return None if mpmath.mag(x) > -900 else 0
        return max(low, min(high, int(x)))
    if to in FLOATS:
        return mpf(x) if x else ZERO
    return wrap(to, x)


def rounded(x):
    """The nearest f64; None where the errors of what made x might show."""
    if not is_real(x):
        return {NAN: float("nan"), INF: float("inf"), NEG_INF: float("-inf"), ZERO: 0.0, NEG_ZERO: -0.0}.get(x)
    if abs(mpmath.mag(x)) > 1100:
        magnitude = float("inf") if mpmath.mag(x) > 0 else 0.0
        return -magnitude if x < 0 else magnitude
    ends = [nearest(exact(x) * (1 + side * fractions.Fraction(1, 2**1500))) for side in (-1, 0, 1)]
    if bits(x) < PRECISION // 2:
        return ends[1]
    return ends[1] if ends[0] == ends[2] else None


def nearest(value):
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return float("-inf") if value < 0 else float("inf")


def same(dtype, ours, answer):
    if dtype not in FLOATS:
        return wrap(dtype, int(answer)) == ours
    theirs = struct.unpack("<d", bytes.fromhex(answer)[::-1])[0]
    return ours != ours and theirs != theirs or struct.pack("<d", ours) == struct.pack("<d", theirs)


def main():
    compared = wrong = unknown = unanswered = skipped = 0
    for line in open(sys.argv[1], encoding="utf-8"):
        case = json.loads(line)
        try:
            results = evaluate(case["text"], case["arguments"])
        except Unsupported:
            skipped += 1
            continue
        for at, ((dtype, elements), answers) in enumerate(zip(results, case["answers"])):
            for place, (x, answer) in enumerate(zip(elements, answers)):
                ours = rounded(x) if dtype in FLOATS else x
                if answer is None:
                    unanswered += 1
                elif ours is None:
                    unknown += 1
                else:
                    compared += 1
                    if not same(dtype, ours, answer):
                        wrong += 1
                        where = f"program {case['program']} result {at} [{place}]"
                        print(f"{where}: {answer}, mpmath {ours!r}\n{case['text']}")
    print(f"{compared} answers compared, {wrong} differ; {unanswered} open, {unknown} not known to mpmath; "
          f"{skipped} programs have operations that are not evaluated here")
    sys.exit(int(wrong > 0))


if __name__ == "__main__":
    main()
