/* The corpus of StableHLO and MHLO files: what is valid is read, what is marked as an error is refused. */
#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"
#include "hlo/module.h"
#include "support/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Why a valid text may be refused: each is said clearly, and none can be counted. */
static const char *const cannot_be_counted[] = {
    "expected a static size",               /* dimensions known only at run time */
    "expected a function with a body",      /* declarations alone */
    "operation 'interpreter.run_parallel'", /* the reference interpreter's own */
    "the shape written is f32[3]",          /* one file: a dimension with two bounds, which types allow */
};

/* What a text marked as an error may be read in spite of: it changes no count. */
static const char *const not_checked[] = {
    "quantiz", "quant.", "scale", "zero_point", "channel_", "layout",
};

struct tally {
    int read, refused, uncounted, unmarked, missed;
};

static bool contains_any(const char *text, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memmem(text, length, words[i], strlen(words[i])))
            return true;
    return false;
}

#define CONTAINS_ANY(text, length, words) contains_any(text, length, words, sizeof(words) / sizeof *(words))

/* One module, or one piece of a file with several. */
static void check_piece(const char *path, const char *text, size_t length, struct tally *tally)
{
    struct hlo_module module;
    struct error err = {0};
    const char *marked = memmem(text, length, "expected-error", 14);
    bool is_read = hlo_parse_mlir_sized(&module, path, text, length, NULL, &err);
    if (is_read)
        hlo_release(&module);
    else if (!strstr(err.text, ".mlir:"))
        fail_msg("no place: %s", err.text);
    if (marked) {
        tally->refused += !is_read;
        if (is_read) {
            bool known = CONTAINS_ANY(marked, length - (size_t)(marked - text), not_checked);
            tally->unmarked += known;
            tally->missed += !known;
        }
        return;
    }
    tally->read += is_read;
    if (!is_read && !CONTAINS_ANY(err.text, strlen(err.text), cannot_be_counted))
        fail_msg("%s", err.text);
    tally->uncounted += !is_read;
}

/* Pieces end at lines of `// -----`. */
static void check_file(const char *path, bool pieces, struct tally *tally)
{
    struct error err = {0};
    char *text = NULL;
    size_t length = 0;
    if (!file_read(path, HLO_MAX_BYTES, &text, &length, &err) || !text) {
        fail_msg("%s", err.text);
        return;
    }
    const char *start = text, *end = text + length;
    while (start < end) {
        const char *cut = pieces ? memmem(start, (size_t)(end - start), "// -----", 8) : NULL;
        const char *stop = cut ? cut : end;
        if (memmem(start, (size_t)(stop - start), "func.func", 9) ||
            memmem(start, (size_t)(stop - start), "module", 6))
            check_piece(path, start, (size_t)(stop - start), tally);
        start = stop;
        while (start < end && *start++ != '\n')
            ;
    }
    free(text);
}

/* Files of the index whose kind is this one; false: no corpus. */
static bool check_kind(const char *kind, bool pieces, struct tally *tally)
{
    struct doc index;
    struct error err = {0};
    char *path = reference_path("cost/index.json");
    if (!path || !doc_load(&index, path, &err)) {
        free(path);
        return false;
    }
    path[strlen(path) - strlen("index.json")] = '\0';
    for (const struct doc_node *entry = index.root->first_child; entry; entry = entry->next) {
        const struct doc_node *file = doc_find(entry, "file"), *found = doc_find(entry, "kind");
        char name[4096];
        if (!file || !found || strcmp(found->text, kind) != 0)
            continue;
        snprintf(name, sizeof name, "%s%s", path, file->text);
        check_file(name, pieces, tally);
    }
    doc_release(&index);
    free(path);
    return true;
}

static void exported_modules_are_read(void **state)
{
    (void)state;
    struct tally tally = {0};
    if (!check_kind("mlir", false, &tally))
        skip();
    printf("# %d read, %d without static sizes\n", tally.read, tally.uncounted);
    assert_true(tally.read >= 208 && tally.uncounted <= 6);
}

static void mhlo_modules_are_read(void **state)
{
    (void)state;
    struct tally tally = {0};
    if (!check_kind("mlir-mhlo-generic", false, &tally))
        skip();
    assert_true(check_kind("mlir-mhlo-pretty", false, &tally));
    assert_int_equal(tally.read, 12);
}

static void test_files_are_read_or_refused_as_marked(void **state)
{
    (void)state;
    struct tally tally = {0};
    if (!check_kind("mlir-lit", true, &tally))
        skip();
    printf("# valid: %d read, %d cannot be counted; errors: %d refused, %d of no matter, %d missed\n",
           tally.read, tally.uncounted, tally.refused, tally.unmarked, tally.missed);
    assert_true(tally.read >= 346 && tally.uncounted <= 85);
    assert_true(tally.refused >= 456 && tally.missed == 0);
}

/* 2 x elements of the result x elements contracted, of every dot. */
static double dot_flops(const struct hlo_module *module)
{
    double flops = 0;
    for (int c = 0; c < module->count; c++)
        for (int i = 0; i < module->computations[c]->count; i++) {
            const struct hlo_instruction *dot = module->computations[c]->instructions[i];
            if (dot->opcode != HLO_DOT)
                continue;
            double each = 2 * (double)hlo_elements(dot->shape);
            for (int k = 0; k < dot->attributes->lhs_contracting.count; k++)
                each *= (double)dot->operands[0]->shape->dims[dot->attributes->lhs_contracting.at[k]];
            flops += each;
        }
    return flops;
}

static void dots_are_those_of_the_reference(void **state)
{
    (void)state;
    struct doc golden;
    struct error err = {0};
    char *path = reference_path("cost/golden.json");
    if (!path)
        skip();
    assert_true(doc_load(&golden, path, &err));
    path[strlen(path) - strlen("golden.json")] = '\0';
    const struct doc_node *cases = doc_find(golden.root, "mlir_dot_flops");
    assert_non_null(cases);
    assert_true(cases->count >= 9);
    for (const struct doc_node *each = cases->first_child; each; each = each->next) {
        struct hlo_module module;
        char name[4096], *text;
        size_t length;
        snprintf(name, sizeof name, "%s%s", path, doc_find(each, "file")->text);
        assert_true(file_read(name, HLO_MAX_BYTES, &text, &length, &err));
        if (!hlo_parse_mlir_sized(&module, name, text, length, NULL, &err))
            fail_msg("%s", err.text);
        assert_true(dot_flops(&module) == doc_find(each, "dot_flops")->number);
        hlo_release(&module);
        free(text);
    }
    doc_release(&golden);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exported_modules_are_read),
        cmocka_unit_test(mhlo_modules_are_read),
        cmocka_unit_test(test_files_are_read_or_refused_as_marked),
        cmocka_unit_test(dots_are_those_of_the_reference),
    };
    return cmocka_run_group_tests_name("mlir_corpus", tests, NULL, NULL);
}
