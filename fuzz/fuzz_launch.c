/* Arguments of Megatron-LM: those that can be read are set in a job, whose own arguments must read back and be written alike. */
#include "devices/tables.h"
#include "launch/launch.h"
#include "plan/split/plan.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static struct job job_any(void)
{
    const struct cost_device *device = tables_device(NULL, "h100");
    struct job job = {
        .model = architecture_find("llama-3-8b"),
        .device = device,
        .calibration = tables_calibration(NULL, device),
        .software = software_find("megatron-core"),
        .inside = tables_link(NULL, device->link),
        .across = tables_link(NULL, "ib-400g"),
        .devices = 64,
        .devices_per_node = 8,
        .degrees = {1, 1, 1, 1, .data = 64},
        .chunks = 1,
        .microbatch = 1,
        .batch = 512,
        .sequence = 4096,
        .type = COST_BF16,
    };
    return job;
}

static bool read_job(const char *text, size_t length, struct job *job, struct launch_options *options)
{
    struct error err;
    *job = job_any();
    const struct launch_input input = {.path = "fuzz", .data = text, .length = length, .is_alone = true};
    *options = (struct launch_options){0};
    if (!launch_read(options, &input, &err)) {
        require(err.text[0] != '\0');
        return false;
    }
    launch_complete(options);
    if (launch_apply(options, job, &err))
        return true;
    launch_options_release(options);
    return false;
}

/* The job as a plan. */
static bool planned(const struct job *job, struct plan *plan)
{
    struct error err;
    plan_init(plan);
    if (job_check(job, &err) && plan_of_one_job(plan, job, job->devices, &err))
        return true;
    require(err.text[0] != '\0');
    plan_release(plan);
    return false;
}

static bool written(enum launch_format format, const struct job *job, const struct plan *plan,
                    struct text *out)
{
    struct error err;
    bool ok = launch_write(format, plan, job, out, &err);
    require(ok ? out->length > 0 : err.text[0] != '\0');
    return ok;
}

/* What is written for Megatron-LM reads back, and is written alike. */
static void read_back(const struct job *job, const struct plan *plan)
{
    struct job back;
    struct launch_options again;
    struct plan second_plan;
    struct text first = {0}, second = {0};
    if (written(LAUNCH_MEGATRON, job, plan, &first)) {
        require(read_job(first.data, first.length, &back, &again));
        require(planned(&back, &second_plan));
        require(written(LAUNCH_MEGATRON, &back, &second_plan, &second));
        require(strcmp(first.data, second.data) == 0);
        plan_release(&second_plan);
        launch_options_release(&again);
    }
    text_release(&first);
    text_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job job;
    struct launch_options options;
    struct plan plan;
    if (!read_job((const char *)data, size, &job, &options))
        return 0;
    if (planned(&job, &plan)) {
        for (int i = 0; i < LAUNCH_FORMAT_COUNT; i++) {
            struct text out = {0};
            written((enum launch_format)i, &job, &plan, &out);
            text_release(&out);
        }
        read_back(&job, &plan);
        plan_release(&plan);
    }
    launch_options_release(&options);
    return 0;
}
