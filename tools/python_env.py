#!/usr/bin/env python3
"""Makes a virtual environment with the packages of tools/requirements.txt and prints its interpreter.

Usage: tools/python_env.py FOLDER

Does nothing but print when FOLDER already holds these packages.
"""

import hashlib
import pathlib
import subprocess
import sys
import venv

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements.txt"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]).resolve()
    python = folder / "bin/python"
    stamp = folder / "requirements.sha256"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.is_file() or stamp.read_text() != wanted or not python.exists():
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                               "--requirement", REQUIREMENTS], stdout=sys.stderr)
        if done.returncode:
            sys.exit(f"python_env: pip could not install the packages of {REQUIREMENTS}")
        stamp.write_text(wanted)
    print(python)


if __name__ == "__main__":
    main()
