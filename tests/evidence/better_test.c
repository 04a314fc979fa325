#include "evidence/better.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define COLUMNS                                                                                              \
    "id,gpu,gpus,framework,model,seq,precision,tp,pp,cp,vp,zero,mbs,gbs,recompute,sec_per_iter,sec_basis\n"
#define MOST 8

struct compared {
    struct validation validation;
    struct better betters[MOST];
};

static void compare(struct compared *compared, const char *rows, struct parallel *pool)
{
    char path[] = "/tmp/rehearse-better-XXXXXX";
    int file = mkstemp(path);
    struct error err;
    assert_true(file >= 0);
    assert_int_equal(write(file, COLUMNS, strlen(COLUMNS)), (ssize_t)strlen(COLUMNS));
    assert_int_equal(write(file, rows, strlen(rows)), (ssize_t)strlen(rows));
    close(file);
    bool loaded = validation_load(&compared->validation, path, &(struct validation_defaults){0}, &err);
    unlink(path);
    if (!loaded)
        fail_msg("%s", err.text);
    assert_true(compared->validation.count <= MOST);
    validation_predict(&compared->validation, NULL);
    assert_true(better_find(compared->betters, &compared->validation, pool, &err));
}

/* One stage after another, all recomputed, hardly any micro-batches: much to gain. */
#define SLOW "slow,H100,64,Megatron-Core,llama-3-8b,8192,bf16,1,8,1,1,1,1,64,full,10,printed\n"

static void a_poor_split_gains(void **state)
{
    (void)state;
    struct compared c;
    compare(&c, SLOW, NULL);
    const struct better *better = &c.betters[0];
    assert_null(c.validation.runs[0].reason);
    assert_true(better->found);
    assert_true(better->used_fits);
    assert_true(better->seconds == c.validation.runs[0].predicted.seconds);
    assert_true(better->gain > 0.2);
    assert_true(fabs(better->gain - (better->seconds / better->plan.time.seconds - 1.0)) < 1e-12);
    assert_non_null(strstr(better->changes, "pp 8 to "));
    assert_non_null(strstr(better->changes, "recompute full to none"));
    assert_null(strstr(better->changes, "dp ")); /* follows from the others */
    assert_string_equal(better->part, "bubble");
    assert_true(better->saved > 0.0);
    validation_release(&c.validation);
}

static void what_is_best_has_no_better(void **state)
{
    (void)state;
    struct compared c;
    compare(&c, SLOW, NULL);
    struct job best = c.betters[0].plan.job;
    char row[256];
    snprintf(row, sizeof row,
             "best,H100,%d,Megatron-Core,llama-3-8b,8192,bf16,%d,%d,%d,%d,%d,%d,64,%s,10,printed\n",
             best.devices, best.degrees.tensor, best.degrees.pipeline, best.degrees.context, best.chunks,
             best.sharding, (int)best.microbatch, recompute_name(best.recompute));
    validation_release(&c.validation);
    compare(&c, row, NULL);
    assert_true(c.betters[0].found);
    assert_true(fabs(c.betters[0].gain) < 1e-9);
    assert_string_equal(c.betters[0].changes, "");
    assert_null(c.betters[0].part);
    validation_release(&c.validation);
}

static void no_run_is_faster_than_its_best_plan(void **state)
{
    (void)state;
    struct compared c;
    compare(&c,
            "a,H100,16,Megatron-Core,llama-3-8b,8192,bf16,2,2,1,1,1,1,64,none,10,printed\n"
            "b,A100-SXM4-80GB,64,Megatron-Core,llama-3-70b,4096,bf16,8,4,1,1,1,1,128,full,50,printed\n"
            "c,H100,8,PyTorch FSDP,llama-3-8b,4096,bf16,1,1,1,1,3,1,64,full,10,printed\n"
            "d,H100,32,Megatron-Core,mixtral-8x7b,4096,bf16,2,4,1,1,1,1,128,none,10,printed\n",
            NULL);
    for (int i = 0; i < c.validation.count; i++) {
        if (c.validation.runs[i].reason)
            fail_msg("run %d: %s", i, c.validation.runs[i].reason);
        assert_true(c.betters[i].found);
        assert_true(c.betters[i].gain >= -1e-9);
        assert_true(c.betters[i].plan.job.devices <= c.validation.runs[i].job.devices);
    }
    validation_release(&c.validation);
}

/* It ran, so a plan may need as much. */
static void more_than_the_device_has_is_allowed_where_it_was_used(void **state)
{
    (void)state;
    struct compared c;
    compare(&c, "a,H100,16,Megatron-Core,llama-3-70b,4096,bf16,8,2,1,1,1,4,64,none,10,printed\n", NULL);
    const struct run *run = &c.validation.runs[0];
    assert_true(run->predicted_memory.total > (double)run->job.device->memory);
    assert_true(c.betters[0].found);
    assert_false(c.betters[0].used_fits);
    assert_true(c.betters[0].plan.memory.total <= run->predicted_memory.total * (1.0 + 1e-6));
    assert_true(c.betters[0].gain >= -1e-9);
    validation_release(&c.validation);
}

static void what_is_not_modelled_has_no_plan(void **state)
{
    (void)state;
    struct compared c;
    compare(&c, "a,TPUv3,8,Megatron-Core,llama-3-8b,8192,bf16,1,1,1,1,1,1,8,none,1,printed\n" SLOW, NULL);
    assert_non_null(c.validation.runs[0].reason);
    assert_false(c.betters[0].found);
    assert_true(c.betters[0].gain == 0.0);
    assert_true(c.betters[1].found);
    validation_release(&c.validation);
}

static void threads_find_the_same(void **state)
{
    (void)state;
    struct compared one, three;
    struct parallel *pool = parallel_new(3, &(struct error){0});
    const char *rows = SLOW "b,H100,16,Megatron-Core,llama-3-8b,8192,bf16,2,2,1,1,1,1,64,none,10,printed\n";
    compare(&one, rows, NULL);
    compare(&three, rows, pool);
    for (int i = 0; i < 2; i++) {
        assert_true(one.betters[i].gain == three.betters[i].gain);
        assert_string_equal(one.betters[i].changes, three.betters[i].changes);
    }
    validation_release(&one.validation);
    validation_release(&three.validation);
    parallel_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poor_split_gains),
        cmocka_unit_test(what_is_best_has_no_better),
        cmocka_unit_test(no_run_is_faster_than_its_best_plan),
        cmocka_unit_test(more_than_the_device_has_is_allowed_where_it_was_used),
        cmocka_unit_test(what_is_not_modelled_has_no_plan),
        cmocka_unit_test(threads_find_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
