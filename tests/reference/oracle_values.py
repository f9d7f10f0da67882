"""Random floats and shapes that look for trouble: what oracle_cases.py builds its cases of.

Everything comes from the generator that is handed in, so that a seed names a case.
"""

import numpy as np

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38,
                    -3.4028235e38, 1e-12, 1e-30, 1.0, -1.0], dtype=np.float32)
_LARGEST = np.finfo(np.float32).max


def _ordinary(rng, shape):
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-3, 2)


def _any_magnitude(rng, shape):
    return rng.standard_normal(shape) * 2.0 ** rng.uniform(-145, 120)


def _spread(rng, shape):
    """Every element of a magnitude of its own."""
    return rng.standard_normal(shape) * 2.0 ** rng.uniform(-30, 30, shape)


def _any_bits(rng, shape):
    return rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)


def _any_finite_bits(rng, shape):
    bits = _any_bits(rng, shape)
    return np.where(np.isfinite(bits), bits, np.float32(1.5))


def _zeros(rng, shape):
    return rng.choice(np.array([0.0, -0.0]), shape)


def _denormals(rng, shape):
    return rng.integers(-(2**23), 2**23, shape) * 2.0**-149


def _huge(rng, shape):
    return rng.uniform(-1, 1, shape) * _LARGEST


def _next_to_powers(rng, shape):
    """A few floats above or below a power of two."""
    powers = 2.0 ** rng.integers(-126, 127, shape)
    bits = powers.astype(np.float32).view(np.int32) + rng.integers(-50, 10, shape)
    return bits.astype(np.int32).view(np.float32) * rng.choice([-1.0, 1.0], shape)


def _sprinkled(rng, shape):
    values = rng.standard_normal(shape)
    return np.where(rng.random(shape) < 0.15, rng.choice(SPECIAL, shape), values)


def _one_value(rng, shape):
    return np.full(shape, rng.standard_normal() * 2.0 ** rng.integers(-20, 20))


FLAVOURS = (_ordinary, _ordinary, _any_magnitude, _spread, _any_bits, _any_finite_bits, _zeros,
            _denormals, _huge, _next_to_powers, _sprinkled, _sprinkled, _one_value)


def floats(rng, shape):
    """An fp32 array of one of the flavours, chosen at random."""
    with np.errstate(all="ignore"):
        made = FLAVOURS[rng.integers(len(FLAVOURS))](rng, shape)
        return np.ascontiguousarray(made, dtype=np.float32).reshape(shape)


def gradients(rng, shape):
    """Upstream gradients: mostly ordinary ones, so that an error shows."""
    if rng.random() < 0.4:
        return floats(rng, shape)
    return np.asarray(_ordinary(rng, shape), dtype=np.float32)


def scales(rng, shape):
    """Scales of about one, with the odd ones among them that a checkpoint may hold."""
    made = np.exp(rng.uniform(-8, 3, shape)).astype(np.float32)
    if rng.random() < 0.3:
        odd = np.array([0, -1, 1e-20, 1e-12, np.inf, np.nan, 1e30, 1e-40], dtype=np.float32)
        made = np.where(rng.random(shape) < 0.3, rng.choice(odd, shape), made).astype(np.float32)
    return made


def on_midpoints(rng, shape, greatest, midpoints):
    """Values that lie on a decision between two levels, or a float beside it, times a power of two. The
    greatest of each row is `greatest` times that power, so that the scale comes out as the power."""
    chosen = rng.choice(np.asarray(midpoints, dtype=np.float32), shape)
    bits = chosen.view(np.int32) + rng.integers(-1, 2, shape).astype(np.int32)
    made = bits.astype(np.int32).view(np.float32) * rng.choice([-1.0, 1.0], shape)
    made[..., 0] = greatest
    return (made * 2.0 ** rng.integers(-20, 20)).astype(np.float32)


def beside(rng, decisions):
    """The decisions themselves and the floats around them: where multiplying by a rounded reciprocal
    instead of dividing, or rounding once more or less, gives another code."""
    exact = np.ascontiguousarray(decisions, dtype=np.float32)
    return (exact.view(np.int32) + rng.integers(-2, 3, exact.shape).astype(np.int32)).view(np.float32)


def signed(rng, values, shape):
    """Of each element one of `values`, with a random sign."""
    return rng.choice(np.asarray(values), shape) * rng.choice([-1.0, 1.0], shape)


def rows_and_columns(rng, unit):
    """Mostly few rows, and columns that leave a ragged tail of `unit`."""
    if rng.random() < 0.1:
        return 1, 1
    rows = int(rng.integers(1, 5))
    if rng.random() < 0.3:
        return rows, unit * int(rng.integers(1, 4))
    return rows, int(rng.integers(1, 2 * unit + unit // 2))
