#!/usr/bin/env python3
"""How tools/instruction_counts.py reads code. Usage: check_instruction_counts.py ROOT"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "tools"))
import instruction_counts as counts  # noqa: E402

# A loop in a loop behind a jump over both; in front of them and behind them nothing is hot.
NESTED = """\
k:
	pushq	%rbx
	vmulps	%zmm0, %zmm1, %zmm2
	testl	%edi, %edi
	je	.LBB0_5
.LBB0_1:                                # %outer
	xorl	%eax, %eax
	vmulps	(%rdx), %zmm1, %zmm2
.LBB0_2:                                # %inner
	vmovups	(%rsi,%rax), %zmm3              # a comment (with a bracket)
	vfmadd231ps	4(%rsi,%rax){1to16}, %zmm3, %zmm4
	vfmadd231ps	64(%rsp), %zmm3, %zmm5
	vmovups	%zmm5, 128(%rsp)
	vmovups	%zmm4, (%rdi){%k1}
	addl	$1, 12(%rdi)
	cmpl	$3, 16(%rdi)
	leaq	8(%rax), %rax
	jb	.LBB0_2
	decl	%edi
	jne	.LBB0_1
	jmp	.LBB0_5
.LBB0_4:                                # nobody comes here
	vmulps	%zmm0, %zmm1, %zmm2
	jmp	.LBB0_2
.LBB0_5:
	popq	%rbx
	retq
"""


class Loops(unittest.TestCase):
    def test_only_the_innermost_one_that_multiplies(self):
        self.assertEqual(counts.hot_loops(NESTED), [{"instructions": 9, "loads": 5, "multiplies": 2, "stack": 2}])

    def test_the_outer_one_where_the_inner_one_multiplies_nothing(self):
        code = NESTED.replace("vfmadd231ps", "vaddps")
        self.assertEqual([loop["instructions"] for loop in counts.hot_loops(code)], [13])

    def test_small_loops_beside_a_large_one_do_not_count(self):
        def loop(number, multiplies):
            return f".LBB0_{number}:\n" + "\tvpdpbusd\t(%rax){1to16}, %zmm1, %zmm2\n" * multiplies + f"\tjne\t.LBB0_{number}\n"
        code = "k:\n" + loop(1, 8) + loop(2, 2) + loop(3, 1) + "\tretq\n"
        self.assertEqual([found["multiplies"] for found in counts.hot_loops(code)], [8, 2])

    def test_code_without_loops_has_none(self):
        self.assertEqual(counts.hot_loops("k:\n\tvmulps\t%ymm0, %ymm1, %ymm2\n\tretq\n"), [])


class Instructions(unittest.TestCase):
    def uses(self, name, operands):
        return counts.memory_use(name, operands)

    def test_loads_stores_and_the_stack(self):
        self.assertEqual(self.uses("vmovups", "%zmm1, (%rdi,%rax)"), (False, True, False))
        self.assertEqual(self.uses("vmovups", "(%rdi,%rax), %zmm1"), (True, False, False))
        self.assertEqual(self.uses("vmovups", "%zmm1, 8(%rsp)"), (False, True, True))
        self.assertEqual(self.uses("vpaddd", "8(%rsp), %zmm1, %zmm2"), (True, False, True))
        self.assertEqual(self.uses("addl", "%eax, (%rdi)"), (True, True, False))
        self.assertEqual(self.uses("incl", "(%rdi)"), (True, True, False))
        self.assertEqual(self.uses("cmpl", "$1, (%rdi)"), (True, False, False))
        self.assertEqual(self.uses("leaq", "8(%rsp), %rax"), (False, False, False))
        self.assertEqual(self.uses("movl", "%eax, %ecx"), (False, False, False))

    def test_what_multiplies(self):
        for name in ("vfmadd231ps", "vfnmadd213pd", "vmulps", "mulps", "vpdpbusd", "vdpbf16ps", "vpmaddwd", "pmaddwd", "vpmulld"):
            self.assertTrue(counts.MULTIPLY.match(name), name)
        for name in ("vfmadd231ss", "mulss", "imull", "vaddps", "vpmuludqx", "vmovups"):
            self.assertFalse(counts.MULTIPLY.match(name), name)


class Differences(unittest.TestCase):
    def test_each_kernel_and_level_that_differs(self):
        loop = {"instructions": 9, "loads": 5, "multiplies": 2, "stack": 2}
        before = {"kernels": {"a": {"v3": [loop], "v4": [loop]}, "b": {"v3": [loop]}}}
        after = {"kernels": {"a": {"v3": [loop], "v4": [loop | {"instructions": 10}]}, "c": {"v4": [loop]}}}
        found = list(counts.differences(before, after))
        self.assertEqual([line.split(":")[0] for line in found], ["a, v4", "b, v3", "c, v4"])
        self.assertIn("9 (5 loads, 2 multiplies, 2 on the stack), now 10 (5", found[0])
        self.assertIn("now none", found[1])
        self.assertEqual(list(counts.differences(before, before)), [])


if __name__ == "__main__":
    unittest.main()
