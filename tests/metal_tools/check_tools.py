#!/usr/bin/env python3
"""Calls Metal's developer tools as build systems do. Usage: check_tools.py FOLDER-OF-THE-TOOLS"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv.pop()).resolve()

KERNEL = """
#include <metal_stdlib>
#include "sizes.h"
kernel void NAME(device float* data [[buffer(0)]], uint i [[thread_position_in_grid]]) { data[i] *= SIZE; }
"""


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "include").mkdir()
        self.write("include/sizes.h", '#pragma once\n#include "more.h"\n#define SIZE (1 + EXTRA)\n')
        self.write("include/more.h", "#define EXTRA 2\n")
        self.write("a.metal", KERNEL)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def call(self, *words, status=0, text=None, env=None):
        run = subprocess.run([TOOLS / words[0], *words[1:]], cwd=self.folder, input=text, text=True,
                             capture_output=True, env=env)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.output, self.errors = run.stdout, run.stderr
        return run.stdout

    def compile(self, name, kernel):
        self.call("metal", "-Iinclude", f"-DNAME={kernel}", "-c", "a.metal", "-o", name)

    def functions(self, library):
        """Names of the functions in a library file; the index stands in plain text."""
        return set(re.findall(rb"\x00(kernel_\w+?)\x00", (self.folder / library).read_bytes()))

    def test_compiles_and_links(self):
        self.compile("a.air", "kernel_a")
        self.compile("b.air", "kernel_b")
        self.call("metallib", "a.air", "b.air", "-o", "ab.metallib")
        self.assertEqual(self.functions("ab.metallib"), {b"kernel_a", b"kernel_b"})
        self.call("xcrun", "-sdk", "macosx", "metal", "-mmacosx-version-min=14.0", "a.air", "b.air", "-o", "x.metallib")
        self.assertEqual((self.folder / "x.metallib").read_bytes(), (self.folder / "ab.metallib").read_bytes())
        self.call("metal", "-Iinclude", "-DNAME=kernel_a", "a.metal")
        self.assertEqual(self.functions("default.metallib"), {b"kernel_a"})

    def test_names_of_outputs(self):
        self.call("metal", "-Iinclude", "-DNAME=kernel_a", "-c", "a.metal")
        self.assertTrue((self.folder / "a.air").exists())
        self.compile("new/folder/a.air", "kernel_a")
        self.call("metal", "-Iinclude", "-DNAME=k", "-c", "a.metal", "a.metal", "-o", "a.air", status=1)
        self.assertIn("-o names one file, but 2 sources", self.errors)

    def test_two_functions_of_one_name(self):
        self.compile("a.air", "kernel_a")
        self.compile("b.air", "kernel_a")
        self.call("metallib", "a.air", "b.air", status=1)
        self.assertIn("function 'kernel_a' is in 'a.air' and in 'b.air'", self.errors)
        self.assertFalse((self.folder / "default.metallib").exists())

    def test_archives(self):
        self.compile("a.air", "kernel_a")
        self.write("b.metal", KERNEL)
        self.call("metal", "-Iinclude", "-DNAME=kernel_b", "-c", "b.metal")
        self.call("metal-ar", "rcs", "all.metalar", "a.air")
        self.call("metal-ar", "r", "all.metalar", "b.air", "a.air")
        self.assertEqual(self.call("metal-ar", "t", "all.metalar"), "a.metal\nb.metal\n")
        self.call("metallib", "all.metalar", "-o", "all.metallib")
        self.assertEqual(self.functions("all.metallib"), {b"kernel_a", b"kernel_b"})
        self.call("metal-ar", "x", "all.metalar", status=1)
        self.assertIn("expected one with r, q or t", self.errors)

    def test_preprocesses(self):
        text = self.call("metal", "-E", "-P", "-Iinclude", "-DNAME=k", "a.metal")
        self.assertIn("data[i] *= (1 + 2);", text)
        self.assertNotIn("#", text)
        self.assertNotIn("msl", text)
        marked = self.call("metal", "-E", "-Iinclude", "-DNAME=k", "a.metal")
        self.assertIn('#line 4 "a.metal"', marked)

    def test_version_of_the_language(self):
        for options, version in [([], "320"), (["-mmacosx-version-min=14.0"], "310"), (["-std=metal3.0"], "300"),
                                 (["-mmacosx-version-min=14.0", "-std=macos-metal2.4"], "240"),
                                 (["-miphoneos-version-min=16.0"], "300"), (["-mmacosx-version-min=26.0"], "400")]:
            text = self.call("xcrun", "-sdk", "macosx", "metal", *options, "-E", "-x", "metal", "-P", "-",
                             text="__METAL_VERSION__")
            self.assertEqual(text.split()[-1], version, options)
        self.call("metal", "-std=c++17", "-c", "a.metal", status=1)
        self.assertIn("unknown language 'c++17'", self.errors)

    def test_lists_headers(self):
        self.call("metal", "-E", "-H", "-Iinclude", "-DNAME=k", "-o", "a.i", "a.metal")
        self.assertEqual(self.errors, ". include/sizes.h\n.. include/more.h\n")

    def test_dependencies(self):
        self.call("metal", "-Iinclude", "-DNAME=k", "-MD", "-MP", "-c", "a.metal", "-o", "a.air")
        rule = (self.folder / "a.d").read_text()
        self.assertEqual(rule, "a.air: a.metal \\\n  include/sizes.h \\\n  include/more.h\n"
                               "include/sizes.h:\ninclude/more.h:\n")
        self.call("metal", "-Iinclude", "-DNAME=k", "-MMD", "-MF", "x.d", "-MT", "goal", "-c", "a.metal", "-o", "a.air")
        self.assertTrue((self.folder / "x.d").read_text().startswith("goal: a.metal"))

    def test_options_before_the_source(self):
        self.write("first.h", "#define NAME kernel_first\n")
        self.call("metal", "-Iinclude", "-include", "first.h", "-c", "a.metal", "-o", "a.air")
        self.assertEqual(self.functions("a.air"), {b"kernel_first"})
        self.call("metal", "-Iinclude", "-DNAME=k", "-UNAME", "-E", "-P", "-o", "a.i", "a.metal")
        self.assertIn("void NAME(", (self.folder / "a.i").read_text())

    def test_wrong_source(self):
        self.write("bad.metal", '#include "include/more.h"\n\nkernel void k(device int* a) { a[0] = missing; }\n')
        self.call("metal", "-c", "bad.metal", status=1)
        self.assertIn("bad.metal:3:", self.errors)
        self.assertIn("use of undeclared identifier 'missing'", self.errors)
        self.assertFalse((self.folder / "bad.air").exists())
        self.write("bad.metal", '#include "nowhere.h"\n')
        self.call("metal", "-c", "bad.metal", status=1)
        self.assertIn("'nowhere.h' file not found", self.errors)

    def test_wrong_calls(self):
        for words, message in [(["metal"], "no input files"), (["metal", "-c", "none.metal"], "cannot open 'none.metal'"),
                               (["metal", "--nonsense", "a.metal"], "unknown option '--nonsense'"),
                               (["metal", "-o"], "option '-o' needs a value"), (["metallib"], "no input files"),
                               (["metallib", "a.metal"], "a.metal: the data of"), (["metal-ar"], "no archive is named"),
                               (["xcrun"], "no tool is named"), (["xcrun", "no-such-tool"], "unable to find utility"),
                               (["metal", "-x", "c++", "a.metal"], "language 'c++', expected metal")]:
            self.call(*words, status=1)
            self.assertIn(message, self.errors, words)

    def test_full_disk(self):
        self.call("metal", "-Iinclude", "-DNAME=k", "-c", "a.metal", "-o", "/dev/full", status=1)
        self.assertIn("cannot write '/dev/full': No space left on device", self.errors)

    def test_damaged_objects(self):
        self.compile("a.air", "kernel_a")
        data = (self.folder / "a.air").read_bytes()
        for size in range(0, len(data), 7):
            (self.folder / "cut.air").write_bytes(data[:size])
            self.call("metallib", "cut.air", "-o", "cut.metallib", status=1)
            self.assertIn("cut.air: ", self.errors)

    def test_xcrun(self):
        self.assertEqual(self.call("xcrun", "-sdk", "macosx", "--show-sdk-version"), "15.0\n")
        self.assertEqual(self.call("xcrun", "--sdk", "iphoneos", "--show-sdk-version"), "18.0\n")
        self.assertEqual(self.call("sw_vers", "-productVersion"), "15.0\n")
        found = self.call("xcrun", "-f", "metallib").strip()
        self.assertTrue(os.path.samefile(found, TOOLS / "metallib"))
        self.assertEqual(self.call("xcrun", "echo", "hello"), "hello\n")

    def test_through_path(self):
        """Tools find their compiler wherever they are called from, and never in the current folder."""
        self.write("libmlxn_msl.so", "not a library")
        environment = dict(os.environ, PATH=f"{TOOLS}:{os.environ['PATH']}")
        run = subprocess.run(["xcrun", "metal", "-Iinclude", "-DNAME=k", "-c", "a.metal"], cwd=self.folder,
                             env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    unittest.main()
