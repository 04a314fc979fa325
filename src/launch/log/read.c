/* Reads a log, line by line. */
#include "core/file.h"
#include "launch/log/line.h"
#include "launch/log/log.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool log_number(const char *text, double *value);
static const char *log_behind(const char *text, const char *key);

/* What a log says of its job: arguments or a configuration, made a launch description whose lines are those of the
 * log. */

enum { OUTSIDE, IN_ARGUMENTS, IN_DOCUMENT };

/* Lines of a script that is one command end with a backslash; empty ones, too. */
static void pad(struct log_job *job, int line, const char *end)
{
    for (; job->lines < line - 1; job->lines++)
        text_add(&job->text, end);
}

static void abandon(struct log_job *job)
{
    text_release(&job->text);
    job->text = (struct text){0};
    job->lines = 0;
    job->state = OUTSIDE;
}

/* ---- arguments of Megatron-LM ---- */

/* Defaults that are printed and say nothing of the job: an encoder's layers are the decoder's. */
static bool is_silent(const char *name, size_t length, const char *value)
{
    static const char *const names[] = {"encoder_num_layers", "world_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    return !*value || strcmp(value, "None") == 0 || strcmp(value, "none") == 0;
}

/* "  hidden_size ..................................... 4096": a long name has no dots. An attribute has its option's
 *    name, but
 * for the formats of 8 and 4 bits. */
static void add_argument(struct log_job *job, const char *text)
{
    const char *name = text + strspn(text, " ");
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_')
        length++;
    const char *value = name + length + strspn(name + length, " ");
    value += strspn(value, ".");
    value += strspn(value, " ");
    if (length == 0 || name[length] != ' ' || is_silent(name, length, value))
        return;
    bool is_format = length == 3 && (strncmp(name, "fp8", 3) == 0 || strncmp(name, "fp4", 3) == 0);
    text_format(&job->text, "--%.*s%s '", (int)length, name, is_format ? "_format" : "");
    for (const char *c = value; *c; c++)
        text_format(&job->text, "%c", *c == '\'' || (unsigned char)*c < ' ' ? ' ' : *c);
    text_add(&job->text, "' ");
}

static void take_argument(struct log_job *job, const struct log_line *line)
{
    if (strstr(line->text, "end of arguments")) {
        job->state = OUTSIDE;
        job->is_whole = true;
        return;
    }
    pad(job, line->number, "\\\n");
    add_argument(job, line->text + (job->prefix < line->length ? job->prefix : line->length));
}

/* " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)" */
static void take_vocabulary(struct log_job *job, const struct log_line *line)
{
    const char *at = log_behind(line->text, "padded vocab (size:");
    double size;
    at = at ? log_behind(at, "(new size:") : NULL;
    if (!at || job->has_vocabulary || !log_number(at, &size) || !(size >= 1 && size < 1e9))
        return;
    job->has_vocabulary = true;
    pad(job, line->number, "\\\n");
    text_format(&job->text, "--padded_vocab_size %.0f ", size);
}

/* ---- configurations ---- */

/* Copies until the last bracket is closed. Python's words become YAML's. */
static void take_document(struct log_job *job, const char *text)
{
    static const char *const words[][2] = {{"None", "null"}, {"True", "true"}, {"False", "false"}};
    for (const char *c = text; *c; c++) {
        size_t length = 1;
        const char *out = c;
        if (job->in_text) {
            job->in_text = job->escaped || *c != job->quote;
            job->escaped = !job->escaped && *c == '\\' && job->quote == '"';
        } else if (*c == '"' || (*c == '\'' && job->is_python)) {
            job->in_text = true;
            job->quote = *c;
        } else if (strchr("{[(", *c)) {
            job->depth++;
            out = *c == '(' ? "[" : c;
        } else if (strchr("}])", *c)) {
            job->depth--;
            out = *c == ')' ? "]" : c;
        } else
            for (size_t i = 0; job->is_python && i < sizeof words / sizeof *words; i++)
                if (strncmp(c, words[i][0], strlen(words[i][0])) == 0) {
                    text_add(&job->text, words[i][1]);
                    c += strlen(words[i][0]) - 1;
                    length = 0;
                    break;
                }
        text_format(&job->text, "%.*s", (int)length, out);
        if (job->depth == 0) {
            text_add(&job->text, "\n");
            job->state = OUTSIDE;
            job->is_whole = true;
            return;
        }
    }
    job->in_text = false; /* a text does not go on in the next line */
}

static bool begin_document(struct log_job *job, const struct log_line *line)
{
    static const char *const keys[] = {"Running with configs: ", "Running with args: ", " json = "};
    const char *at = NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !at; i++)
        at = log_behind(line->text, keys[i]);
    if (!at || *at != '{')
        return false;
    job->is_python = at[1 + strspn(at + 1, " ")] == '\'';
    job->syntax = job->is_python ? LAUNCH_YAML : LAUNCH_JSON;
    job->state = IN_DOCUMENT;
    job->depth = 0;
    job->in_text = job->escaped = false;
    pad(job, line->number, "\n");
    text_format(&job->text, "%*s", (int)(at - line->text), "");
    take_document(job, at);
    return true;
}

/* ---- lines ---- */

/* Takes the next line. False: out of memory. */
static bool log_job_take(struct log_job *job, const struct log_line *line)
{
    const char *at;
    if (job->is_whole) {
        if (job->syntax == LAUNCH_SCRIPT)
            take_vocabulary(job, line);
    } else if (job->state == IN_ARGUMENTS)
        take_argument(job, line);
    else if (job->state == IN_DOCUMENT) {
        pad(job, line->number, "\n");
        take_document(job, line->text);
    } else if ((at = strstr(line->text, "--- arguments ---"))) {
        while (at > line->text && at[-1] == '-')
            at--;
        job->prefix = (size_t)(at - line->text);
        job->syntax = LAUNCH_SCRIPT;
        job->state = IN_ARGUMENTS;
        pad(job, line->number, "\n");
        text_add(&job->text, "pretrain_gpt.py ");
    } else
        begin_document(job, line);
    if (!job->is_whole && job->text.length > RUN_LOG_MAX_JOB)
        abandon(job);
    return !job->text.failed;
}

/* Lines of logs: what software writes about an iteration. */

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
static bool log_line_next(struct log_line *line, const char **at, const char *end)
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

/* Returns the text behind `key`, or NULL. */
static const char *log_behind(const char *text, const char *key)
{
    const char *found = strstr(text, key);
    return found ? found + strlen(key) : NULL;
}

/* Reads a number at `text`, blanks before it and thousands' commas allowed. False: there is none. "nan" and "inf" are
 * numbers. */
static bool log_number(const char *text, double *value)
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

/* "time (ms) | forward: 8.1 | backward: 20.3 | ... | step: 3.2" of wall_clock_breakdown; those of micro-steps end in
 * _microstep, and pipelines write fwd and bwd. */
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

/* Looks for an iteration. False: the line is about something else. */
static bool log_find_step(const char *text, struct log_found *found)
{
    *found = (struct log_found){0};
    return find_megatron(text, found) || find_torchtitan(text, found) || find_deepspeed(text, found);
}

/* What is counted while lines pass: a log that says the time in several ways is read by the best of them. */
struct state {
    struct run_log *log;
    struct log_job job;
    int rank;
};

/* A better way to say the time, or another run in the same file. */
static void begin(struct state *state, const struct log_found *found)
{
    struct run_log *log = state->log;
    log->count = log->repeats = log->skipped = 0;
    log->software = found->software;
    log->measure = found->measure;
    state->rank = found->rank;
}

static bool add(struct state *state, const struct log_line *line, const struct log_found *found,
                struct error *err)
{
    struct run_log *log = state->log;
    if (found->rank < state->rank)
        return true;
    if (found->rank > state->rank)
        begin(state, found);
    if (found->skipped) {
        log->skipped++;
        return true;
    }
    if (!(found->value > 1e-9 && found->value < 1e12))
        return error_set(err, ERROR_INPUT,
                         "%s:%d: the time of an iteration is not a positive number: '%.60s'", log->path,
                         line->number, line->text + strspn(line->text, " "));
    if (log->count > 0 && found->number > 0 && log->steps[log->count - 1].number == found->number) {
        log->repeats++;
        return true;
    }
    if (log->count == RUN_LOG_MAX_STEPS)
        return error_set(err, ERROR_INPUT, "%s:%d: more than %d iterations", log->path, line->number,
                         RUN_LOG_MAX_STEPS);
    if (log->count == log->room) {
        int room = log->room > 0 ? 2 * log->room : 256;
        struct run_step *steps = ARENA_ARRAY(&log->arena, (size_t)room, struct run_step);
        if (!steps)
            return error_memory(err);
        if (log->count > 0)
            memcpy(steps, log->steps, (size_t)log->count * sizeof *steps);
        log->steps = steps;
        log->room = room;
    }
    log->steps[log->count++] = (struct run_step){line->number, found->number, found->batch, found->value};
    return true;
}

/* The mean since the start of the run (SamplesPerSec) is made the rate between two lines. */
static void take_means_apart(struct run_log *log)
{
    double before = 0.0, number = 0.0;
    int kept = 0;
    for (int i = 0; i < log->count; i++) {
        struct run_step step = log->steps[i];
        double steps = (double)step.number, until = steps / step.value, passed = until - before;
        bool grows = steps > number && passed > 0.0;
        double rate = grows ? (steps - number) / passed : 0.0;
        before = until;
        number = steps;
        if (!grows || i == 0) /* the first lines hold the warm-up */
            continue;
        step.value = rate;
        log->steps[kept++] = step;
    }
    if (kept > 0)
        log->count = kept;
}

/* ---- devices ---- */

static void set_devices(struct run_log *log, const struct log_line *line, double devices)
{
    if (log->devices > 0 || !(devices >= 1 && devices <= 1e7) || devices != floor(devices))
        return;
    log->devices = (int64_t)devices;
    log->devices_line = line->number;
}

/* "pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=2, ep=1, etp=1": those of experts are made of the others. */
static double product_of_degrees(const char *text)
{
    static const char *const names[] = {" pp=", " dp_replicate=", " dp_shard=", " cp=", " tp="};
    double product = 1.0, value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = log_behind(text, names[i]);
        if (at && log_number(at, &value))
            product *= value;
    }
    return product;
}

/* "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]" */
static double product_of_list(const char *text)
{
    const char *at = strrchr(text, '[');
    double product = 1.0, value;
    while (at && log_number(at + 1, &value)) {
        product *= value;
        at = strchr(at + 1, ',');
    }
    return product;
}

static bool find_machine(struct run_log *log, const struct log_line *line, struct error *err)
{
    const char *at;
    double value;
    if (((at = log_behind(line->text, "using world size:")) && log_number(at, &value)) ||
        ((at = log_behind(line->text, "world_size .")) && log_number(at + strspn(at, "."), &value)))
        set_devices(log, line, value);
    else if ((at = log_behind(line->text, "device mesh with parallelism:")))
        set_devices(log, line, product_of_degrees(at));
    else if ((at = log_behind(line->text, "D device mesh with [")))
        set_devices(log, line, product_of_list(at));
    else if (!log->gpu && (at = log_behind(line->text, "CUDA capacity: "))) {
        const char *end = strstr(at, " with ");
        log->gpu = arena_format(&log->arena, "%.*s", end && end - at < 100 ? (int)(end - at) : 100, at);
        return log->gpu || error_memory(err);
    }
    return true;
}

/* ---- the log ---- */

static bool read_lines(struct state *state, const char *data, size_t length, struct error *err)
{
    struct run_log *log = state->log;
    struct log_line *line = malloc(sizeof *line);
    struct log_found found;
    const char *at = data, *end = data + length;
    bool ok = line != NULL || error_memory(err);
    if (line)
        line->number = 0;
    while (ok && log_line_next(line, &at, end)) {
        if (log_find_step(line->text, &found))
            ok = add(state, line, &found, err);
        else if (!log_job_take(&state->job, line))
            ok = error_memory(err);
        ok = ok && find_machine(log, line, err);
    }
    free(line);
    return ok;
}

bool run_log_parse(struct run_log *log, const char *path, const char *data, size_t length, struct error *err)
{
    *log = (struct run_log){.path = path};
    struct state state = {.log = log, .job = {.log = log}};
    bool ok = length <= RUN_LOG_MAX_BYTES ||
              error_set(err, ERROR_INPUT, "%s: more than %zu bytes", path, RUN_LOG_MAX_BYTES);
    ok = ok && read_lines(&state, data, length, err);
    if (ok && log->count == 0 && log->skipped == 0)
        ok = error_set(err, ERROR_INPUT,
                       "%s: no iteration with its time, as Megatron-LM, torchtitan and DeepSpeed write them",
                       path);
    if (ok && state.rank == 2)
        take_means_apart(log);
    if (ok && state.job.is_whole) {
        log->job = arena_string(&log->arena, state.job.text.data);
        log->job_length = state.job.text.length;
        log->job_syntax = state.job.syntax;
        ok = log->job || error_memory(err);
    }
    text_release(&state.job.text);
    if (!ok)
        run_log_release(log);
    return ok;
}

bool run_log_load(struct run_log *log, const char *path, struct error *err)
{
    char *data;
    size_t length;
    *log = (struct run_log){0};
    if (!file_read(path, RUN_LOG_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = run_log_parse(log, path, data, length, err);
    free(data);
    return ok;
}

void run_log_release(struct run_log *log)
{
    arena_release(&log->arena);
    *log = (struct run_log){0};
}
