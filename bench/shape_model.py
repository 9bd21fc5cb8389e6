#!/usr/bin/env python3
"""Writes a GGUF file that has the shape of a real model and random weights: for benchmarks, without a tokenizer.

  tools/with_python.sh build/python bench/shape_model.py 135m q4_0 OUT.gguf

Shapes: 135m (SmolLM2), 1b and 8b (Llama 3). Formats: q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq4_nl iq4_xs mxfp4
f16 bf16 f32, and q4_k_m: q4_k with q6_k where llama.cpp's mix of that name has it. The vocabulary is that of the shape. Same
arguments, same bytes.
"""

import argparse
import os
import sys

import gguf
import numpy as np

# layers, hidden, feed forward, heads, KV heads, size of a head, vocabulary, output of its own, base of rope
SHAPES = {
    "135m": (30, 576, 1536, 9, 3, 64, 49152, False, 1e5),
    "1b": (16, 2048, 8192, 32, 8, 64, 128256, False, 5e5),
    "8b": (32, 4096, 14336, 32, 8, 128, 128256, True, 5e5),
}
# Where a block has its scales (f16) and how large its codes are about, so that weights get a size of one over the square
# root of a row; `offset` says where a f16 stands that is taken off, and how many scales large.
BLOCKS = {
    "q4_0": {"scale": 0, "codes": 4.6}, "q4_1": {"scale": 0, "codes": 4.6, "offset": (2, -7.5)},
    "q5_0": {"scale": 0, "codes": 9.2}, "q5_1": {"scale": 0, "codes": 9.2, "offset": (2, -15.5)},
    "q8_0": {"scale": 0, "codes": 74}, "q2_k": {"scale": 80, "codes": 13, "offset": (82, 1.5)},
    "q3_k": {"scale": 108, "codes": 42}, "q4_k": {"scale": 0, "codes": 170, "offset": (2, 7.5)},
    "q5_k": {"scale": 0, "codes": 340, "offset": (2, 15.5)}, "q6_k": {"scale": 208, "codes": 1370},
    "iq4_nl": {"scale": 0, "codes": 65}, "iq4_xs": {"scale": 0, "codes": 1200}, "mxfp4": {"scale": None, "codes": 4},
}
FLOATS = ("f16", "bf16", "f32")


def type_of(name):
    return gguf.GGMLQuantizationType[name.upper()]


def random_weights(random, rows, depth, name):
    """Rows as they are stored."""
    size = 1 / np.sqrt(depth)
    if name in FLOATS:
        values = random.standard_normal((rows, depth), dtype=np.float32) * size
        if name == "bf16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        return values.astype(np.float16 if name == "f16" else np.float32)
    elements, block_bytes = gguf.GGML_QUANT_SIZES[type_of(name)]
    if depth % elements:
        sys.exit(f"shape_model: rows of {depth} elements have no whole blocks of {name}, which has {elements}")
    blocks = random.integers(0, 256, (rows * depth // elements, block_bytes), dtype=np.uint8)
    form = BLOCKS[name]
    scale = size / form["codes"]
    if form["scale"] is None:
        blocks[:, 0] = 127 + round(np.log2(scale))  # a power of two
    else:
        places = [(form["scale"], scale)]
        if "offset" in form:
            at, times = form["offset"]
            places.append((at, scale * times))
        for at, value in places:
            blocks[:, at:at + 2] = np.frombuffer(np.float16(value).tobytes(), np.uint8)
    return blocks.reshape(rows, -1)


def matrices(shape, name):
    """Name, rows, elements of a row and format of each matrix, in the order of the file."""
    layers, hidden, feed_forward, heads, kv_heads, head_dim, vocabulary, has_output, _ = SHAPES[shape]
    mix = name == "q4_k_m"
    body, wide = ("q4_k", "q6_k") if mix else (name, name)
    # Rows of 576 elements are no whole blocks of 256: llama.cpp takes these formats instead.
    def fitting(format_name, depth):
        if format_name in FLOATS or depth % gguf.GGML_QUANT_SIZES[type_of(format_name)][0] == 0:
            return format_name
        return {"q4_k": "q5_0", "q5_k": "q5_1", "q6_k": "q8_0"}.get(format_name, "iq4_nl")

    yield "token_embd", vocabulary, hidden, fitting(body if has_output else wide, hidden)
    for i in range(layers):
        more = mix and (i < layers // 8 or i >= 7 * layers // 8 or (i - layers // 8) % 3 == 2)
        for part, rows, depth in (("attn_q", heads * head_dim, hidden), ("attn_k", kv_heads * head_dim, hidden),
                                  ("attn_v", kv_heads * head_dim, hidden), ("attn_output", hidden, heads * head_dim),
                                  ("ffn_gate", feed_forward, hidden), ("ffn_up", feed_forward, hidden),
                                  ("ffn_down", hidden, feed_forward)):
            is_wide = more and part in ("attn_v", "ffn_down")
            yield f"blk.{i}.{part}", rows, depth, fitting(wide if is_wide else body, depth)
    if has_output:
        yield "output", vocabulary, hidden, fitting(wide, hidden)


def write(shape, name, path):
    layers, hidden, feed_forward, heads, kv_heads, head_dim, vocabulary, _, base = SHAPES[shape]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(f"{shape} {name}, random")
    for key, value in {"block_count": layers, "embedding_length": hidden, "feed_forward_length": feed_forward,
                       "context_length": 8192, "attention.head_count": heads, "attention.head_count_kv": kv_heads,
                       "rope.dimension_count": head_dim, "vocab_size": vocabulary}.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("llama.rope.freq_base", base)
    writer.add_tokenizer_model("no_vocab")
    stored, norms = list(matrices(shape, name)), ["output_norm"]
    norms += [f"blk.{i}.{part}" for i in range(layers) for part in ("attn_norm", "ffn_norm")]
    for tensor, rows, depth, format_name in stored:
        kind = type_of(format_name)
        elements, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        writer.add_tensor_info(tensor + ".weight", (rows, depth // elements * block_bytes), np.dtype(np.uint8),
                               rows * depth // elements * block_bytes, raw_dtype=kind)
    for norm in norms:
        writer.add_tensor_info(norm + ".weight", (hidden,), np.dtype(np.float32), hidden * 4)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = np.random.default_rng(1)
    for tensor, rows, depth, format_name in stored:
        data = random_weights(random, rows, depth, format_name)
        writer.write_tensor_data(data.view(np.uint8))
        if sys.stderr.isatty():
            print(f"\r{tensor:24}", end="", file=sys.stderr, flush=True)
    for _ in norms:
        writer.write_tensor_data(np.ones(hidden, np.float32))
    writer.close()
    if sys.stderr.isatty():
        print(file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("format", choices=[*BLOCKS, *FLOATS, "q4_k_m"])
    parser.add_argument("output")
    options = parser.parse_args()
    try:
        write(options.shape, options.format, options.output)
    except OSError as error:
        sys.exit(f"shape_model: {error}")
    print(f"{options.output}: {os.path.getsize(options.output):,} bytes")


if __name__ == "__main__":
    main()
