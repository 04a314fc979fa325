/* Prints files, one after the other, as C source: their bytes as `const char NAME[]` and the number of bytes as `NAME_size`, so
 * that the program needs no folder of its own. YAML becomes JSON, which is read ten times as fast, with each value in its own line.
 * Of scripts there is also `NAME_digest`, by which the policy of a page allows this script and no other. A program of its own
 * that runs while rehearse is built:
 *
 *     embed NAME FILE... */
#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_json(struct text *out, const struct doc_node *node, uint32_t *line)
{
    for (; *line < node->line; ++*line)
        text_add(out, "\n");
    if (node->index > 0)
        text_add(out, ",");
    if (node->key) {
        text_add_quoted(out, node->key);
        text_add(out, ":");
    }
    bool map = node->type == DOC_MAP;
    if (map || node->type == DOC_LIST) {
        text_add(out, map ? "{" : "[");
        for (const struct doc_node *inner = node->first_child; inner; inner = inner->next)
            add_json(out, inner, line);
        text_add(out, map ? "}" : "]");
    } else if (node->type == DOC_STRING)
        text_add_quoted(out, node->text);
    else
        text_add(out, node->type == DOC_NULL     ? "null"
                      : node->type == DOC_NUMBER ? node->text
                      : node->boolean            ? "true"
                                                 : "false");
}

/* Makes JSON of *text, which must read back: "+1" or ".5" are no numbers there. */
static bool to_json(const char *path, char **data, size_t *length, struct error *err)
{
    struct doc doc, back;
    struct text out = {0};
    uint32_t line = 1;
    if (!doc_parse(&doc, DOC_YAML, path, *data, *length, err))
        return false;
    add_json(&out, doc.root, &line);
    doc_release(&doc);
    if (out.failed || !doc_parse(&back, DOC_JSON, path, out.data, out.length, err)) {
        bool failed = out.failed;
        text_release(&out);
        return failed ? error_memory(err) : false;
    }
    doc_release(&back);
    free(*data);
    *data = out.data;
    *length = out.length;
    return true;
}

static void print(const char *name, const char *data, size_t length)
{
    printf("#include <stddef.h>\nextern const char %s[];\nextern const size_t %s_size;\n", name, name);
    printf("const size_t %s_size = %zu;\nconst char %s[] = {", name, length, name);
    for (size_t i = 0; i < length; i++)
        printf("%s%d,", i % 20 == 0 ? "\n" : " ", (signed char)data[i]);
    printf("\n0};\n");
}

/* ---- the digest of a script ---- */

static uint32_t turned(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

/* SHA-256's constants: the first 32 bits behind the point of the roots of the first primes. */
static void fill_constants(uint32_t state[8], uint32_t constants[64])
{
    for (int prime = 2, count = 0; count < 64; prime++) {
        int factor = 2;
        while (factor * factor <= prime && prime % factor != 0)
            factor++;
        if (factor * factor <= prime)
            continue;
        if (count < 8)
            state[count] = (uint32_t)((sqrt(prime) - floor(sqrt(prime))) * 0x1p32);
        constants[count++] = (uint32_t)((cbrt(prime) - floor(cbrt(prime))) * 0x1p32);
    }
}

static void digest_block(uint32_t state[8], const uint32_t constants[64], const unsigned char *block)
{
    uint32_t words[64], v[8];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        words[i] = words[i - 16] +
                   (turned(words[i - 15], 7) ^ turned(words[i - 15], 18) ^ words[i - 15] >> 3) +
                   words[i - 7] + (turned(words[i - 2], 17) ^ turned(words[i - 2], 19) ^ words[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t first = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) +
                         ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + words[i];
        uint32_t second = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) +
                          ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

/* Adds the digest as a policy names it: "sha256-" and base64. */
static void add_digest(struct text *out, const char *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t state[8], constants[64];
    struct text padded = {0};
    unsigned char bytes[33] = {0};
    fill_constants(state, constants);
    text_add_bytes(&padded, data, length);
    text_add_bytes(&padded, "\x80", 1);
    while (padded.length % 64 != 56)
        text_add_bytes(&padded, "", 1);
    for (int shift = 56; shift >= 0; shift -= 8)
        text_add_bytes(&padded, &(char){(char)((uint64_t)length * 8 >> shift & 255)}, 1);
    for (size_t at = 0; !padded.failed && at < padded.length; at += 64)
        digest_block(state, constants, (const unsigned char *)padded.data + at);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(state[i / 4] >> (24 - i % 4 * 8));
    text_add(out, "sha256-");
    for (int i = 0; i < 33; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            text_format(out, "%c", i == 30 && shift == 0 ? '=' : digits[bits >> shift & 63]);
    }
    out->failed |= padded.failed;
    text_release(&padded);
}

/* ---- all of it ---- */

static bool add_file(struct text *out, const char *path, struct error *err)
{
    char *data = NULL;
    size_t length;
    bool ok = file_read(path, DOC_MAX_BYTES, &data, &length, err) &&
              (!text_ends_with(path, ".yaml") || to_json(path, &data, &length, err));
    if (ok && text_ends_with(path, ".js") && (strcasestr(data, "</script") || strstr(data, "<!--")))
        ok = error_set(err, ERROR_INPUT, "%s: '</script' and '<!--' would end the script in its page", path);
    if (ok)
        text_add_bytes(out, data, length);
    free(data);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err;
    struct text all = {0}, digest = {0};
    bool ok = argc > 2;
    for (int i = 2; ok && i < argc; i++)
        ok = add_file(&all, argv[i], &err);
    if (argc <= 2)
        return 2;
    if (ok && text_ends_with(argv[2], ".js"))
        add_digest(&digest, all.data, all.length);
    if (ok && (all.failed || digest.failed))
        ok = error_memory(&err);
    if (ok)
        print(argv[1], all.data ? all.data : "", all.length);
    if (ok && digest.data)
        printf("extern const char %s_digest[];\nconst char %s_digest[] = \"%s\";\n", argv[1], argv[1],
               digest.data);
    if (!ok)
        fprintf(stderr, "%s\n", err.text);
    text_release(&all);
    text_release(&digest);
    return !ok || fflush(stdout) != 0;
}
