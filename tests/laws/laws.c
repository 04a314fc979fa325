#include "laws.h"

#include "core/doc.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct answer law_ask(struct law_case *kase, const struct question *question, int threads)
{
    struct answer answer = ask(question, threads);
    fputs("  ", kase->log);
    question_print(question, kase->log);
    if (threads > 1)
        fprintf(kase->log, " --threads %d", threads);
    if (answer.code)
        fprintf(kase->log, "\n    %s\n", answer.error);
    else
        fprintf(kase->log, "\n    %.17g s%s\n", answer.time, answer.proven ? ", proven" : "");
    return answer;
}

bool law_broken(struct law_case *kase, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(kase->why, sizeof kase->why, format, values);
    va_end(values);
    return false;
}

const char *law_path(struct law_case *kase, const char *name)
{
    static char paths[8][QUESTION_MAX_VALUE];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof *paths, "%s/%s", kase->folder, name);
    return paths[next];
}

bool law_near(double a, double b)
{
    return a == b || fabs(a - b) <= LAWS_SAME * fmax(fabs(a), fabs(b));
}

/* ---- one question in several ways ---- */

/* The JSON of an answer without the seconds that its search took. */
static char *json_of_answer(const struct answer *answer)
{
    struct rh_text json;
    struct rh_error error;
    if (!answer->handle)
        return strdup(answer->error);
    if (!rh_write(answer->handle, "json", &json, &error))
        return strdup(error.text);
    static const char key[] = "\"planning_seconds\": ";
    char *to = json.data;
    for (const char *from = json.data; *from;) {
        bool is_key = strncmp(from, key, sizeof key - 1) == 0;
        *to++ = *from;
        from += is_key ? strcspn(from, ",\n") : 1;
    }
    *to = '\0';
    char *copy = strdup(json.data);
    rh_text_free(&json);
    return copy;
}

bool law_threads(struct law_case *kase)
{
    static const int threads[] = {2, 7};
    char *one = json_of_answer(&kase->answer);
    bool holds = true;
    for (int i = 0; holds && i < 2; i++) {
        struct answer again = law_ask(kase, &kase->question, threads[i]);
        char *other = json_of_answer(&again);
        if (strcmp(one, other) != 0)
            holds = law_broken(kase, "%d threads have another answer than 1", threads[i]);
        free(other);
        answer_free(&again);
    }
    free(one);
    return holds;
}

/* "312.540 ms": the seconds. NAN: it is none. */
static double seconds_of(const char *text)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1},      {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                 {"min", 60.0}, {"h", 3600},  {"d", 86400}, {"days", 86400}};
    char *end, unit[8] = "";
    double value = strtod(text, &end);
    if (sscanf(end, " %7[a-z]", unit) != 1)
        return NAN;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0)
            return value * units[i].seconds;
    return NAN;
}

/* What the JSON says of a plan. */
struct said {
    double time, memory;
    int stages, tensor, context, copies; /* of its first pipeline; copies: those of its first stage, too */
};

static double number_in(const struct doc *doc, const struct doc_node *map, const char *key)
{
    struct error err;
    double value = NAN;
    const struct doc_node *node = map ? doc_find(map, key) : NULL;
    return node && doc_number(doc, node, 0, INFINITY, &value, &err) ? value : NAN;
}

static struct said said_of(const char *json)
{
    struct doc doc;
    struct error err;
    struct said said = {NAN, NAN, 0, 0, 0, 0};
    if (!doc_parse(&doc, DOC_JSON, "answer", json, strlen(json), &err))
        return said;
    const struct doc_node *pipelines = doc_find(doc.root, "pipelines");
    const struct doc_node *first = pipelines ? pipelines->first_child : NULL;
    const struct doc_node *stages = first ? doc_find(first, "stages") : NULL;
    const struct doc_node *stage = stages ? stages->first_child : NULL;
    said.time = number_in(&doc, doc.root, "iteration_time");
    said.memory = number_in(&doc, doc.root, "memory");
    said.tensor = (int)number_in(&doc, stage, "tensor");
    said.context = (int)number_in(&doc, stage, "context");
    said.copies = (int)(number_in(&doc, first, "copies") * number_in(&doc, stage, "data"));
    for (; stage; stage = stage->next)
        said.stages++;
    doc_release(&doc);
    return said;
}

/* The text's line about degrees and devices, and the one about memory, if it has them. */
static bool degrees_agree(struct law_case *kase, const char *text, const struct said *said)
{
    const rh_handle *handle = kase->answer.handle;
    int tensor, context, pipeline, data, used, stages, devices;
    const char *line = strstr(text, "\ntensor "), *memory = strstr(text, "\nmemory of the fullest device: ");
    char unit[4];
    double size;
    if (line && sscanf(line, "\ntensor %d x context %d x pipeline %d x data %d = %d devices", &tensor,
                       &context, &pipeline, &data, &used) == 5) {
        if (tensor != said->tensor || context != said->context || data != said->copies ||
            pipeline * (int)rh_number(handle, "chunks") != said->stages)
            return law_broken(kase,
                              "the text says tensor %d, context %d, pipeline %d, data %d, the JSON "
                              "tensor %d, context %d, %d stages, %d copies",
                              tensor, context, pipeline, data, said->tensor, said->context, said->stages,
                              said->copies);
        if (used != (int)rh_number(handle, "devices_used") || used != tensor * context * pipeline * data)
            return law_broken(kase, "the text says %d devices, the library %.0f", used,
                              rh_number(handle, "devices_used"));
    } else if (sscanf(text, "%d stages on %d devices", &stages, &devices) == 2 &&
               (stages != said->stages || (devices != (int)rh_number(handle, "devices") &&
                                           devices != (int)rh_number(handle, "devices_used"))))
        return law_broken(kase,
                          "the text says %d stages on %d devices, the JSON %d, the library %.0f devices",
                          stages, devices, said->stages, rh_number(handle, "devices"));
    if (said->memory != rh_number(handle, "memory") &&
        !(isnan(said->memory) && isnan(rh_number(handle, "memory"))))
        return law_broken(kase, "the JSON's memory is %.17g, the library's %.17g", said->memory,
                          rh_number(handle, "memory"));
    if (memory && sscanf(memory, "\nmemory of the fullest device: %lf %3s", &size, unit) == 2) {
        double bytes = size * (unit[0] == 'T'   ? 0x1p40
                               : unit[0] == 'G' ? 0x1p30
                               : unit[0] == 'M' ? 0x1p20
                                                : 0x1p10);
        if (!(fabs(bytes - said->memory) <= 6e-3 * said->memory))
            return law_broken(kase, "the text says %.6g bytes, the JSON %.17g", bytes, said->memory);
    }
    return true;
}

bool law_forms(struct law_case *kase)
{
    struct rh_text json, text;
    struct rh_error error;
    if (!kase->answer.handle)
        return true;
    if (!rh_write(kase->answer.handle, "json", &json, &error) ||
        !rh_write(kase->answer.handle, "text", &text, &error))
        return law_broken(kase, "%s", error.text);
    const struct said said = said_of(json.data);
    double time = kase->answer.time, expected = rh_number(kase->answer.handle, "expected");
    const char *line = strstr(text.data, "\niteration ");
    double shown = line ? seconds_of(line + 11) : NAN;
    bool holds = degrees_agree(kase, text.data, &said);
    if (holds && said.time != time)
        holds = law_broken(kase, "the JSON's iteration_time is %.17g, the library's %.17g", said.time, time);
    if (holds && !(fabs(shown - time) <= 1e-3 * time || fabs(shown - expected) <= 1e-3 * expected))
        holds = law_broken(kase, "the text says %.6g s, the library %.17g (expected %.17g)", shown, time,
                           expected);
    rh_text_free(&json);
    rh_text_free(&text);
    return holds;
}

static bool save(struct law_case *kase, const struct answer *answer, const char *path)
{
    struct rh_error error;
    if (!rh_save(answer->handle, "json", path, &error))
        return law_broken(kase, "%s", error.text);
    fprintf(kase->log, "    written to %s\n", path);
    return true;
}

bool law_repeated(struct law_case *kase)
{
    const char *path = law_path(kase, "plan.json");
    struct question question = {.command = "plan"};
    if (!kase->answer.handle)
        return true;
    if (!save(kase, &kase->answer, path))
        return false;
    question_set(&question, "plan", "%s", path);
    struct answer again = law_ask(kase, &question, 1);
    char *one = json_of_answer(&kase->answer), *other = json_of_answer(&again);
    bool holds = strcmp(one, other) == 0 || law_broken(kase, "a plan that is read is written otherwise");
    free(one);
    free(other);
    answer_free(&again);
    return holds;
}

static double first_of(const rh_handle *handle, const char *name)
{
    struct rh_array array;
    if (!rh_get(handle, name, &array) || array.type != 'd' || array.dimensions != 1 || array.shape[0] < 1)
        return NAN;
    return *(const double *)array.data;
}

bool law_checked(struct law_case *kase)
{
    static const char *const same[] = {"profile",       "cluster",      "allreduce",
                                       "profile-batch", "state-factor", "links"};
    const char *path = law_path(kase, "plan.json");
    struct question question = {.command = "check-plan"};
    bool by_profile = question_value(&kase->question, "profile") != NULL, holds = true;
    if (!kase->answer.handle)
        return true;
    if (!save(kase, &kase->answer, path))
        return false;
    question_set(&question, "plan", "%s", path);
    for (size_t i = 0; by_profile && i < sizeof same / sizeof *same; i++)
        if (question_value(&kase->question, same[i]))
            question_set(&question, same[i], "%s", question_value(&kase->question, same[i]));
    struct answer checked = law_ask(kase, &question, 1);
    if (!checked.handle)
        return law_broken(kase, "check-plan refuses it: %s", checked.error);
    double time = first_of(checked.handle, "iteration_time"), excess = first_of(checked.handle, "excess");
    if (!law_near(time, kase->answer.time))
        holds = law_broken(kase, "check-plan says %.17g s, plan %.17g s", time, kase->answer.time);
    else if (kase->answer.proven && excess > LAWS_SAME)
        holds = law_broken(kase, "plan proves %.17g s, check-plan has an optimum that is %.3g %% better",
                           time, 100 * excess);
    answer_free(&checked);
    return holds;
}

bool law_simulated(struct law_case *kase)
{
    struct question question = {.command = "simulate"};
    const char *path = law_path(kase, "plan.json");
    bool holds = true;
    if (!kase->answer.handle)
        return true;
    if (!save(kase, &kase->answer, path))
        return false;
    question_set(&question, "plan", "%s", path);
    struct answer answer = law_ask(kase, &question, 1);
    double formula = answer.handle ? rh_number(answer.handle, "formula") : NAN;
    if (answer.code)
        holds = law_broken(kase, "simulate refuses it: %s", answer.error);
    else if (!law_near(formula, kase->answer.time))
        holds = law_broken(kase, "simulate's formula says %.17g s, plan %.17g s", formula, kase->answer.time);
    answer_free(&answer);
    return holds;
}

/* ---- other worlds ---- */

static struct question question_in(struct law_case *kase, const struct world *other, bool shuffle)
{
    struct question question = kase->question;
    const char *profile = law_path(kase, "p2.json"), *cluster = law_path(kase, "c2.json");
    world_write_profile(other, profile, shuffle ? &kase->random : NULL);
    world_write_cluster(other, cluster, shuffle ? &kase->random : NULL);
    question_set(&question, "profile", "%s", profile);
    question_set(&question, "cluster", "%s", cluster);
    return question;
}

bool law_equal(struct law_case *kase, const struct question *other, double factor)
{
    struct answer answer = law_ask(kase, other, 1);
    bool holds = true;
    double time = kase->answer.time * factor, bound = kase->answer.bound * factor;
    if (answer.code != kase->answer.code)
        holds = law_broken(kase, "one has an answer, the other none");
    else if (answer.proven && kase->answer.proven && !law_near(answer.time, time))
        holds = law_broken(kase, "%.17g s, and %.17g s were expected", answer.time, time);
    else if (!answer.code && (answer.time < bound * (1 - LAWS_SAME) || time < answer.bound * (1 - LAWS_SAME)))
        holds = law_broken(kase, "%.17g s is less than no plan should take", fmin(answer.time, time));
    answer_free(&answer);
    return holds;
}

bool law_equal_in(struct law_case *kase, const struct world *other, double factor, bool shuffle)
{
    struct question question = question_in(kase, other, shuffle);
    return law_equal(kase, &question, factor);
}

bool law_no_worse(struct law_case *kase, const struct question *other, const char *what)
{
    struct answer answer = law_ask(kase, other, 1);
    bool holds = true;
    double limit = kase->answer.time * (1 + LAWS_SAME);
    if (kase->answer.handle && !answer.handle)
        holds = law_broken(kase, "%s: no answer any more: %s", what, answer.error);
    else if (kase->answer.handle && answer.bound > limit)
        holds = law_broken(kase, "%s: no plan takes less than %.17g s, one takes %.17g s", what, answer.bound,
                           kase->answer.time);
    else if (kase->answer.handle && answer.proven && answer.time > limit)
        holds = law_broken(kase, "%s: %.17g s, %.17g s without", what, answer.time, kase->answer.time);
    answer_free(&answer);
    return holds;
}

bool law_no_worse_in(struct law_case *kase, const struct world *other, const char *what)
{
    struct question question = question_in(kase, other, false);
    return law_no_worse(kase, &question, what);
}
