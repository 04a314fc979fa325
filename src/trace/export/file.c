#include "trace/export/file.h"

#include "core/text.h"

#include <string.h>
#include <time.h>

void export_time(FILE *out, int64_t time_ns, int digits)
{
    static const int64_t units[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                    10000,      1000,      100,      10,      1};
    int64_t fraction = time_ns % 1000000000;
    time_t seconds = (time_t)(time_ns / 1000000000 - (fraction < 0));
    struct tm tm;
    fraction += fraction < 0 ? 1000000000 : 0;
    if (!gmtime_r(&seconds, &tm))
        return;
    fprintf(out, "%04d-%02d-%02dT%02d:%02d:%02d", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
            tm.tm_min, tm.tm_sec);
    if (digits)
        fprintf(out, ".%0*lld", digits, (long long)(fraction / units[digits]));
}

static void write_character(FILE *out, char c)
{
    if (c == '"' || c == '\\')
        fprintf(out, "\\%c", c);
    else if ((unsigned char)c < ' ')
        fprintf(out, "\\u%04x", (unsigned)c);
    else
        putc(c, out);
}

/* It needs no memory, so it cannot fail unnoticed. */
void export_string(FILE *out, const char *text)
{
    size_t left = strlen(text);
    putc('"', out);
    while (left > 0) {
        size_t good = text_valid_utf8(text, left);
        for (size_t i = 0; i < good; i++)
            write_character(out, text[i]);
        text += good;
        left -= good;
        if (left > 0) {
            fprintf(out, "\\\\x%02x", (unsigned char)*text++);
            left--;
        }
    }
    putc('"', out);
}

const char *export_call_name(const struct trace_reader *reader, const struct trace_event *event)
{
    const char *call = trace_call_name(reader, event->call);
    return *call ? call : trace_class_name(event->class);
}

struct trace_filter export_filter(const struct trace_export_options *options)
{
    if (options->from_ns == 0 && options->to_ns == 0)
        return TRACE_ALL;
    return (struct trace_filter){-1, options->from_ns, options->to_ns, false};
}
