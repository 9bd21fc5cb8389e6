#!/usr/bin/env python3
"""Small random models of every architecture, as GGUF files, with the logits that numpy gives for them.

  small_models.py FOLDER

Writes FOLDER/<architecture>.gguf and, for architecture_test.cpp, FOLDER/<architecture>.bin: token ids with their
count in front, rows and columns, then float32 logits.
"""

import os
import struct
import sys

import gguf
import numpy as np

from reference import Model

VOCABULARY, HIDDEN, FEED_FORWARD, LAYERS, HEADS, KV_HEADS, TOKENS = 40, 64, 96, 3, 4, 2, 45
# Size of a head (None: the width over the heads), biases of q, k and v, norms of q and k.
ARCHITECTURES = {"llama": (None, False, False), "qwen2": (None, True, False), "qwen3": (24, False, True)}

# Matrices in block formats, so that products of packed weights are among them; the others are floats.
Q = gguf.GGMLQuantizationType
BLOCKS = {"output": Q.Q8_0, "attn_q": Q.Q4_0, "attn_k": Q.Q8_0, "ffn_gate": Q.Q5_1, "ffn_up": Q.Q5_1, "ffn_down": Q.Q4_1}


def tensors_of(random, head_dim, biases, norms):
    def weights(*shape):
        return (random.standard_normal(shape) * 0.3 / np.sqrt(shape[-1] / 8)).astype(np.float32)

    def norm(size):
        return (1 + 0.2 * random.standard_normal(size)).astype(np.float32)

    yield "token_embd.weight", random.standard_normal((VOCABULARY, HIDDEN)).astype(np.float32)
    yield "output_norm.weight", norm(HIDDEN)
    yield "output.weight", weights(VOCABULARY, HIDDEN)
    for i in range(LAYERS):
        name = f"blk.{i}."
        yield name + "attn_norm.weight", norm(HIDDEN)
        for part, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
            yield name + f"attn_{part}.weight", weights(heads * head_dim, HIDDEN)
            if biases:
                yield name + f"attn_{part}.bias", random.standard_normal(heads * head_dim).astype(np.float32)
            if norms and part != "v":
                yield name + f"attn_{part}_norm.weight", norm(head_dim)
        yield name + "attn_output.weight", weights(HIDDEN, HEADS * head_dim)
        yield name + "ffn_norm.weight", norm(HIDDEN)
        yield name + "ffn_gate.weight", weights(FEED_FORWARD, HIDDEN)
        yield name + "ffn_up.weight", weights(FEED_FORWARD, HIDDEN)
        yield name + "ffn_down.weight", weights(HIDDEN, FEED_FORWARD)


def write_model(path, architecture, random):
    key_length, biases, norms = ARCHITECTURES[architecture]
    writer = gguf.GGUFWriter(path, architecture)
    for name, value in {"block_count": LAYERS, "embedding_length": HIDDEN, "feed_forward_length": FEED_FORWARD,
                        "context_length": 128, "attention.head_count": HEADS,
                        "attention.head_count_kv": KV_HEADS}.items():
        writer.add_uint32(f"{architecture}.{name}", value)
    if key_length:
        writer.add_uint32(f"{architecture}.attention.key_length", key_length)
        writer.add_uint32(f"{architecture}.attention.value_length", key_length)
    writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{architecture}.rope.freq_base", 1000.0)
    writer.add_token_list([f"t{i}" for i in range(VOCABULARY)])
    for name, data in tensors_of(random, key_length or HIDDEN // HEADS, biases, norms):
        blocks = BLOCKS.get(name.split(".")[-2]) if data.ndim == 2 else None
        if blocks is None:
            writer.add_tensor(name, data)
        else:
            writer.add_tensor(name, gguf.quants.quantize(data, blocks), raw_dtype=blocks)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for architecture in ARCHITECTURES:
        random = np.random.default_rng(7)
        path = os.path.join(folder, architecture)
        write_model(path + ".gguf", architecture, random)
        tokens = random.integers(0, VOCABULARY, TOKENS).tolist()
        logits = Model(path + ".gguf").forward([(tokens, [])]).astype(np.float32)
        with open(path + ".bin", "wb") as out:
            out.write(struct.pack(f"<i{TOKENS}i", TOKENS, *tokens))
            out.write(struct.pack("<ii", *logits.shape))
            out.write(logits.tobytes())
    print(f"{len(ARCHITECTURES)} models with {TOKENS} positions each")


if __name__ == "__main__":
    main()
