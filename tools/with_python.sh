#!/usr/bin/env bash
# with_python.sh FOLDER SCRIPT ARGUMENTS...: runs a script with the packages of tools/requirements.txt,
# from a virtual environment in FOLDER.
set -euo pipefail
tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(python3 "$tools/python_env.py" "$1")
shift
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$@"
