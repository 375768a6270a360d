"""Runs StableHLO with jax: the other half of topos's engine `xla-server`.

topos carries this file within itself and starts it; nobody else does. Requests
and answers are frames over the socket that the process finds as its standard
input; whatever libraries print goes to standard error, which topos keeps for
the day on which something breaks. The end of the socket is the end of the
process. `src/runtime/server_frames.h` describes the frames.
"""

import mmap
import os
import platform as python_platform
import socket
import struct
import sys
import traceback

PROTOCOL = 1
MAGIC = 0x53504F54  # "TOPS"
# magic, protocol, kind, whether a file comes along, request, length
HEADER = struct.Struct("<IHBBQQ")
GREATEST_FRAME = 1 << 32

HELLO, PUT, FREE, COMPILE, EXECUTE, READ, UNLOAD, SYNC = range(1, 9)
ANSWER, REFUSAL = 100, 101

# Flags of a type: in PUT that the elements are the client's until it frees the
# buffer, in COMPILE that the answer to EXECUTE holds this result's elements.
BORROWED, ANSWERED = 1, 1

# The numbers of PJRT_Buffer_Type, with the names that numpy and ml_dtypes use.
DTYPES = {
    1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64",
    6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64",
    10: "float16", 11: "float32", 12: "float64", 13: "bfloat16",
}  # fmt: skip


class Refused(Exception):
    """What was asked cannot be done, and the text says all there is to say."""


class Channel:
    """Frames over a socket, and the files that came with them, in order."""

    def __init__(self, connection):
        self.socket = connection
        self.received = bytearray()
        self.at = 0
        self.files = []

    def take(self, size):
        """The next bytes of the stream; ends the process where it ends."""
        while len(self.received) - self.at < size:
            del self.received[: self.at]
            self.at = 0
            data, extra, _, _ = self.socket.recvmsg(1 << 18, 1024)
            if not data:
                os._exit(0)
            for level, kind, numbers in extra:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    count = len(numbers) // 4
                    self.files += struct.unpack(f"{count}i", numbers[: 4 * count])
            self.received += data
        self.at += size
        return bytes(memoryview(self.received)[self.at - size : self.at])

    def next(self):
        """Kind, request, payload and file; the caller closes the file."""
        header = HEADER.unpack(self.take(HEADER.size))
        magic, protocol, kind, files, request, length = header
        if magic != MAGIC or protocol != PROTOCOL or length > GREATEST_FRAME:
            sys.exit(
                f"xla_server.py speaks protocol {PROTOCOL}; this is not it: magic "
                f"{magic:#x}, protocol {protocol}, {length} bytes"
            )
        payload = Payload(self.take(length))
        return kind, request, payload, self.files.pop(0) if files else None

    def answer(self, kind, request, payload=b""):
        header = HEADER.pack(MAGIC, PROTOCOL, kind, 0, request, len(payload))
        self.socket.sendall(header + payload)


class Payload:
    """Reads the fields of a frame one after the other."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, layout):
        values = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return values

    def bytes(self, size):
        self.at += size
        return self.data[self.at - size : self.at]

    def rest(self):
        return self.bytes(len(self.data) - self.at)

    def type(self):
        code, flags, rank = self.take("BBH")
        if code not in DTYPES:
            raise Refused(f"there is no element type {code}")
        return DTYPES[code], self.take(f"{rank}q"), flags


def text_field(text):
    data = encoded(str(text))
    return struct.pack("<I", len(data)) + data


class Program:
    """A loaded executable, and what its signature says of it."""

    def __init__(self, jax, payload):
        self.number, partitions, options, donated, results = payload.take("QIIII")
        self.jax = jax
        self.partitions = partitions
        self.donated = payload.take(f"{donated}I")
        self.results = [payload.type() for _ in range(results)]
        self.answered = [i for i, r in enumerate(self.results) if r[2] & ANSWERED]
        self.checked = False
        if partitions > len(jax.devices):
            raise Refused(
                f"a program for {partitions} devices, of which there are {len(jax.devices)}"
            )
        devices = jax.devices[:partitions]
        self.loaded = jax.client.compile_and_load(
            payload.bytes(len(payload.data) - payload.at - options).decode(),
            jax.internals.DeviceList(devices),
            jax.internals.CompileOptions.ParseFromString(payload.rest()),
        )
        self.arrangement = jax.arrangement(devices) if partitions > 1 else None

    def memory(self):
        try:
            m = self.loaded.get_compiled_memory_stats()
            return struct.pack(
                "<Bqqqq",
                1,
                m.argument_size_in_bytes,
                m.output_size_in_bytes,
                m.alias_size_in_bytes,
                m.temp_size_in_bytes,
            )
        except Exception:  # not every device can tell, and each says so in its way
            return struct.pack("<Bqqqq", 0, 0, 0, 0, 0)

    def run(self, arguments):
        """Arguments and results [device][i], flat; waits for the results."""
        if self.partitions > 1:
            count = len(arguments) // self.partitions
            shards = [arguments[i::count] for i in range(count)]
            arguments = [self.jax.together(s, self.arrangement) for s in shards]
        by_result = self.loaded.execute_sharded(
            arguments
        ).disassemble_into_single_device_arrays()
        results = [r[d] for d in range(self.partitions) for r in by_result]
        self.jax.wait(results)
        if not self.checked:
            self.check(results)
        return results

    def check(self, results):
        """The text is free to say something else than the signature; once."""
        expected = [r[:2] for r in self.results] * self.partitions
        found = [(str(r.dtype), tuple(r.shape)) for r in results]
        if found != expected:
            raise Refused(f"the results are {found}, the signature says {expected}")
        self.checked = True


class Jax:
    """All that this program asks of jax and jaxlib, found once."""

    def __init__(self, platform, cpu_devices):
        try:
            import jax
            import jaxlib
            import numpy
        except ImportError as error:
            raise Refused(
                f"{sys.executable} (Python {python_platform.python_version()}) cannot "
                f"import jax: {error}; `{sys.executable} -m pip install jax` installs "
                "it, and TOPOS_XLA_PYTHON names another Python"
            ) from error
        self.versions = (
            python_platform.python_version(),
            jax.__version__,
            jaxlib.__version__,
        )
        try:
            jax.config.update("jax_enable_x64", True)
            if cpu_devices > 1:
                jax.config.update("jax_num_cpu_devices", cpu_devices)
            from jax.extend.backend import get_backend
            from jaxlib import _jax as internals

            self.internals = internals
            self.numpy = numpy
            self.shaped = jax.core.ShapedArray
            self.sharding = jax.sharding
            self.array = internals.ArrayImpl
            self.wait = internals.batched_block_until_ready
            self.device_put = internals.batched_device_put
            self.copied = internals.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
            self.aliased = internals.HostBufferSemantics.ZERO_COPY
            internals.DeviceList, internals.CompileOptions.ParseFromString
        except (ImportError, AttributeError) as error:
            raise Refused(
                f"jax {jax.__version__} with jaxlib {jaxlib.__version__} lacks what this "
                f"needs: {error}; it was tried with jax 0.8.3 and 0.10.2"
            ) from error
        self.client = get_backend(platform or None)
        self.devices = tuple(self.client.local_devices())
        self.compile_and_load = self.client.compile_and_load
        self.on_device = [jax.sharding.SingleDeviceSharding(d) for d in self.devices]
        self.kinds = {}

    def put(self, name, extents, data, device, aliased):
        kind = self.kinds.get((name, extents))
        if kind is None:
            dtype = self.numpy.dtype(name)  # ml_dtypes has registered bfloat16
            kind = self.kinds[name, extents] = (dtype, self.shaped(extents, dtype))
        elements = self.numpy.frombuffer(data, kind[0]).reshape(extents)
        return self.device_put(
            kind[1],
            self.on_device[device],
            [elements],
            [self.devices[device]],
            True,
            False,
            self.aliased if aliased else self.copied,
        )

    def arrangement(self, devices):
        mesh = self.sharding.Mesh(self.numpy.array(devices), ("device",))
        return self.sharding.NamedSharding(mesh, self.sharding.PartitionSpec())

    def together(self, shards, arrangement):
        # XLA sees the shards alone; what jax believes of the whole is no matter.
        return self.array(
            shards[0].aval, arrangement, shards, committed=True, _skip_checks=True
        )

    def elements(self, array):
        return self.numpy.ascontiguousarray(self.numpy.asarray(array))


class Server:
    """What the client has on its devices, by the numbers that it gave."""

    def __init__(self, channel, jax):
        self.channel = channel
        self.jax = jax
        self.buffers = {}
        self.refused = {}  # of buffers that could not be put: why
        self.programs = {}

    def put(self, payload, file):
        number, device = payload.take("QI")
        try:
            self.buffers[number] = self.array(payload, file, device)
        except Exception as error:  # told to whoever uses it: nobody waits now
            self.refused[number] = describe(error)

    def array(self, payload, file, device):
        name, extents, flags = payload.type()
        if file is None:
            data = payload.rest()
        else:  # an array over the pages keeps them
            pages = mmap.MAP_SHARED | mmap.MAP_POPULATE
            data = mmap.mmap(file, 0, flags=pages, prot=mmap.PROT_READ)
        aliased = file is not None and flags & BORROWED
        return self.jax.put(name, extents, data, device, aliased)

    def free(self, payload, file):
        (number,) = payload.take("Q")
        self.buffers.pop(number, None)
        self.refused.pop(number, None)

    def unload(self, payload, file):
        self.programs.pop(payload.take("Q")[0], None)

    def sync(self, payload, file):
        return b""

    def compile(self, payload, file):
        program = Program(self.jax, payload)
        self.programs[program.number] = program
        return program.memory()

    def execute(self, payload, file):
        words = len(payload.data) // 8
        number, first, *operands = struct.unpack(f"<{words}Q", payload.data)
        program = self.programs[number]
        results = program.run([self.buffer(i) for i in operands])
        arity = len(operands) // program.partitions
        for device in range(program.partitions):
            for i in program.donated:
                del self.buffers[operands[device * arity + i]]
        self.buffers.update(enumerate(results, first))
        if not program.answered:
            return b""
        return b"".join(
            self.jax.elements(results[start + i]).tobytes()
            for start in range(0, len(results), len(program.results))
            for i in program.answered
        )

    def read(self, payload, file):
        elements = self.jax.elements(self.buffer(payload.take("Q")[0]))
        if file is None:
            return elements.tobytes()
        data = memoryview(elements.reshape(-1).view("uint8"))
        done = 0
        while done < len(data):
            done += os.pwrite(file, data[done:], done)
        return b""

    def buffer(self, number):
        try:
            return self.buffers[number]
        except KeyError:
            why = self.refused.get(number, f"there is no buffer {number}")
            raise Refused(why) from None

    def serve(self):
        answered = {
            COMPILE: self.compile,
            EXECUTE: self.execute,
            READ: self.read,
            SYNC: self.sync,
        }
        unanswered = {PUT: self.put, FREE: self.free, UNLOAD: self.unload}
        while True:
            kind, request, payload, file = self.channel.next()
            reply = None
            if kind in unanswered:
                unanswered[kind](payload, file)
            else:
                try:
                    reply = ANSWER, request, answered[kind](payload, file)
                except Exception as error:
                    reply = REFUSAL, request, encoded(describe(error))
            if file is not None:
                os.close(file)
            if reply is not None:
                self.channel.answer(*reply)


def describe(error):
    """The text of an error; of one that should not be, with its traceback."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, Refused):
        text = str(error)
    elif not isinstance(error, (RuntimeError, MemoryError, OSError)):
        text = "".join(traceback.format_exception(error))
    return text[: 1 << 20]


def encoded(text):
    return text.encode("utf-8", "replace")


def main():
    # A folder that happens to be the current one holds no library.
    sys.path[:] = [folder for folder in sys.path if folder]
    sys.stdout = sys.stderr
    connection = socket.socket(fileno=os.dup(0))
    connection.setblocking(True)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    channel = Channel(connection)
    _, request, hello, _ = channel.next()
    try:
        (cpu_devices,) = hello.take("I")
        jax = Jax(hello.rest().decode(), cpu_devices)
    except Exception as error:
        channel.answer(REFUSAL, request, encoded(describe(error)))
        os._exit(1)
    texts = (*jax.versions, jax.client.platform, sys.executable)
    channel.answer(
        ANSWER,
        request,
        struct.pack("<I", len(jax.devices)) + b"".join(map(text_field, texts)),
    )
    Server(channel, jax).serve()


main()
