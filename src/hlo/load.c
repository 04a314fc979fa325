#include "core/file.h"
#include "hlo/module.h"

#include <stdlib.h>
#include <string.h>

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
bool hlo_is_mlir(const char *text, size_t length)
{
    const char *end = text + length, *at = skip_blank(text, end);
    if (at == end)
        return false;
    if (*at == '#' || *at == '!' || *at == '"')
        return true;
    if (takes_word(&at, end, "func.func") || takes_word(&at, end, "builtin.module") ||
        takes_word(&at, end, "sdy.mesh"))
        return true;
    if (takes_word(&at, end, "module"))
        return at < end && (*at == '@' || *at == '{' || takes_word(&at, end, "attributes"));
    if (takes_word(&at, end, "func"))
        return at < end && (*at == '@' || takes_word(&at, end, "private") || takes_word(&at, end, "public"));
    return false;
}

#define BYTECODE "ML\xefR"
#define EXPORTED 65536 /* bytes in which an export's own numbers end and its module begins */

/* What torch_xla and StableHLO's portable artifacts are, and jax.export serialises behind some numbers. No text has
 * zeros in its first line. */
static bool is_bytecode(const char *text, size_t length)
{
    size_t mark = strlen(BYTECODE);
    if (length >= mark && memcmp(text, BYTECODE, mark) == 0)
        return true;
    return memchr(text, '\0', length < 64 ? length : 64) &&
           memmem(text, length < EXPORTED ? length : EXPORTED, BYTECODE, mark) != NULL;
}

/* For bytecode and for an export, which has the bytecode's length before it. */
#define TO_TEXT                                                                                              \
    "python3 -c 'import sys; from jaxlib.mlir import ir; from jaxlib.mlir.dialects import stablehlo; "       \
    "b = open(sys.argv[1], \"rb\").read(); i = b.index(b\"ML\\xefR\"); "                                     \
    "n = int.from_bytes(b[i-4:i], \"little\") if i else len(b); "                                            \
    "print(stablehlo.deserialize_portable_artifact(ir.Context(), b[i:i+n]))'"

/* How files begin that are taken for programs by mistake. */
static const struct stranger {
    const char *begin, *what;
} strangers[] = {
    {"\x1f\x8b", "packed by gzip"},
    {"PK\x03\x04", "a zip archive, as torch.save writes"},
    {"\177ELF", "a compiled program or library"},
    {"{ lambda", "a jaxpr"},
    {"[", "JSON"},
    {"\xff\xfe", "UTF-16, as PowerShell redirects it"},
};

/* Returns what a file is that is no text of a program, or NULL. */
static const char *stranger(const char *text, size_t length)
{
    const char *end = text + length, *at = skip_blank(text, end);
    if (at == end)
        return "empty";
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        size_t begin = strlen(strangers[i].begin);
        if ((size_t)(end - at) >= begin && memcmp(at, strangers[i].begin, begin) == 0)
            return strangers[i].what;
    }
    if (end - at > 1 && *at == '{' && *skip_blank(at + 1, end) == '"')
        return "JSON";
    for (size_t i = 0; i < length && i < 256; i++)
        if ((unsigned char)text[i] < ' ' && (text[i] == 0 || !strchr("\t\n\r\f", text[i])))
            return "a binary file, as ONNX and serialized HLO are";
    return NULL;
}

/* Returns whether a text has none of the words that a program begins with. */
static bool has_no_program(const char *text, size_t length)
{
    static const char *const words[] = {"HloModule", "ENTRY", "("};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (memmem(text, length, words[i], strlen(words[i])))
            return false;
    return true;
}

static bool refuse_stranger(const char *path, const char *what, struct error *err)
{
    return error_set(err, ERROR_INPUT,
                     "%s: %s: expected the text of a program in HLO or StableHLO, such as that of "
                     "jax.jit(f).lower(x).as_text()",
                     path, what);
}

bool hlo_parse_sized(struct hlo_module *module, const char *path, const char *text, size_t length,
                     const struct hlo_dims *dims, struct error *err)
{
    size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte order mark */
    text += mark;
    length -= mark;
    if (is_bytecode(text, length)) {
        *module = (struct hlo_module){0};
        return error_set(
            err, ERROR_INPUT,
            "%s: this is MLIR bytecode, as jax.export and torch_xla write it; where jaxlib is installed, "
            "its text comes of: " TO_TEXT " %s >%s.mlir",
            path, path, path);
    }
    if (hlo_is_mlir(text, length))
        return hlo_parse_mlir_sized(module, path, text, length, dims, err);
    const char *what = stranger(text, length);
    if (!what && has_no_program(text, length))
        what = "neither HLO nor StableHLO";
    if (!what)
        return hlo_parse_text(module, path, text, length, err);
    *module = (struct hlo_module){0};
    return refuse_stranger(path, what, err);
}

bool hlo_parse(struct hlo_module *module, const char *path, const char *text, size_t length,
               struct error *err)
{
    return hlo_parse_sized(module, path, text, length, NULL, err);
}

bool hlo_load_sized(struct hlo_module *module, const char *path, const struct hlo_dims *dims,
                    struct error *err)
{
    char *text;
    size_t length;
    memset(module, 0, sizeof *module);
    if (!file_read(path, HLO_MAX_BYTES, &text, &length, err))
        return false;
    bool ok =
        hlo_parse_sized(module, strcmp(path, "-") == 0 ? "standard input" : path, text, length, dims, err);
    free(text);
    return ok;
}

bool hlo_load(struct hlo_module *module, const char *path, struct error *err)
{
    return hlo_load_sized(module, path, NULL, err);
}
