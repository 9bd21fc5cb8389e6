#!/usr/bin/env python3
"""Runs text_round_trip with the model.

Usage: check_round_trip.py TEXT_ROUND_TRIP COUNT
"""

import subprocess
import sys

from probe import model_path

if __name__ == "__main__":
    sys.exit(subprocess.run([sys.argv[1], model_path(), sys.argv[2]]).returncode)
