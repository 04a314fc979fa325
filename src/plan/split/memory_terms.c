/* What a device's memory is made of, for people and programs. */
#include "core/fields.h"
#include "core/unit.h"
#include "plan/split/job.h"

#include <string.h>

static int by_part(struct job_memory_terms *terms, const struct job *job)
{
    static const char *const parts[] = {"parameters", "gradients", "optimizer",      "activations",
                                        "working",    "runtime",   JOB_MEMORY_BESIDE};
    struct job_memory_terms made;
    job_memory_explain(job, &made);
    *terms = made;
    terms->count = 0;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (int i = 0; i < made.count; i++)
            if (strcmp(made.items[i].part, parts[p]) == 0)
                terms->items[terms->count++] = made.items[i];
    return terms->count;
}

static void print_sum(struct text *out, const char *name, double bytes)
{
    struct unit_texts texts = {0};
    text_format(out, "  %-12s %10s\n", name, unit_text(&texts, bytes, UNIT_BYTES));
}

void job_memory_print(const struct job *job, struct text *out)
{
    struct job_memory_terms terms;
    struct unit_texts texts = {0};
    double total = 0.0, beside = 0.0;
    int count = by_part(&terms, job);
    text_add(out, "\nmemory by term");
    if (job->degrees.pipeline > 1)
        text_format(out, ", of stage %d of %d, the fullest", terms.stage + 1, job->degrees.pipeline);
    text_add(out, "\n");
    for (int i = 0; i < count; i++) {
        const struct job_memory_term *term = &terms.items[i];
        bool is_beside = strcmp(term->part, JOB_MEMORY_BESIDE) == 0;
        if (is_beside && beside == 0.0)
            print_sum(out, "sum", total);
        text_format(out, "  %-12s %10s  %s = %s, %s\n", term->part,
                    unit_text(&texts, term->bytes, UNIT_BYTES), term->name, term->formula, term->when);
        *(is_beside ? &beside : &total) += term->bytes;
    }
    print_sum(out, beside > 0.0 ? "a device's" : "sum", beside + total);
}

static const struct field term_fields[] = {
    FIELD_OUT(struct job_memory_term, "part", part, FIELD_TEXT),
    FIELD_OUT(struct job_memory_term, "name", name, FIELD_TEXT),
    FIELD_OUT(struct job_memory_term, "bytes", bytes, FIELD_DOUBLE),
    FIELD_OUT(struct job_memory_term, "formula", formula, FIELD_CHARS),
    FIELD_OUT(struct job_memory_term, "when", when, FIELD_TEXT),
};

void job_memory_write(const struct job *job, struct json *json)
{
    struct job_memory_terms terms;
    int count = by_part(&terms, job);
    FIELDS_LIST(terms.items, count, term_fields, json, "memory_terms");
}
