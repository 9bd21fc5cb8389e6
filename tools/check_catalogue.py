#!/usr/bin/env python3
"""Checks docs/test-catalogue.md: every behaviour of the original that we promise has a test that exists.

The lists below are the names of the original's runtime tests, its counter examples (by number) and its
sharp edges (by number); the document must have a row for each, and each test it names must be in tests/."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/test-catalogue.md"
EXAMPLES = 22
EDGES = 63

CATALOGUE = """
per_dispatch_sampling_records_nonzero_ns per_dispatch_dump_is_grouped_by_cb_label
op_kind_label_propagates_into_dispatch_entry supports_counter_sampling_capability_diagnostic
dispatch_tracked_byte_identical_to_encode_with_explicit_barriers auto_barrier_counters_inert_when_env_gate_off
mem_ranges_public_re_exports_reachable encoder_session_cb_count_smoke encoder_session_wait_event_smoke
test_env_gate_factory_agreement test_env_enabled_is_stable test_begin_stage_then_commit_stage_drains
test_drop_uncommitted_is_safe test_commit_and_wait_blocks_until_done
test_commit_and_wait_propagates_inner_cb_error test_session_fence_stage_then_reset_then_begin_stage
test_session_fence_event_signal_wait_round_trip test_session_residency_delegation_round_trip
test_session_drop_with_open_fence_drains_synchronously test_session_arena_lifetime_under_fence_no_rescission
test_session_borrowed_across_n_stages barrier_counter_skips_when_no_active_encoder
barrier_counter_skips_capture_mode reset_counters_clears_barrier_state_in_isolation
barrier_counter_increments_after_active_dispatch commit_and_wait_labeled_sets_cmdbuffer_label
commit_labeled_sets_cmdbuffer_label default_off_path_runs_elementwise_add_correctly
test_graph_single_op_elementwise_add test_graph_multi_op_sequence test_graph_vs_sequential_speed
test_graph_session_drop_without_commit test_graph_encoder_mut_escape_hatch
residency_set_initialized_on_macos_15_plus residency_set_buffers_added_on_allocation
residency_set_buffers_removed_on_pool_eviction hf2q_no_residency_disables_init
device_alloc_buffers_removed_on_drop mlx_buffer_clone_shares_registration no_residency_env_skips_registration
defer_and_flush_commit_count commit_called_after_alloc_batch from_env_returns_none_when_unset
from_env_returns_none_on_empty_string from_env_one_shot_latch_is_consumed_after_first_call
from_env_does_not_panic_without_metal_capture_enabled graph_session_finish_with_capture_unset_is_clean
capture_writes_gputrace_when_envs_set load_tensor_into_pool_registers_with_residency_set
load_tensor_into_pool_does_not_bucket_round_irregular_size slice_view_kernel_arg_buffer_propagates_byte_offset
test_device_init test_buffer_alloc test_buffer_readwrite test_encoder_lifecycle test_buffer_pool_reuse
test_buffer_pool_size_buckets test_kernel_registry_caching test_buffer_alloc_zero_len_error
test_kernel_not_found test_dtype_sizes test_buffer_debug test_error_display thread_shareable_at_compile_time
test_dtype_size_of test_dtype_display test_bucket_size_powers test_pool_arena_reset_recycles_in_use
test_pool_reset_with_no_alloc_is_idempotent test_pool_release_remains_supported_for_compat
test_register_existing_does_not_recycle_on_reset test_register_existing_idempotent
test_register_existing_no_residency_env_is_noop read_read_same_buffer_no_conflict raw_same_buffer_conflicts
war_same_buffer_conflicts waw_same_buffer_conflicts different_buffers_never_conflict reset_clears_state
slices_of_same_parent_conservative sequential_pattern_two_barriers conflict_is_symmetric
record_dump_reset_cycle dispatch_record_dump_reset_cycle dispatch_dump_empty_when_no_entries
convert_gpu_ticks_default_one_to_one convert_gpu_ticks_with_recorded_pair
convert_gpu_ticks_zero_pair_is_one_to_one test_int_fc_distinct_pipelines_and_bool_compat
test_pipeline_labels_propagate_for_mst
""".split()

# What the original has no test for and asks to be tested.
UNCOVERED = """
gate_on_auto_barrier capture_replay_equality same_label_grouping tracked_dispatch_while_capturing
annotate_last_dispatch_if_missing fuse_rejections reorder encode_with_barriers dual_buffer finish_forms
pool_cross_device command_buffer_errors session_while_drained unretained_mode serial_mode barrier_timing
sampling_truncation re_registration_of_specialised_kernel
""".split()


def existing_tests():
    declared = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
    found = set()
    for path in ROOT.glob("tests/**/*.cpp"):
        found.update(f"{suite}.{name}" for suite, name in declared.findall(path.read_text()))
    return found


def rows(text):
    """(line number, first cell, line) of every table row that is not a header or a rule."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and not set(line) <= set("|-: "):
            yield number, cells[0], line


def report(document, title, keys, expected, problems):
    """Prints the problems of a document's rows, and those of its keys, of which each expected one is there once. The exit status."""
    problems = list(problems)
    problems += [f"no row for {name}" for name in expected if name not in keys]
    problems += [f"unknown row {key}" for key in keys if key not in expected]
    problems += [f"two rows for {key}" for key in sorted(set(keys)) if keys.count(key) > 1]
    for problem in problems:
        print(f"{document.relative_to(ROOT)}: {problem}")
    print(f"{title}: {len(keys)} rows, {len(problems)} problems")
    return 1 if problems else 0


def main():
    text = DOCUMENT.read_text()
    tests = existing_tests()
    problems, keys = [], []
    for number, key, line in rows(text):
        if key in ("line", "example", "edge"):
            continue
        keys.append(key.strip("`"))
        named = re.findall(r"`(\w+\.\w+)`", line)
        if not named and "stays:" not in line:
            problems.append(f"line {number}: {key}: names no test, and no reason why it stays")
        problems += [f"line {number}: there is no test {name}" for name in named if name not in tests]
        if "TODO" in line:
            problems.append(f"line {number}: {key}: TODO")
    expected = CATALOGUE + UNCOVERED
    expected += [f"example {n}" for n in range(1, EXAMPLES + 1)] + [f"edge {n}" for n in range(1, EDGES + 1)]
    return report(DOCUMENT, "test catalogue", keys, expected, problems)


if __name__ == "__main__":
    sys.exit(main())
