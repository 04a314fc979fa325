#include "feed/host.h"

#include "core/text.h"
#include "feed/groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a number; a negative or missing one is 0. */
static int64_t number_at(const char *text)
{
    int64_t number;
    return text_whole(text, " \t\n", &number) && number > 0 ? number : 0;
}

int64_t host_delay_of(const char *schedstat)
{
    const char *second = strchr(schedstat, ' ');
    return second ? number_at(second) : 0;
}

int64_t host_thread_delay(int tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", tid);
    char *text = groups_text(path);
    int64_t delay = text ? host_delay_of(text) : 0;
    free(text);
    return delay;
}

/* Returns the rest of the line that begins with a word; NULL: there is none. */
static const char *line_of(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
        if (strncmp(text, word, length) == 0 && text[length] == ' ')
            return text + length;
    return NULL;
}

int64_t host_throttled_of(const char *cpu_stat)
{
    const char *microseconds = line_of(cpu_stat, "throttled_usec");
    const char *nanoseconds = line_of(cpu_stat, "throttled_time");
    if (microseconds) {
        int64_t number = number_at(microseconds);
        return number > INT64_MAX / 1000 ? INT64_MAX : number * 1000;
    }
    return nanoseconds ? number_at(nanoseconds) : 0;
}

static void add_throttled(void *sum, const char *text)
{
    *(int64_t *)sum += host_throttled_of(text);
}

int64_t host_throttled(void)
{
    int64_t sum = 0;
    groups_each("cpu", "cpu.stat", add_throttled, &sum);
    groups_each("", "cpu.stat", add_throttled, &sum);
    return sum;
}
