/* What a log says of its job: arguments or a configuration, made a launch description whose lines are those of the log. */
#include "launch/log/line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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

/* "  hidden_size ..................................... 4096": a long name has no dots. An attribute has its option's name, but
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

bool log_job_take(struct log_job *job, const struct log_line *line)
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
