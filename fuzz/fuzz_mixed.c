/* Plans, layer times and a setup, one after the other and separated by form feeds: every row is predicted or has a
 * reason. */
#include "evidence/mixed_read.h"
#include "walk.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rows(const struct mixed_table *table)
{
    for (int i = 0; i < table->count; i++) {
        const struct mixed_row *row = &table->rows[i];
        require(row->label != NULL && row->cluster != NULL);
        if (row->reason)
            continue;
        require(row->predicted.seconds >= 0.0);
        require(row->predicted.stage < row->plan.stages && row->predicted.pipeline < row->plan.pipelines);
    }
}

static void check_table(struct mixed_table *table)
{
    struct error err = {0};
    struct mixed_score score;
    if (!mixed_table_make(table, &err)) {
        require_message(&err);
        return;
    }
    check_rows(table);
    require(mixed_table_score(table, NULL, MIXED_SECONDS, true, &score, &err));
    require(!(fabs(score.rank) > 1.0 + 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mixed_table table = {0};
    struct error err = {0};
    const char *part[3];
    size_t length[3] = {0};
    const char *at = (const char *)data, *end = at + size;
    for (int i = 0; i < 3; i++) {
        const char *stop = i < 2 && at < end ? memchr(at, '\f', (size_t)(end - at)) : NULL;
        part[i] = at;
        length[i] = (size_t)((stop ? stop : end) - at);
        at = stop ? stop + 1 : end;
    }
    if (csv_parse(&table.plans, "plans.csv", part[0], length[0], &err) &&
        csv_parse(&table.layers, "layers.csv", part[1], length[1], &err) &&
        mixed_setup_parse(&table.setup, "setup.yaml", part[2], length[2], &err))
        check_table(&table);
    else
        require_message(&err);
    mixed_table_release(&table);
    return 0;
}
