"""Writes polynomials.h, from 60-digit arithmetic (mpmath).

    cd src/kernels
    python3 generate_polynomials.py > polynomials.h

Standard error shows how far each polynomial, its coefficients rounded, is from
its function, relative to it.
"""

import re
import struct
import sys

from mpmath import mp, mpf

mp.dps = 60


def meeting(f, first, last, degree):
    """Coefficients, ascending, of the polynomial that meets f at Chebyshev
    nodes of [first, last]: within a small factor of the best."""
    n = degree + 1
    center, half_width = (first + last) / 2, (last - first) / 2
    matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
    for i in range(n):
        node = center + half_width * mp.cos(mp.pi * (2 * i + 1) / (2 * n))
        for j in range(n):
            matrix[i, j] = node**j
        right[i] = f(node)
    return list(mp.lu_solve(matrix, right))


def interpolant(f, first, last, degree):
    """The same, rounded to doubles."""
    return [float(c) for c in meeting(f, first, last, degree)]


def error_bits(f, coefficients, first, last):
    """log2 of the greatest relative error at 1000 points."""
    descending = [mpf(c) for c in reversed(coefficients)]
    worst = mpf(0)
    for i in range(1001):
        t = first + (last - first) * (mpf(i) + mpf("0.5")) / 1001
        worst = max(worst, abs(mp.polyval(descending, t) / f(t) - 1))
    return float(mp.log(worst, 2))


def fit(name, f, first, last, degree):
    coefficients = interpolant(f, first, last, degree)
    bits = error_bits(f, coefficients, first, last)
    print(f"{name}: 2^{bits:.1f}", file=sys.stderr)
    return coefficients


def rows(values, indent):
    text, line = "", indent
    for value in values:
        word = value.hex() + ","
        if len(line) + len(word) + 1 > 80:
            text += line.rstrip() + "\n"
            line = indent
        line += word + " "
    return text + line.rstrip().rstrip(",")


def array(name, values, comment, prefix=""):
    lines = "".join("/// " + c + "\n" for c in comment)
    return (lines + f"{prefix}inline constexpr double {name}[{len(values)}] = {{\n" +
            rows(values, "    ") + "\n};\n")


def to_float(value):
    """The float nearest to a number."""
    nearest, = struct.unpack("<f", struct.pack("<f", float(value)))
    return nearest


def float_pair(value):
    """Two floats whose sum is near a number."""
    high = to_float(value)
    return high, to_float(value - mpf(high))


def float_coefficients(f, first, last, degree, exact):
    """The same, rounded to floats but for the `exact` lowest: from the highest
    down, those below made for what that costs."""
    c = meeting(f, first, last, degree)
    for k in range(degree, exact - 1, -1):
        error = c[k] - to_float(c[k])
        c[k] -= error
        if k > 0:
            made_up = meeting(lambda t: error * t**k, first, last, k - 1)
            c = [a + b for a, b in zip(c, made_up)] + c[k:]
    return c


def float_rows(values):
    text, line = "", "    "
    for value in values:
        word = re.sub("0{7}p", "p", to_float(value).hex()) + "f,"
        if len(line) + len(word) + 1 > 80:
            text += line.rstrip() + "\n"
            line = "    "
        line += word + " "
    return text + line.rstrip().rstrip(",")


def float_array(name, values, comment):
    lines = "".join("/// " + c + "\n" for c in comment)
    return (lines + "alignas(64) inline constexpr float " +
            f"{name}[{len(values)}] = {{\n" + float_rows(values) + "\n};\n")


def exp2_32_tables():
    """2^(i/32) as floats; by what power of e each is too small, and a margin
    that a test of the rounding needs."""
    powers = [mpf(2)**(mpf(i) / 32) for i in range(32)]
    floats = [to_float(p) for p in powers]
    margin = mpf(1.25) / 2**35
    return floats, [mp.log(p / f) + margin for p, f in zip(powers, floats)]


def exp2_32_even_tables():
    """2^(i/32) by 2^-22, with i 2^18 subtracted from its bits; by what power of
    e each is too small, halved."""
    powers = [mpf(2)**(mpf(i) / 32) for i in range(32)]
    floats = [float(mp.nint(p * 2**22)) / 2**22 for p in powers]
    entries = []
    for i, value in enumerate(floats):
        bits, = struct.unpack("<i", struct.pack("<f", value))
        entries += struct.unpack("<f", struct.pack("<i", bits - (i << 18)))
    return entries, [mp.log(p / f) / 2 for p, f in zip(powers, floats)]


def tanh_remainder(z):
    """(tanh(r) - r) / r^3 for r^2 = z."""
    r = mp.sqrt(z)
    return (mp.tanh(r) - r) / r**3 if r > 1e-10 else -mpf(1) / 3


def exp_remainder(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > 1e-20 else mpf(1) / 2


def exp2_quotient(steps):
    """(2^(r / steps) - 1) / r."""
    unit = mp.log(2) / steps
    return lambda r: mp.expm1(r * unit) / r if r != 0 else unit


def exp2_table():
    """2^(i/16) with i 2^48 subtracted from its bits."""
    values = []
    for i in range(16):
        bits, = struct.unpack("<q", struct.pack("<d", mpf(2)**(mpf(i) / 16)))
        values += struct.unpack("<d", struct.pack("<q", bits - (i << 48)))
    return values


def atanh_quotient(z):
    s = mp.sqrt(z)
    return 2 * mp.atanh(s) / s


def ln_center(i):
    """A number of few bits near 1 / z whose products with the i-th of 32
    intervals, less 1, are floats: the one that makes those least."""
    first, = struct.unpack("<f", struct.pack("<i", 0x3f3504f3 + (i << 18)))
    last, = struct.unpack("<f", struct.pack("<i", 0x3f3504f2 + (i + 1 << 18)))
    if first <= 1 <= last:
        return mpf(1), max(1 - first, last - 1)
    unit = mpf(2)**(-23 if first > 1 else -24)
    candidates = []
    for bits in range(4, 9):
        c = mp.nint(2**bits * 2 / (mpf(first) + last)) / 2**bits
        greatest = max(abs(c * first - 1), abs(c * last - 1))
        if greatest < unit * 2**(24 - bits):
            candidates.append((greatest, c))
    greatest, c = min(candidates)
    return c, greatest


def ln_tables():
    """What ln_center gives, and -ln of it by 2^-16 and the rest."""
    centers = [ln_center(i)[0] for i in range(32)]
    high = [-mp.nint(mp.log(c) * 2**16) / 2**16 for c in centers]
    return centers, high, [-mp.log(c) - h for c, h in zip(centers, high)]


def ln_remainder(u):
    """(ln(1 + u) - u + u^2 / 2) / u^3."""
    return (mp.log1p(u) - u + u**2 / 2) / u**3 if abs(u) > 1e-10 else mpf(1) / 3


def sine_quotient(z):
    r = mp.sqrt(z)
    return mp.sin(r) / r


def erf_quotient(x):
    return mp.erf(x) / x if x != 0 else 2 / mp.sqrt(mp.pi)


def erf_table():
    """By coefficient, then by interval, as vectors look it up."""
    width = mpf(65) / 256
    by_interval = [
        fit(f"erf_quotient[{i}]", lambda t: erf_quotient(i * width + t),
            -width / 2, width / 2, 8) for i in range(16)
    ]
    body = ",\n".join("    {\n" + rows([c[k] for c in by_interval], "        ") +
                      "}" for k in range(9))
    return ("/// erf(x) / x around x = 65/256 i, |t| <= 65/512: [k][i] is the\n"
            "/// coefficient of t^k.\n"
            "alignas(64) inline constexpr double erf_quotient[9][16] = {\n" +
            body + "\n};\n")


def erf_floats():
    """Rows of erf_pairs: by coefficient, then by interval."""
    columns = []
    for i in range(32):
        center, half_width = mpf(i) / 8, mpf(1) / 16
        if i == 0:
            c = [mpf(0)] + float_coefficients(erf_quotient, mpf(0), half_width,
                                              5, 2)
        else:
            c = float_coefficients(lambda t: mp.erf(center + t), -half_width,
                                   half_width, 6, 3)
        pairs = [float_pair(c[k]) for k in range(3)]
        columns.append([part for pair in pairs for part in pair] + c[3:])
    body = ",\n".join("    {\n" + re.sub("^", "    ", float_rows(
        [column[k] for column in columns]), flags=re.M) + "}" for k in range(10))
    return ("/// erf around x = i/8, |t| <= 1/16: coefficients of t^0, t^1 and "
            "t^2, each\n/// as two floats, then of t^3 to t^6, by interval; the first "
            "one's t >= 0.\n"
            "alignas(64) inline constexpr float erf_pairs[10][32] = {\n" + body +
            "\n};\n")


def main():
    sqrt2 = mp.sqrt(2)
    greatest = ((sqrt2 - 1) / (sqrt2 + 1))**2
    half = mpf(1) / 2
    parts = [
        array("exp2_quotient",
              fit("exp2_quotient", exp2_quotient(1), -half, half, 8),
              ["(2^r - 1) / r, |r| <= 1/2, in powers of r."]),
        array("exp2_16_quotient",
              fit("exp2_16_quotient", exp2_quotient(16), -half, half, 4),
              ["(2^(r / 16) - 1) / r, |r| <= 1/2, in powers of r."]),
        array("exp2_16_quotient_longer",
              fit("exp2_16_quotient_longer", exp2_quotient(16), -half, half, 5),
              ["The same by one power more."]),
        array("exp2_16", exp2_table(), [
            "2^(i/16), less i 2^48 as integers: adding n 2^48, n = i mod 16,",
            "makes it 2^(n/16)."
        ], "alignas(64) "),
        array("atanh_quotient",
              fit("atanh_quotient", atanh_quotient, mpf(0), greatest, 5),
              ["2 atanh(s) / s = ln((1 + s) / (1 - s)) / s, |s| <= 3 - 2 sqrt(2),",
               "in powers of s^2."]),
        array("sine_quotient",
              fit("sine_quotient", sine_quotient, mpf(0), (mp.pi / 2)**2, 6),
              ["sin(r) / r, |r| <= pi / 2, in powers of r^2."]),
        erf_table(),
        float_array("exp2_32", exp2_32_tables()[0], ["2^(i/32)."]),
        float_array("exp2_32_rest", exp2_32_tables()[1],
                    ["ln of what times exp2_32[i] is 2^(i/32), and 1.25 2^-35."]),
        float_array("exp_remainder",
                    float_coefficients(exp_remainder, -mp.log(2) / 64,
                                       mp.log(2) / 64, 2, 0),
                    ["(e^r - 1 - r) / r^2, |r| <= ln2 / 64, in powers of r."]),
        float_array("exp2_32_even", exp2_32_even_tables()[0], [
            "2^(i/32), by 2^-22, less i 2^18 as integers: adding n 2^18,",
            "n = i mod 32, makes it 2^(n/32)."
        ]),
        float_array("exp2_32_even_rest", exp2_32_even_tables()[1],
                    ["ln of what times that is 2^(i/32), halved."]),
        float_array("tanh_remainder",
                    float_coefficients(tanh_remainder, mpf(0),
                                       (mp.log(2) / 128)**2, 1, 0),
                    ["(tanh(r) - r) / r^3, |r| <= ln2 / 128, in powers of r^2."]),
        float_array("ln_center", ln_tables()[0], [
            "About 1 / z for z of 32 intervals of 2^18 floats from sqrt(1/2) on:",
            "a float z times it, less 1, is a float, u, |u| < 0.0235."
        ]),
        float_array("ln_high", ln_tables()[1], ["-ln of it, by 2^-16,"]),
        float_array("ln_low", ln_tables()[2], ["and what that lacks."]),
        float_array("ln_remainder",
                    float_coefficients(ln_remainder, -mpf(235) / 10000,
                                       mpf(235) / 10000, 3, 0),
                    ["(ln(1 + u) - u + u^2 / 2) / u^3, in powers of u."]),
        erf_floats()
    ]
    print("// Generated by: python3 generate_polynomials.py > polynomials.h")
    print("//")
    print("// Polynomials of the vectorized elementary functions, coefficients")
    print("// ascending, interpolated at Chebyshev nodes.")
    print("#pragma once\n")
    print("namespace topos::kernels {\n")
    print("// clang-format off\n")
    print("\n".join(parts))
    print("// clang-format on\n")
    print("}  // namespace topos::kernels")


main()
