#include "plan/split/job.h"
#include "support/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void refuses(const struct job *job, const char *message)
{
    struct error err;
    assert_false(job_check(job, &err));
    assert_string_equal(err.text, message);
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
}

static void accepts_what_fits(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    assert_true(job_check(&job, &err));
    job.tensor = 4, job.pipeline = 2;
    job_spread(&job, 16);
    assert_true(job_check(&job, &err));
}

static void refuses_degrees_that_do_not_multiply(void **state)
{
    (void)state;
    struct job job = job_example();
    job.tensor = 2;
    refuses(&job, "tensor 2 x pipeline 1 x context 1 x data 8 parallel is not 8 devices");
}

static void refuses_what_does_not_divide(void **state)
{
    (void)state;
    struct job job = job_example();
    job.batch = 63;
    refuses(&job, "the global batch (63) is not a multiple of data parallel x micro-batch (8)");
    job = job_example();
    job.tensor = 3;
    job_spread(&job, 24);
    job.batch = 64;
    refuses(&job, "the number of heads (32) is not a multiple of tensor parallel (3)");
    job = job_example();
    job.context = 3;
    job_spread(&job, 24);
    refuses(&job, "the sequence (4096) is not a multiple of context parallel (3)");
}

static void refuses_more_stages_than_blocks(void **state)
{
    (void)state;
    struct job job = job_example();
    job.pipeline = 8, job.chunks = 5;
    job_spread(&job, 8);
    refuses(&job, "8 stages of 5 chunks are more than 32 blocks");
}

static void embedding_and_head_may_be_chunks(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    job.pipeline = 2, job.chunks = 17; /* of 32 blocks */
    job_spread(&job, 8);
    assert_true(job_check(&job, &err));
}

static void refuses_experts_of_a_dense_model(void **state)
{
    (void)state;
    struct job job = job_example();
    job.expert = 8;
    refuses(&job, "expert parallel 8, but 'llama-3-8b' has no experts");
}

static void degrees_alone_say_nothing_of_the_batch(void **state)
{
    (void)state;
    struct error err;
    struct job job = job_example();
    job.batch = 63;
    assert_true(job_check_degrees(&job, &err));
    job.sharding = 4;
    assert_false(job_check_degrees(&job, &err));
    assert_string_equal(err.text, "expected a ZeRO stage from 0 to 3, found 4");
}

static void refuses_more_tokens_than_positions(void **state)
{
    (void)state;
    struct job job = job_example();
    struct architecture model = *job.model;
    model.positions = 2048;
    job.model = &model;
    refuses(&job, "the sequence (4096) is longer than the 2048 positions of 'llama-3-8b'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_fits),
        cmocka_unit_test(refuses_degrees_that_do_not_multiply),
        cmocka_unit_test(refuses_what_does_not_divide),
        cmocka_unit_test(refuses_more_stages_than_blocks),
        cmocka_unit_test(embedding_and_head_may_be_chunks),
        cmocka_unit_test(refuses_experts_of_a_dense_model),
        cmocka_unit_test(degrees_alone_say_nothing_of_the_batch),
        cmocka_unit_test(refuses_more_tokens_than_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
