#!/usr/bin/env python3
"""Compares token ids with the `tokenizers` package, on the vocabulary of a model file.

Usage: check_tokenizer.py TEXT_PROBE
"""

import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from probe import ask, model_path, report
from sample_texts import texts

COUNT = 4000
CONTROL = 3


def reference(path):
    fields = GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    pre = fields["tokenizer.ggml.pre"].contents()
    if pre != "smollm":
        raise SystemExit(f"pre-tokenizer '{pre}', expected 'smollm'")
    model = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    model.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    model.decoder = decoders.ByteLevel()
    plain = Tokenizer.from_str(model.to_str())
    model.add_special_tokens([AddedToken(token, special=True, normalized=False)
                              for token, kind in zip(tokens, types) if kind == CONTROL])
    return plain, model


def main():
    binary = sys.argv[1]
    path = model_path()
    plain, with_special = reference(path)
    samples = texts(COUNT)
    requests = [{"op": "encode", "text": text, "special": special}
                for special in (False, True) for text in samples]
    answers = ask(binary, requests, path)
    problems = []
    for request, answer in zip(requests, answers):
        model = with_special if request["special"] else plain
        expected = model.encode(request["text"], add_special_tokens=False).ids
        if answer.get("ids") != expected:
            problems.append(f"{request['text']!r} (special {request['special']}): {answer}, expected {expected}")
    tokens = sum(len(answer.get("ids", [])) for answer in answers)
    print(f"{tokens} tokens")
    return report("token ids", len(requests), problems)


if __name__ == "__main__":
    sys.exit(main())
