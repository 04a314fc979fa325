/* Configurations in the names of folders and files: UNET3D_8g_4b, DLRM_benchmark_8GPU_b32k, BERT_8gb6. */
#include "core/text.h"
#include "trace/steps/steps.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_GPUS  1000000
#define MAX_BATCH 1000000000000

/* Takes digits, with k and m for 2^10 and 2^20 if `units`; NULL: none, 0, or too large. */
static const char *take_count(const char *at, bool units, int64_t max, int64_t *value)
{
    int64_t number = 0;
    const char *start = at;
    for (; isdigit((unsigned char)*at); at++) {
        number = number * 10 + (*at - '0');
        if (number > max)
            return NULL;
    }
    if (at == start || number == 0)
        return NULL;
    if (units && (*at == 'k' || *at == 'm'))
        number *= *at++ == 'k' ? 1 << 10 : 1 << 20;
    *value = number;
    return number <= max ? at : NULL;
}

static const char *skip_separator(const char *at)
{
    return at + (*at == '_' || *at == '-' || *at == '=');
}

static bool is_start_of_number(const char *name, const char *at)
{
    return isdigit((unsigned char)*at) && (at == name || !isdigit((unsigned char)at[-1]));
}

/* Returns whether a word ends here: no letter follows. */
static bool ends_word(const char *at)
{
    return !isalpha((unsigned char)*at);
}

/* "8gpus", "8GPU"; then "8g", also in "8g4b" and "8gb6", but not in "16GB"; then "gpus8", "g8". */
static int64_t gpus_in(const char *name)
{
    int64_t value;
    for (const char *at = name; *at; at++) {
        const char *end = is_start_of_number(name, at) ? take_count(at, false, MAX_GPUS, &value) : NULL;
        if (end && (text_starts_with(end, "gpu") || text_starts_with(skip_separator(end), "gpu")))
            return value;
    }
    for (const char *at = name; *at; at++) {
        const char *end = is_start_of_number(name, at) ? take_count(at, false, MAX_GPUS, &value) : NULL;
        if (end && *end == 'g' && (ends_word(end + 1) || (end[1] == 'b' && isdigit((unsigned char)end[2]))))
            return value;
    }
    for (const char *at = name; *at; at++) {
        if (*at != 'g' || (at > name && isalnum((unsigned char)at[-1])))
            continue;
        const char *number = text_starts_with(at, "gpus")  ? at + 4
                             : text_starts_with(at, "gpu") ? at + 3
                                                           : at + 1;
        const char *end = take_count(skip_separator(number), false, MAX_GPUS, &value);
        if (end && ends_word(end))
            return value;
    }
    return 0;
}

/* B100, B200 and B300 are GPUs. */
static bool is_device(const char *at)
{
    return text_starts_with(at, "b100") || text_starts_with(at, "b200") || text_starts_with(at, "b300");
}

/* "batch4", "batch_size=4", "bs4", "b32k"; `b` may follow "8g". */
static bool batch_follows(const char *name, const char *at, int64_t *value)
{
    static const char *const words[] = {"batch_size", "batchsize", "batch", "bs", "b"};
    bool after_gpus = at - name >= 2 && at[-1] == 'g' && isdigit((unsigned char)at[-2]);
    if (*at != 'b' || is_device(at) || (at > name && isalnum((unsigned char)at[-1]) && !after_gpus))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *number = at + strlen(words[i]);
        const char *end =
            text_starts_with(at, words[i])
                ? take_count(strlen(words[i]) > 1 ? skip_separator(number) : number, true, MAX_BATCH, value)
                : NULL;
        if (end && (ends_word(end) || text_starts_with(end, "global")))
            return true;
    }
    return false;
}

/* "4batch", "32kglobal"; then "4b"; then the other way round. */
static int64_t batch_in(const char *name)
{
    int64_t value;
    for (const char *at = name; *at; at++) {
        const char *end = is_start_of_number(name, at) ? take_count(at, true, MAX_BATCH, &value) : NULL;
        if (end && (text_starts_with(end, "batch") || text_starts_with(end, "global")))
            return value;
    }
    for (const char *at = name; *at; at++) {
        const char *end = is_start_of_number(name, at) ? take_count(at, true, MAX_BATCH, &value) : NULL;
        if (end && *end == 'b' && ends_word(end + 1) && !isdigit((unsigned char)end[1]))
            return value;
    }
    for (const char *at = name; *at; at++)
        if (batch_follows(name, at, &value))
            return value;
    return 0;
}

static void workload_in(const char *name, char workload[STEPS_NAME])
{
    static const struct {
        const char *part, *name;
    } known[] = {{"unet", "UNET3D"},      {"bert", "BERT"},           {"dlrm", "DLRM"},
                 {"resnet", "ResNet-50"}, {"cosmoflow", "CosmoFlow"}, {"retinanet", "RetinaNet"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(name, known[i].part))
            snprintf(workload, STEPS_NAME, "%s", known[i].name);
}

void steps_path_configuration(const char *path, int64_t *gpus, int64_t *batch, char workload[STEPS_NAME])
{
    size_t end = strlen(path);
    *gpus = *batch = 0;
    workload[0] = '\0';
    while (end > 0) { /* the nearest name that says it */
        char name[256] = "";
        size_t start = end;
        while (start > 0 && path[start - 1] != '/')
            start--;
        size_t length = end - start < sizeof name ? end - start : sizeof name - 1;
        for (size_t i = 0; i < length; i++)
            name[i] = (char)tolower((unsigned char)path[start + i]);
        name[length] = '\0';
        if (*gpus == 0)
            *gpus = gpus_in(name);
        if (*batch == 0)
            *batch = batch_in(name);
        if (!*workload)
            workload_in(name, workload);
        end = start > 0 ? start - 1 : 0;
    }
}
