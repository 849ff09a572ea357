"""The functions behind the HLO files here."""

import jax
import jax.numpy as jnp
from jax import lax


def min_p(x):
    p = jax.nn.softmax(x.astype(jnp.float32), -1)
    keep = p >= 0.1 * p.max(-1, keepdims=True)
    return keep, jnp.argmax(jnp.where(keep, x, -jnp.inf), -1)


def beam(x, y):
    def body(c):
        i, s = c
        return i + 1, jnp.tanh(s * jnp.bfloat16(0.9)) + y
    return lax.while_loop(lambda c: c[0] < 5, body, (0, x))[1]


def scan_cum(x):
    def step(c, v):
        c = c * jnp.bfloat16(0.5) + v
        return c, c.astype(jnp.float32).sum()
    return lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x)


def router(x):
    g = jax.nn.softmax(x, -1)
    v, i = lax.top_k(g, 4)
    v = v / v.sum(-1, keepdims=True)
    return v, i


def gelu_norm(x, w):
    m = x.astype(jnp.float32)
    v = jnp.var(m, -1, keepdims=True)
    mu = m.mean(-1, keepdims=True)
    return (jax.nn.gelu(((m - mu) * lax.rsqrt(v + 1e-6)).astype(x.dtype)) * w)


def embed(t, ids):
    return jnp.take(t, ids, axis=0).sum(1)


def sortperm(x):
    return jnp.argsort(x, -1), jnp.median(x.astype(jnp.float32), -1)


def logsum(x):
    return jax.nn.logsumexp(x, -1), jnp.cumsum(x, -1), jnp.cumprod(x[:, :8].astype(jnp.float32), -1)


def bits(x):
    u = lax.bitcast_convert_type(x, jnp.uint16)
    return (u >> 3) ^ (u << 2), jnp.sign(x), jnp.floor(x), jnp.round(x), x ** 2, jnp.clip(x, -1, 1)


def gumbel(x, k):
    key = jax.random.wrap_key_data(k)
    g = jax.random.gumbel(key, x.shape, jnp.float32)
    return jnp.argmax(x.astype(jnp.float32) + g, -1)


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 4), (1, 2), 'VALID'), lax.reduce_window(x.astype(jnp.float32), 0., lax.add, (1, 3), (1, 1), 'SAME')


def cond(x):
    return lax.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, x)


def scans(x):
    running = jnp.cumprod(x[:, :40], -1), lax.cumsum(x, 1, reverse=True), lax.cumlogsumexp(x[:, :40], 1)
    return running, lax.reduce(x[:, :40], jnp.bfloat16(1.5), lax.mul, (1,)), lax.reduce(x, jnp.bfloat16(0), lax.add, (0, 1))[None]


SMALL_FLOATS = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
                "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn")


def small_types(x, y, n):
    results = []
    for name in SMALL_FLOATS:
        t = jnp.dtype(name)
        if name == "float8_e8m0fnu":
            x, y = jnp.abs(x), jnp.abs(y)
        a, b = x.astype(t), y.astype(t)
        results += [v.astype(jnp.bfloat16) for v in (a + b, a * b, jnp.maximum(a, b))]
        results += [a < b, n.astype(t).astype(jnp.float32), lax.convert_element_type(a, jnp.float8_e5m2)]
    for name in ("int2", "int4", "uint2", "uint4"):
        t = jnp.dtype(name)
        a, b = n.astype(t), lax.convert_element_type(x, t)
        made = (a * b, a - b, lax.max(a, b), lax.shift_right_logical(a, b))
        results += [lax.convert_element_type(r, jnp.int32) for r in made]
        results += [a < b, lax.convert_element_type(b, jnp.float32)]
    return tuple(results)


def random_bits(key):
    results = []
    shapes = (((), jnp.uint32), ((5,), jnp.uint32), ((3, 5), jnp.uint32), ((3, 4, 2), jnp.uint16), ((7, 9), jnp.uint8),
              ((4, 6), jnp.uint32), ((3, 1, 5), jnp.uint64), ((2, 3), jnp.uint64))
    for algorithm in lax.RandomAlgorithm:
        for shape, dtype in shapes:
            results += lax.rng_bit_generator(key, shape, dtype, algorithm)
    return tuple(results)


def rbg(key):
    first, second = jax.random.split(jax.random.wrap_key_data(key, impl="rbg"))
    folded = jax.random.fold_in(second, 7)
    return jax.random.uniform(first, (3, 50)), jax.random.bits(folded, (7,), jnp.uint8), jax.random.randint(second, (40,), 0, 999)


def complex_functions(a, b, c, d):
    x, y = lax.complex(a, b), lax.complex(c, d)
    made = (x / y, jnp.exp(x), jnp.log(y), x * jnp.complex64(1.1 - 0.7j), jnp.where(x == y, x, y))
    return tuple(part for z in made for part in (z.real, z.imag)) + (jnp.abs(x), x != y)


def transforms(a, b, c):
    z = lax.complex(a, b)
    half = lax.complex(a[:, :, :7], b[:, :, :7])
    made = (jnp.fft.fft(z), jnp.fft.ifft(z), jnp.fft.fftn(z), jnp.fft.ifftn(z), jnp.fft.rfft(a), jnp.fft.rfftn(a), jnp.fft.rfft(c))
    parts = tuple(part for m in made for part in (m.real, m.imag))
    return parts + (jnp.fft.irfft(half, 12), jnp.fft.irfftn(half, (3, 5, 13)))


def read_twice(a, b, c, d, q, v):
    """Products that are read in several places: of a complex scan, a rotation, an update, and a target."""
    def step(first, second):
        return second[0] * first[0], second[0] * first[1] + second[1]
    x, y = lax.complex(a, b), lax.complex(c, d)
    scan = lax.associative_scan(step, (x, y))[1].real
    pairs = x[1::2] * y[::2] + y[1::2], x[1::2] * x[::2]
    pairs = pairs[1][1::2] * pairs[0][::2] + pairs[0][1::2]
    w, u = q[:, :1], q[:, 1:]
    cross = jnp.cross(u, v)
    turned = v + 2 * w * cross + 2 * jnp.cross(u, cross)
    product = a * b
    spread = (product + c)[:, :, None] + (product[:, :, None] - d[:, :, None] * jnp.arange(3, dtype=jnp.float32))
    unit = q * lax.rsqrt(jnp.sum(q * q, -1, keepdims=True))
    update = unit + jnp.sum(unit[:, :, None, None] * v[:, None, :, None] * b[:12].reshape(4, 3, 4), (1, 2))
    returns = (a + b)[:, 1:] * 0.95 + b[:, 1:] * jnp.float32(0.05)
    target = c + d * jnp.concatenate([returns, a[:, -1:]], 1)
    return scan, pairs.real, pairs.imag, turned, spread, update, target


def read_apart(a, b, c, d, p, q):
    """Products that are read in loops or branches of their own, with their factors exchanged, and behind a sum."""
    m, n = a * b, c * d
    rows = jnp.stack([m + n, m - n], 1)
    columns = jnp.stack([m[:, 0] + n[:, 0], m[:, 1] + n[:, 1], m[:, 0] - n[:, 1]], 1)
    x, y, z, w = a[:, 0] + p[0], b[:, 1] + p[1], c[:, 2] + p[2], d[:, 3] + p[3]
    flat = jnp.stack([x * y + z * w, x * y - z * w], 1)
    above, below = [x * y + z * w, z * y - x * w], [x * y - z * w, z * y + x * w]
    nested = jnp.stack([jnp.stack(above, 1), jnp.stack(below, 1)], 1)
    beside = jnp.pad(m + n, ((0, 0), (0, 4))) + jnp.pad(m - a, ((0, 0), (4, 0)))
    exchanged = m + c * (b * a)
    total = jnp.sum(jnp.abs(q), -1)
    deep = jnp.exp(jnp.sqrt(jnp.abs(p) + 1) * 0.25 - 0.5)
    behind = deep * total + jnp.cos(p) * (total * p)
    first, second, third = (jnp.cos(q[:, k]) for k in range(3))
    summed = jnp.sum(p[:12, None] * (p[:12, None] * first[None] + p[1:13, None] * second[None]), 0) + third
    return rows, columns, flat, nested, beside, exchanged, behind, summed


def signs(a, b, c, d, e):
    """Sums of two products with negations and numbers in their factors: LLVM moves these, and contracts the one that is then first."""
    g = a > b
    return (
        (a * -b) * c + d * e, d * e + (a * -b) * c, d * e - (-(a * b)) * c, ((-a) / b) * c + d * e, d * e + (a / -b) * c,
        (a * -b) * c + (d * -e) * a, (a * -b) * c - (d * -e) * a, (-d) * e - ((-a) * b) * c, -((a * -b) * c) - d * e,
        ((a * -3.0) * c) + d * e, d * e - (a * -3.0) * c, (-3.0 / b) * c + d * e, (-(3.0 * a)) * c - d * e,
        (-a) * b - (c * d) * 2.5, ((-a) * b) * 2.5 + d * e, jnp.where(g, -a, -b) * c + d * e,
        (-jnp.where(g, b, a)) * c + d * e, d * (-jnp.where(g, -a, c)) + b * -e, (-jnp.exp(a)) * c * b + d * e,
        jnp.where(g, c, 0.5) * 2.5 + (-d) * e, -(a - b) * c * d + d * e, b - jnp.where(g, c * d, 0.0),
    )


def known_choices(a, b, c, d, e, f):
    """Products behind choices that LLVM knows when it makes the code, and some that it does not."""
    def chosen(x, y, z, of):
        row, column = (lax.broadcasted_iota(jnp.int32, x.shape, dim) for dim in range(2))
        return jnp.where(of(row, column), x * z, y * 0.3) - y
    predicates = (
        lambda i, j: i != 0, lambda i, j: i >= 5, lambda i, j: (i % 2) == 0, lambda i, j: j != 0, lambda i, j: j >= 3, lambda i, j: j < 70,
        lambda i, j: (j * 7 + 3 >= 0) & (j - 5 <= 100), lambda i, j: ~(j == 99), lambda i, j: i <= j,
    )
    return tuple(chosen(*arrays, of) for arrays in ((a, b, c), (d, e, f)) for of in predicates)


def library_dots(*pairs):
    return tuple(x @ y for x, y in zip(pairs[::2], pairs[1::2]))


def plain_dots(w, z, *pairs):
    """Dots that no library fusion takes: products come first in both operands, the last dim but one; and one in a small loop."""
    def step(count, x):
        return count + 1, x.T @ z
    return tuple(jnp.swapaxes(x, -1, -2) @ y for x, y in zip(pairs[::2], pairs[1::2])) + (lax.scan(step, 0, w)[1],)


def narrow_dots(a, b, c, d, *pairs):
    """Dots of few columns, and sums of products that are taken for dots."""
    sums = jnp.sum(a * lax.broadcast_in_dim(b, a.shape, (0, 2)), -1), jnp.sum(c * d, -1)
    return tuple(x @ y for x, y in zip(pairs[::2], pairs[1::2])) + sums


def sums_of_products(a, b, c, d):
    """Terms of a sum whose products join it one after the other, or do not; sums of complex numbers; terms with no masks."""
    def over(shape, function, *dims):
        return jnp.sum(function(*(v.reshape(shape) for v in (a, b, c, d))), dims or 1)
    two = lambda a, b, c, d: a * b + c * d
    three = lambda a, b, c, d: (a * b + c * d) + a * d
    rows = [v.reshape(32, 12) for v in (a, b, c, d)]
    sums = [over(shape, two) for shape in ((32, 12), (64, 6), (24, 16), (12, 32), (128, 3), (8, 48), (48, 8))]
    sums += [over((12, 4, 8), two, 1, 2), over((32, 12), two, 0), over((32, 12), three), over((12, 32), three)]
    sums += [over((32, 12), lambda a, b, c, d: a * b - c * d), over((32, 12), lambda *v: -two(*v))]
    sums += [over((32, 12), lambda a, b, c, d: (c - a * b) + d * d), over((32, 12), lambda *v: two(*v) * v[0])]
    sums += [over((128, 3), lambda a, b, c, d: a * a + b * b), over((12, 32), lambda a, b, c, d: a * a + b * b)]
    sums += [lax.reduce(two(*rows), jnp.float32(0.5), lax.add, (1,))]
    a, b, c, d = rows
    z = [jnp.sum(x, 1) for x in (lax.complex(a, b) * lax.complex(c, d), lax.complex(a * b, jnp.exp(c)))]
    sums += [part for x in z for part in (x.real, x.imag)]
    sums += [jnp.sum(f(a * a + 1.0), 1) for f in (jnp.log1p, jnp.tanh, jnp.sin, jnp.exp, lax.erf, jnp.round)]
    return tuple(sums)


def sums_in_strides(a, b, m, x, p, q):
    """Sums along reads with gaps, that leave the last element alone, and in fewer registers where many vectors are needed."""
    def weighted(v, w, steps):
        for i in range(steps):
            v = v * jnp.float32(1.01 + i / 100) + w if i % 2 else v + jnp.float32(0.3)
        return v
    sums = [jnp.sum(weighted(a[:, :n], b[:, :n], 20), 1) for n in (32, 28, 24, 16, 12)]
    sums += [jnp.sum(weighted(a[:, :n, :3], b[:, :n, :3], 4), (1, 2)) for n in (32, 20, 16)]
    odd = m[:, 1::2]
    sums += [jnp.sum(weighted(m[:, ::2], odd, 20), 1), jnp.sum(weighted(odd, odd, 20), 1), jnp.sum(weighted(m[:, ::3], x[:, :22], 14), 1)]
    for n in 4, 7, 10:
        roots = [jnp.sqrt(x * x + jnp.float32(1.1 * i + 0.3)) for i in range(n)]
        up = roots[-1]
        for root in roots[-2::-1]:
            up = up * root + jnp.float32(0.7)
        for root in roots:
            up = up * root * jnp.float32(0.1) - jnp.float32(0.3)
        sums += [jnp.sum(up[:, :k], 1) for k in (32, 28, 20)]
    for shape in (2, 20, 8), (5, 16, 4), (4, 16, 5), (40, 8), (80, 4):
        product = p.reshape(shape) * q.reshape(shape)
        sums.append(jnp.sum(product, tuple(range(1, len(shape)))))
    return tuple(sums)


def code_orders(x, t, v, c, a, d):
    """Sums of two products whose operands are narrowed on the way, joined, or read behind a loop; what a compiler computes of indices; and
    products that leave all loops."""
    angles = t[0, :12]
    rotated = jnp.concatenate((-x[..., 8:], x[..., :8]), -1)
    parts = (a @ d).reshape(6, 12, 2).astype(jnp.float32)
    turned = lax.complex(parts[..., 0], parts[..., 1]) * lax.complex(jnp.cos(angles), jnp.sin(angles))
    out = [x.astype(jnp.float32) * jnp.cos(t) + rotated.astype(jnp.float32) * jnp.sin(t), jnp.stack((turned.real, turned.imag), -1)]
    wide, double = a.astype(jnp.float32), a * 2
    out += [double.astype(jnp.float32) * 0.02 + wide * 0.0196, (jnp.sum(v[:, :, 0], 1) ** 2 + 0.5) * 0.75 + v[:, 0, 1] * 0.25]
    index = jnp.arange(128, dtype=jnp.float32)
    out += [jnp.exp(index[:n] * -0.0575) for n in (16, 40, 128)] + [jnp.log(index[:24] * 0.0575 + 0.7)]
    out += [jnp.sin((index[:24] + 0.5) * jnp.float32(2 / 3) - 0.5 - index[:5, None]), v[:, :4] + c[:4] * jnp.float32(0.3)]
    return tuple(out + [jnp.exp(v + c * jnp.float32(0.3))])


def sums_of_code(v, r, k, e):
    """Sums along reads that stand apart, with indices of their own, and sums of sums."""
    apart = [jnp.sum((r[:, :n] * e[:, :n, None]) * k[:, :n, None].astype(jnp.float32), 1) for n in (27, 28, 29)]
    apart += [jnp.sum(((r[:, :n] * r[:, :n] + r[:, :n]) * r[:, :n] + r[:, :n]) * r[:, :n] + r[:, :n], 1) for n in (29, 30)]
    return tuple(apart + [jnp.sum(jnp.sum(v[..., :n] * v[..., :n], 2) * jnp.float32(1 / 3) + v[..., 0], 1) for n in (9, 16)])


def narrow_library_dots(*pairs):
    """Dots of bf16 in a library fusion: the second product of each pair joins the sum first."""
    return tuple(jnp.matmul(x, y, preferred_element_type=jnp.float32) for x, y in zip(pairs[::2], pairs[1::2]))


def in_places(a, b, c, d, x, y, p, q, r):
    """One value in several places, each with code of its own: scans of complex numbers, whose steps are functions that are inlined;
    rows that are not the last dim; products and logarithms before loops that are unrolled; powers of complex numbers, and an
    imaginary part alone."""
    z, rate = lax.complex(a, b), jnp.exp(lax.complex(-jnp.abs(c), d))
    join = lambda s, t: (s[0] * t[0], t[0] * s[1] + t[1])
    rates = jnp.broadcast_to(rate, z.shape)
    scans = lax.associative_scan(join, (rates, z))[1], lax.associative_scan(join, (rates, z), reverse=True)[1]
    near = (x * x)[:, :, None] + (y * y)[:, None, :] - 2 * x[:, :, None] * y[:, None, :]
    gate = jax.nn.sigmoid(p + jnp.float32(0.3) * q)
    w = z[:6] ** lax.complex(a[6:12], b[6:12])
    alone = (z * lax.complex(b, a) + rate * c).imag
    logs = jnp.log(jnp.arange(7).astype(jnp.float32) + 4)
    return tuple(part for s in (*scans, w) for part in (s.real, s.imag)) + (near.transpose(2, 1, 0) + r, gate, alone, logs)


def columns_in_runs(x, y, r, c, u, v, w, t, s):
    """Rows side by side, of which few columns are read as runs of memory: what is multiplied before the columns are parted, and what
    is not parted at all."""
    row, tenth = r[:, None], jnp.float32(0.1)
    out = [x * y + row, (x - y) * x + row, row - x * y, x * y + c, jnp.exp(x * y + tenth), jnp.abs(u) * v + w[:, None]]
    shared = (u - v) * t
    out += [jnp.where(jnp.abs(shared) > tenth, tenth, s) / (shared * shared + tenth)]
    out += [x * row + y, (x * y + tenth) * (y - tenth), u * v + w[:, None], (u * v + tenth) / w[:, None]]
    return tuple(out)


def rows_alike(x, y, z, w, b, v, u):
    """Products that are the same for all rows, as LLVM computes them before its loops, or does not; and sums beside such rows."""
    third = lambda row: row * jnp.float32(0.3)
    def chain(value, steps):
        for i in range(steps):
            value = value * jnp.float32(1.1 + i / 64) + jnp.float32(0.7 + i / 32)
        return value
    alike = [x * y + third(w), jnp.exp(-(x + third(w))), jnp.tanh(v + third(u)), jnp.tanh(v) + third(u)]
    alike += [chain(x + third(w), steps) for steps in (20, 60)] + [lax.erf(v * third(u) + third(u))]
    alike += [jnp.swapaxes(x.reshape(3, 8, 32) * y.reshape(3, 8, 32) + third(w), 1, 2) + jnp.float32(0)]
    sums = [jnp.sum(lax.integer_pow(x * y + third(w), 3), 0), jnp.sum(jnp.cos(x + third(w)) * y, 0)]
    terms = [(x * y * z, w), (w, x * y * z), (x, w * b), (x * z, w * b), (w * b * third(u[:32]), x * y)]
    sums += [jnp.sum(chain(one * two, steps), 1) for steps in (6, 7) for one, two in terms]
    sums += [jnp.sum(jnp.sin(x[:2, :10] + third(b[:10])) * jnp.cos(y[:2, :10]), (0, 1))]
    sums += [jnp.sum(z * y + -(x * y * jnp.float32(-0.7)), 1), jnp.sum(z * y + -(x * jnp.float32(-0.7) * z), 0)]
    return tuple(alike + sums)


def sums_of_runs(*arrays):
    """Sums of products of few columns, which are computed of whole runs of memory, or are not."""
    forms = [lambda x, y, z: x * y * z, lambda x, y, z: jnp.square(x - y), lambda x, y, z: (x - y) * z]
    forms += [lambda x, y, z: (x - y) * x, lambda x, y, z: (x - y) * (x + z), lambda x, y, z: x * x * x]
    return tuple(jnp.sum(form(*arrays[k : k + 3]), (1, 2)) for k in range(0, len(arrays), 3) for form in forms)


def few_apart(x, y, v):
    """Sums of fewer elements than a loop may leave over, which stand apart: a step of lanes would read some that are not there."""
    def chain(value, steps):
        for _ in range(steps):
            value = value * jnp.float32(0.7) + jnp.float32(0.7)
        return value
    long = [jnp.sum(chain(x[:n] * y[:n], 20) * x[:n], 0) for n in (9, 12, 14)]
    return tuple(long + [jnp.sum(jnp.square(jnp.sum(v[:, :n, :k], 2)), 1) for n in (9, 12) for k in (2, 4)])


def numbers_chosen(x, y, p):
    """Choices between a value and a number, times a number: what is added to them decides whether LLVM has a product to contract."""
    scaled = lambda a, b: jnp.where(p > 0, a, b) * jnp.float32(0.47730419)
    n = jnp.float32(-1.8)
    return scaled(x, 0.0) + n, n - scaled(0.0, y), scaled(x, 0.0) + y, jnp.square(scaled(y, 0.0) + n), scaled(x, 2.3) + y


def choices_in_loops(x, y, z, r, c, n):
    """Choices that are the same in a whole loop, or are not: of a sum along rows or columns; and numbers times choices."""
    chosen = [jnp.where(n == 1, jnp.float32(0), x - y) * jnp.float32(0.08) + jnp.abs(z) * jnp.float32(0.92)]
    x, y = x[:8, :8], y[:8, :8]
    term = lambda of, k: jnp.exp(jnp.where(of > 0, x * jnp.float32(k), jnp.float32(-3)) - y)
    rows = [jnp.sum(term(of, k), 0) for k, of in ((2.3, r[:8, None]), (2.5, c[None, :8]))]
    return tuple(chosen + rows + [jnp.sum(term(of, k), 1) for k, of in ((2.7, r[:8, None]), (2.9, c[None, :8]))])


def rows_moved(x, y, b):
    """Rows that are added to all rows of arrays which are transposed then, or of which parts are computed in branches."""
    third = lambda row: row * jnp.float32(0.3)
    moved = []
    for h, d in ((2, 8), (4, 4), (3, 5), (2, 16)):
        value = x[:, : h * d].reshape(24, h, d) + third(b[: h * d].reshape(h, d))
        moved += [jnp.swapaxes(value * y[:, : h * d].reshape(24, h, d), 1, 2).reshape(24, h * d), jnp.exp(-value)]
    return tuple(moved + [updated(x, y, third(b[:c]), s) for s, c in ((6, 8), (4, 42), (4, 45))])


def updated(x, y, row, s=6):
    """Rows of two arrays, in an array that is updated with each, with its first two dims exchanged."""
    r = 4 if row.size < 16 else 8
    parts = [a.reshape(-1)[: r * s * row.size].reshape(r, s, row.size) + row for a in (x, y)]
    both = lax.dynamic_update_slice(jnp.zeros((2 * r, s, row.size), jnp.float32), parts[0], (0, 0, 0))
    return jnp.swapaxes(lax.dynamic_update_slice(both, parts[1], (r, 0, 0)), 0, 1)


def rows_updated(x, y, b):
    """The same alone: one kernel, whose branches are decided in the loop around the columns."""
    return updated(x, y, b * jnp.float32(0.3))


def crossed(q, t):
    """Concatenates of few columns within one that is taken apart: the loop over each of its operands is unrolled."""
    cut = lambda a, i: a[:, i : i + 1]
    def cross(n, k):
        terms = [cut(q, (i + k) % 7) * cut(t, (i + 1) % 6) - cut(q, (i + 2) % 7) * cut(t, (i + 4) % 6) for i in range(n)]
        return jnp.concatenate(terms, 1)
    sides = lambda n: [t[:, :n] + cross(n, 1), q[:, 7:8] * t[:, :n] - cross(n, 3)]
    return tuple(jnp.concatenate(sides(n), 1) for n in (2, 3, 4))


def added_to_parts(x, y, c):
    """What is added to a concatenate that is taken apart: products in each of its operands, or in some of them."""
    turned = x * jnp.float32(1.4)
    apart = [c + jnp.concatenate((turned, -turned)), c - jnp.concatenate((x * y, y)), jnp.concatenate((y, x * y)) - c]
    return tuple(apart + [jnp.concatenate((x * y, x)) + c * jnp.float32(0.3)])


def library_roundings(x, y, g):
    """Sums of bf16 results as f32, without excess precision: a library keeps what it is told to round where its kernels convert."""
    wide, total = (lambda v: v.astype(jnp.float32)), (lambda v: jnp.sum(v, 1))
    left = [total(wide(x + y) * g), total(wide(jnp.exp(x)) - g), total(wide(jnp.exp(y)) / g)]
    right = [total(g * wide(x - y)), total(g - wide(jnp.minimum(x, y))), total(wide(y * 7) * wide(x * 7))]
    alone = [total(jnp.square(wide(y - x))), total(wide(jnp.exp(y * 3))), total(wide(x * 3) + g), total(jnp.exp(wide(y * 3)))]
    return tuple(left + right + alone + [jnp.sum(wide(x * 5).reshape(8, 16, 32), 2)])


def first_registers(x, y, w, r, q, u, s, g):
    """Sums of squares whose first register begins with a zero in one lane, negative numbers among what is computed before a loop, and
    sums with more addresses than the processor has registers."""
    third, total = (lambda row: row * jnp.float32(0.3)), (lambda terms, *dims: jnp.sum(jnp.square(terms), dims))
    sums = [total(x + (y + third(w)), 1), total((jnp.abs(x) + y - w)[:, :24], 1), total(u, 1, 2), total(u[:, :, :3], 1, 2)]
    before = ((r * jnp.float32(-0.5)) * q * jnp.float32(0.3))[:, None]
    twice = ((r * jnp.float32(-0.5)) * (q * jnp.float32(-0.3)))[:, None]
    deep = jnp.cos(x) * (1 + third(w)) * r[:, None]
    steps = [deep + y * before, y * before + deep, deep - y * before, deep + y * twice, y * before - deep]
    gates = g.astype(jnp.float32) + jnp.float32(1.5)
    def decayed(state, count):
        for k in range(count):
            state = state * gates[k][:, None] + jnp.float32(0.25)
        return jnp.sum(state, 2)
    return tuple(sums + steps + [decayed(s, count) for count in (4, 6, 12, 14)])


def loops_around(x, e, b, w, p, v, u, k, y):
    """Products that are computed outside of the loop that their sums stand in: those of columns before rows, wherever both lie, and before
    functions; a sum of parts that are joined beside its loops; and a negative number among factors that are."""
    third = lambda row: row * jnp.float32(0.3)
    heads = x.reshape(2, 16, 4, 8) + third(b)
    out = [heads.transpose(0, 2, 1, 3), heads.transpose(2, 0, 1, 3) * jnp.float32(0.35)]
    queries = (x[:2].reshape(2, 4, 1, 8) + third(b)[:, None]) * jnp.float32(0.35)
    out += [(e[..., None] * queries).transpose(0, 2, 1, 3).reshape(32, 32)]
    out += [jnp.sum((x.reshape(2, 16, 32) + third(p)) * x.reshape(2, 16, 32), (0, 1)), jax.nn.gelu(v + third(u))]
    out += [jnp.cos(y) * jnp.cos(y[::-1]) * jnp.cos(y + third(w)), jnp.sum(jnp.concatenate((v * jnp.float32(0.35), v), 1), 0)]
    out += [(v * v[::-1]) * (k[:, None] * third(u)) + v * ((k * (k[::-1] * jnp.float32(-0.5))) * jnp.float32(0.125))[:, None]]
    return tuple(out)


def lanes_from_zero(x, y, z, w, v):
    """Sums of squares in lanes, the first of which begins with a zero that is added; and a dim of one element, which is no loop."""
    third = lambda row: row * jnp.float32(0.3)
    sums = [jnp.sum(jnp.square((x + third(w)) + y), 1), jnp.sum(jnp.square((v + third(w)) + z), 2)]
    term = lambda n: x[:, :n] * y[:, :n] / w[:n] + jnp.exp(x[:, :n]) / y[:, :n] + y[:, :n] / (x[:, :n] * w[:n])
    return tuple(sums + [jnp.sum(jnp.square(term(n) + jnp.exp(y[:, :n]) / x[:, :n]), 1) for n in (12, 24)])


def norms(x, y, w, b, p):
    """Parts of norms, their gradients and losses: negations beside numbers, cosines beside rows, sums over grids, and windows that a library
    sums."""
    index = jnp.arange(1024, dtype=jnp.float32).reshape(x.shape)
    out = [x * ((w * -b) * 0.07) + y * -0.03, jnp.cos(jnp.cos(x * 0.5) * jnp.cos(index)) * w + b * 0.3]
    out += [jnp.sum(x[:, :, :n] * x[:, :, :n], (0, 1, 2)) for n in (3, 4)] + [jnp.sum(x[0] * x[0], (0, 1))]
    windows = [lax.reduce_window(jnp.maximum(p, 0), 0.0, lax.add, (1, n, n, 1), (1, n, n, 1), "VALID") for n in (2, 4)]
    return tuple(out + windows)


def sums_of_indices(a, b, c, d, p, q, x, v):
    """Sums beside indices, of which some are the same in the innermost loop, and of sines, each called for one element; products that
    change in the loop of a sum, or along dims that are joined, but not along the last one; and one before a loop and in it."""
    def by_index(value):
        return jnp.sum(jnp.sin(value) * jnp.cos(jnp.arange(value.size, dtype=jnp.float32).reshape(value.shape)))
    sums = [by_index(jnp.swapaxes(a * 0.5, 0, 1)), by_index(b * 0.5)]
    for sines, products in ((4, 4), (4, 5)):
        value = x
        for _ in range(sines):
            value = jnp.sin(value)
        for _ in range(products):
            value = value * x
        sums.append(jnp.sum(value))
    scaled = c * jnp.sin(d * p[:, :, None] + q[:, :, None]) + (p * q)[:, :, None]
    joined = jnp.sin(c * p[:, :, None] + q[:, :, None]) * p[:, :, None]
    index = jnp.arange(c.size, dtype=jnp.float32).reshape(c.shape)
    both = joined * jnp.cos(index) + (p * q)[:, :, None], joined + (p * q)[:, :, None]
    sums += [jnp.sum(scaled * d, (0, 1))] + [each.transpose(2, 0, 1).reshape(16, 32) for each in both]
    turned = v[0, :, None, :] * a[:, 0, :, None] + v[1, :, None, :]
    sums.append(jnp.sum((turned[..., :, None] * v[2, :, None, None, :] + v[3, :, None, None, :]) * turned[..., None, :], -1))
    return tuple(sums)


def factorizations(x, y, z):
    """What SciPy's OpenBLAS factors and solves: factors in blocks and column by column, one of them of no positive definite
    matrix, and every kind of triangular system."""
    def definite(a, by):
        return a * 0.3 + by * jnp.eye(a.shape[-1], dtype=a.dtype)
    out = [lax.linalg.cholesky(a, symmetrize_input=False) for a in (definite(x, 6), definite(y, 5), definite(y, 1))]
    n = z.shape[0]
    for left_side in (True, False):
        for lower in (True, False):
            for transpose_a in (True, False):
                for unit_diagonal in (True, False):
                    kind = dict(left_side=left_side, lower=lower, transpose_a=transpose_a, unit_diagonal=unit_diagonal)
                    sides = z if left_side else z.T
                    out.append(lax.linalg.triangular_solve(definite(x[:n, :n], 3), sides, **kind))
    return tuple(out)


def across(x, y):
    """Sums of products with arrays whose columns lie side by side in memory, not their rows: LAPACK's results."""
    sums = []
    for n in (9, 12, 20, 24):
        side = y[:n, :n]
        solved = lax.linalg.triangular_solve(x[:n, :n] * 0.1 + 3 * jnp.eye(n), side, left_side=True, lower=True)
        sums += [jnp.sum(solved * side), jnp.sum(solved * side, 1), jnp.sum(solved * side, 0)]
        sums.append(jnp.sum(jnp.exp(solved) * side + solved, 1))
    return tuple(sums)


def opposites(x, y, z, w):
    """Sums of a product and of its opposite, of which LLVM computes the product once: a number times its conjugate."""
    number = lax.complex(x, y)
    return jnp.imag(jnp.conj(number) * number) * z, x * y + z, w + (-x) * y, z - (-y) * x


def sums_at_once(a, b):
    """A product of two sums of complex numbers, whose parts are there at once."""
    left, right = [jnp.sum(part[0] + 1j * part[1], -1) for part in (a, b)]
    return jnp.imag(left * (1 + right))


def decompositions(x, y, z):
    """LU and QR decompositions of OpenBLAS and LAPACK: by halves and by columns, of few rows, in batches, and what reflectors make of
    matrices on either side of them."""
    out = [lax.linalg.lu(m) for m in (x, y, z)] + [jnp.linalg.qr(y), jnp.linalg.qr(y, mode="complete")]
    out += [jnp.linalg.qr(z[:rows], mode="raw") for rows in range(2, 9)]
    packed, taus = jnp.linalg.qr(x, mode="raw")
    for transpose in (True, False):
        sides = [(x[:, :5], True), (x.T[:1], False), (x.T[:3], False), (x.T[:7], False)]
        out += [lax.linalg.ormqr(packed.T, taus, m, left=left, transpose=transpose) for m, left in sides]
    return tuple(out)


def groups(x, y, g, h, w, b, v, p, q):
    """Groups of neighbours that share an element: sums beside such, and parts of a group norm's gradient, which reshapes there and back,
    and adds two products of which one leaves its loop."""
    def shared(array, count, columns):
        size = columns // count
        return jnp.broadcast_to(array[:, :count, None], (*array.shape[:1], count, size)).reshape(-1, columns)
    def long(value, by):
        for _ in range(9):
            value = (value + by) * jnp.float32(0.7)
        return jnp.sum(value * y[:, :value.shape[1]], 1)
    sums = []
    for columns, count in ((16, 4), (16, 2), (32, 4), (32, 16), (48, 12), (64, 8)):
        sums.append(long(x[:, :columns] - shared(g, count, columns), x[:, :columns]))
        if columns != 32:
            sums.append(long((x[:, :columns] - shared(g, count, columns)) * shared(h, count, columns), x[:, :columns]))
    split = lambda value: value.reshape(2, 6, 6, 4, 4)
    spread = lambda value: value[:, None, None, :]
    centred = split(v) - g[:2, None, None, :4, None] * jnp.float32(0.0625)
    scaled = (centred * h[:2, None, None, :4, None]).reshape(2, 6, 6, 16) * w + b
    gate = p * q + (p * p * q) * (q * (jnp.float32(1) - q))
    positions = [value[:2, :36].reshape(2, 6, 6, 1) for value in (y, x)]
    back = (gate * positions[0]) * h[0] + scaled * (positions[1] * jnp.float32(0.125))
    sums.append(jnp.sum(centred * split(back * w), (1, 2, 4)))
    scale = spread((w * y[:2, :16]) * (x[4:, :16] * jnp.float32(-0.5)) * jnp.float32(0.0555))
    instance = (v - spread(x[:2, :16] * jnp.float32(0.03))) * scale
    sums += [instance + spread(-x[2:4, :16] * jnp.float32(0.3)), instance + spread(x[2:4, :16] * jnp.float32(0.3))]
    return tuple(sums)


def causal(x, m, y, n, z, k):
    """Choices that are known in some columns alone: a causal mask's, each column of a loop that is unrolled, and registers."""
    def masked(x, m):
        rows, columns = x.shape[-2:]
        keep = jnp.arange(rows)[:, None] >= jnp.arange(columns)
        return jnp.where(keep, x * jnp.float32(0.35), -3) - m[..., None]
    by = jnp.where(jnp.arange(64) < 28, z * jnp.float32(0.35), k)
    return masked(x, m), masked(y, n), masked(x, m).transpose(1, 0, 2) * jnp.float32(2), by + z[::-1], z[::-1] - by, jnp.exp(masked(y, n))


def few_steps(x, y, z):
    """Sums of up to ten steps beside functions, which LLVM does not look through; and rows beside what is the same for all rows."""
    def long(count, function):
        value = x
        for at in range(count):
            value = value * x if at % 2 else value + x
        return jnp.sum(function(value), 1)
    sums = [long(count, jnp.cos) for count in (25, 26)] + [long(count, lambda value: value) for count in (30, 31)]
    sums += [long(26, jnp.exp), long(26, lambda value: jnp.tanh(value))]
    index = jnp.arange(512, dtype=jnp.float32).reshape(2, 8, 32)
    sums.append(jnp.sum(jnp.cos(index) * jnp.cos((y + z * jnp.float32(0.3)) * jnp.float32(0.5)) * jnp.float32(0.5), (0, 1)))
    return tuple(sums)


def behind_loops(a, u, v, w, x, y, z):
    """Single numbers that are read before the loop of a sum, and needed behind it."""
    numbers, sums = [u, v, w, x, y, z], iter(range(45))
    total = lambda: jnp.sum(a[next(sums)])
    results = []
    for at in range(3):
        u, v, w, x, y, z = numbers[2 * at:] + numbers[:2 * at]
        results += [x * y + z * total(), total() * (w * x + y * z), (x * jnp.float32(0.3)) * w + (y * jnp.float32(0.7)) * total()]
        results += [(x * x) * w + (y * z) * total(), jnp.abs(x) * w + ((jnp.abs(z) * 1e3) * (jnp.abs(z) * y)) * total()]
        results += [jnp.exp(x) * y + z * total(), jnp.tanh(x) * y + z * total(), (x * y + z * w) * total() + total() * x]
        results += [x * total() + jnp.abs(y) * total(), jnp.abs(x) * total() + y * total()]
        results += [w * total() + (jnp.tanh(x * 0.5) * 0.3) * x, w * total() + jnp.abs(jnp.tanh(x * 0.7) * 0.3 + 0.2) * x]
    return tuple(results)


def simplified(x, y, z):
    """What XLA's algebraic simplifier rewrites whatever the flag says, each expression beside another form of it."""
    up, down = jnp.abs(x) + 0.125, jnp.abs(y) + 0.125
    return (
        jnp.argmax((x / 0.7) * 0.3, axis=-1),
        (x * 0.1) * 0.7 >= x * jnp.float32(0.07),
        (x * 0.1) / 0.1 == x,
        (x + 0.1) + 0.7 > x + jnp.float32(0.8),
        (x - 0.7) + 0.7 == x,
        (x / down) / z >= x / (down * z),
        x / (down / z) >= (x * z) / down,
        jnp.sqrt(up) / jnp.sqrt(down) >= jnp.sqrt(up) * lax.rsqrt(down),
        jnp.exp(y) * jnp.exp(z) >= jnp.exp(y + z),
        jnp.log(jnp.exp(y)) == y,
        lax.pow(up, jnp.full(x.shape, 3.0)) >= up * up * up,
        x * z + y * z >= (x + y) * z,
        x * 0.3 + y * 0.3 >= (x + y) * 0.3,
    )
