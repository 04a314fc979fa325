/* The job as its trace shows it. */
#include "explain/found.h"
#include "api/explain/explain.h"

#include <inttypes.h>

void explain_print_found(const struct explain *explain, struct text *out)
{
    struct explain_found found;
    const char *before = "found: ";
    explain_find_job(&found, explain);
    for (int i = 0; i < FOUND_DEGREES; i++)
        if (found.degrees[i] > 0) {
            text_format(out, "%s%s %" PRId64 "%s", before, found_degree_names[i], found.degrees[i],
                        found.assumed[i] ? " (assumed)" : "");
            before = ", ";
        }
    if (found.tokens > 0)
        text_format(out, "%s%" PRId64 " tokens (assumed: rows of products) a micro-batch", before,
                    found.tokens);
    before = found.tokens > 0 ? ", " : before;
    if (found.hidden > 0)
        text_format(out, "%shidden %" PRId64 " (assumed)", before, found.hidden);
    if (*before == ',' || found.hidden > 0)
        text_add(out, "\n");
}

void explain_write_found(const struct explain *explain, struct json *json)
{
    struct explain_found found;
    explain_find_job(&found, explain);
    json_open(json, "found", '{');
    for (int i = 0; i < FOUND_DEGREES; i++)
        found.degrees[i] > 0 ? json_integer(json, found_degree_names[i], found.degrees[i])
                             : json_null(json, found_degree_names[i]);
    json_open_flat(json, "assumed", '[');
    for (int i = 0; i < FOUND_DEGREES; i++)
        if (found.degrees[i] > 0 && found.assumed[i])
            json_string(json, NULL, found_degree_names[i]);
    if (found.tokens > 0)
        json_string(json, NULL, "tokens");
    if (found.hidden > 0)
        json_string(json, NULL, "hidden");
    json_close(json);
    json_integer(json, "world", found.world);
    found.tokens > 0 ? json_integer(json, "tokens", found.tokens) : json_null(json, "tokens");
    found.hidden > 0 ? json_integer(json, "hidden", found.hidden) : json_null(json, "hidden");
    json_close(json);
}
