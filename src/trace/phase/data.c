#include "trace/phase/internal.h"

#include "core/hash.h"
#include "core/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MIN_SHARE  0.05 /* of all bytes read */
#define MIN_BYTES  ((int64_t)1 << 20)
#define MOMENTS    4096
#define MAX_GROUPS 20 /* no more can have MIN_SHARE */

struct group {
    int64_t bytes;
    uint64_t moments[MOMENTS / 64]; /* in which it is read */
    int set;                        /* index of a group: that of the set's first */
};

struct data_search {
    struct trace_reader *reader;
    struct phase_events *events;
    uint32_t *group_of; /* of file ids, from 1; 0: left out */
    int64_t *bytes;     /* by group, from 1 */
    uint32_t groups;
    int64_t first_ns, last_ns; /* of all reading that counts */
    uint32_t chosen[MAX_GROUPS];
    struct group *data; /* [chosen_count] */
    int chosen_count;
};

/* ---- names ---- */

/* Returns whether a path belongs to a program, or to no file. */
static bool left_out(const char *path)
{
    static const char *const prefixes[] = {
        "/usr/", "/lib",    "/bin/",      "/sbin/", "/etc/",   "/proc/", "/sys/", "/dev/",
        "pipe:", "socket:", "anon_inode", "/run/",  "/memfd:", "[",      "UNIX"};
    static const char *const suffixes[] = {".py", ".pyc", ".pyi", ".so", ".log"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (text_starts_with(path, prefixes[i]))
            return true;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (text_ends_with(path, suffixes[i]))
            return true;
    return !*path || strstr(path, ".so.") || strstr(path, "/site-packages/") || strstr(path, " -> ");
}

/* Returns whether these digits are a number of files, as in "07_of_32" and "00007-of-00032". */
static bool counts_files(const char *path, const char *digits)
{
    return digits - path >= 4 && !isalnum((unsigned char)digits[-4]) && digits[-3] == 'o' &&
           digits[-2] == 'f' && !isalnum((unsigned char)digits[-1]);
}

bool phase_group_name(const char *path, char *name, size_t size)
{
    size_t length = 0;
    const char *base = basename(path);
    bool digits = strpbrk(base, "0123456789") != NULL;
    if (left_out(path) || size < 2)
        return false;
    for (const char *at = path; *at && length < size - 1;) {
        if (!digits && at == base) { /* grouped by the folder and the ending after the last dot */
            const char *dot = strrchr(base, '.');
            at = dot ? dot : base + strlen(base);
            digits = true;
        } else if (isdigit((unsigned char)*at) && !counts_files(path, at)) {
            name[length++] = '#';
            at += strspn(at, "0123456789");
        } else if (isdigit((unsigned char)*at)) {
            while (isdigit((unsigned char)*at) && length < size - 1)
                name[length++] = *at++;
        } else {
            name[length++] = *at++;
        }
    }
    name[length] = '\0';
    return true;
}

static bool name_groups(struct data_search *search, struct error *err)
{
    struct hash_names names = {0};
    int64_t files = trace_file_count(search->reader);
    bool done = true;
    for (int64_t id = 1; done && id <= files; id++) {
        char name[1024];
        bool added;
        if (!phase_group_name(trace_file_info(search->reader, id)->path, name, sizeof name))
            continue;
        search->group_of[id] = hash_names_id(&names, name, strlen(name), &added);
        done = search->group_of[id] != 0;
        if (search->group_of[id] > search->groups)
            search->groups = search->group_of[id];
    }
    hash_names_release(&names);
    if (done)
        search->bytes = calloc((size_t)search->groups + 1, sizeof *search->bytes);
    return (done && search->bytes) || error_memory(err);
}

/* ---- groups ---- */

/* Returns the bytes that an event reads from a file, or 0. */
static int64_t phase_bytes_read(const struct trace_event *event)
{
    return event->class == TRACE_WRITE ? 0 : trace_bytes_moved(event);
}

static uint32_t group_of(const struct data_search *search, const struct trace_event *event)
{
    return event->file > 0 && event->file <= trace_file_count(search->reader) ? search->group_of[event->file]
                                                                              : 0;
}

typedef void take_read(struct data_search *search, uint32_t group, const struct trace_event *event,
                       int64_t bytes);

static bool each_read(struct data_search *search, take_read *take, struct error *err)
{
    struct trace_event event;
    phase_events_begin(search->events, err);
    while (phase_events_next(search->events, &event)) {
        bool reads = event.class == TRACE_READ || event.class == TRACE_FAULT;
        uint32_t group = reads ? group_of(search, &event) : 0;
        int64_t bytes = group ? phase_bytes_read(&event) : 0;
        if (bytes > 0)
            take(search, group, &event, bytes);
    }
    return phase_events_end(search->events, err);
}

static void add_bytes(struct data_search *search, uint32_t group, const struct trace_event *event,
                      int64_t bytes)
{
    search->bytes[group] += bytes;
    search->bytes[0] += bytes;
    search->first_ns = event->start_ns < search->first_ns ? event->start_ns : search->first_ns;
    search->last_ns = event->start_ns > search->last_ns ? event->start_ns : search->last_ns;
}

static bool choose_groups(struct data_search *search, struct error *err)
{
    double min = MIN_SHARE * (double)search->bytes[0];
    for (uint32_t i = 1; i <= search->groups && search->chosen_count < MAX_GROUPS; i++)
        if (search->bytes[i] >= MIN_BYTES && (double)search->bytes[i] >= min)
            search->chosen[search->chosen_count++] = i;
    search->data = calloc((size_t)search->chosen_count + 1, sizeof *search->data);
    for (int i = 0; search->data && i < search->chosen_count; i++)
        search->data[i] = (struct group){.bytes = search->bytes[search->chosen[i]], .set = i};
    return search->data || error_memory(err);
}

static int place_of(const struct data_search *search, uint32_t group)
{
    for (int i = 0; i < search->chosen_count; i++)
        if (search->chosen[i] == group)
            return i;
    return -1;
}

static void mark_moment(struct data_search *search, uint32_t group, const struct trace_event *event,
                        int64_t bytes)
{
    int at = place_of(search, group);
    (void)bytes;
    if (at < 0)
        return;
    double share =
        (double)(event->start_ns - search->first_ns) / ((double)(search->last_ns - search->first_ns) + 1);
    size_t moment = (size_t)(share * MOMENTS);
    moment = moment < MOMENTS ? moment : MOMENTS - 1;
    search->data[at].moments[moment / 64] |= UINT64_C(1) << (moment % 64);
}

/* ---- sets ---- */

static bool same_moments(const struct group *a, const struct group *b)
{
    int both = 0, in_a = 0, in_b = 0;
    for (int i = 0; i < MOMENTS / 64; i++) {
        both += __builtin_popcountll(a->moments[i] & b->moments[i]);
        in_a += __builtin_popcountll(a->moments[i]);
        in_b += __builtin_popcountll(b->moments[i]);
    }
    return 2 * both > (in_a < in_b ? in_a : in_b);
}

/* Returns the first group of the set with the most bytes. */
static int join_sets(struct data_search *search)
{
    int64_t sums[MAX_GROUPS] = {0};
    int best = 0;
    for (int i = 0; i < search->chosen_count; i++)
        for (int j = 0; j < i; j++)
            if (search->data[i].set != search->data[j].set &&
                same_moments(&search->data[i], &search->data[j])) {
                int from = search->data[i].set, to = search->data[j].set;
                for (int k = 0; k < search->chosen_count; k++)
                    if (search->data[k].set == from)
                        search->data[k].set = to;
            }
    for (int i = 0; i < search->chosen_count; i++)
        sums[search->data[i].set] += search->data[i].bytes;
    for (int i = 1; i < search->chosen_count; i++)
        best = sums[i] > sums[best] ? i : best;
    return best;
}

static bool find(struct data_search *search, struct phase_data *data, struct error *err)
{
    if (!name_groups(search, err) || !each_read(search, add_bytes, err) || !choose_groups(search, err) ||
        !each_read(search, mark_moment, err))
        return false;
    int training = join_sets(search);
    data->any = search->chosen_count > 0;
    for (int64_t id = 1; id <= data->files; id++) {
        int at = search->group_of[id] ? place_of(search, search->group_of[id]) : -1;
        if (at >= 0)
            data->kinds[id] = search->data[at].set == training ? PHASE_TRAINING : PHASE_EVAL;
    }
    return true;
}

bool phase_data_find(struct phase_data *data, struct phase_events *events, struct error *err)
{
    struct trace_reader *reader = events->reader;
    struct data_search search = {
        .reader = reader, .events = events, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    *data = (struct phase_data){.files = trace_file_count(reader)};
    data->kinds = calloc((size_t)data->files + 1, 1);
    search.group_of = calloc((size_t)data->files + 1, sizeof *search.group_of);
    bool done = data->kinds && search.group_of ? find(&search, data, err) : error_memory(err);
    free(search.group_of);
    free(search.bytes);
    free(search.data);
    if (!done)
        phase_data_release(data);
    return done;
}

void phase_data_release(struct phase_data *data)
{
    free(data->kinds);
    data->kinds = NULL;
}

enum phase_kind phase_kind_of(const struct phase_data *data, const struct trace_event *event)
{
    if (event->file < 1 || event->file > data->files || phase_bytes_read(event) == 0)
        return PHASE_NO_DATA;
    return (enum phase_kind)data->kinds[event->file];
}
