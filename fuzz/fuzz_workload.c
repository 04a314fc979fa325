/* DLIO's configuration: what reads must print, read back as the same, and give shards and times that are finite. The
 * first byte 0xff takes the rest as an override of the defaults. */
#include "core/doc.h"
#include "feed/checkpoint/shards.h"
#include "feed/workload/compute_time.h"
#include "feed/workload/layout.h"
#include "feed/workload/workload.h"

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

static void check_same(const struct workload *first, const struct workload *second)
{
    struct text one = {0}, other = {0};
    workload_write_yaml(first, &one);
    workload_write_yaml(second, &other);
    require(one.length == other.length && memcmp(one.data, other.data, one.length) == 0);
    text_release(&one);
    text_release(&other);
}

static void check_printed(const struct workload *workload)
{
    struct text yaml = {0}, text = {0};
    struct json json = {.out = &text};
    struct workload again;
    struct workload_options strict = {.strict = true};
    struct doc doc;
    struct error err;
    workload_write_yaml(workload, &yaml);
    workload_write_json(workload, &json, NULL);
    require(doc_parse(&doc, DOC_JSON, "a.json", text.data, text.length, &err));
    doc_release(&doc);
    require(workload_parse(&again, "a.yaml", yaml.data, yaml.length, &strict, &err));
    check_same(workload, &again);
    workload_release(&again);
    text_release(&yaml);
    text_release(&text);
}

static void check_shards(const struct workload *workload, int64_t ranks)
{
    struct checkpoint_shards shards;
    struct error err;
    if (!checkpoint_shards_init(&shards, workload, ranks, &err))
        return;
    for (int64_t rank = 0; rank < ranks; rank += 7) {
        int count = checkpoint_shards_count(&shards, rank);
        require(count >= 0);
        for (int i = 0; i < count && i < 50; i++) {
            struct checkpoint_shard shard;
            checkpoint_shards_get(&shards, rank, i, &shard);
            require(shard.bytes >= 0 && shard.name[0] != 0);
        }
    }
}

static void check_layout(const struct workload *workload)
{
    struct dataset_layout layout;
    struct dataset_file file;
    struct error err;
    if (!workload_layout(workload, NULL, &layout, &err))
        return;
    if (dataset_files(&layout) > 0) {
        dataset_file_init(&file, &layout, dataset_files(&layout) - 1);
        require(file.record_bytes > 0 && file.samples > 0);
    }
    dataset_layout_release(&layout);
}

static void check_time(const struct workload *workload)
{
    struct distribution time;
    struct error err;
    if (compute_time_of_step(workload, 8, &time, &err)) {
        double seconds = distribution_sample(&time, (struct distribution_draw){.seed = 1});
        require(isfinite(seconds) && seconds >= 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload workload;
    struct error err;
    char override[512] = "";
    const char *overrides[] = {override};
    struct workload_options options = {.overrides = overrides};
    const char *text = (const char *)data;
    if (size > 0 && data[0] == 0xff) {
        size_t length = size - 1 < sizeof override - 1 ? size - 1 : sizeof override - 1;
        memcpy(override, data + 1, length);
        options.override_count = 1;
        text = "{}";
        size = 2;
    }
    if (!workload_parse(&workload, "fuzz.yaml", text, size, &options, &err)) {
        require(err.text[0] != 0);
        return 0;
    }
    check_printed(&workload);
    check_shards(&workload, 1);
    check_shards(&workload, 64);
    check_layout(&workload);
    check_time(&workload);
    workload_release(&workload);
    return 0;
}
