/* Arguments of Megatron-LM; what reads is set in a job, whose flags must read back and write the same. */
#include "devices/tables.h"
#include "launch/launch.h"

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
        .tensor = 1,
        .pipeline = 1,
        .data = 64,
        .context = 1,
        .expert = 1,
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
    if (!launch_read_megatron("fuzz", text, length, options, &err)) {
        require(err.text[0] != '\0');
        return false;
    }
    launch_complete(options);
    if (launch_apply(options, job, &err))
        return true;
    launch_options_release(options);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct job job, back;
    struct launch_options options, again;
    struct text first = {0}, second = {0};
    struct error err;
    if (!read_job((const char *)data, size, &job, &options))
        return 0;
    for (int i = 0; i < LAUNCH_FORMAT_COUNT; i++) {
        struct text out = {0};
        if (launch_write((enum launch_format)i, &job, &out, &err))
            require(out.length > 0);
        text_release(&out);
    }
    if (launch_write(LAUNCH_MEGATRON, &job, &first, &err)) {
        require(read_job(first.data, first.length, &back, &again));
        require(launch_write(LAUNCH_MEGATRON, &back, &second, &err));
        require(strcmp(first.data, second.data) == 0);
        launch_options_release(&again);
    }
    text_release(&first);
    text_release(&second);
    launch_options_release(&options);
    return 0;
}
