#!/usr/bin/env python3
"""What a Llama-type GGUF model must answer, computed with numpy and nothing of this library.

Weights are dequantised by the gguf package; everything else is written out below: products with weights in
float32, the rest in float64. Writes one file for model_test.cpp: little-endian int32 and float32 fields, each list with its length in
front.

  reference.py MODEL MLXN OUTPUT

Token ids come from `MLXN tokenize`, which has a reference of its own (tests/text).
"""

import json
import struct
import subprocess
import sys

import gguf
import numpy as np

PROMPTS = [
    "The capital of France is", "Once upon a time, there was a", "Water boils at", "def fibonacci(n):",
    "The three primary colours are", "In 1969, the first people", "A recipe for bread needs", "1, 2, 3, 4,",
    "The opposite of hot is", "Dear Sir or Madam,",
]
TEXT = ("The quick brown fox jumps over the lazy dog. A language model reads tokens and predicts the next one; "
        "numbers like 3.14159 and words like 'naïve' or '日本' are split into pieces. Every piece has an id, and "
        "the model has seen many of them before. What comes next depends on all that came earlier in the text.")
NEW_TOKENS = 32


class Model:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.fields = reader.fields
        self.tensors = {}
        for tensor in reader.tensors:
            data = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
            self.tensors[tensor.name] = data.reshape(tuple(reversed(tensor.shape.tolist())))
        get = lambda name: self.fields["llama." + name].contents()
        self.layers, self.heads = get("block_count"), get("attention.head_count")
        self.kv_heads, self.epsilon = get("attention.head_count_kv"), get("attention.layer_norm_rms_epsilon")
        self.base = get("rope.freq_base")
        self.dim = get("embedding_length") // self.heads

    def times(self, x, name):
        return (x.astype(np.float32) @ self.tensors[name].T).astype(np.float64)

    def norm(self, x, name):
        scale = 1 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon)
        return x * scale * self.tensors[name]

    def rope(self, x, positions):
        """Pairs (2i, 2i + 1) of each head turn by position * base^(-2i / dim)."""
        angles = positions[:, None] * self.base ** (-np.arange(0, self.dim, 2) / self.dim)
        cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
        even, odd = x[..., 0::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., 0::2] = even * cos - odd * sin
        out[..., 1::2] = even * sin + odd * cos
        return out

    def attention(self, q, k, v, first):
        groups = self.heads // self.kv_heads
        out = np.empty_like(q)
        for head in range(self.heads):
            scores = q[:, head] @ k[:, head // groups].T / np.sqrt(self.dim)
            seen = np.arange(k.shape[0])[None, :] <= first + np.arange(q.shape[0])[:, None]
            scores = np.where(seen, scores, -np.inf)
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            out[:, head] = (weights / weights.sum(axis=-1, keepdims=True)) @ v[:, head // groups]
        return out

    def forward(self, tokens, cache):
        """Logits of all tokens; `cache` holds keys and values of earlier ones and is extended."""
        first = cache[0][0].shape[0] if cache else 0
        positions = np.arange(first, first + len(tokens))
        x = self.tensors["token_embd.weight"][tokens].astype(np.float64)
        for i in range(self.layers):
            name = f"blk.{i}."
            n = self.norm(x, name + "attn_norm.weight")
            q, k, v = (self.times(n, name + f"attn_{part}.weight") for part in "qkv")
            q = self.rope(q.reshape(len(tokens), self.heads, self.dim), positions)
            k = self.rope(k.reshape(len(tokens), self.kv_heads, self.dim), positions)
            v = v.reshape(len(tokens), self.kv_heads, self.dim)
            if len(cache) > i:
                k, v = np.concatenate([cache[i][0], k]), np.concatenate([cache[i][1], v])
                cache[i] = (k, v)
            else:
                cache.append((k, v))
            mixed = self.attention(q, k, v, first).reshape(len(tokens), -1)
            x = x + self.times(mixed, name + "attn_output.weight")
            n = self.norm(x, name + "ffn_norm.weight")
            gate, up = self.times(n, name + "ffn_gate.weight"), self.times(n, name + "ffn_up.weight")
            x = x + self.times(gate / (1 + np.exp(-gate)) * up, name + "ffn_down.weight")
        output = "output.weight" if "output.weight" in self.tensors else "token_embd.weight"
        return self.times(self.norm(x, "output_norm.weight"), output)


def greedy(model, tokens):
    cache, answer = [], []
    logits = model.forward(np.array(tokens), cache)[-1]
    for _ in range(NEW_TOKENS):
        answer.append(int(np.argmax(logits)))
        logits = model.forward(np.array(answer[-1:]), cache)[-1]
    return answer


def tokenize(program, path, text):
    command = [program, "tokenize", "-m", path, "--ids"]
    return json.loads(subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout)


def main():
    path, program, output = sys.argv[1:4]
    model = Model(path)
    text = tokenize(program, path, TEXT)
    logits = model.forward(np.array(text), []).astype(np.float32)
    with open(output, "wb") as out:
        def numbers(values):
            out.write(struct.pack(f"<i{len(values)}i", len(values), *values))
        numbers(text)
        out.write(struct.pack("<ii", *logits.shape))
        out.write(logits.tobytes())
        out.write(struct.pack("<i", len(PROMPTS)))
        for prompt in PROMPTS:
            tokens = tokenize(program, path, prompt)
            numbers(tokens)
            numbers(greedy(model, tokens))
    print(f"{len(text)} positions with {logits.shape[1]} logits, {len(PROMPTS)} answers of {NEW_TOKENS} tokens")


if __name__ == "__main__":
    main()
