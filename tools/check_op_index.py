#!/usr/bin/env python3
"""Checks docs/op-index.md: every op of the original has one of ours, and every defect of its ledgers a test.

ENTRIES are the original's entry points, one for each row of its index of ops; DEFECTS the entries of its two lists of
defects. In the document an op is named as in docs/ops.md. A defect's row names ops, whose cases then name the defect
(OpCase::ledger, WrongCall::ledger), or tests."""

import pathlib
import re
import sys

from check_catalogue import existing_tests, report, rows

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/op-index.md"

ENTRIES = """
dispatch_rms_norm dispatch_rms_norm_no_scale_f32 rms_norm_no_scale_f32_dual dispatch_rms_norm_mul
dispatch_rms_norm_f32_triple dispatch_fused_post_attn_triple_norm_f32 dispatch_l2_norm dispatch_fused_norm_add_bf16
dispatch_fused_norm_add_f32 dispatch_fused_norm_add_scalar_f32 dispatch_fused_residual_norm_bf16
dispatch_fused_residual_norm_f32 dispatch_fused_residual_norm_scalar_f32 dispatch_fused_head_norm_rope_f32
dispatch_fused_head_norm_rope_bf16 dispatch_gelu dispatch_silu_f32 dispatch_silu_mul dispatch_sigmoid_mul
dispatch_softcap fused_gelu_mul_bf16_encode elementwise_add scalar_mul_f32 cast dispatch_log_f32 transpose_2d
permute_021_f32 transpose_last2_bf16 dispatch_strided_copy_f32 dispatch_slice_2d_cols_f32 dispatch_repeat_tiled_f32
dispatch_qkv_split_f32 dispatch_gather_f32 embedding_gather embedding_gather_scale_f32 dispatch_rope
dispatch_rope_neox_f32 dispatch_rope_multi dispatch_vision_2d_rope dispatch_softmax dispatch_scale_mask_softmax_f32
dispatch_softmax_backward dispatch_softmax_sample_f32 dispatch_argmax_f32 dispatch_argsort_desc_f32
dispatch_top_k_f32 moe_gate dispatch_moe_softmax_topk dispatch_fused_moe_routing_f32 moe_gather_topk_weights_encode
moe_dispatch moe_swiglu_fused_encode moe_accumulate_encode moe_weighted_sum_encode dispatch_moe_weighted_reduce
dispatch_fused_moe_wsum_norm_add_f32 dispatch_fused_moe_wsum_dnorm_add_f32 dispatch_ssm_conv dispatch_ssm_norm_gate
dispatch_compute_g_beta dispatch_gated_delta_net dispatch_gated_delta_net_decode dispatch_chunk_gated_delta_rule_fwd
dispatch_gated_delta_net_kkt dispatch_chunk_tri_solve_invert dispatch_gated_delta_net_recompute_wu
dispatch_gated_delta_net_chunk_inter_state dispatch_gated_delta_net_chunk_o dispatch_cumsum dispatch_tri_solve
dispatch_rms_norm_compute_rms_inv dispatch_silu_backward_f32 dispatch_row_sum_f32 dispatch_qdq_q4_0_f32
dispatch_gather_nibble build_rope_multi_buffers encode_with_args dispatch_dense_gemm_f16
dispatch_dense_matvec_f16w_f32io dense_gemv_bf16_f32 dense_matmul_bf16_f32_tensor dense_matmul_f16_f32_tensor
dense_matmul_f32_f32_tensor quantized_matmul quantized_matmul_id quantized_matmul_ggml
quantized_matmul_mm_tensor_perm021 quantized_matmul_id_ggml quantized_matmul_id_swiglu_q4_0 sdpa sdpa_sliding
dispatch_sdpa_decode flash_attn_vec flash_attn_vec_tq flash_attn_vec_tq_hb flash_attn_vec_tq_v2_dk
dispatch_flash_attn_prefill_bf16_d256 dispatch_flash_attn_prefill_bf16_d512 build_sdpa_mask_bf16
dispatch_flash_attn_prefill_blk dispatch_kv_cache_copy dispatch_hadamard_transform dispatch_fwht_f32
dispatch_hadamard_quantize_kv dispatch_tq_dequantize_kv
""".split()
DEFECTS = [f"D{n}" for n in range(1, 30)] + [f"B15.{n}" for n in range(1, 14)]


def known_ops():
    """Every op of docs/ops.md, with the stem of its header."""
    row = re.compile(r"^\| \[(\w+)\]\(\.\./([\w/]+)\.h\)", re.MULTILINE)
    return dict(row.findall((ROOT / "docs/ops.md").read_text()))


def ledgers():
    """For each family folder's case file the defects that its cases are about."""
    found = {}
    for path in ROOT.glob("mlxn/ops/**/*_cases.cpp"):
        entries = re.findall(r"\b((?:D|B15\.)\d+)[a-z]?\b", " ".join(re.findall(r'"((?:D|B15\.)[^"]*)"', path.read_text())))
        found[str(path.relative_to(ROOT)).removesuffix("_cases.cpp")] = set(entries)
    return found


def check_entry(line, ops):
    named = re.findall(r"`(\w+)`", line.split("|", 2)[2])
    if not named and "stays out:" not in line:
        yield "names no op, and no reason why it stays out"
    yield from (f"there is no op {name}" for name in named if name not in ops)


def check_defect(key, line, ops, by_file, tests):
    named = re.findall(r"`([\w.]+)`", line.split("|", 2)[2])
    if not named and "stays out:" not in line:
        yield "names no op and no test"
    for name in named:
        if "." in name:
            if name not in tests:
                yield f"there is no test {name}"
        elif name not in ops:
            yield f"there is no op {name}"
        elif not any(key in entries for stem, entries in by_file.items() if stem.split("/")[2] == ops[name].split("/")[2]):
            yield f"no case in the folder of {name} names it"


def main():
    ops, by_file, tests = known_ops(), ledgers(), existing_tests()
    problems, keys = [], []
    for number, key, line in rows(DOCUMENT.read_text()):
        if key in ("original", "defect"):
            continue
        key = key.strip("`")
        keys.append(key)
        found = check_defect(key, line, ops, by_file, tests) if key in DEFECTS else check_entry(line, ops)
        problems += [f"line {number}: {key}: {problem}" for problem in found]
    return report(DOCUMENT, "index of ops", keys, ENTRIES + DEFECTS, problems)


if __name__ == "__main__":
    sys.exit(main())
