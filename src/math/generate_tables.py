"""Writes the tables of src/math, from 500-digit arithmetic (mpmath).

    cd src/math
    python3 generate_tables.py exp > exp_table.h
    python3 generate_tables.py ln  > ln_table.h
    python3 generate_tables.py erf > erf_table.h
    python3 generate_tables.py sin > sin_table.h
"""

import sys

from mpmath import mp, mpf

mp.dps = 500


def double(x):
    """x rounded to 53 bits, to nearest even."""
    with mp.workprec(53):
        return +x


def hex_float(x):
    """A C++ hexadecimal literal; x must be a double."""
    return float(x).hex().replace("0x0.0p+0", "0x0p+0")


def rows(values, indent="    "):
    text, line = "", indent
    for value in values:
        word = hex_float(value) + ","
        if len(line) + len(word) + 1 > 80:
            text += line.rstrip() + "\n"
            line = indent
        line += word + " "
    return text + line.rstrip().rstrip(",")


def array(name, values, comment):
    lines = "".join("/// " + c + "\n" for c in comment)
    return (lines + f"inline constexpr double {name}[{len(values)}] = {{\n" +
            rows(values) + "\n};\n")


def array2(name, lists, comment):
    lines = "".join("/// " + c + "\n" for c in comment)
    body = ",\n".join("    {\n" + rows(v, "        ") + "}" for v in lists)
    return (lines + f"inline constexpr double {name}[{len(lists)}]"
            f"[{len(lists[0])}] = {{\n" + body + "\n};\n")


def exp_table():
    values = [mpf(2)**(mpf(i) / 64) for i in range(64)]
    high = [double(v) for v in values]
    low = [double(v - h) for v, h in zip(values, high)]
    return [
        array("exp2_high", high, ["2^(i/64), rounded to nearest."]),
        array("exp2_low", low, ["2^(i/64) - exp2_high[i], rounded."])
    ]


def ln_table():
    """Interval i: significands z with bits [start + i, start + i + 1) 2^45.

    start puts 1 in the middle (in bits) of interval 75, whose reciprocal is 1.
    """
    reciprocals, high, low = [], [], []
    for i in range(128):
        ends = []
        for j in (i, i + 1):
            offset = mpf(j) - mpf("75.5")  # in 2^-7 of a binade, from 1
            ends.append(1 + offset / (256 if offset < 0 else 128))
        reciprocal = mp.nint(2**16 * 2 / (ends[0] + ends[1])) / 2**16
        if i == 75:
            reciprocal = mpf(1)
        value = -mp.log(reciprocal)
        # 42 bits after the point: k ln2_high + ln_high is exact.
        first = mp.nint(value * 2**42) / 2**42
        reciprocals.append(reciprocal)
        high.append(first)
        low.append(double(value - first))
    return [
        array("ln_reciprocal", reciprocals, [
            "An approximation of 1/z on interval i, a multiple of 2^-16; the",
            "intervals are those of ln_kernel.h."
        ]),
        array("ln_high", high,
              ["-ln(ln_reciprocal[i]), rounded to a multiple of 2^-42."]),
        array("ln_low", low, ["What ln_high leaves of it, rounded."])
    ]


def chebyshev_fit(f, half_width, degree):
    """Coefficients in t of the interpolant at Chebyshev nodes of f on
    [-half_width, half_width]: within a small factor of the best."""
    n = degree + 1
    nodes = [
        half_width * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)
    ]
    matrix = mp.matrix(n, n)
    right = mp.matrix(n, 1)
    for i, t in enumerate(nodes):
        for j in range(n):
            matrix[i, j] = t**j
        right[i] = f(t)
    return list(mp.lu_solve(matrix, right))


def erf_table():
    out = []
    short = []
    for i in range(32):
        c = (mpf(i) + mpf("0.5")) / 8
        fit = chebyshev_fit(lambda t: mp.erf(c + t) / (c + t), mpf(1) / 16, 9)
        short.append([double(a) for a in fit])
    out.append(
        array2("erf_short", short, [
            "erf(c + t) / (c + t) for |t| <= 1/16, c = (i + 1/2) / 8: degree",
            "9, ascending, interpolated at Chebyshev nodes."
        ]))
    long_high, long_low, tail = [], [], []
    for i in range(1, 48):
        c = (mpf(i) + mpf("0.5")) / 8
        fit = chebyshev_fit(lambda t: mp.erf(c + t), mpf(1) / 16, 14)
        long_high.append([double(a) for a in fit[:4]])
        long_low.append([double(a - double(a)) for a in fit[:4]])
        tail.append([double(a) for a in fit[4:]])
    out.append(
        array2("erf_high", long_high, [
            "erf(c + t) for |t| <= 1/16, c = (i + 3/2) / 8: coefficients of",
            "t^0 to t^3, rounded; degree 14 in all, from Chebyshev nodes."
        ]))
    out.append(array2("erf_low", long_low, ["What erf_high leaves."]))
    out.append(array2("erf_tail", tail, ["Coefficients of t^4 to t^14."]))
    series = [
        2 / mp.sqrt(mp.pi) * (-1)**k / (mp.factorial(k) * (2 * k + 1))
        for k in range(11)
    ]
    out.append(
        array("erf_series", [double(a) for a in series], [
            "erf(x) = x sum_k erf_series[k] x^(2k) [DLMF 7.6.1], rounded."
        ]))
    out.append(
        array("erf_series_low", [double(a - double(a)) for a in series[:2]],
              ["What erf_series leaves of its first two."]))
    return out


def sin_table():
    out = []
    for name, odd in (("cos", 0), ("sin", 1)):
        series = [(-1)**k / mp.factorial(2 * k + odd) for k in range(11)]
        power = "x^(2k + 1)" if odd else "x^(2k)"
        out.append(
            array(name + "_series", [double(a) for a in series], [
                f"{name} x = sum_k {name}_series[k] {power} [DLMF 4.19], "
                "rounded."
            ]))
        out.append(
            array(name + "_series_low",
                  [double(a - double(a)) for a in series[:4]],
                  [f"What {name}_series leaves of its first four."]))
    half_pi = mp.pi / 2
    parts = []
    for digits in (32, 65):
        part = mp.floor((half_pi - sum(parts)) * 2**digits) / 2**digits
        parts.append(part)
    parts.append(double(half_pi - sum(parts)))
    out.append(
        array("half_pi_parts", parts, [
            "pi / 2 in parts of 33, 33 and 53 bits: 20 bits times either of",
            "the first two is exact."
        ]))
    out.append(
        array("half_pi",
              [double(half_pi), double(half_pi - double(half_pi))],
              ["pi / 2, rounded, and what that leaves."]))
    bits = int(mp.floor(2 / mp.pi * mpf(2)**(64 * 20)))
    words = [0] + [(bits >> (64 * (19 - i))) % 2**64 for i in range(20)]
    text = "".join(
        "    " + ", ".join(f"0x{w:016x}" for w in words[i:i + 3]) + ",\n"
        for i in range(0, 21, 3)).rstrip(",\n") + "\n"
    out.append("/// 64 zeros, then the first 1280 bits of 2 / pi, from the "
               "point on.\n"
               "inline constexpr std::uint64_t two_over_pi[21] = {\n" + text +
               "};\n")
    return out


def main():
    name = sys.argv[1]
    parts = {"exp": exp_table, "ln": ln_table, "erf": erf_table,
             "sin": sin_table}[name]()
    print("// Generated by: python3 generate_tables.py " + name + " > " + name +
          "_table.h")
    print("#pragma once\n")
    if name == "sin":
        print("#include <cstdint>\n")
    print("namespace topos::math {\n")
    print("// clang-format off\n")
    print("\n".join(parts))
    print("// clang-format on\n")
    print("}  // namespace topos::math")


if __name__ == "__main__":
    main()
