"""The makemore MLP's training step as a jax program: the rival of the emitted one.

    makemore_jax.py [PLUGIN]

Started by topos_bench. Standard input gives the parameters and a batch, as the
bytes of their elements, then one request a line; each is answered by a line of
standard output. The first line, unasked, says who runs it, the second the loss of
a first step.

    read N      N steps whose loss is read each; milliseconds of every one
    unread N    N steps, waited for after the last; milliseconds a step
"""

import logging
import os
import sys
import time

plugin = sys.argv[1] if len(sys.argv) > 1 else None
os.environ["JAX_PLATFORMS"] = "plugin" if plugin else "cpu"

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

BATCH, CONTEXT, VOCABULARY, EMBEDDING, HIDDEN = 64, 3, 27, 10, 100
FEATURES = CONTEXT * EMBEDDING
SHAPES = [(VOCABULARY, EMBEDDING), (FEATURES, HIDDEN), (HIDDEN,),
          (HIDDEN, VOCABULARY), (VOCABULARY,)]
RATE = np.float32(0.01)


def loss_of(parameters, contexts, targets):
    table, hidden_weight, hidden_bias, output_weight, output_bias = parameters
    x = table[contexts].reshape(BATCH, FEATURES)
    h = jnp.tanh(x @ hidden_weight + hidden_bias)
    scores = jax.nn.log_softmax(h @ output_weight + output_bias)
    return -jnp.mean(jnp.take_along_axis(scores, targets[:, None], axis=1))


def descend(parameters, contexts, targets, rate):
    loss, gradients = jax.value_and_grad(loss_of)(parameters, contexts, targets)
    return [p - rate * g for p, g in zip(parameters, gradients)], loss


def elements(shape, dtype):
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(sys.stdin.buffer.read(count), dtype).reshape(shape)


def answer(*numbers):
    print(*numbers, flush=True)


def main():
    if plugin:
        from jax._src import xla_bridge
        # That this is an experiment is no news.
        logging.getLogger(xla_bridge.__name__).setLevel(logging.ERROR)
        xla_bridge.register_plugin("plugin", library_path=plugin,
                                   options={"cpu_device_count": 1})
    device = jax.devices()[0]
    version = ", ".join(device.client.platform_version.split("\n"))
    answer(f"jax {jax.__version__}, " +
           (version if plugin else f"XLA of jaxlib {jaxlib.__version__}"))

    parameters = [jnp.array(elements(shape, np.float32)) for shape in SHAPES]
    contexts = elements((BATCH, CONTEXT), np.int32)
    targets = elements((BATCH,), np.int32)
    step = jax.jit(descend, donate_argnums=0)
    parameters, loss = step(parameters, contexts, targets, RATE)
    answer(float(loss))

    for line in sys.stdin:
        command, count = line.split()
        times = []
        start = time.perf_counter()
        for _ in range(int(count)):
            parameters, loss = step(parameters, contexts, targets, RATE)
            if command == "read":
                float(loss)
                end = time.perf_counter()
                times.append(1000 * (end - start))
                start = end
        if command == "unread":
            jax.block_until_ready(parameters)
            times = [1000 * (time.perf_counter() - start) / int(count)]
        answer(*times)


main()
