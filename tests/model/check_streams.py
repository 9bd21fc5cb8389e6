#!/usr/bin/env python3
"""mlxn run as a shell uses it: Ctrl-C ends the answer and not the chat, and a full disk is an error.

  check_streams.py MLXN MODEL
"""

import os
import signal
import subprocess
import sys

COMMAND = []
TIMEOUT = 60


def read_until(stream, wanted):
    """What comes up to and with `wanted`."""
    seen = b""
    while wanted not in seen:
        part = os.read(stream.fileno(), 4096)
        assert part, f"the program ended; it had written {seen!r}"
        seen += part
    return seen


def check_interrupt():
    # Without an end: the likeliest continuation of this text goes on until the context is full.
    with subprocess.Popen(COMMAND + ["--raw", "--temp", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        signal.alarm(TIMEOUT)
        read_until(process.stderr, b"> ")
        for line, answer in ((b"1, 2, 3, 4, 5, 6, 7,\n", b"9"), (b" 501, 502, 503, 504, 505,\n", b"507")):
            process.stdin.write(line)
            process.stdin.flush()
            read_until(process.stdout, answer)
            process.send_signal(signal.SIGINT)
            assert b"cancelled]" in read_until(process.stderr, b"> ")
        process.send_signal(signal.SIGINT)  # nothing is answered now: it ends the chat
        assert process.wait(TIMEOUT) == 0, process.returncode


def check_full_disk():
    with open("/dev/full", "wb") as full:
        done = subprocess.run(COMMAND + ["-n", "4", "hello"], stdout=full, stderr=subprocess.PIPE, timeout=TIMEOUT)
    assert done.returncode == 1, done
    assert b"cannot write all of the output" in done.stderr, done


def main():
    COMMAND.extend([sys.argv[1], "run", "-m", sys.argv[2]])
    check_interrupt()
    check_full_disk()
    print("interrupts and a full disk are handled")


if __name__ == "__main__":
    main()
