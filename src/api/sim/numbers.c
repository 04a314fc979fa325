#include "api/sim/simulate.h"

#include "core/unit.h"
#include "core/unit/dimension.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS 1e12
#define MAX_WORD    63

/* Reads one time of a list, from `at` up to a comma. */
static bool read_time(const char *option, const char *at, size_t length, double *seconds, struct error *err)
{
    char word[MAX_WORD + 1];
    if (length > MAX_WORD)
        return error_set(err, ERROR_USAGE, "--%s: a time of %zu characters", option, length);
    memcpy(word, at, length);
    word[length] = '\0';
    if (!unit_parse(word, UNIT_TIME, seconds))
        return error_set(err, ERROR_USAGE,
                         "--%s: expected seconds, or a list of them separated by commas, found '%s'", option,
                         word);
    if (*seconds < 0 || *seconds > MAX_SECONDS)
        return error_set(err, ERROR_USAGE, "--%s: expected a time from 0 to %g s, found '%s'", option,
                         MAX_SECONDS, word);
    return dimension_parse(DIMENSION_PASS, UNIT_TIME, option, word, seconds, err);
}

static bool read_times(const char *option, const char *text, double **list, struct trial_times *times,
                       struct error *err)
{
    size_t count = 1;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ',';
    if (count > ORDER_MAX_STAGES)
        return error_set(err, ERROR_USAGE, "--%s: more than %d times", option, ORDER_MAX_STAGES);
    *list = malloc(count * sizeof **list);
    if (*list == NULL)
        return error_memory(err);
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(at, ",");
        if (!read_time(option, at, length, &(*list)[i], err))
            return false;
        at += length + 1;
    }
    *times = (struct trial_times){*list, (int)count};
    return true;
}

static double sum_of(const struct trial_times *times)
{
    double sum = 0;
    for (int i = 0; i < times->count; i++)
        sum += times->seconds[i];
    return sum;
}

bool simulate_numbers_read(const struct simulate_options *given, struct simulate_numbers *numbers,
                           struct error *err)
{
    struct trial_options *options = &numbers->options;
    *numbers = (struct simulate_numbers){
        .options = {.devices = (int)given->asked.stages,
                    .microbatches = (int)given->asked.microbatches,
                    .chunks = (int)given->asked.chunks,
                    .send_blocks = given->asked.send_blocks,
                    .streams = (enum comm_streams)option_index(comm_stream_names, given->asked.comm_streams),
                    .hidden = given->asked.hidden,
                    .memory = given->asked.memory_limit}};
    if (!read_times("forward", given->asked.forward, &numbers->lists[0], &options->forward, err) ||
        !read_times("backward", given->asked.backward, &numbers->lists[1], &options->input, err) ||
        !read_times("weight", given->asked.weight, &numbers->lists[2], &options->weight, err) ||
        !read_times("comm", given->asked.comm, &numbers->lists[3], &options->send, err))
        return false;
    if (sum_of(&options->forward) + sum_of(&options->input) + sum_of(&options->weight) <= 0)
        return error_set(err, ERROR_USAGE,
                         "--forward, --backward and --weight are all 0: no pass takes time");
    return true;
}

void simulate_numbers_release(struct simulate_numbers *numbers)
{
    for (size_t i = 0; i < sizeof numbers->lists / sizeof *numbers->lists; i++)
        free(numbers->lists[i]);
}
