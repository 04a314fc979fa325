/* Lines of logs: what software writes about an iteration. */
#include "launch/log/line.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

static size_t digits_at(const char *text, const char *end)
{
    size_t count = 0;
    while (text + count < end && isdigit((unsigned char)text[count]))
        count++;
    return count;
}

/* Returns what is behind the rest of a tag of `mpirun --tag-output`, ",0]<stdout>:", or NULL. */
static const char *behind_tag(const char *at, const char *end)
{
    static const char *const streams[] = {"]<stdout>:", "]<stderr>:"};
    size_t length = strlen(streams[0]);
    if (at == end || *at != ',')
        return NULL;
    at++;
    at += digits_at(at, end);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if ((size_t)(end - at) >= length && memcmp(at, streams[i], length) == 0)
            return at + length;
    return NULL;
}

/* Returns the bytes that a launcher put before a line: "[rank0]:", "[default3]:", "[1,0]<stdout>:" or srun's " 0: ". */
static size_t prefix_of(const char *text, const char *end)
{
    static const char *const names[] = {"rank", "default", "trainer", "worker", ""};
    const char *at = text;
    if (at < end && *at == '[') {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            size_t length = strlen(names[i]);
            if ((size_t)(end - at) <= length + 1 || strncmp(at + 1, names[i], length) != 0)
                continue;
            const char *number = at + 1 + length;
            size_t digits = digits_at(number, end);
            const char *close = number + digits;
            const char *tagged = digits > 0 ? behind_tag(close, end) : NULL;
            if (tagged)
                return (size_t)(tagged - text);
            if (digits > 0 && end - close >= 2 && close[0] == ']' && close[1] == ':')
                return (size_t)(close + 2 - text);
        }
        return 0;
    }
    while (at < end && *at == ' ')
        at++;
    size_t digits = digits_at(at, end);
    if (digits > 0 && digits < 7 && end - at > (long)digits + 1 && at[digits] == ':' && at[digits + 1] == ' ')
        return (size_t)(at + digits + 1 - text);
    return 0;
}

/* Copies a line without colours: ESC [ ... letter. */
bool log_line_next(struct log_line *line, const char **at, const char *end)
{
    const char *from = *at, *stop;
    if (from >= end)
        return false;
    stop = memchr(from, '\n', (size_t)(end - from));
    *at = stop ? stop + 1 : end;
    stop = stop ? stop : end;
    line->number++;
    line->length = 0;
    size_t prefix = prefix_of(from, stop);
    for (size_t i = 0; i < prefix && line->length < LOG_MAX_LINE - 1; i++)
        line->text[line->length++] = ' ';
    for (from += prefix; from < stop && line->length < LOG_MAX_LINE - 1; from++) {
        if (*from == '\033' && from + 1 < stop && from[1] == '[') {
            for (from += 2; from < stop && !isalpha((unsigned char)*from);)
                from++;
            if (from == stop)
                break;
        } else if (*from != '\r' && *from != '\0')
            line->text[line->length++] = *from;
    }
    line->text[line->length] = '\0';
    return true;
}

const char *log_behind(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    return found ? found + strlen(key) : NULL;
}

bool log_number(const char *text, double *value)
{
    char plain[64], *end;
    size_t length = 0;
    text += strspn(text, " \t");
    for (; length + 1 < sizeof plain && (isalnum((unsigned char)*text) || (*text && strchr("+-.,", *text)));
         text++)
        if (*text != ',')
            plain[length++] = *text;
        else if (!isdigit((unsigned char)text[1])) /* the end of an item */
            break;
    plain[length] = '\0';
    *value = strtod(plain, &end);
    return end > plain;
}

/* ---- iterations ---- */

static int64_t whole(const char *text)
{
    double value;
    return text && log_number(text, &value) && value >= 0 && value <= 9e15 ? (int64_t)value : 0;
}

/* " iteration       20/     500 | consumed samples: ... | elapsed time per iteration (ms): 412.7 | ..."; Primus writes
 * "412.7/415.2", the mean behind the slash. */
static bool find_megatron(const char *text, struct log_found *found)
{
    const char *at = log_behind(text, "elapsed time per iteration (ms):"),
               *number = log_behind(text, "iteration ");
    if (!at || !number)
        return false;
    found->software = "Megatron-LM";
    found->rank = 9;
    if (!log_number(at, &found->value))
        found->value = NAN;
    found->value /= 1e3;
    found->number = whole(number);
    found->batch = whole(log_behind(text, "global batch size:"));
    found->skipped = whole(log_behind(text, "number of skipped iterations:")) > 0 ||
                     whole(log_behind(text, "number of nan iterations:")) > 0;
    return true;
}

/* "step: 20  loss:  5.8383  memory: 49.66GiB(52.28%)  tps: 5,868  tflops: 339.82  mfu: 34.36%"; until 2025 "wps". */
static bool find_torchtitan(const char *text, struct log_found *found)
{
    const char *number = log_behind(text, "step:"), *at = log_behind(text, " tps:");
    at = at ? at : log_behind(text, " wps:");
    if (!number || !at || !strstr(text, "loss:"))
        return false;
    found->software = "torchtitan";
    found->measure = RUN_TOKENS;
    found->rank = 8;
    found->number = whole(number);
    if (!log_number(at, &found->value))
        found->value = NAN;
    return true;
}

/* "time (ms) | forward: 8.1 | backward: 20.3 | ... | step: 3.2" of wall_clock_breakdown; those of micro-steps end in _microstep,
 * and pipelines write fwd and bwd. */
static bool find_breakdown(const char *text, struct log_found *found)
{
    static const char *const parts[][2] = {
        {"| forward:", "| fwd:"}, {"| backward:", "| bwd:"}, {"| step:", "| step:"}};
    if (!strstr(text, "time (ms)"))
        return false;
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const char *at = log_behind(text, parts[i][0]);
        double value;
        at = at ? at : log_behind(text, parts[i][1]);
        if (!at)
            return false;
        sum += log_number(at, &value) ? value : NAN;
    }
    found->rank = 1;
    found->value = sum / 1e3;
    return true;
}

static bool find_deepspeed(const char *text, struct log_found *found)
{
    const char *pipeline = log_behind(text, "iter time (s):"),
               *current = log_behind(text, "CurrSamplesPerSec="), *mean = log_behind(text, " SamplesPerSec="),
               *slash = NULL;
    found->software = "DeepSpeed";
    if (pipeline && strstr(text, "samples/sec:")) {
        found->rank = 4;
        found->number = whole(log_behind(text, "steps:"));
    } else if (current || mean) {
        found->rank = current ? 3 : 2;
        found->measure = RUN_SAMPLES;
        for (const char *c = text; c < (current ? current : mean); c++)
            slash = *c == '/' ? c : slash; /* "epoch=0/micro_step=8/global_step=8", "0/40, " */
        const char *step = log_behind(text, "global_step=");
        found->number = whole(step ? step : slash ? slash + 1 : NULL);
    } else
        return find_breakdown(text, found);
    if (!log_number(pipeline ? pipeline : current ? current : mean, &found->value))
        found->value = NAN;
    return true;
}

bool log_find_step(const char *text, struct log_found *found)
{
    *found = (struct log_found){0};
    return find_megatron(text, found) || find_torchtitan(text, found) || find_deepspeed(text, found);
}
