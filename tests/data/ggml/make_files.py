#!/usr/bin/env python3
"""Writes the models of this folder: tiny.gguf, a language model of llama's architecture with random weights,
and files that are wrong."""

import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent
NUMBERS = random.Random(1)
UINT32, FLOAT32, STRING = 4, 6, 8  # of GGUF's values
ALIGNMENT = 32
VOCABULARY, WIDTH, HIDDEN, HEADS, BLOCKS = 128, 32, 64, 4, 2


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", STRING) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", FLOAT32, value)
    return text(key) + struct.pack("<II", UINT32, value)


def padded(data):
    return data + b"\0" * (-len(data) % ALIGNMENT)


def weights(count, scale):
    return struct.pack(f"<{count}f", *(NUMBERS.uniform(-scale, scale) for _ in range(count)))


def model(architecture="llama"):
    entries = [
        entry("general.architecture", architecture),
        entry("general.alignment", ALIGNMENT),
        entry("llama.vocab_size", VOCABULARY),
        entry("llama.context_length", 256),
        entry("llama.embedding_length", WIDTH),
        entry("llama.block_count", BLOCKS),
        entry("llama.feed_forward_length", HIDDEN),
        entry("llama.attention.head_count", HEADS),
        entry("llama.attention.head_count_kv", HEADS),
        entry("llama.attention.layer_norm_rms_epsilon", 1e-5),
        entry("llama.rope.dimension_count", WIDTH // HEADS),
        entry("tokenizer.ggml.model", "none"),
    ]
    shapes = [("token_embd", [WIDTH, VOCABULARY]), ("output_norm", [WIDTH]), ("output", [WIDTH, VOCABULARY])]
    for block in range(BLOCKS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            shapes.append((f"blk.{block}.{name}", [WIDTH, WIDTH]))
        for name in ("ffn_gate", "ffn_up"):
            shapes.append((f"blk.{block}.{name}", [WIDTH, HIDDEN]))
        shapes.append((f"blk.{block}.ffn_down", [HIDDEN, WIDTH]))
        shapes += [(f"blk.{block}.attn_norm", [WIDTH]), (f"blk.{block}.ffn_norm", [WIDTH])]
    head, data = b"", b""
    for name, shape in shapes:
        head += text(name + ".weight") + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", 0, len(data))  # float32, and where
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        data = padded(data + weights(count, 0.5))
    start = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(entries))
    return padded(start + b"".join(entries) + head) + data


def main():
    tiny = model()
    (HERE / "tiny.gguf").write_bytes(tiny)
    (HERE / "truncated.gguf").write_bytes(tiny[:4000])
    (HERE / "garbage.gguf").write_bytes(b"this is no model\n")
    (HERE / "unknown_architecture.gguf").write_bytes(model("abacus"))


main()
