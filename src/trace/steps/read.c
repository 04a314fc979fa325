/* Files and folders of logs. The first bytes of a file tell its format. */
#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"
#include "trace/import/paths.h"
#include "trace/steps/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 16 /* of folders */

/* Returns whether a file is output of DLIO or `rehearse feed`. */
static bool is_output(const char *path)
{
    return text_ends_like(path, "_output.json") || text_ends_like(path, "_load_and_proc_times.json");
}

/* Puts NaN and infinities, which Python writes but JSON lacks, into quotes; the words keep their length,
 * and are no numbers. */
static void quote_words(char *text, size_t length)
{
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    bool string = false;
    for (size_t i = 0; i < length; i++) {
        if (string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            string = !string;
        for (size_t j = 0; j < sizeof words / sizeof *words && !string; j++) {
            size_t n = strlen(words[j]);
            if (length - i < n || memcmp(text + i, words[j], n) != 0)
                continue;
            text[i] = text[i + n - 1] = '"';
            i += n - 1;
            break;
        }
    }
}

static bool read_doc(struct steps_file *file, const char *text, size_t length, struct error *err)
{
    struct doc doc;
    char *data = NULL;
    bool beside = !text;
    if (text) {
        data = malloc(length + 1);
        if (!data)
            return error_memory(err);
        memcpy(data, text, length);
        data[length] = '\0';
    } else if (!file_read(file->path, DOC_MAX_BYTES, &data, &length, err)) {
        return false;
    }
    quote_words(data, length);
    bool good = doc_parse(&doc, DOC_JSON, file->path, data, length, err);
    free(data);
    if (!good)
        return false;
    good = steps_read_output(file, &doc, beside, err);
    doc_release(&doc);
    return good;
}

/* "[{" begins a list of objects, "{" one object with such a list in it; "[INFO]" and all else are lines. */
static bool read_stream(struct steps_file *file, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    const char *head = "";
    size_t head_length = 0;
    bool good = import_lines_open(&lines, file->path, text, length, err) &&
                import_lines_peek(&lines, &head, &head_length, err);
    if (good) {
        size_t at = strspn(head, " \t\r\n"), next = at + (at < head_length);
        next += strspn(head + next, " \t\r\n");
        bool list = head[at] == '[' && head[next] == '{';
        good = list || head[at] == '{' ? steps_read_objects(file, &lines, !list, err)
                                       : steps_read_lines(file, &lines, err);
        if (lines.truncated)
            steps_malformed(file, "the gzip file is truncated");
        file->steps->lines += file->line;
    }
    import_lines_close(&lines);
    return good;
}

static bool read_one(struct steps *steps, const char *path, const char *text, size_t length,
                     const struct steps_options *options, int64_t *durations, struct error *err)
{
    struct steps_file file = {.steps = steps, .options = options, .path = path};
    steps_file_begin(&file);
    bool good = is_output(path) ? read_doc(&file, text, length, err) : read_stream(&file, text, length, err);
    good = good && steps_file_end(&file, err);
    *durations += file.durations;
    free(file.entries);
    return good;
}

bool steps_read_text(struct steps *steps, const char *path, const char *text, size_t length,
                     const struct steps_options *options, struct error *err)
{
    int64_t durations = 0;
    return read_one(steps, path, text, length, options, &durations, err);
}

/* ---- folders ---- */

static bool is_log(const char *name)
{
    static const char *const endings[] = {".log", ".log.gz", ".txt", ".txt.gz", ".json", ".json.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_like(name, endings[i]))
            return true;
    return false;
}

/* Reads logs and, without durations in them, outputs: a log has more than the output of the same run. */
static bool read_all(struct steps *steps, const struct import_paths *paths,
                     const struct steps_options *options, int64_t *durations, struct error *err)
{
    for (int outputs = 0; outputs < 2 && *durations == 0; outputs++)
        for (size_t i = 0; i < paths->count; i++)
            if (is_output(paths->items[i]) == outputs &&
                !read_one(steps, paths->items[i], NULL, 0, options, durations, err))
                return false;
    return true;
}

bool steps_read(struct steps *steps, const char *path, const struct steps_options *options, struct error *err)
{
    struct stat state;
    struct import_paths paths = {0};
    int64_t durations = 0;
    bool good;
    if (stat(path, &state) != 0)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(state.st_mode)) {
        static const struct import_paths_rules rules = {
            .wanted = is_log, .max_count = STEPS_MAX_FILES, .max_depth = MAX_DEPTH};
        good =
            import_paths_list(&paths, path, &rules, err) && read_all(steps, &paths, options, &durations, err);
        import_paths_release(&paths);
    } else {
        good = read_one(steps, path, NULL, 0, options, &durations, err);
    }
    if (good && durations == 0)
        return error_set(err, ERROR_INPUT,
                         "'%s': no times of steps: expected lines of MLLOG with \"duration\", lines "
                         "'[INFO] EVENT NS', R_output.json, or JSON of TensorFlow's profiler",
                         path);
    return good;
}
