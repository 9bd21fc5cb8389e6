"""Talks to text_probe: a list of requests in, a list of answers out."""

import json
import pathlib
import subprocess
import sys

FETCH = pathlib.Path(__file__).resolve().parents[2] / "tools/fetch_model.py"


def model_path():
    """The model of the tests; fails when it cannot be had."""
    done = subprocess.run([sys.executable, FETCH, "--quiet"], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def ask(binary, requests, model=None):
    text = "".join(json.dumps(request) + "\n" for request in requests)
    command = [binary] + ([model] if model else [])
    done = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(requests):
        raise SystemExit(f"{len(answers)} answers to {len(requests)} requests")
    return answers


def report(name, compared, problems, shown=20):
    for problem in problems[:shown]:
        print(problem)
    print(f"{name}: {compared} compared, {len(problems)} differ")
    return 1 if problems or not compared else 0
