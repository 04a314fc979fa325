#include "api/sim/simulate.h"

#include <string.h>

#define MAX_NAME 127

bool simulate_as_usage(struct error *err)
{
    if (err->kind == ERROR_INPUT)
        err->kind = ERROR_USAGE;
    return false;
}

/* Fills in the entries for a list of names. Returns their number; 0: an error. */
static int read_names(const char *names, struct simulate_entry *entries, struct error *err)
{
    int count = 0;
    for (const char *at = names;;) {
        size_t length = strcspn(at, ",");
        char name[MAX_NAME + 1];
        if (length > MAX_NAME || count == SIMULATE_MAX_ENTRIES) {
            error_set(err, ERROR_USAGE,
                      "--schedule: more than %d schedules, or a name of more than %d characters",
                      SIMULATE_MAX_ENTRIES, MAX_NAME);
            return 0;
        }
        memcpy(name, at, length);
        name[length] = '\0';
        entries[count].schedule = schedule_find(name, &entries[count].chunks, err);
        if (entries[count++].schedule == NULL) {
            simulate_as_usage(err);
            return 0;
        }
        at += length;
        if (*at++ == '\0')
            return count;
    }
}

int simulate_entries_read(const struct simulate_options *given, struct simulate_entry *entries,
                          struct error *err)
{
    struct error unknown;
    int count = 0;
    if (given->asked.schedule == NULL || strcmp(given->asked.schedule, "all") == 0) {
        while (schedules[count].name != NULL && count < SIMULATE_MAX_ENTRIES) {
            entries[count].schedule = &schedules[count];
            count++;
        }
        return count;
    }
    /* A name may have a comma of its own. */
    entries[0].schedule = schedule_find(given->asked.schedule, &entries[0].chunks, &unknown);
    return entries[0].schedule != NULL ? 1 : read_names(given->asked.schedule, entries, err);
}
