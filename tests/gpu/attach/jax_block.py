"""Runs a transformer block in JAX, compiled by XLA."""
import jax
import jax.numpy as jnp


def block(weights, x):
    q, k, v = (x @ weights[name] for name in "qkv")
    x = x + jax.nn.softmax(q @ k.T / 16.0) @ v
    return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]


keys = jax.random.split(jax.random.PRNGKey(0), 6)
shapes = {"q": (256, 256), "k": (256, 256), "v": (256, 256), "up": (256, 1024), "down": (1024, 256)}
weights = {name: jax.random.normal(key, shape) * 0.02 for key, (name, shape) in zip(keys, shapes.items())}
x = jax.random.normal(keys[5], (128, 256))
step = jax.jit(block)
for _ in range(20):
    x = step(weights, x)
print(x.block_until_ready().shape, jax.devices()[0].platform)
