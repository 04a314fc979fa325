#include "sim/replay/ranks.h"

#include "core/file.h"
#include "core/statistics.h"
#include "core/vector.h"
#include "sim/replay/parts.h"
#include "trace/import/lines.h"
#include "trace/import/paths.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOLD 20 /* lines of faults, for people */

const char *const ranks_fault_names[FAULT_KINDS] = {
    "missing_ranks", "doubled_ranks",   "different_worlds", "no_rank",     "truncated", "dropped_activities",
    "no_launches",   "sampled",         "skewed",           "no_steps",    "cpu_only",  "merged",
    "unmatched",     "no_common_clock", "clock_jump",       "clock_drift",
};

bool ranks_fault(struct ranks *run, enum ranks_fault_kind kind, int32_t member, struct error *err,
                 const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_vformat(&text, format, args);
    va_end(args);
    const char *kept = text.failed ? NULL : arena_string(&run->arena, text.data);
    text_release(&text);
    return (kept && VECTOR_ADD(run->faults, run->fault_count, run->fault_capacity,
                               (struct ranks_fault){kind, member, kept})) ||
           error_memory(err);
}

/* What a fault tells of its file; of none, all. */
static const char *told_of(const struct ranks *run, const struct ranks_fault *fault)
{
    const char *path = fault->member >= 0 ? run->members[fault->member].path : "";
    return text_starts_with(fault->text, path) ? fault->text + strlen(path) : fault->text;
}

void ranks_faults_tell(const struct ranks *run, const char *before, struct text *out)
{
    size_t lines = 0;
    for (size_t i = 0; i < run->fault_count; i++) {
        const struct ranks_fault *fault = &run->faults[i];
        const char *rest = told_of(run, fault);
        int path = (int)(rest - fault->text);
        size_t first = 0, files = 0;
        while (strcmp(told_of(run, &run->faults[first]), rest) != 0)
            first++;
        if (first < i)
            continue;
        if (lines++ == MAX_TOLD) {
            text_format(out, "... and %zu more of such (--json has all)\n", run->fault_count - i);
            return;
        }
        for (size_t k = i + 1; path > 0 && k < run->fault_count; k++)
            files += strcmp(told_of(run, &run->faults[k]), rest) == 0 &&
                     strncmp(run->faults[k].text, fault->text, (size_t)path) != 0;
        text_format(out, "%s%.*s", before, path, fault->text);
        if (files > 0)
            text_format(out, " and %zu other file%s", files, files > 1 ? "s" : "");
        text_format(out, "%s\n", rest);
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_trace(const char *name)
{
    static const char *const endings[] = {".json", ".json.gz", ".csv",       ".csv.gz",
                                          ".et",   ".et.gz",   ".xplane.pb", ".xplane.pb.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_with(name, endings[i]))
            return true;
    return false;
}

/* Finds a whole number behind a key in the head of a file. */
static bool find_number(const char *head, const char *key, int64_t *value)
{
    const char *at = strstr(head, key);
    if (!at)
        return false;
    at += strlen(key);
    at += strspn(at, " \t\r\n:");
    return text_whole(at, ",} \t\r\n", value) && *value >= 0;
}

/* The number behind the last "rank" in a file's name (rank3, rank-3, rank_03), else in its folder's; else before ".et". */
static bool rank_of_name(const char *path, int64_t *rank)
{
    const char *found = NULL;
    for (const char *at = strcasestr(path, "rank"); at; at = strcasestr(at + 4, "rank")) {
        size_t gap = strspn(at + 4, "-_.[ ");
        if (gap <= 1 && at[4 + gap] >= '0' && at[4 + gap] <= '9')
            found = at + 4 + gap;
    }
    size_t length = strlen(path); /* Chakra's: NAME.3.et */
    length -= text_ends_with(path, ".gz") ? 3 : 0;
    if (!found && length > 3 && strncmp(path + length - 3, ".et", 3) == 0) {
        found = path + length - 3;
        while (found > path && found[-1] >= '0' && found[-1] <= '9')
            found--;
        found = found > path && found[-1] == '.' && *found != '.' ? found : NULL;
    }
    if (!found || strspn(found, "0123456789") > 9)
        return false;
    for (*rank = 0; *found >= '0' && *found <= '9'; found++)
        *rank = 10 * *rank + (*found - '0');
    return true;
}

/* "HOST_PID.TIME.pt.trace.json": as PyTorch's handler for TensorBoard names files. NULL: another name. */
static bool host_of_name(struct ranks *run, const char *path, const char **host, struct error *err)
{
    const char *name = name_of(path), *dot = strstr(name, ".pt.trace.json");
    const char *under = NULL;
    *host = NULL;
    for (const char *at = name; dot && at < dot; at++)
        if (*at == '_' && at[1] >= '0' && at[1] <= '9' && strchr(".", at[1 + strspn(at + 1, "0123456789")]))
            under = at;
    if (!under || under == name)
        return true;
    *host = arena_copy(&run->arena, name, (size_t)(under - name));
    return *host || error_memory(err);
}

static bool add_member(struct ranks *run, const struct ranks_member *member, struct error *err)
{
    if (run->count == RANKS_MAX_FILES)
        return error_set(err, ERROR_INPUT, "%s: more than %d files of one run", member->path,
                         RANKS_MAX_FILES);
    return VECTOR_ADD(run->members, run->count, run->capacity, *member) || error_memory(err);
}

/* Reads the head of a file: Kineto writes what is told of the run before the events. */
static bool add_file(struct ranks *run, const char *path, struct error *err)
{
    struct ranks_member member = {
        .path = arena_string(&run->arena, path), .rank = -1, .world = -1, .part = -1};
    struct import_lines lines;
    const char *head;
    size_t length;
    if (!member.path)
        return error_memory(err);
    bool done =
        import_lines_open(&lines, path, NULL, 0, err) && import_lines_peek(&lines, &head, &length, err);
    const char *told = done ? strstr(head, "\"distributedInfo\"") : NULL;
    if (told) {
        member.rank_told = find_number(told, "\"rank\"", &member.rank);
        find_number(told, "\"world_size\"", &member.world);
    }
    import_lines_close(&lines);
    if (done && !member.rank_told)
        member.rank_told = rank_of_name(path, &member.rank);
    return done && host_of_name(run, path, &member.host, err) && add_member(run, &member, err);
}

/* Adds what a pattern matches. */
static bool add_pattern(struct ranks *run, const char *pattern, struct error *err)
{
    glob_t found;
    int code = glob(pattern, 0, NULL, &found);
    if (code == GLOB_NOSPACE)
        return error_memory(err);
    if (code == GLOB_NOMATCH)
        return error_set(err, ERROR_INPUT, "%s: no file has such a name", pattern);
    if (code != 0)
        return error_set(err, ERROR_FAILED, "%s: cannot look for such files: %s", pattern, strerror(errno));
    bool done = true;
    for (size_t i = 0; done && i < found.gl_pathc; i++)
        done = add_file(run, found.gl_pathv[i], err);
    globfree(&found);
    return done;
}

static bool add_path(struct ranks *run, const char *path, struct error *err)
{
    const struct import_paths_rules rules = {is_trace, RANKS_MAX_FILES, 8};
    struct import_paths paths = {0};
    enum file_kind kind;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    path = arena_copy(&run->arena, path, length);
    if (!path)
        return error_memory(err);
    if (!file_look(path, &kind, err))
        return false;
    if (kind == FILE_NONE && strpbrk(path, "*?["))
        return add_pattern(run, path, err);
    if (kind != FILE_FOLDER)
        return add_file(run, path, err);
    bool done = import_paths_list(&paths, path, &rules, err);
    if (done && paths.count == 0)
        done = error_set(err, ERROR_INPUT,
                         "%s: no trace (*.json, *.json.gz, *.csv, *.et, *.xplane.pb) in this folder", path);
    for (size_t i = 0; done && i < paths.count; i++)
        done = add_file(run, paths.items[i], err);
    import_paths_release(&paths);
    return done;
}

/* A file alone may hold several ranks. */
static bool open_alone(struct ranks *run, struct error *err)
{
    struct ranks_member file = run->members[0];
    if (!replay_load(&run->whole, file.path, err))
        return false;
    if (run->whole.part_count == 0)
        return true;
    run->count = 0;
    for (size_t i = 0; i < run->whole.part_count; i++) {
        file.part = (int32_t)i;
        file.rank = run->whole.parts[i].rank;
        file.rank_told = true;
        if (!add_member(run, &file, err))
            return false;
    }
    return true;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranks_member *first = a, *second = b;
    int order = order_of(first->rank, second->rank);
    order = order ? order : strcmp(first->path, second->path);
    return order ? order : order_of(first->part, second->part);
}

/* Numbers the ranks that no file tells: the lowest free numbers, in the order of names. */
static bool number_ranks(struct ranks *run, struct error *err)
{
    size_t unknown = 0;
    int64_t next = 0;
    const char *first = NULL;
    qsort(run->members, run->count, sizeof *run->members, by_rank);
    for (size_t i = 0; i < run->count && !run->members[i].rank_told; i++, unknown++)
        first = first ? first : run->members[i].path;
    size_t told = unknown;
    for (size_t i = 0; i < unknown; i++, next++) {
        for (; told < run->count && run->members[told].rank <= next; told++)
            next += run->members[told].rank == next;
        run->members[i].rank = next;
    }
    if (unknown > 0 && run->count > 1 &&
        !ranks_fault(
            run, FAULT_NO_RANK, -1, err,
            "%zu of %zu files do not tell their rank (such as %s): numbered in the order of their names",
            unknown, run->count, first))
        return false;
    qsort(run->members, run->count, sizeof *run->members, by_rank);
    return true;
}

/* "3", "3-7" or "3, 5-7, …" */
static void add_range(struct text *text, int64_t first, int64_t last)
{
    text_format(text, text->length > 0 ? ", %lld" : "%lld", (long long)first);
    if (last > first)
        text_format(text, "-%lld", (long long)last);
}

/* Ranks of the world without a file, and files of the same rank. */
static bool check_ranks(struct ranks *run, struct error *err)
{
    struct text missing = {0};
    int64_t next = 0, lacking = 0;
    bool done = true;
    for (size_t i = 0; done && i < run->count; i++) {
        const struct ranks_member *member = &run->members[i];
        if (member->world > run->world) {
            if (run->world >= 0)
                done = ranks_fault(run, FAULT_WORLDS, (int32_t)i, err,
                                   "%s: a world of %lld ranks, others tell %lld: files of several runs?",
                                   member->path, (long long)member->world, (long long)run->world);
            run->world = member->world;
        }
        if (done && i > 0 && member->rank == run->members[i - 1].rank)
            done = ranks_fault(run, FAULT_DOUBLED, (int32_t)i, err,
                               "rank %lld has two files, %s and %s: both are counted, leave out one",
                               (long long)member->rank, run->members[i - 1].path, member->path);
        if (member->rank > next) {
            add_range(&missing, next, member->rank - 1);
            lacking += member->rank - next;
        }
        next = member->rank >= next ? member->rank + 1 : next;
    }
    if (run->world > next) {
        add_range(&missing, next, run->world - 1);
        lacking += run->world - next;
    }
    if (done && missing.failed)
        done = error_memory(err);
    int64_t world = run->world > next ? run->world : next;
    if (done && lacking > 0)
        done = ranks_fault(run, FAULT_MISSING, -1, err,
                           "%lld of %lld ranks have no file (%.200s): waits for them have no cause here",
                           (long long)lacking, (long long)world, missing.data);
    text_release(&missing);
    return done;
}

bool ranks_open(struct ranks *run, const char *const *paths, size_t count, struct error *err)
{
    *run = (struct ranks){.world = -1};
    bool done = true;
    for (size_t i = 0; done && i < count; i++)
        done = add_path(run, paths[i], err);
    if (done && run->count == 1)
        done = open_alone(run, err);
    done = done && number_ranks(run, err) && check_ranks(run, err);
    if (!done)
        ranks_release(run);
    return done;
}

void ranks_release(struct ranks *run)
{
    free(run->members);
    free(run->groups);
    free(run->collectives);
    free(run->faults);
    free((void *)run->texts);
    hash_names_release(&run->names);
    hash_names_release(&run->group_ids);
    replay_release(&run->whole);
    arena_release(&run->arena);
    *run = (struct ranks){0};
}

/* --- one rank ------------------------------------------------------------------------------------------- */

static bool add_faults(struct ranks *run, int32_t i, const struct replay *replay, struct error *err)
{
    const struct ranks_member *member = &run->members[i];
    const char *path = member->path;
    size_t launched = replay->count - replay->no_launch;
    bool steps = false;
    for (size_t k = 0; k < replay->mark_count && !steps; k++)
        steps = text_starts_with(replay->texts[replay->marks[k].name], "ProfilerStep#");
    if (replay->cut_at > 0 && (member->part <= 0) &&
        !ranks_fault(run, FAULT_TRUNCATED, i, err,
                     "%s: the file ends early, after %lld bytes: all that follows is missing", path,
                     (long long)replay->cut_at))
        return false;
    if (member->part < 0 && replay->part_count > 0 &&
        !ranks_fault(run, FAULT_MERGED, i, err,
                     "%s: holds %zu processes, which count as one rank: give a merged file alone", path,
                     replay->part_count))
        return false;
    if (member->part >= 0 && run->whole.parts[member->part].unsure &&
        !ranks_fault(
            run, FAULT_MERGED, i, err,
            "%s: launches of its processes have the same numbers and times: devices were given to hosts "
            "in the order of their numbers",
            path))
        return false;
    if (replay->host_only &&
        !ranks_fault(run, FAULT_CPU_ONLY, i, err,
                     "%s: no activity of a GPU: operations of the host are shown as its work", path))
        return false;
    bool marked = !replay->played && !text_ends_with(path, ".csv") && !text_ends_with(path, ".csv.gz");
    if (!steps && marked &&
        !ranks_fault(run, FAULT_NO_STEPS, i, err,
                     "%s: no ProfilerStep: call prof.step() once per step, else steps are guessed", path))
        return false;
    if (replay->no_activity > 0 &&
        !ranks_fault(run, FAULT_DROPPED, i, err,
                     "%s: no activity was recorded for %zu launches: the profiler dropped them, idle time is "
                     "overstated",
                     path, replay->no_activity))
        return false;
    if (replay->no_launch > 0 && launched > 0 &&
        !ranks_fault(
            run, FAULT_NO_LAUNCH, i, err,
            "%s: no launch was recorded for %zu of %zu activities: causes in the host are unknown there",
            path, replay->no_launch, replay->count))
        return false;
    if (replay_is_sampled(replay) &&
        !ranks_fault(run, FAULT_SAMPLED, i, err, "%s: only samples of the host's calls are recorded", path))
        return false;
    return replay->skewed == 0 ||
           ranks_fault(run, FAULT_SKEWED, i, err,
                       "%s: %zu activities begin before their launch: the clocks of GPU and host differ",
                       path, replay->skewed);
}

/* Reads a whole file, or a part of one, or takes what ranks_open has read. */
static bool load(struct ranks *run, const struct ranks_member *member, struct replay *replay,
                 struct error *err)
{
    if (member->part >= 0)
        return replay_take_part(&run->whole, member->part, replay, err);
    if (!run->whole.path)
        return run->priced ? replay_load_priced(replay, member->path, err)
                           : replay_load(replay, member->path, err);
    *replay = run->whole;
    run->whole = (struct replay){0};
    return true;
}

bool ranks_load(struct ranks *run, size_t i, struct replay *replay, struct error *err)
{
    struct ranks_member *member = &run->members[i];
    if (!load(run, member, replay, err)) {
        struct error why = *err;
        return why.kind != ERROR_INPUT || run->count == 1
                   ? false
                   : error_set(err, ERROR_INPUT,
                               "%s (one of %zu files: leave it out if it is no rank's trace)", why.text,
                               run->count);
    }
    if (replay->rank < 0)
        replay->rank = member->rank;
    if (replay->world < 0)
        replay->world = member->world;
    bool done = member->loaded || add_faults(run, (int32_t)i, replay, err);
    member->loaded = true;
    if (!done)
        replay_release(replay);
    return done;
}

static int by_begin(const void *a, const void *b)
{
    const struct ranks_step *first = a, *second = b;
    int order = order_of(first->begin, second->begin);
    return order ? order : order_of(first->number, second->number);
}

bool ranks_steps(const struct replay *replay, struct ranks_step **steps, size_t *count, struct error *err)
{
    size_t capacity = 0;
    *steps = NULL;
    *count = 0;
    bool done = true;
    for (int device = 0; device < 2; device++) { /* first those of the host */
        for (size_t i = 0; done && i < replay->mark_count; i++) {
            const struct replay_mark *mark = &replay->marks[i];
            const char *name = replay->texts[mark->name];
            struct ranks_step step = {0, mark->begin, mark->begin + mark->duration, -1, -1};
            if ((mark->thread < 0) != device || !text_starts_with(name, "ProfilerStep#") ||
                !text_whole(name + strlen("ProfilerStep#"), "", &step.number))
                continue;
            size_t at = 0;
            while (device && at < *count && (*steps)[at].number != step.number)
                at++;
            if (device && at < *count) { /* on several streams: from the first begin to the last end */
                struct ranks_step *known = &(*steps)[at];
                if (known->device_begin < 0 || step.begin < known->device_begin)
                    known->device_begin = step.begin;
                known->device_end = step.end > known->device_end ? step.end : known->device_end;
                continue;
            }
            if (device)
                step.device_begin = step.begin, step.device_end = step.end;
            done = VECTOR_ADD(*steps, *count, capacity, step) || error_memory(err);
        }
    }
    if (!done)
        free(*steps), *steps = NULL, *count = 0;
    if (*count > 1)
        qsort(*steps, *count, sizeof **steps, by_begin);
    return done;
}

int64_t ranks_time(const struct ranks *run, size_t member, const struct replay *replay, int64_t time)
{
    return time + (replay->origin + replay->base - run->origin) + run->members[member].offset;
}
