#include "core/doc/prometheus.h"

#include "core/doc.h"
#include "core/file_output.h"
#include "core/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct writer {
    struct text *out;
    const char *prefix;
    const struct prometheus_metric *metric;
    size_t name;                      /* bytes of the metric's name before its own labels */
    const struct doc_node *labels[2]; /* of the document, and of an item of a list; NULL: none */
    bool headed;                      /* HELP and TYPE of this name are written */
};

static void add_head(struct writer *w)
{
    const struct prometheus_metric *metric = w->metric;
    bool counts = w->name > 6 && memcmp(metric->name + w->name - 6, "_total", 6) == 0;
    text_format(w->out, "# HELP %s%.*s %s\n# TYPE %s%.*s %s\n", w->prefix, (int)w->name, metric->name,
                metric->help, w->prefix, (int)w->name, metric->name,
                counts                              ? "counter"
                : strstr(metric->name, "quantile=") ? "summary"
                                                    : "gauge");
    w->headed = true;
}

static void add_label(struct text *out, const struct doc_node *node)
{
    text_format(out, "%s=\"", node->key);
    for (const char *c = node->text; *c; c++)
        if (*c == '\n')
            text_add(out, "\\n");
        else
            text_format(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
    text_add(out, "\"");
}

static void add_sample(struct writer *w, const struct doc_node *node)
{
    const char *own = w->metric->name + w->name, *between = "{";
    if (!w->headed)
        add_head(w);
    text_format(w->out, "%s%.*s", w->prefix, (int)w->name, w->metric->name);
    for (int i = 0; i < 2; i++)
        if (w->labels[i]) {
            text_add(w->out, between);
            add_label(w->out, w->labels[i]);
            between = ",";
        }
    if (*own)
        text_format(w->out, "%s%s", between, own + 1); /* with its brace */
    else if (*between == ',')
        text_add(w->out, "}");
    text_format(w->out, " %s\n", node->type == DOC_NUMBER ? node->text : node->boolean ? "1" : "0");
}

static const struct doc_node *text_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = key && map->type == DOC_MAP ? doc_find(map, key) : NULL;
    return node && node->type == DOC_STRING ? node : NULL;
}

static void add_values(struct writer *w, const struct doc_node *node, const char *path)
{
    char key[64];
    if (node->type == DOC_LIST) {
        for (const struct doc_node *item = node->first_child; item; item = item->next) {
            w->labels[1] = text_of(item, w->metric->label);
            if (w->labels[1])
                add_values(w, item, path);
        }
        w->labels[1] = NULL;
    } else if (!*path && (node->type == DOC_NUMBER || node->type == DOC_BOOL)) {
        add_sample(w, node);
    } else if (*path && node->type == DOC_MAP) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        const struct doc_node *inner = doc_find(node, key);
        if (inner)
            add_values(w, inner, path + length + (path[length] == '.'));
    }
}

bool prometheus_write(const struct prometheus *to, bool running, const struct text *json, struct error *err)
{
    static const struct prometheus_metric state = {NULL, "running", "1 while it runs, then 0", NULL};
    const struct doc_node flag = {.type = DOC_BOOL, .boolean = running};
    struct doc doc;
    struct text text = {0};
    struct file_output output;
    if (json->failed || !doc_parse(&doc, DOC_JSON, to->path, json->data, json->length, err))
        return json->failed ? error_memory(err) : false;
    struct writer w = {.out = &text, .prefix = to->prefix, .metric = &state, .name = strlen(state.name)};
    w.labels[0] = text_of(doc.root, to->label);
    add_sample(&w, &flag);
    for (const struct prometheus_metric *metric = to->metrics; metric->path; metric++) {
        size_t name = strcspn(metric->name, "{");
        w.headed = w.headed && w.name == name && memcmp(w.metric->name, metric->name, name) == 0;
        w.metric = metric;
        w.name = name;
        add_values(&w, doc.root, metric->path);
    }
    doc_release(&doc);
    bool done = (!text.failed || error_memory(err)) &&
                file_output_beside(&output, to->path, "a file of metrics is replaced again and again", err);
    if (done) {
        FILE *file = fopen(output.temporary, "we");
        output.unsynced = true; /* the disk may be what is measured */
        bool written = file && fwrite(text.data, 1, text.length, file) == text.length;
        written = file && fclose(file) == 0 && written;
        if (!written)
            error_set(err, ERROR_FAILED, "%s: cannot write: %s", to->path, strerror(errno));
        done = file_output_close(&output, written, err) && written;
    }
    text_release(&text);
    return done;
}

void prometheus_remove(const char *path)
{
    struct stat status;
    if (path && lstat(path, &status) == 0 && S_ISREG(status.st_mode))
        unlink(path);
}
