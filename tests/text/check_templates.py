#!/usr/bin/env python3
"""Compares rendered templates with Python's jinja2, set up as model authors use it.

Usage: check_templates.py TEXT_PROBE
"""

import datetime
import json
import pathlib
import sys

import jinja2
from gguf import GGUFReader
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

from probe import ask, model_path, report
from template_snippets import FAILING, SNIPPETS, VARIABLES

FOLDER = pathlib.Path(__file__).resolve().parent / "templates"
NOW = datetime.datetime.fromtimestamp(1700000000, datetime.timezone.utc)


class Generation(Extension):
    """{% generation %} marks text that a model is trained on; it prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.Scope(body, lineno=line)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, "jinja2.ext.loopcontrols"])

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    for name in ("lipsum", "cycler", "joiner"):
        del env.globals[name]
    return env


def conversations():
    user = {"role": "user", "content": "What is the capital of France?\n"}
    answer = {"role": "assistant", "content": "  Paris. "}
    system = {"role": "system", "content": "Be brief; use “quotes”, ünïcode & <tags>."}
    call = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "a1b2c3d4e", "type": "function",
         "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 3, "exact": 0.5}}}]}
    result = {"role": "tool", "content": "{\"sky\": \"blue\"}"}
    thought = {"role": "assistant", "content": "<think>\nParis?\n</think>\n\nIt is Paris."}
    tools = [{"type": "function", "function": {
        "name": "weather", "description": "The weather \"now\"", "parameters": {
            "type": "object", "required": ["city"], "properties": {
                "city": {"type": "string"}, "days": {"type": "integer", "minimum": 1},
                "tags": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                "mixed": {"type": ["string", "null"]}, "other": {}}}, "return": {"type": "string"}}},
        {"type": "function", "function": {"name": "none", "description": "", "parameters": {
            "type": "object", "properties": {}, "required": []}}}]
    parts = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " What is this? "}]}
    lists = [[user], [system, user], [user, answer, user], [system, user, answer, user, thought], [system, user, call, result],
             [user, call, result, answer, user], [user, thought, user], [answer, user], [parts], [system], [user, user],
             [user, call, result, result, answer], [{"role": "critic", "content": "x"}]]
    for messages in lists:
        for prompt in (True, False):
            for extra in ({}, {"tools": tools}, {"enable_thinking": False, "date_string": "1 May 2025"}):
                yield {"messages": messages, "add_generation_prompt": prompt, "bos_token": "<s>", "eos_token": "</s>",
                       **extra}


def template_cases():
    sources = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.jinja"))}
    sources["the model's own"] = GGUFReader(model_path()).fields["tokenizer.chat_template"].contents()
    for name, source in sources.items():
        for variables in conversations():
            yield name, source, variables
    for source in SNIPPETS + FAILING:
        yield source, source, VARIABLES


def expected_text(env, source, variables):
    """The text, or None when the template fails."""
    try:
        return env.from_string(source).render(**variables)
    except (jinja2.TemplateError, TypeError, ValueError, AttributeError, ZeroDivisionError, KeyError, OverflowError,
            SyntaxError):
        return None


def main():
    binary = sys.argv[1]
    env = environment()
    cases = list(template_cases())
    answers = ask(binary, [{"op": "render", "template": source, "variables": variables}
                           for _, source, variables in cases])
    problems = []
    failures = 0
    for (name, source, variables), answer in zip(cases, answers):
        expected = expected_text(env, source, variables)
        failures += expected is None
        if answer.get("text") != expected:
            problems.append(f"{name}: {answer}\n  expected {expected!r}")
    print(f"{failures} of them fail, as they should")
    return report("templates", len(cases), problems)


if __name__ == "__main__":
    sys.exit(main())
