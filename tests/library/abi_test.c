/* The first release of the ABI, librehearse.so.1: the place of every field that a caller was compiled with. Lines are only
 * ever added, and a size only grows where a struct begins with its size. Of a machine with 64 bits. */
#include "rehearse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FIELD(type, field, its_offset, its_size)                                                             \
    {                                                                                                        \
#type "." #field, offsetof(struct type, field), sizeof((struct type *)0)->field, its_offset,         \
            its_size                                                                                         \
    }

static const struct {
    const char *name;
    size_t offset, size, was_offset, was_size;
} fields[] = {
    FIELD(rh_error, code, 0, 4),
    FIELD(rh_error, text, 4, 1024),
    FIELD(rh_list, items, 0, 8),
    FIELD(rh_list, count, 8, 8),
    FIELD(rh_call, size, 0, 8),
    FIELD(rh_call, threads, 8, 4),
    FIELD(rh_call, time_limit, 16, 8),
    FIELD(rh_call, stop, 24, 8),
    FIELD(rh_call, progress, 32, 8),
    FIELD(rh_call, warning, 40, 8),
    FIELD(rh_call, user, 48, 8),
    FIELD(rh_array, data, 0, 8),
    FIELD(rh_array, type, 8, 1),
    FIELD(rh_array, dimensions, 12, 4),
    FIELD(rh_array, shape, 16, 16),
    FIELD(rh_array, stride, 32, 16),
    FIELD(rh_text, data, 0, 8),
    FIELD(rh_text, length, 8, 8),
    FIELD(rh_option, size, 0, 8),
    FIELD(rh_option, name, 8, 8),
    FIELD(rh_option, field, 16, 8),
    FIELD(rh_option, argument, 24, 8),
    FIELD(rh_option, help, 32, 8),
    FIELD(rh_option, initial, 40, 8),
    FIELD(rh_option, words, 48, 8),
    FIELD(rh_option, type, 56, 1),
    FIELD(rh_option, required, 57, 1),
    FIELD(rh_option, offset, 64, 8),
    FIELD(rh_profile_request, size, 0, 8),
    FIELD(rh_profile_request, path, 8, 8),
    FIELD(rh_profile_request, microbatch_size, 16, 8),
    FIELD(rh_cost_request, size, 0, 8),
    FIELD(rh_cost_request, files, 8, 16),
    FIELD(rh_cost_request, backward, 24, 16),
    FIELD(rh_cost_request, dims, 40, 16),
    FIELD(rh_cost_request, model, 56, 8),
    FIELD(rh_cost_request, devices, 64, 8),
    FIELD(rh_cost_request, software, 72, 8),
    FIELD(rh_cost_request, across, 80, 8),
    FIELD(rh_cost_request, links, 88, 8),
    FIELD(rh_cost_request, calibration, 96, 8),
    FIELD(rh_cost_request, parameters, 104, 8),
    FIELD(rh_cost_request, custom_calls, 112, 8),
    FIELD(rh_cost_request, microbatch_size, 120, 8),
    FIELD(rh_cost_request, sequence, 128, 8),
    FIELD(rh_cost_request, tensor, 136, 8),
    FIELD(rh_cost_request, devices_per_node, 144, 8),
    FIELD(rh_cost_request, nodes, 152, 8),
    FIELD(rh_cost_request, precision, 160, 8),
    FIELD(rh_cost_request, recompute, 168, 8),
    FIELD(rh_cost_request, attention, 176, 8),
    FIELD(rh_cost_request, rules, 184, 8),
    FIELD(rh_cost_request, explain, 192, 1),
    FIELD(rh_cost_request, wide, 193, 1),
    FIELD(rh_cost_request, keep_all, 194, 1),
    FIELD(rh_cost_request, no_tf32, 195, 1),
    FIELD(rh_cost_request, first, 196, 1),
    FIELD(rh_cost_request, list, 197, 1),
    FIELD(rh_plan_request, size, 0, 8),
    FIELD(rh_plan_request, model, 8, 8),
    FIELD(rh_plan_request, device, 16, 8),
    FIELD(rh_plan_request, profile, 24, 8),
    FIELD(rh_plan_request, cluster, 32, 8),
    FIELD(rh_plan_request, objective, 40, 8),
    FIELD(rh_plan_request, global_batch, 48, 8),
    FIELD(rh_plan_request, devices, 56, 8),
    FIELD(rh_plan_request, software, 64, 8),
    FIELD(rh_plan_request, precision, 72, 8),
    FIELD(rh_plan_request, links, 80, 8),
    FIELD(rh_plan_request, calibration, 88, 8),
    FIELD(rh_plan_request, inside, 96, 8),
    FIELD(rh_plan_request, across, 104, 8),
    FIELD(rh_plan_request, flags, 112, 8),
    FIELD(rh_plan_request, search, 120, 8),
    FIELD(rh_plan_request, allreduce, 128, 8),
    FIELD(rh_plan_request, memory, 136, 8),
    FIELD(rh_plan_request, rules, 144, 8),
    FIELD(rh_plan_request, import_as, 152, 8),
    FIELD(rh_plan_request, price, 160, 8),
    FIELD(rh_plan_request, plan, 168, 8),
    FIELD(rh_plan_request, emit, 176, 8),
    FIELD(rh_plan_request, output, 184, 8),
    FIELD(rh_plan_request, figure, 192, 8),
    FIELD(rh_plan_request, from, 200, 8),
    FIELD(rh_plan_request, form, 208, 8),
    FIELD(rh_plan_request, fix, 216, 16),
    FIELD(rh_plan_request, sequence, 232, 8),
    FIELD(rh_plan_request, microbatch_size, 240, 8),
    FIELD(rh_plan_request, microbatches, 248, 8),
    FIELD(rh_plan_request, devices_per_node, 256, 8),
    FIELD(rh_plan_request, top, 264, 8),
    FIELD(rh_plan_request, profile_batch, 272, 8),
    FIELD(rh_plan_request, headroom, 280, 8),
    FIELD(rh_plan_request, imbalance, 288, 8),
    FIELD(rh_plan_request, tokens, 296, 8),
    FIELD(rh_plan_request, deadline, 304, 8),
    FIELD(rh_plan_request, state_factor, 312, 8),
    FIELD(rh_plan_request, sample_memory, 320, 8),
    FIELD(rh_plan_request, pareto, 328, 1),
    FIELD(rh_plan_request, explain, 329, 1),
    FIELD(rh_plan_request, no_neighbours, 330, 1),
    FIELD(rh_plan_request, fold_exact_factors, 331, 1),
    FIELD(rh_plan_request, fold_longest_only, 332, 1),
    FIELD(rh_check_request, size, 0, 8),
    FIELD(rh_check_request, plans, 8, 16),
    FIELD(rh_check_request, profile, 24, 8),
    FIELD(rh_check_request, cluster, 32, 8),
    FIELD(rh_check_request, model, 40, 8),
    FIELD(rh_check_request, device, 48, 8),
    FIELD(rh_check_request, links, 56, 8),
    FIELD(rh_check_request, calibration, 64, 8),
    FIELD(rh_check_request, objective, 72, 8),
    FIELD(rh_check_request, allreduce, 80, 8),
    FIELD(rh_check_request, memory, 88, 8),
    FIELD(rh_check_request, rules, 96, 8),
    FIELD(rh_check_request, output, 104, 8),
    FIELD(rh_check_request, microbatch_size, 112, 8),
    FIELD(rh_check_request, microbatches, 120, 8),
    FIELD(rh_check_request, global_batch, 128, 8),
    FIELD(rh_check_request, profile_batch, 136, 8),
    FIELD(rh_check_request, headroom, 144, 8),
    FIELD(rh_check_request, state_factor, 152, 8),
    FIELD(rh_check_request, sample_memory, 160, 8),
    FIELD(rh_simulate_request, size, 0, 8),
    FIELD(rh_simulate_request, plan, 8, 8),
    FIELD(rh_simulate_request, from, 16, 8),
    FIELD(rh_simulate_request, schedule, 24, 8),
    FIELD(rh_simulate_request, forward, 32, 8),
    FIELD(rh_simulate_request, backward, 40, 8),
    FIELD(rh_simulate_request, weight, 48, 8),
    FIELD(rh_simulate_request, comm, 56, 8),
    FIELD(rh_simulate_request, level, 64, 8),
    FIELD(rh_simulate_request, straggler, 72, 8),
    FIELD(rh_simulate_request, reshard, 80, 8),
    FIELD(rh_simulate_request, storage, 88, 8),
    FIELD(rh_simulate_request, save_waits, 96, 8),
    FIELD(rh_simulate_request, write_schedule, 104, 8),
    FIELD(rh_simulate_request, letters, 112, 8),
    FIELD(rh_simulate_request, csv, 120, 8),
    FIELD(rh_simulate_request, trace, 128, 8),
    FIELD(rh_simulate_request, chakra, 136, 8),
    FIELD(rh_simulate_request, replay, 144, 8),
    FIELD(rh_simulate_request, figure, 152, 8),
    FIELD(rh_simulate_request, style, 160, 8),
    FIELD(rh_simulate_request, what_if, 168, 16),
    FIELD(rh_simulate_request, stages, 184, 8),
    FIELD(rh_simulate_request, microbatches, 192, 8),
    FIELD(rh_simulate_request, chunks, 200, 8),
    FIELD(rh_simulate_request, seed, 208, 8),
    FIELD(rh_simulate_request, prefetch, 216, 8),
    FIELD(rh_simulate_request, save_every, 224, 8),
    FIELD(rh_simulate_request, hidden, 232, 8),
    FIELD(rh_simulate_request, memory, 240, 8),
    FIELD(rh_simulate_request, jitter, 248, 8),
    FIELD(rh_simulate_request, collective_share, 256, 8),
    FIELD(rh_simulate_request, copy_rate, 264, 8),
    FIELD(rh_simulate_request, save_rate, 272, 8),
    FIELD(rh_simulate_request, host_rate, 280, 8),
    FIELD(rh_simulate_request, send_blocks, 288, 1),
    FIELD(rh_simulate_request, compare, 289, 1),
    FIELD(rh_simulate_request, no_symmetry, 290, 1),
    FIELD(rh_simulate_request, storage_network, 291, 1),
    FIELD(rh_simulate_request, with_sends, 292, 1),
    FIELD(rh_simulate_request, keep_tasks, 293, 1),
};

static void fields_are_where_they_were(void **state)
{
    (void)state;
    if (sizeof(void *) != 8)
        skip();
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].offset != fields[i].was_offset || fields[i].size != fields[i].was_size)
            fail_msg("%s: %zu bytes at %zu, were %zu at %zu", fields[i].name, fields[i].size,
                     fields[i].offset, fields[i].was_size, fields[i].was_offset);
    /* these have no size of their own, and are made by callers */
    assert_int_equal(sizeof(struct rh_error), 1028);
    assert_int_equal(sizeof(struct rh_list), 16);
    assert_int_equal(sizeof(struct rh_text), 16);
    assert_int_equal(sizeof(struct rh_array), 48);
    assert_int_equal(RH_STOPPED, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields_are_where_they_were)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
