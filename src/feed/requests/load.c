/* Workloads of requests: data/request-streams.yaml and files of that form, whose keys are members of the struct. */
#include "core/fields.h"
#include "core/text.h"
#include "feed/requests/requests.h"

#include <string.h>

/* data/request-streams.yaml, by scripts/embed.c. */
extern const char data_request_streams[];
extern const size_t data_request_streams_size;

#define OF(member, type, min, max) FIELD(struct requests_workload, member, FIELD_##type, min, max)
#define OTHER(key)                 FIELD_AT(struct requests_workload, key, name, FIELD_OTHER, 0, 0)
#define LONGEST                    31622400 /* seconds: a year */
#define LARGEST                    0x1p52
#define OTHERS                     3

static const struct field fields[] = {
    OF(name, SOME_TEXT, 0, 0),
    OF(about, SOME_TEXT, 0, 0),
    FIELD_AT(struct requests_workload, "arrival", arrival_word, FIELD_TEXT, 0, 0),
    OF(seed, INT64, 0, LARGEST),
    OF(requests, INT64, 0, 10000000),
    OF(duration, TIME, 0, LONGEST),
    OF(rate, DOUBLE, 0, 1e9),
    OF(users, INT, 1, 100000),
    OF(workers, INT, 1, 4096),
    OF(writers, INT, 0, 4096),
    OF(token_bytes, SIZE, 0, 1 << 24),
    OF(memory, SIZE, 0, LARGEST),
    OF(capacity, SIZE, 0, LARGEST),
    OF(prefill_only, INT64, 0, LARGEST),
    OF(decode_tokens, INT64, 1, LARGEST),
    OF(turns, INT64, 1, 1000),
    OF(again, DOUBLE, 0, 1),
    OF(memory_use, DOUBLE, 0, 1),
    OF(memory_largest, DOUBLE, 0, 1),
    OF(sync, FLAG, 0, 0),
    OF(vectors, INT64, 0, 0x1p36),
    OF(dimensions, INT64, 1, 65536),
    OF(degree, INT64, 0, 65536),
    OF(align, INT64, 1, 1 << 20),
    OF(search_list, INT64, 1, 65536),
    OF(beam, INT64, 1, 4096),
    OF(shards, INT64, 1, 256),
    OF(batch, INT64, 1, 4096),
    OF(cached, DOUBLE, 0, 1),
    OTHER("format"),
    OTHER("base"),
    OTHER("mix"),
};
#define FIELDS (sizeof fields / sizeof *fields)

#define OF_USER(member, type, min, max) FIELD(struct requests_user, member, FIELD_##type, min, max)

static const struct field user_fields[] = {
    OF_USER(name, TEXT, 0, 0),
    OF_USER(share, DOUBLE, DOC_POSITIVE, 1e9),
    OF_USER(context_from, INT64, 1, 1 << 20),
    OF_USER(context_to, INT64, 1, 1 << 20),
    OF_USER(answer_from, INT64, 1, 1 << 20),
    OF_USER(answer_to, INT64, 1, 1 << 20),
    OF_USER(think_from, TIME, 0, LONGEST),
    OF_USER(think_to, TIME, 0, LONGEST),
};

void requests_release(struct requests_workload *workload)
{
    doc_release(&workload->texts[0]);
    doc_release(&workload->texts[1]);
}

static bool read_mix(struct requests_workload *workload, const struct doc *doc, const struct doc_node *list,
                     struct error *err)
{
    if (!doc_is_list(doc, list, err))
        return false;
    if (list->count > REQUESTS_MAX_MIX)
        return doc_error(doc, list, err, "expected at most %d kinds of users", REQUESTS_MAX_MIX);
    workload->mix_count = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        struct requests_user *user = &workload->mix[workload->mix_count++];
        *user = (struct requests_user){.name = "", .share = 1.0};
        if (!fields_read(user, user_fields, sizeof user_fields / sizeof *user_fields, doc, node, err))
            return false;
        if (user->context_from > user->context_to || user->answer_from > user->answer_to ||
            user->think_from > user->think_to)
            return doc_error(doc, node, err, "a range ends before it begins");
    }
    return true;
}

static bool apply(struct requests_workload *workload, const struct doc *doc, const struct doc_node *map,
                  struct error *err)
{
    static const char *const words[] = {"open", "closed", "poisson"}; /* enum requests_arrival */
    int word = 0;
    if (!fields_read(workload, fields, FIELDS, doc, map, err) ||
        !doc_is_format(doc, map, "rehearse-requests/1", err))
        return false;
    while (word < 3 && strcmp(workload->arrival_word, words[word]) != 0)
        word++;
    if (word == 3)
        return doc_error(doc, doc_find(map, "arrival"), err, "expected open, closed or poisson, found '%s'",
                         workload->arrival_word);
    workload->arrival = (enum requests_arrival)word;
    const struct doc_node *mix = doc_find(map, "mix");
    return !mix || read_mix(workload, doc, mix, err);
}

/* Applies an entry of the table, after that which it builds on. */
static bool apply_builtin(struct requests_workload *workload, const char *name, bool is_base,
                          struct error *err)
{
    const struct doc *doc = &workload->texts[0];
    const struct doc_node *list = doc_need(doc, doc->root, "workloads", err), *entry = NULL, *base;
    struct text names = {0};
    for (const struct doc_node *each = list ? list->first_child : NULL; each; each = each->next) {
        const char *its = doc_find(each, "name")->text;
        if (*its != '_')
            text_format(&names, "%s%s", names.length ? ", " : "", its);
        entry = strcmp(its, name) == 0 && (*its != '_' || is_base) ? each : entry;
    }
    if (!entry)
        error_set(err, ERROR_USAGE, "unknown stream of requests '%.100s': expected a file (.yaml), or %s",
                  name, names.data ? names.data : "");
    base = entry ? doc_find(entry, "base") : NULL;
    text_release(&names);
    return entry && (!base || apply_builtin(workload, base->text, true, err)) &&
           apply(workload, doc, entry, err);
}

static bool apply_settings(struct requests_workload *workload, const char *const *settings, size_t count,
                           struct error *err)
{
    struct doc *doc = &workload->texts[1];
    struct text text = {0};
    for (size_t i = 0; i < count; i++) {
        int key = (int)strcspn(settings[i], "=");
        if (key == 0 || !settings[i][key]) {
            text_release(&text);
            return error_set(err, ERROR_USAGE, "--set %s: expected KEY=VALUE", settings[i]);
        }
        text_format(&text, "%.*s: %s\n", key, settings[i], settings[i] + key + 1);
    }
    bool done = text.failed ? error_memory(err)
                            : count == 0 || (doc_parse(doc, DOC_YAML, "--set", text.data, text.length, err) &&
                                             apply(workload, doc, doc->root, err));
    text_release(&text);
    return done;
}

static bool check(const struct requests_workload *w, const char *name, struct error *err)
{
    bool kv = w->token_bytes > 0, thinks = w->arrival != REQUESTS_POISSON && kv;
    const char *wrong = kv == (w->vectors > 0)                   ? "either 'token_bytes' or 'vectors' above 0"
                        : w->duration <= 0.0 && w->requests == 0 ? "a 'duration' or a number of 'requests'"
                        : w->arrival == REQUESTS_POISSON && w->rate <= 0.0
                            ? "a 'rate', as its arrival is poisson"
                        : w->arrival == REQUESTS_OPEN && !kv ? "an 'arrival' that is closed or poisson"
                        : kv && w->mix_count == 0            ? "users in 'mix'"
                        : !kv && w->vectors < w->shards      ? "as many 'vectors' as 'shards' or more"
                        : !kv && w->batch * w->shards * w->beam > INT64_C(1) << 16
                            ? "at most 65536 reads at once: 'batch' x 'shards' x 'beam'"
                            : NULL;
    for (int i = 0; !wrong && thinks && i < w->mix_count; i++)
        if (w->mix[i].think_to <= 0.0 && w->requests == 0)
            wrong = "a number of 'requests', as users do not think";
    return !wrong || error_set(err, ERROR_INPUT, "%s: needs %s", name, wrong);
}

bool requests_open(struct requests_workload *workload, const char *name, const char *const *settings,
                   size_t setting_count, struct error *err)
{
    struct doc *doc = &workload->texts[0];
    *workload = (struct requests_workload){.name = name,
                                           .arrival_word = "open",
                                           .users = 1,
                                           .workers = 1,
                                           .prefill_only = INT64_C(1) << 40,
                                           .decode_tokens = 32,
                                           .turns = 1,
                                           .memory_use = 1.0,
                                           .memory_largest = 1.0,
                                           .dimensions = 1,
                                           .align = 1,
                                           .search_list = 1,
                                           .beam = 1,
                                           .shards = 1,
                                           .batch = 1};
    bool done = doc_is_name(name) ? doc_load(doc, name, err) && apply(workload, doc, doc->root, err)
                                  : doc_parse(doc, DOC_JSON, "request-streams.yaml", data_request_streams,
                                              data_request_streams_size, err) &&
                                        apply_builtin(workload, name, false, err);
    return done && apply_settings(workload, settings, setting_count, err) && check(workload, name, err);
}

void requests_write(const struct requests_workload *workload, struct json *json)
{
    fields_write(workload, fields, FIELDS - OTHERS, json);
    FIELDS_LIST(workload->mix, workload->mix_count, user_fields, json, "mix");
}
