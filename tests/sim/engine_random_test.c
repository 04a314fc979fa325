/* Random systems: against a second simulator that knows only a clock and a list, and with copies played one by one against
 * all copies played as one. REHEARSE_ENGINE_PROGRAMS sets the number of systems of each test. */
#include "core/random.h"
#include "sim/engine/symmetry.h"
#include "support/engine_programs.h"
#include "support/engine_twin.h"
#include "support/sanitizer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_TASKS 20000

/* Begin and end of each task, in the order of devices, streams and tasks. */
struct record {
    int device, stream;
    double begin, end;
    int64_t id, cause;
};

static struct record records[2][MAX_TASKS];
static int record_count[2];
static double last_memory[2][64];

static bool keep(void *context, const struct timeline_task *task, struct error *err)
{
    (void)err;
    int which = *(int *)context, at = record_count[which]++;
    assert_true(at < MAX_TASKS);
    assert_int_equal(task->id, at);
    if (task->cause >= 0) {
        assert_true(task->cause < task->id);
    }
    records[which][at] =
        (struct record){task->device, task->stream, task->begin, task->end, task->id, task->cause};
    return true;
}

static bool keep_memory(void *context, const struct timeline_memory *memory, struct error *err)
{
    (void)err;
    assert_true(memory->time >= last_memory[*(int *)context][memory->device]);
    last_memory[*(int *)context][memory->device] = memory->time;
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct record *x = a, *y = b;
    if (x->device != y->device)
        return x->device - y->device;
    if (x->stream != y->stream)
        return x->stream - y->stream;
    return (x->id > y->id) - (x->id < y->id);
}

static void play(const struct engine_system *system, int which, struct engine_result *result)
{
    struct error err;
    struct timeline_sink sink = {.context = &which, .task = keep, .memory = keep_memory};
    record_count[which] = 0;
    memset(last_memory[which], 0, sizeof last_memory[which]);
    if (!engine_run(system, &sink, result, &err))
        fail_msg("%s", err.text);
    qsort(records[which], (size_t)record_count[which], sizeof records[which][0], by_place);
}

static int programs(void)
{
    const char *text = getenv("REHEARSE_ENGINE_PROGRAMS");
    return text != NULL ? atoi(text) : 2000 / SEARCH_STEP;
}

static void assert_near(uint64_t seed, const char *name, int at, double a, double b)
{
    if (!(fabs(a - b) <= 1e-9 * fmax(1.0, fabs(b))))
        fail_msg("seed %llu: %s %d: %.17g, but the second simulator has %.17g", (unsigned long long)seed,
                 name, at, a, b);
}

/* All time of stream 0 belongs to a label. */
static void assert_accounted(uint64_t seed, const struct engine_system *system,
                             const struct engine_result *result)
{
    for (int d = 0; d < system->device_count; d++) {
        double sum = 0.0, end = 0.0;
        for (int l = 0; l < system->label_count; l++) {
            const struct engine_seconds *seconds = &result->seconds[d * system->label_count + l];
            assert_true(seconds->busy >= 0.0 && seconds->exposed >= 0.0 && seconds->waited >= 0.0);
            sum += seconds->busy + seconds->exposed + seconds->waited;
        }
        for (int i = 0; i < record_count[0]; i++) {
            if (records[0][i].device == d && records[0][i].stream == 0)
                end = fmax(end, records[0][i].end);
        }
        assert_near(seed, "time of device", d, sum, end);
        assert_near(seed, "end of device", d, result->devices[d].end, end);
    }
}

static void compare(uint64_t seed, const struct program_shape *shape)
{
    struct program program;
    struct twin twin;
    struct engine_result result;
    program_make(seed, shape, &program);
    twin_play(&program.whole, &twin);
    assert_false(twin.stuck);
    play(&program.whole, 0, &result);
    assert_int_equal(record_count[0], twin.count);
    record_count[1] = twin.count;
    for (int i = 0; i < twin.count; i++) {
        const struct engine_device *device = &program.whole.devices[twin.tasks[i].device];
        const struct engine_pass *pass = &program.whole.orders[device->order].passes[twin.tasks[i].pass];
        records[1][i] =
            (struct record){twin.tasks[i].device,
                            program.whole.templates[pass->template].tasks[twin.tasks[i].place].stream,
                            twin.tasks[i].begin,
                            twin.tasks[i].end,
                            i,
                            -1};
    }
    qsort(records[1], (size_t)twin.count, sizeof records[1][0], by_place);
    for (int i = 0; i < twin.count; i++) {
        assert_near(seed, "begin", i, records[0][i].begin, records[1][i].begin);
        assert_near(seed, "end", i, records[0][i].end, records[1][i].end);
    }
    /* With eighths of seconds as times, moments are the same to the last bit. */
    if (!shape->flows && !shape->shares && !shape->jitter) {
        for (int d = 0; d < program.whole.device_count; d++)
            assert_int_equal(result.devices[d].peak, twin.peaks[d]);
    }
    assert_accounted(seed, &program.whole, &result);
    engine_result_release(&result);
    twin_release(&twin);
    engine_program_release(&program);
}

static void compare_all(const struct program_shape *shape, uint64_t first)
{
    for (int i = 0; i < programs(); i++)
        compare(first + (uint64_t)i, shape);
}

static void streams_groups_and_messages(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 1}, 1);
}

static void stragglers_and_jitter(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 1, .jitter = true, .factors = true}, 1000000);
}

static void flows_that_share_links(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 1, .flows = true}, 2000000);
}

static void kernels_beside_collectives(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 1, .shares = true, .factors = true}, 3000000);
}

static void all_at_once(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 1, .flows = true, .shares = true, .jitter = true}, 4000000);
}

static void copies_of_flows(void **state)
{
    (void)state;
    compare_all(&(struct program_shape){.copies = 2, .flows = true, .shares = true}, 5000000);
}

/* Both simulators end, with the same times or without them. */
static void tasks_that_wait_for_each_other(void **state)
{
    (void)state;
    int stuck = 0;
    for (int i = 0; i < programs(); i++) {
        uint64_t seed = 7000000 + (uint64_t)i;
        struct program program;
        struct program_shape shape = {.copies = 1, .flows = i % 2 == 0, .shuffled = true};
        struct twin twin;
        struct engine_result result;
        struct error err;
        program_make(seed, &shape, &program);
        twin_play(&program.whole, &twin);
        bool played = engine_run(&program.whole, NULL, &result, &err);
        if (played == twin.stuck)
            fail_msg("seed %llu: the second simulator %s, the engine: %s", (unsigned long long)seed,
                     twin.stuck ? "is stuck" : "plays it", played ? "plays it" : err.text);
        if (played)
            assert_near(seed, "makespan", 0, result.makespan, twin.makespan);
        stuck += twin.stuck;
        engine_result_release(&result);
        twin_release(&twin);
        engine_program_release(&program);
    }
    int some = programs() / (SEARCH_STEP > 1 ? 50 : 20); /* of few programs, chance takes some */
    assert_in_range(stuck, some, programs() - some);
}

static void copies_played_as_one_have_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * programs(); i++) {
        uint64_t seed = 6000000 + (uint64_t)i;
        struct program program;
        struct program_shape shape = {
            .copies = 2 + i % 5, .flows = i % 8 != 0, .shares = i % 3 == 0, .factors = i % 2 == 0};
        struct engine_result whole, one;
        program_make(seed, &shape, &program);
        play(&program.whole, 0, &whole);
        play(&program.compressed, 1, &one);
        assert_int_equal(record_count[0], shape.copies * record_count[1]);
        for (int j = 0; j < record_count[0]; j++) {
            const struct record *copy = &records[0][j], *original = &records[1][j % record_count[1]];
            if (copy->begin != original->begin || copy->end != original->end)
                fail_msg("seed %llu: device %d, stream %d: %.17g to %.17g, but %.17g to %.17g as one",
                         (unsigned long long)seed, copy->device, copy->stream, copy->begin, copy->end,
                         original->begin, original->end);
        }
        size_t devices = (size_t)program.compressed.device_count;
        size_t labels = (size_t)program.compressed.label_count;
        for (size_t d = 0; d < devices * (size_t)shape.copies; d++) {
            assert_memory_equal(&whole.devices[d], &one.devices[d % devices], sizeof whole.devices[d]);
            assert_memory_equal(&whole.seconds[d * labels], &one.seconds[d % devices * labels],
                                sizeof whole.seconds[0] * labels);
        }
        assert_true(whole.makespan == one.makespan);
        engine_result_release(&whole);
        engine_result_release(&one);
        engine_program_release(&program);
    }
}

/* Devices are played region by region as far as that goes. */
static void regions_have_the_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * programs(); i++) {
        uint64_t seed = 9000000 + (uint64_t)i;
        struct program program;
        struct program_shape shape = {.copies = 1 + i % 5,
                                      .flows = i % 8 != 0,
                                      .shares = i % 3 == 0,
                                      .factors = i % 2 == 0,
                                      .jitter = i % 4 == 0};
        struct engine_result together, apart;
        program_make(seed, &shape, &program);
        play(&program.whole, 0, &together);
        program.whole.region = 1 + i % 3;
        play(&program.whole, 1, &apart);
        size_t devices = (size_t)program.whole.device_count, links = (size_t)program.whole.link_count;
        assert_int_equal(record_count[0], record_count[1]);
        for (int j = 0; j < record_count[0]; j++) {
            const struct record *a = &records[0][j], *b = &records[1][j];
            if (a->begin != b->begin || a->end != b->end)
                fail_msg("seed %llu: device %d, stream %d: %.17g to %.17g, but %.17g to %.17g by regions",
                         (unsigned long long)seed, a->device, a->stream, a->begin, a->end, b->begin, b->end);
        }
        assert_memory_equal(together.devices, apart.devices, devices * sizeof *apart.devices);
        assert_memory_equal(together.full, apart.full, links * sizeof *apart.full);
        assert_memory_equal(together.carried, apart.carried, links * sizeof *apart.carried);
        for (size_t d = 0; d < devices * (size_t)program.whole.label_count; d++)
            assert_true(fabs(together.seconds[d].waited - apart.seconds[d].waited) < 1e-9 &&
                        together.seconds[d].busy == apart.seconds[d].busy);
        engine_result_release(&together);
        engine_result_release(&apart);
        engine_program_release(&program);
    }
}

/* Copies are found, also where one of them differs, and the smaller system has the same bits. */
static void copies_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * programs(); i++) {
        uint64_t seed = 8000000 + (uint64_t)i, random = seed;
        struct program program;
        struct program_shape shape = {.copies = 2 + i % 5, .flows = i % 4 != 0, .shares = i % 3 == 0};
        struct engine_result whole, one;
        struct engine_symmetry symmetry;
        struct error err;
        program_make(seed, &shape, &program);
        int devices = program.whole.device_count;
        bool straggler = i % 2 == 0;
        if (straggler)
            ((struct engine_device *)program.whole.devices)[random_next(&random) % (uint64_t)devices].factor =
                1.5;
        if (!engine_symmetry_find(&program.whole, &symmetry, &err))
            fail_msg("%s", err.text);
        if (!straggler) {
            assert_true(symmetry.system.device_count <= program.compressed.device_count);
        }
        play(&program.whole, 0, &whole);
        play(&symmetry.system, 1, &one);
        int members = 0;
        for (int d = 0; d < symmetry.system.device_count; d++) {
            members += symmetry.system.devices[d].members;
            assert_int_equal(symmetry.device_class[symmetry.device[d]], d);
        }
        assert_int_equal(members, devices);
        size_t labels = (size_t)program.whole.label_count;
        for (int d = 0; d < devices; d++) {
            size_t class = (size_t)symmetry.device_class[d];
            assert_memory_equal(&whole.devices[d], &one.devices[class], sizeof one.devices[class]);
            assert_memory_equal(&whole.seconds[(size_t)d * labels], &one.seconds[class * labels],
                                labels * sizeof *one.seconds);
        }
        for (int l = 0; l < program.whole.link_count; l++)
            assert_int_equal(whole.carried[l], one.carried[symmetry.link_class[l]]);
        assert_true(whole.makespan == one.makespan);
        engine_result_release(&whole);
        engine_result_release(&one);
        engine_symmetry_release(&symmetry);
        engine_program_release(&program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_groups_and_messages),
        cmocka_unit_test(stragglers_and_jitter),
        cmocka_unit_test(flows_that_share_links),
        cmocka_unit_test(kernels_beside_collectives),
        cmocka_unit_test(all_at_once),
        cmocka_unit_test(copies_of_flows),
        cmocka_unit_test(tasks_that_wait_for_each_other),
        cmocka_unit_test(copies_played_as_one_have_the_same_bits),
        cmocka_unit_test(regions_have_the_same_bits),
        cmocka_unit_test(copies_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
