/* Logs of steps. The first byte says which; what it holds, the reader finds out. Nothing may crash, every failure has a
 * message, and what is kept is what statistics can be made of. */
#include "trace/steps/report.h"
#include "trace/steps/steps.h"
#include "walk.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {"UNET3D_8g_4b/unet3d.log", "DLRM_2g_b32k/dlrm_tera.log", "dlio.log",
                                    "BERT_8gb6/host.trace.json", "X_1g_1b/0_output.json"};

static void check(const struct steps *steps)
{
    size_t kept = 0;
    require(steps->places.count >= 0 && steps->places.count <= IMPORT_MAX_PLACES);
    require(steps->event_count <= STEPS_MAX_EVENTS && steps->malformed >= steps->places.count);
    for (size_t i = 0; i < steps->group_count; i++) {
        require(steps->groups[i].gpus > 0 && steps->groups[i].batch > 0);
        for (int j = 0; j < STEPS_MAX_EVENTS; j++) {
            const struct steps_values *values = &steps->groups[i].events[j];
            kept += values->count;
            for (size_t k = 0; k < values->count; k++)
                require(isfinite(values->items[k]) && values->items[k] >= 0 &&
                        (k == 0 || values->items[k] >= values->items[k - 1]));
        }
    }
    require(kept == steps->value_count);
}

static void report(const struct steps *steps)
{
    struct steps_model model;
    struct text text = {0};
    struct error err;
    require(steps_model(steps, &model, &err));
    require(steps_print(steps, &model, &text, &err) &&
            steps_write_json(steps, &model, &(struct json){.out = &text}, &err));
    steps_model_release(&model);
    text_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct steps steps = {0};
    struct error err = {0};
    if (size < 1)
        return 0;
    const struct steps_options options = {.skip_epochs = data[0] & 64 ? 0 : -1, .as_study = data[0] & 128};
    const char *path = paths[(data[0] & 63) % (sizeof paths / sizeof *paths)];
    if (steps_read_text(&steps, path, (const char *)data + 1, size - 1, &options, &err) &&
        steps_finish(&steps, &err)) {
        check(&steps);
        report(&steps);
    } else {
        require_message(&err);
    }
    steps_release(&steps);
    return 0;
}
