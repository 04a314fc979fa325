/* Launch descriptions of all kinds, and configurations of models: the first byte says which ('a': the first name below). What
 * is read can be completed, made a job and priced; each price is positive and finite, and each fault has a message. */
#include "devices/architecture_config.h"
#include "devices/tables.h"
#include "launch/price.h"

#include <math.h>
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

static const char *const names[] = {"a.sh", "a.yaml", "a.toml", "a.json", "config.json", "a.py"};

#define NAMES (sizeof names / sizeof *names)

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
        .sequence = 4096,
    };
    return job;
}

static void read_config(const char *text, size_t length)
{
    struct doc doc;
    struct error err;
    struct architecture model;
    struct arena arena = {0};
    if (!doc_parse_lax(&doc, DOC_JSON, "config.json", text, length, &err)) {
        require(err.text[0] != '\0');
        return;
    }
    if (doc.root->type == DOC_MAP && architecture_is_config(&doc)) {
        if (architecture_of_config(&model, &doc, &arena, &err))
            require(architecture_parameters(&model) >= 1);
        else
            require(err.text[0] != '\0');
    }
    doc_release(&doc);
    arena_release(&arena);
}

static void price(struct launch_options *options)
{
    struct launch_price price = {.options = options, .job = job_any()};
    struct text text = {0};
    struct json json = {.out = &text};
    struct error err;
    bool known = true;
    launch_complete(options);
    if (options->sequence.given)
        price.job.sequence = options->sequence.value;
    if (!launch_model(options, &price.job.model, &known, &err)) {
        require(err.text[0] != '\0');
        return;
    }
    if (!known)
        price.job.model = architecture_find("llama-3-8b");
    if (!launch_price_job(&price, &err)) {
        require(err.text[0] != '\0');
        return;
    }
    require(isfinite(price.time.seconds) && price.time.seconds > 0);
    require(isfinite(price.memory.total) && price.memory.total > 0);
    launch_price_print(&price, &text);
    launch_price_write(&price, true, &json);
    require(text.length > 0);
    text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct launch_options options = {0};
    struct error err;
    if (size < 1 || data[0] < 'a' || data[0] >= 'a' + NAMES)
        return 0;
    size_t which = data[0] - 'a';
    if (strcmp(names[which], "config.json") == 0) {
        read_config((const char *)data + 1, size - 1);
        return 0;
    }
    const struct launch_input input = {
        .path = names[which], .data = (const char *)data + 1, .length = size - 1, .is_alone = true};
    if (!launch_read(&options, &input, &err)) {
        require(err.text[0] != '\0');
        return 0;
    }
    if (options.reader)
        price(&options);
    launch_options_release(&options);
    return 0;
}
