"""The programs that topos_bench measures, written for PyTorch and for jax.

    rivals.py FRAMEWORK PROGRAM THREADS

FRAMEWORK is torch, torch-compile (the whole program compiled), jax (jitted, state
donated) or llm.c (its CPU program, compiled here for this machine from the checkout
of github.com/karpathy/llm.c that LLM_C names). Started by topos_bench, a program a process. The first line of standard
output names the version, or is `missing` and a reason; then each line of standard
input is a request, and a line of numbers its answer:

    run N     runs N times; milliseconds of each
    memory    the most memory that this process ever held, in bytes
"""

import os
import sys
import time

framework, program, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
# No more processors than threads: no library of either is told in one way only.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])

VOCABULARY = 27  # of makemore and of the small transformer


class Gpt:
    """A transformer's sizes, as GptOptions in examples/models/gpt.h."""

    def __init__(self, layers, width, heads, vocabulary, batch, time):
        self.layers, self.width, self.heads = layers, width, heads
        self.vocabulary, self.batch, self.time = vocabulary, batch, time


GPT2 = Gpt(12, 768, 12, 50257, 4, 64)
PROMPT = Gpt(12, 768, 12, 50257, 1, 1024)
SMALL = Gpt(2, 32, 2, VOCABULARY, 64, 8)


# ---- PyTorch ----------------------------------------------------------------


def torch_programs():
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    compiled = torch.compile if framework == "torch-compile" else lambda f: f

    class Block(torch.nn.Module):
        def __init__(self, o):
            super().__init__()
            self.heads = o.heads
            self.first = torch.nn.LayerNorm(o.width)
            self.qkv = torch.nn.Linear(o.width, 3 * o.width)
            self.out = torch.nn.Linear(o.width, o.width)
            self.second = torch.nn.LayerNorm(o.width)
            self.widen = torch.nn.Linear(o.width, 4 * o.width)
            self.narrow = torch.nn.Linear(4 * o.width, o.width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2)
                       for part in self.qkv(self.first(x)).split(c, dim=2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            y = F.gelu(self.widen(self.second(x)), approximate="tanh")
            return x + self.narrow(y)

    class Model(torch.nn.Module):
        def __init__(self, o):
            super().__init__()
            self.tokens = torch.nn.Embedding(o.vocabulary, o.width)
            self.places = torch.nn.Parameter(torch.randn(o.time, o.width) * 0.02)
            self.blocks = torch.nn.ModuleList(Block(o) for _ in range(o.layers))
            self.last = torch.nn.LayerNorm(o.width)

        def forward(self, index, last=False):
            x = self.tokens(index) + self.places
            for block in self.blocks:
                x = block(x)
            x = self.last(x)
            if last:
                x = x[:, -1:]
            return F.linear(x, self.tokens.weight)

    def element_wise(f, *shape):
        x = torch.randn(shape)
        f = compiled(f)

        def run():
            with torch.no_grad():
                f(x)

        return run

    def chain(x):
        y = torch.sqrt(torch.abs(x * 1.5 + 0.25)) * 0.5 - 1.0
        return -torch.maximum(y, torch.tensor(-0.5))

    def layer_norm(x):
        return F.layer_norm(x, x.shape[-1:], torch.ones(x.shape[-1]),
                            torch.zeros(x.shape[-1]))

    def makemore():
        rows = 228146
        contexts = torch.randint(VOCABULARY, (rows, 3))
        targets = torch.randint(VOCABULARY, (rows,))
        shapes = [(VOCABULARY, 10), (30, 100), (100,), (100, VOCABULARY),
                  (VOCABULARY,)]
        def loss_of(parameters, x, y):
            table, w1, b1, w2, b2 = parameters
            hidden = torch.tanh(table[x].view(64, 30) @ w1 + b1)
            return F.cross_entropy(hidden @ w2 + b2, y)

        @compiled
        def pure_step(parameters, x, y):
            gradients, loss = torch.func.grad_and_value(loss_of)(parameters, x, y)
            return [p - 0.1 * g for p, g in zip(parameters, gradients)], loss

        def eager_step(parameters, x, y):
            loss = loss_of(parameters, x, y)
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for p, g in zip(parameters, gradients):
                    p -= 0.1 * g
            return parameters, loss

        # Each in the form that is faster there.
        eager = framework == "torch"
        step = eager_step if eager else pure_step
        held = [[(0.1 * torch.randn(s)).requires_grad_(eager) for s in shapes], 0]

        def run():
            held[1] = (held[1] + 64) % (rows - 64)
            i = held[1]
            held[0], loss = step(held[0], contexts[i:i + 64], targets[i:i + 64])
            loss.item()

        return run

    def training(o, adam):
        model = Model(o)
        parameters = list(model.parameters())
        optimizer = (torch.optim.AdamW(parameters, lr=1e-4, fused=True)
                     if adam else torch.optim.SGD(parameters, lr=0.1, fused=True))
        index = torch.randint(o.vocabulary, (o.batch, o.time))
        targets = torch.randint(o.vocabulary, (o.batch, o.time))

        @compiled
        def loss_of(index, targets):
            return F.cross_entropy(model(index).flatten(0, 1), targets.flatten())

        def run():
            loss = loss_of(index, targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()

        return run

    def forward(o, last, dtype=torch.float32):
        model = Model(o).to(dtype).eval()
        index = torch.randint(o.vocabulary, (o.batch, o.time))
        f = compiled(lambda index: model(index, last))

        def run():
            with torch.inference_mode():
                f(index)

        return run

    def softmax(x):
        return F.softmax(x, dim=-1)

    return "PyTorch " + torch.__version__, {
        "chain": lambda: element_wise(chain, 1 << 24),
        "gelu": lambda: element_wise(F.gelu, 1 << 24),
        "softmax 4096x1024": lambda: element_wise(softmax, 4096, 1024),
        "softmax 64x50257": lambda: element_wise(softmax, 64, 50257),
        "layer_norm 4096x1024": lambda: element_wise(layer_norm, 4096, 1024),
        "layer_norm 64x50257": lambda: element_wise(layer_norm, 64, 50257),
        "makemore": makemore,
        "small": lambda: training(SMALL, False),
        "gpt2 step": lambda: training(GPT2, True),
        "forward, last logits": lambda: forward(PROMPT, True),
        "forward, all logits": lambda: forward(PROMPT, False),
        "forward, bf16": lambda: forward(PROMPT, True, torch.bfloat16),
    }


# ---- jax --------------------------------------------------------------------


def jax_programs():
    os.environ["JAX_PLATFORMS"] = "cpu"
    if threads == 1:
        os.environ["XLA_FLAGS"] = ("--xla_cpu_multi_thread_eigen=false "
                                   "intra_op_parallelism_threads=1")
    import jax
    import jax.numpy as jnp
    import jaxlib
    import numpy as np

    numbers = np.random.default_rng(1)

    def normal(*shape):
        return jnp.asarray(0.02 * numbers.standard_normal(shape, np.float32))

    def tokens(limit, *shape):
        return jnp.asarray(numbers.integers(limit, size=shape, dtype=np.int32))

    def norm(x, scale, shift):
        centered = x - x.mean(-1, keepdims=True)
        variance = (centered * centered).mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt(variance + 1e-5) * scale + shift

    def parameters_of(o):
        ones, zeros, w = jnp.ones(o.width), jnp.zeros(o.width), o.width

        def block():
            # Copies: a donated buffer is given once.
            return {"first": (ones + 0, zeros + 0), "qkv": normal(w, 3 * w),
                    "qkv_bias": jnp.zeros(3 * w), "out": normal(w, w),
                    "out_bias": zeros + 0, "second": (ones + 0, zeros + 0),
                    "widen": normal(w, 4 * w), "widen_bias": jnp.zeros(4 * w),
                    "narrow": normal(4 * w, w), "narrow_bias": zeros + 0}

        return {"tokens": normal(o.vocabulary, w), "places": normal(o.time, w),
                "blocks": [block() for _ in range(o.layers)],
                "last": (ones + 0, zeros + 0)}

    def logits_of(o, p, index, last=False):
        b, t = index.shape
        x = p["tokens"][index] + p["places"]
        seen = jnp.tril(jnp.ones((t, t), bool))
        for block in p["blocks"]:
            all_three = norm(x, *block["first"]) @ block["qkv"] + block["qkv_bias"]
            q, k, v = (part.reshape(b, t, o.heads, -1).transpose(0, 2, 1, 3)
                       for part in jnp.split(all_three, 3, axis=-1))
            scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
            weights = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf))
            y = (weights @ v).transpose(0, 2, 1, 3).reshape(b, t, o.width)
            x = x + y @ block["out"] + block["out_bias"]
            y = norm(x, *block["second"]) @ block["widen"] + block["widen_bias"]
            y = jax.nn.gelu(y, approximate=True)
            x = x + y @ block["narrow"] + block["narrow_bias"]
        x = norm(x, *p["last"])
        if last:
            x = x[:, -1:]
        return x @ p["tokens"].T

    def element_wise(f, *shape):
        x, f = jnp.asarray(numbers.standard_normal(shape, np.float32)), jax.jit(f)
        return lambda: f(x).block_until_ready()

    def chain(x):
        y = jnp.sqrt(jnp.abs(x * 1.5 + 0.25)) * 0.5 - 1.0
        return -jnp.maximum(y, -0.5)

    def makemore(steps):
        rows = 228146
        contexts, targets = tokens(VOCABULARY, rows, 3), tokens(VOCABULARY, rows)
        state = [normal(VOCABULARY, 10), normal(30, 100), normal(100),
                 normal(100, VOCABULARY), normal(VOCABULARY)]

        def loss_of(p, x, y):
            table, w1, b1, w2, b2 = p
            hidden = jnp.tanh(table[x].reshape(64, 30) @ w1 + b1)
            scores = jax.nn.log_softmax(hidden @ w2 + b2)
            return -jnp.mean(jnp.take_along_axis(scores, y[:, None], axis=1))

        def step(p, at):
            x = jax.lax.dynamic_slice_in_dim(contexts, at, 64)
            y = jax.lax.dynamic_slice_in_dim(targets, at, 64)
            loss, g = jax.value_and_grad(loss_of)(p, x, y)
            return [a - 0.1 * b for a, b in zip(p, g)], loss

        def loop(p, at):
            return jax.lax.fori_loop(
                0, steps, lambda i, s: step(s[0], at + 64 * i),
                (p, jnp.float32(0)))

        f = jax.jit(step if steps == 1 else loop, donate_argnums=0)
        held = [state, 0]

        def run():
            held[0], loss = f(held[0], np.int32(held[1]))
            held[1] = (held[1] + 64 * steps) % (rows - 64 * steps)
            float(loss)

        return run

    def training(o, adam):
        index = tokens(o.vocabulary, o.batch, o.time)
        targets = tokens(o.vocabulary, o.batch, o.time)

        def loss_of(p):
            scores = jax.nn.log_softmax(logits_of(o, p, index))
            return -jnp.mean(
                jnp.take_along_axis(scores, targets[..., None], axis=-1))

        def sgd(state):
            loss, g = jax.value_and_grad(loss_of)(state[0])
            return (jax.tree.map(lambda p, g: p - 0.1 * g, state[0], g),), loss

        def adamw(state):
            p, m, v, t = state
            loss, g = jax.value_and_grad(loss_of)(p)
            t = t + 1
            m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
            v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
            first, second = 1 - 0.9 ** t, 1 - 0.999 ** t
            p = jax.tree.map(
                lambda p, m, v: p * (1 - 1e-6) - 1e-4 * (m / first) /
                (jnp.sqrt(v / second) + 1e-8), p, m, v)
            return (p, m, v, t), loss

        p = parameters_of(o)
        state = (p,)
        if adam:
            state = (p, jax.tree.map(jnp.zeros_like, p),
                     jax.tree.map(jnp.zeros_like, p), jnp.float32(0))
        f = jax.jit(adamw if adam else sgd, donate_argnums=0)
        held = [state]

        def run():
            held[0], loss = f(held[0])
            float(loss)

        return run

    def forward(o, last, dtype=jnp.float32):
        p = jax.tree.map(lambda x: x.astype(dtype), parameters_of(o))
        index = tokens(o.vocabulary, o.batch, o.time)
        f = jax.jit(lambda p, index: logits_of(o, p, index, last))
        return lambda: f(p, index).block_until_ready()

    def layer_norm(x):
        width = x.shape[-1]
        return norm(x, jnp.ones(width), jnp.zeros(width))

    return f"jax {jax.__version__}, jaxlib {jaxlib.__version__}", {
        "chain": lambda: element_wise(chain, 1 << 24),
        "gelu": lambda: element_wise(
            lambda x: jax.nn.gelu(x, approximate=False), 1 << 24),
        "softmax 4096x1024": lambda: element_wise(jax.nn.softmax, 4096, 1024),
        "softmax 64x50257": lambda: element_wise(jax.nn.softmax, 64, 50257),
        "layer_norm 4096x1024": lambda: element_wise(layer_norm, 4096, 1024),
        "layer_norm 64x50257": lambda: element_wise(layer_norm, 64, 50257),
        "makemore": lambda: makemore(1),
        "makemore loop": lambda: makemore(200),
        "small": lambda: training(SMALL, False),
        "gpt2 step": lambda: training(GPT2, True),
        "forward, last logits": lambda: forward(PROMPT, True),
        "forward, all logits": lambda: forward(PROMPT, False),
        "forward, bf16": lambda: forward(PROMPT, True, jnp.bfloat16),
    }


# ---- llm.c ------------------------------------------------------------------


def llm_c_programs():
    """Its training step (train_gpt2.c), on a checkpoint of random parameters."""
    import ctypes
    import pathlib
    import random
    import struct
    import subprocess
    import tempfile

    checkout = os.environ.get("LLM_C", "")
    source = pathlib.Path(checkout, "train_gpt2.c")
    if not checkout or not source.exists():
        raise ImportError("LLM_C names no checkout of llm.c")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    folder = tempfile.TemporaryDirectory()

    def step():
        library = folder.name + "/llm.so"
        # The flags of its Makefile; TESTING leaves its main out.
        subprocess.run(
            ["cc", "-Ofast", "-march=native", "-fopenmp",
             "-DOMP", "-DTESTING", "-w", "-shared", "-fPIC", "-I", checkout, source,
             "-o", library, "-lm"], check=True)
        o, length, padded = GPT2, 1024, 50304
        block = 12 * o.width * o.width + 13 * o.width
        count = (padded + length + 2) * o.width + o.layers * block
        checkpoint = folder.name + "/gpt2.bin"
        with open(checkpoint, "wb") as file:
            header = [20240326, 3, length, o.vocabulary, o.layers, o.heads, o.width,
                      padded]
            file.write(struct.pack("<256i", *header, *[0] * 248))
            some = [random.gauss(0, 0.02) for _ in range(1 << 16)]
            file.write((struct.pack(f"<{len(some)}f", *some) *
                        (count // len(some) + 1))[:4 * count])
        llm = ctypes.CDLL(library)
        model = ctypes.create_string_buffer(1 << 16)  # more than its struct GPT2
        llm.gpt2_build_from_checkpoint(model, checkpoint.encode())
        tokens = (ctypes.c_int * (o.batch * o.time))
        index, targets = (tokens(*(random.randrange(o.vocabulary) for _ in range(
            o.batch * o.time))) for _ in range(2))
        size = [ctypes.c_size_t(o.batch), ctypes.c_size_t(o.time)]
        rates = [ctypes.c_float(x) for x in (1e-4, 0.9, 0.999, 1e-8, 0.01)]
        count = [0]

        def run():
            count[0] += 1
            llm.gpt2_forward(model, index, targets, *size)
            llm.gpt2_zero_grad(model)
            llm.gpt2_backward(model)
            llm.gpt2_update(model, *rates, count[0])

        return run

    version = subprocess.run(["git", "-C", checkout, "log", "-1", "--format=%h %cs"],
                             capture_output=True, text=True).stdout.strip()
    return f"llm.c {version}", {"gpt2 step": step}


# ---- Requests ---------------------------------------------------------------


def peak_bytes():
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    return 0


# What libraries print goes elsewhere.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def answer(*words):
    print(*words, file=answers, flush=True)


def main():
    try:
        version, programs = {"jax": jax_programs, "llm.c": llm_c_programs}.get(
            framework, torch_programs)()
        make = programs[program]
    except (ImportError, KeyError) as error:
        return answer("missing", error.args[0])
    run = make()
    run()  # compiles
    run()
    answer(version + (", compiled" if framework == "torch-compile" else ""))
    for line in sys.stdin:
        command, *count = line.split()
        if command == "memory":
            answer(peak_bytes())
            continue
        times = []
        for _ in range(int(count[0])):
            start = time.perf_counter()
            run()
            times.append(1000 * (time.perf_counter() - start))
        answer(*times)


main()
