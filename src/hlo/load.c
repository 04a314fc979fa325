#include "core/file.h"
#include "hlo/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* Past blanks and comments of either kind. */
static const char *skip_blank(const char *at, const char *end)
{
    for (;;) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
            at++;
        if (end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*'))
            return at;
        const char *close = at[1] == '/' ? memchr(at, '\n', (size_t)(end - at))
                                         : memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
        if (!close)
            return end;
        at = close + (at[1] == '/' ? 1 : 2);
    }
}

static bool takes_word(const char **at, const char *end, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(end - *at) < length || memcmp(*at, word, length) != 0)
        return false;
    if (*at + length < end && is_name_byte((*at)[length]))
        return false;
    *at = skip_blank(*at + length, end);
    return true;
}

/* MLIR begins with an alias, an operation in its generic form, a module or a function; `module` and `func`
 * alone could also name a computation of HLO. */
static bool is_mlir(const char *text, size_t length)
{
    const char *end = text + length, *at = skip_blank(text, end);
    if (at == end)
        return false;
    if (*at == '#' || *at == '!' || *at == '"')
        return true;
    if (takes_word(&at, end, "func.func") || takes_word(&at, end, "builtin.module"))
        return true;
    if (takes_word(&at, end, "module"))
        return at < end && (*at == '@' || *at == '{' || takes_word(&at, end, "attributes"));
    if (takes_word(&at, end, "func"))
        return at < end && (*at == '@' || takes_word(&at, end, "private") || takes_word(&at, end, "public"));
    return false;
}

static bool read_source(struct hlo_module *module, const struct hlo_source *source, struct error *err)
{
    return is_mlir(source->text, source->length) ? hlo_read_mlir(module, source, err)
                                                 : hlo_read_text(module, source, err);
}

bool hlo_parse(struct hlo_module *module, const char *path, const char *text, size_t length,
               struct error *err)
{
    return read_source(module, &(struct hlo_source){.path = path, .text = text, .length = length}, err);
}

bool hlo_parse_text(struct hlo_module *module, const char *path, const char *text, size_t length,
                    struct error *err)
{
    return hlo_read_text(module, &(struct hlo_source){.path = path, .text = text, .length = length}, err);
}

bool hlo_parse_mlir(struct hlo_module *module, const char *path, const char *text, size_t length,
                    struct error *err)
{
    return hlo_read_mlir(module, &(struct hlo_source){.path = path, .text = text, .length = length}, err);
}

static bool parse_stream(struct hlo_module *module, const char *path, struct error *err)
{
    char *text;
    size_t length;
    if (!file_read(path, HLO_MAX_BYTES, &text, &length, err))
        return false;
    bool ok = hlo_parse(module, strcmp(path, "-") == 0 ? "standard input" : path, text, length, err);
    free(text);
    return ok;
}

/* Mapped, not read: a constant of hundreds of megabytes is never copied, nor kept in memory. */
static bool parse_mapped(struct hlo_module *module, const char *path, int fd, size_t length,
                         struct error *err)
{
    void *text = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (text == MAP_FAILED)
        return error_set(err, ERROR_FAILED, "%s: cannot map: %s", path, strerror(errno));
    (void)madvise(text, length, MADV_SEQUENTIAL);
    bool ok = read_source(
        module, &(struct hlo_source){.path = path, .text = text, .length = length, .mapped = true}, err);
    munmap(text, length);
    return ok;
}

bool hlo_load(struct hlo_module *module, const char *path, struct error *err)
{
    memset(module, 0, sizeof *module);
    if (strcmp(path, "-") == 0)
        return parse_stream(module, path, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set(err, error_of_input(errno), "%s: cannot open: %s", path, strerror(errno));
    struct stat info;
    bool ok;
    if (fstat(fd, &info) != 0)
        ok = error_set(err, ERROR_FAILED, "%s: cannot look at: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode) || info.st_size == 0)
        ok = parse_stream(module, path, err);
    else if ((uintmax_t)info.st_size > HLO_MAX_BYTES)
        ok = error_set(err, ERROR_INPUT, "%s: larger than the %zu MiB that are read", path,
                       HLO_MAX_BYTES >> 20);
    else
        ok = parse_mapped(module, path, fd, (size_t)info.st_size, err);
    close(fd);
    return ok;
}
