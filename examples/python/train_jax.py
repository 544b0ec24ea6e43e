"""Trains a small convolutional network with JAX on generated images.

    python train_jax.py --steps 200
"""

import argparse
import pathlib

import jax
import jax.numpy as jnp

import pipec

HERE = pathlib.Path(__file__).parent
CLASSES, WIDTHS = 10, [16, 32, 64]


def initial(key):
    """Kernels initialized as in He et al. (2015), and a linear classifier."""
    shapes = [(after, before, 3, 3) for before, after in zip([3, *WIDTHS], WIDTHS)]
    keys = jax.random.split(key, len(shapes) + 1)
    kernels = [jax.random.normal(k, it) * (2 / (9 * it[1])) ** 0.5 for k, it in zip(keys, shapes)]
    return {"kernels": kernels, "out": jax.random.normal(keys[-1], (WIDTHS[-1], CLASSES)) * 0.1}


def classify(weights, images):
    x = images
    for kernel in weights["kernels"]:
        x = jax.lax.conv_general_dilated(x, kernel, (2, 2), "SAME")
        x = (x - x.mean((2, 3), keepdims=True)) / (x.std((2, 3), keepdims=True) + 1e-3)
        x = jax.nn.relu(x)
    return x.mean((2, 3)) @ weights["out"]


@jax.jit
def step(weights, images, labels):
    def loss(weights):
        told = jax.nn.log_softmax(classify(weights, images))
        return -jnp.take_along_axis(told, labels[:, None], 1).mean()

    value, slope = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda it, by: it - 0.1 * by, weights, slope), value


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=200)
    options.add_argument("--data", default="sample:images?count=1000")
    args = options.parse_args()

    pipe = pipec.load(HERE / "train.pipe", params={"data": args.data}, seed=1)
    weights, losses = initial(jax.random.key(1)), []
    while len(losses) < args.steps:
        for batch in pipe.jax():
            weights, loss = step(weights, batch["image"], batch["label"])
            losses.append(float(loss))
            if len(losses) % 20 == 0:
                print(f"step {len(losses)}: loss {sum(losses[-20:]) / 20:.3f}", flush=True)
            if len(losses) == args.steps:
                break


if __name__ == "__main__":
    main()
