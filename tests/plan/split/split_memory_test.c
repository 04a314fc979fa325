#include "devices/tables.h"
#include "plan/split/job.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void near(double a, double b, double share)
{
    if (fabs(a / b - 1.0) > share)
        fail_msg("%.6g is not %.6g within %g", a, b, share);
}

/* bf16 parameters, fp32 gradients, and twelve bytes of optimizer states over the data parallel ranks. */
static void states_are_six_and_twelve_bytes(void **state)
{
    (void)state;
    struct job job = job_example();
    double parameters = architecture_parameters(job.model);
    struct job_memory memory = job_memory(&job);
    near(memory.parameters, 2.0 * parameters, 0.001);
    near(memory.gradients, 4.0 * parameters, 0.001);
    near(memory.optimizer, 12.0 * parameters / 8.0, 0.001);
}

static void sharding_takes_shares(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = INFINITY;
    for (job.sharding = 0; job.sharding <= 3; job.sharding++) {
        struct job_memory memory = job_memory(&job);
        double held = memory.parameters + memory.gradients + memory.optimizer;
        assert_true(held < before);
        before = held;
    }
}

/* sbh (34 + 5as/h) bytes per block (arXiv:2205.05198, equation 1): a GPT in 16 bits, dropout, unfused attention. */
static void activations_are_those_of_the_paper(void **state)
{
    (void)state;
    struct job job = job_example();
    job.model = architecture_find("megatron-18b");
    job.software = software_find("megatron-2021");
    job.sequence = 2048;
    job_spread(&job, 8);
    double sbh = 2048.0 * (double)job.model->hidden;
    double expected = sbh * (34.0 + 5.0 * (double)job.model->heads * 2048.0 / (double)job.model->hidden);
    struct job_memory memory = job_memory(&job);
    near(memory.activations, expected * job.model->layers, 0.01);
}

static void recomputing_keeps_less(void **state)
{
    (void)state;
    struct job job = job_example();
    job.software = software_find("megatron-2021");
    double none = job_memory(&job).activations;
    job.recompute = RECOMPUTE_SELECTIVE;
    double selective = job_memory(&job).activations;
    job.recompute = RECOMPUTE_FULL;
    double full = job_memory(&job).activations;
    assert_true(full < selective && selective < none);
}

static void grows_with_the_microbatch(void **state)
{
    (void)state;
    struct job job = job_example();
    double before = 0.0;
    for (job.microbatch = 1; job.microbatch <= 8; job.microbatch *= 2) {
        double total = job_memory(&job).total;
        assert_true(total > before);
        before = total;
    }
}

static void parts_add_up(void **state)
{
    (void)state;
    struct job job = job_example();
    job.pipeline = 4, job.tensor = 2;
    job_spread(&job, 16);
    struct job_memory m = job_memory(&job);
    near(m.total, m.parameters + m.gradients + m.optimizer + m.activations + m.working + m.runtime, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_six_and_twelve_bytes),    cmocka_unit_test(sharding_takes_shares),
        cmocka_unit_test(activations_are_those_of_the_paper), cmocka_unit_test(recomputing_keeps_less),
        cmocka_unit_test(grows_with_the_microbatch),          cmocka_unit_test(parts_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
