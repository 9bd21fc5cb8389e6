"""Runs a check on source files, several at a time, and skips those that passed it as they are now.

What passed is kept in a record: a line for each file with a hash of its text, of the header of the same name and of
whatever else the check depends on. Findings of such checks lie in the text they name, so other headers do not count:
each is looked at with its own source file.
"""

import concurrent.futures
import hashlib
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def tracked(*patterns):
    """Files of the repository, new ones included."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split()
    return sorted(name for name in names if (ROOT / name).is_file())


def header_of(name):
    """The header of the same name, beside the source file or in internal/ there; None without one."""
    path = pathlib.PurePosixPath(name)
    for folder in (path.parent, path.parent / "internal"):
        header = folder / (path.stem + ".h")
        if (ROOT / header).is_file():
            return header.as_posix()
    return None


def fingerprint(name, basis):
    hash_of = hashlib.sha256(basis.encode())
    for part in (name, header_of(name)):
        if part:
            hash_of.update(part.encode() + b"\0" + (ROOT / part).read_bytes())
    return hash_of.hexdigest()[:16]


def read_record(path):
    if not path.is_file():
        return {}
    return dict(reversed(line.split()) for line in path.read_text().splitlines())


def write_record(path, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{entries[name]} {name}\n" for name in sorted(entries)))


def check(title, names, command, basis, record, jobs, full=False):
    """Runs command(name) for every file that is not recorded as clean; returns how many failed.

    The record is written at the end: other files stay in it, unless they are gone.
    """
    known = read_record(record)
    prints = {name: fingerprint(name, basis) for name in names}
    due = [name for name in names if full or known.get(name) != prints[name]]
    clean = {name: print_ for name, print_ in known.items() if name not in due and (ROOT / name).is_file()}

    def run(name):
        return name, subprocess.run(command(name), cwd=ROOT, capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for name, result in pool.map(run, due):
            if result.returncode == 0:
                clean[name] = prints[name]
                continue
            failed += 1
            print((result.stdout + result.stderr).strip())
    write_record(record, clean)
    print(f"{title}: {len(names)} files, {len(due)} checked, {failed} with problems")
    return failed
