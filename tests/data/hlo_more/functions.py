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
