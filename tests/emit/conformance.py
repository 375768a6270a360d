#!/usr/bin/env python3
"""What topos emits, in the hands of others: every module of conformance_modules
through StableHLO's reference interpreter and through XLA, both from jaxlib. Each
result has to lie within its envelope.

    conformance.py CONFORMANCE_MODULES [RANDOM_NETWORKS]

Prints a line an operation. Exits with 1 if anything is outside, 77 if there is no
jax: a Python that has it is TOPOS_XLA_PYTHON, .venv/bin/python or the present one.
"""

import collections
import os
import pathlib
import pickle
import re
import struct
import subprocess
import sys

SKIPPED = 77
GREATEST_REPORT = int(os.environ.get("TOPOS_CONFORMANCE_REPORTS", 10))


def with_jax():
    """Goes on in a Python with jax, or ends."""
    try:
        import jax  # noqa: F401

        return
    except ImportError as error:
        reason = error
    root = pathlib.Path(__file__).resolve().parents[2]
    python = os.environ.get("TOPOS_XLA_PYTHON") or str(root / ".venv/bin/python")
    if os.environ.get("TOPOS_CONFORMANCE_PYTHON") == python or not os.path.exists(
        python
    ):
        print(f"skipped: {sys.executable} cannot import jax: {reason}, nor is there "
              f"a {python} that can")
        sys.exit(SKIPPED)
    os.environ["TOPOS_CONFORMANCE_PYTHON"] = python
    os.execv(python, [python, *sys.argv])


with_jax()

import jax  # noqa: E402
import numpy  # noqa: E402

jax.config.update("jax_enable_x64", True)

from jax._src.interpreters.mlir import make_ir_context  # noqa: E402
from jax.extend.backend import get_backend, get_compile_options  # noqa: E402
from jaxlib import _jax as internals  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

# By the numbers of DType.
NAMES = ("f4", "f8", "bfloat16", "f2", "i4", "i8", "?")  # jax knows bfloat16
DTYPES = [numpy.dtype(name) for name in NAMES]

Module = collections.namedtuple("Module", "operation name text arguments results")


class Reader:
    """The modules of a stream."""

    def __init__(self, stream):
        self.stream = stream

    def take(self, layout):
        size = struct.calcsize("<" + layout)
        data = self.stream.read(size)
        if len(data) != size:
            raise EOFError
        return struct.unpack("<" + layout, data)

    def text(self):
        (size,) = self.take("I")
        return self.stream.read(size).decode()

    def tensor(self):
        dtype, rank = self.take("BB")
        shape = self.take(f"{rank}q")
        elements = numpy.empty(shape, DTYPES[dtype])
        data = self.stream.read(elements.nbytes)
        return numpy.frombuffer(data, elements.dtype).reshape(shape)

    def list(self, item):
        (size,) = self.take("I")
        return [item() for _ in range(size)]

    def __iter__(self):
        while True:
            try:
                operation = self.text()
            except EOFError:
                return
            yield Module(
                operation,
                self.text(),
                self.text(),
                self.list(self.tensor),
                self.list(lambda: (self.tensor(), self.tensor())),
            )


def interpret():
    """What Interpreter's process does until its input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed

    def attribute(x):
        if x.dtype != bool:
            return ir.DenseElementsAttr.get(x)
        # Booleans as elements are packed, and a byte of them is taken for one.
        extents = "".join(f"{n}x" for n in x.shape)
        elements = str(x.tolist()).lower() if x.size > 0 else ""
        return ir.Attribute.parse(f"dense<{elements}> : tensor<{extents}i1>")

    with make_ir_context(), ir.Location.unknown():
        while True:
            try:
                text, arguments = pickle.load(sys.stdin.buffer)
            except EOFError:
                return
            try:
                program = ir.Module.parse(text)
                results = stablehlo.eval_module(program, [*map(attribute, arguments)])
                answer = [numpy.array(x) for x in results]
            except Exception as error:  # whatever the binding throws
                answer = str(error)
            pickle.dump(answer, answers)
            answers.flush()


class Interpreter:
    """StableHLO's own reference, in a process that it may end."""

    name = "reference"
    # Integers it divides as C++ does: by 0, and the least one by -1, ends it. So
    # does a product of nothing.
    ends = re.compile(r"stablehlo\.divide .*i(32|64)>|stablehlo\.dot_general .*[<x]0x")
    scatter = re.compile(r'"stablehlo\.scatter"\((%[\w.$-]+),')

    def refuses(self, module):
        """What it cannot do."""
        if self.ends.search(module.text):
            return True
        # Its results come as buffers, which know no bf16.
        if "bf16" in module.text:
            return True
        # It adds updates to the operand itself, which others may read: here it
        # must not occur but where it is defined and scattered to.
        return any(
            len(re.findall(re.escape(base) + r"(?![\w.$-])", module.text)) > 2
            for base in self.scatter.findall(module.text)
        )

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--interpret"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def run(self, module):
        try:
            pickle.dump((module.text, module.arguments), self.process.stdin)
            self.process.stdin.flush()
            answer = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError) as error:
            code = self.process.wait()
            self.__init__()
            raise RuntimeError(f"its process ended with {code}") from error
        if isinstance(answer, str):
            raise RuntimeError(answer)
        return answer


class Xla:
    """XLA on the CPU, told to keep NaN in minimum and maximum and to round each
    16-bit result."""

    name = "XLA"

    def __init__(self):
        self.client = get_backend("cpu")
        self.devices = internals.DeviceList(tuple(self.client.local_devices()[:1]))
        self.options = get_compile_options(
            1,
            1,
            env_options_overrides={
                "xla_cpu_enable_fast_min_max": False,
                "xla_allow_excess_precision": False,
            },
        )

    def refuses(self, module):
        return False

    def run(self, module):
        program = self.client.compile_and_load(
            module.text, self.devices, self.options
        )
        arguments = [jax.device_put(x) for x in module.arguments]
        results = program.execute_sharded(arguments)
        shards = results.disassemble_into_single_device_arrays()
        return [numpy.asarray(x[0]) for x in shards]


def excess(found, value, bound):
    """How far a result is beyond its envelope: 0 to 1 inside, in units of the
    bound, with a position."""
    if found.shape != value.shape or found.dtype != value.dtype:
        raise ValueError(
            f"{found.dtype}{found.shape} and not {value.dtype}{value.shape}"
        )
    if value.size == 0:
        return 0.0, 0
    same = found == value
    if value.dtype.kind in "fV":  # V: bfloat16
        same |= numpy.isnan(found) & numpy.isnan(value)
    with numpy.errstate(all="ignore"):
        away = numpy.abs(found.astype("f8") - value.astype("f8"))
        ratio = numpy.where(bound > 0, away / bound, numpy.inf)
        ratio[numpy.isnan(away)] = numpy.inf
    ratio[same | numpy.isinf(bound)] = 0
    at = int(numpy.argmax(ratio))
    return float(ratio.flat[at]), at


class Tally:
    def __init__(self):
        self.modules = 0
        self.failed = 0
        self.ratio = 0.0  # the greatest to a bound

    def __add__(self, other):
        total = Tally()
        total.modules = self.modules + other.modules
        total.failed = self.failed + other.failed
        total.ratio = max(self.ratio, other.ratio)
        return total


def check(engine, module, tally):
    """What is wrong; empty if nothing."""
    try:
        found = engine.run(module)
    except Exception as error:  # whatever a compiler throws
        return f"fails: {error}"
    if len(found) != len(module.results):
        return f"gives {len(found)} results for {len(module.results)}"
    for i, (value, bound) in enumerate(module.results):
        try:
            ratio, at = excess(found[i], value, bound)
        except ValueError as error:
            return f"result {i} is {error}"
        if ratio > 1:
            return (
                f"result {i} is {found[i].flat[at]!r} at {at} and not "
                f"{value.flat[at]!r}, {ratio:.3g} times its bound {bound.flat[at]:.3g}"
            )
        tally.ratio = max(tally.ratio, ratio)
    return ""


def main():
    networks = sys.argv[2] if len(sys.argv) > 2 else "0"
    writer = subprocess.Popen([sys.argv[1], networks], stdout=subprocess.PIPE)
    engines = [Interpreter(), Xla()]
    tallies = {}
    reported = 0
    for module in Reader(writer.stdout):
        row = tallies.setdefault(module.operation, [Tally() for _ in engines])
        for engine, tally in zip(engines, row):
            if engine.refuses(module):
                continue
            tally.modules += 1
            wrong = check(engine, module, tally)
            if not wrong:
                continue
            tally.failed += 1
            reported += 1
            if reported <= GREATEST_REPORT:
                print(f"{engine.name}: {module.name} {wrong}\n{module.text[:4000]}")
                for i, x in enumerate(module.arguments[:8]):
                    print(f"  argument {i}: {x.tolist() if x.size < 64 else x.shape}")
    print(f"{'':28}" + "".join(f"{engine.name:>30}" for engine in engines))
    print(f"{'operation':28}" + f"{'modules':>12}{'failed':>8}{'ratio':>10}" * 2)
    tallies["all"] = [sum(column, Tally()) for column in zip(*tallies.values())]
    for operation, row in tallies.items():
        columns = "".join(f"{t.modules:12}{t.failed:8}{t.ratio:10.3f}" for t in row)
        print(f"{operation:28}{columns}")
    modules = sum(tally.modules for tally in tallies["all"])
    failed = sum(tally.failed for tally in tallies["all"])
    if writer.wait() != 0:
        sys.exit(f"{sys.argv[1]} failed")
    if modules == 0 or failed > 0:
        sys.exit(1)


if sys.argv[1] == "--interpret":
    interpret()
else:
    main()
