/* The corpus of real modules and of XLA's own test modules: what is valid is read, what XLA's parser refuses is
 * refused with its place. */
#include "core/doc.h"
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

/* The tests of XLA's hlo_parser_test.cc that expect an error, by what their names contain. */
static const char *const refused[] = {
    "AliasingShapeIndexNotNumerical",
    "AliasingWrong",
    "AllGatherEmptyDimensions",
    "AsyncDoneAsOperandTo",
    "AsyncDoneNoAsyncStart",
    "AsyncDoneWithSyntaxSugarWrongOp",
    "AsyncDoneWrong",
    "AsyncDoneZeroOperandsRejected",
    "AsyncOpSharedComputation",
    "AsyncOps_ParserGuard",
    "AsyncStart_Missing_Output_Type",
    "AsyncStart_WrongOperand_SubShape",
    "AsyncUpdateAndAsyncDoneNoAsyncStart",
    "AsyncUpdateWithSyntaxSugarWrongOp",
    "AsyncUpdateWrong",
    "AsyncUpdateZeroOperandsRejected",
    "AsyncUpdate_Missing_Output_Type",
    "AsyncUpdate_WrongOperand_SubShape",
    "BufferDonorShapeIndexNotNumerical",
    "BufferDonorWrongFormatAlphaParam",
    "CheckIndexedConditional",
    "CheckPredicatedConditionalRequires",
    "CollectiveDeviceListIotaSizeMismatch",
    "CompactGteIndexOutOfBounds",
    "CompactGteInvalidIndex",
    "CompactGteNegativeIndex",
    "CompactGteNonTuple",
    "ComputationExists",
    "ComputationShapeDoesNotMatchRootShape",
    "ConditionalNoOperands",
    "ConstantBf16Overflow",
    "ConstantC64Overflow",
    "ConstantC64Underflow",
    "ConstantF16Overflow",
    "ConstantF64Overflow",
    "ConstantF64Underflow",
    "ConstantS4",
    "ConstantU4",
    "ConstantUnsignedOverflow",
    "ConvDimLabelDigitExceedsSpatialDims",
    "CrossComputationLookup",
    "CustomCallIncompatibleOperandConstraints",
    "CustomCallWithNonexistentVersion",
    "CustomCallWithUnspecifiedVersion",
    "CustomCallWrongNumberofOperandConstraints",
    "DuplicateParameterNumberIsDetected",
    "GetDimensionSizeEmptyDimensions",
    "Incomplete_Binding",
    "Incomplete_Chain",
    "InvalidDebugLogMode",
    "InvalidDimLabels",
    "InvalidDimLevelType",
    "InvalidNanPayload",
    "LiteralDimensions",
    "MeshReplicaGroup",
    "MultipleEntries",
    "MultipleOpsProducesError",
    "MultipleRoots",
    "NestedBroadcastWithoutDimensionsAttribute",
    "NontupleInfeed",
    "OperandNotFound",
    "OverBinding",
    "PaddingConfigIsNotWindowPad",
    "ParseDynamicReshape",
    "ParseReshapeElementCountMismatch",
    "PredecessorUndefined",
    "RecvNonTupleShape",
    "ReduceScatterEmptyDimensions",
    "ReduceWindowNoOperands",
    "RejectDensePhysicalShape",
    "RngBitGeneratorNoOperands",
    "RootShape_CallDone_Mismatch",
    "ScanDimensionOutOfRange",
    "ShapeMismatchInOperand",
    "ShardingDeviceCountExceedsTileAssignment",
    "ShardingIotaSizeMismatchesTileAssignment",
    "TranscendentalAccuracyInvalid",
    "TranscendentalAccuracyModeError",
    "TranscendentalResultAccuracyInvalidName",
    "TupleTypo",
    "UnexpectedAttribute",
    "UnterminatedComment",
    "Update_Invalid",
    "Start_Invalid",
    "WindowRhsReversalWrongSize",
    "WrongOpcode",
    "WrongOperandsSize",
    "WrongShape",
    /* not XLA's: a dimension that is not known, a tuple of another shape than its operands, and templates
     * whose gaps nothing has filled */
    "ParseReshapeUnboundedDynamicOperandStillParses",
    "LateBinding_WithLayout",
    "AllReduceWithMode",
    "while_loop_analysis_test/pre__",
};

static bool is_refused(const char *file)
{
    if (strstr(file, "hlo_parser_test/data.") || strncmp(file, "xla_unit/", 9) != 0)
        return false;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (strstr(file, refused[i]) &&
            (strstr(file, "hlo_parser_test/") || strncmp(refused[i], "while_loop", 10) == 0))
            return true;
    return false;
}

struct corpus {
    struct doc index;
    char *folder;
};

static bool open_corpus(struct corpus *corpus)
{
    struct error err;
    char *path = reference_path("cost/index.json");
    if (!path)
        return false;
    if (!doc_load(&corpus->index, path, &err))
        fail_msg("%s", err.text);
    free(path);
    corpus->folder = reference_path("cost");
    return true;
}

static void close_corpus(struct corpus *corpus)
{
    doc_release(&corpus->index);
    free(corpus->folder);
}

static const char *text_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node ? node->text : "";
}

/* True when the module was read as it should be, or refused as it should be. */
static bool try_one(const struct corpus *corpus, const char *file)
{
    struct hlo_module module;
    struct error err;
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", corpus->folder, file);
    bool ok = hlo_load(&module, path, &err);
    if (ok)
        hlo_release(&module);
    unsigned line = 0, column = 0;
    if (!ok && (strncmp(err.text, path, strlen(path)) != 0 ||
                sscanf(err.text + strlen(path), ":%u:%u: ", &line, &column) != 2))
        fail_msg("no place in: %s", err.text);
    if (ok && is_refused(file))
        print_error("%s: read, though XLA refuses it\n", file);
    if (!ok && !is_refused(file))
        print_error("%s\n", err.text);
    return ok != is_refused(file);
}

static void the_corpus_is_read_or_refused_as_by_xla(void **state)
{
    (void)state;
    struct corpus corpus;
    if (!open_corpus(&corpus))
        skip();
    int count = 0, wrong = 0;
    for (const struct doc_node *entry = corpus.index.root->first_child; entry; entry = entry->next) {
        const char *kind = text_of(entry, "kind");
        if (strcmp(kind, "hlo") != 0 && strcmp(kind, "hlo-lit") != 0)
            continue;
        count++;
        wrong += !try_one(&corpus, text_of(entry, "file"));
    }
    close_corpus(&corpus);
    assert_true(count > 700);
    assert_int_equal(wrong, 0);
}

static void count_module(const char *folder, const struct doc_node *entry)
{
    struct hlo_module module;
    struct error err;
    char path[2048];
    int64_t count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, text_of(entry, "file"));
    if (!hlo_load(&module, path, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < module.count; i++)
        count += module.computations[i]->count;
    int computations = module.count;
    hlo_release(&module);
    if (computations != (int)doc_find(entry, "computations")->number ||
        count != (int64_t)doc_find(entry, "instructions")->number)
        fail_msg("%s: %d computations, %lld instructions", path, computations, (long long)count);
}

static void real_modules_have_all_their_instructions(void **state)
{
    (void)state;
    struct doc golden;
    struct error err;
    char *path = reference_path("cost/golden.json");
    if (!path)
        skip();
    if (!doc_load(&golden, path, &err))
        fail_msg("%s", err.text);
    free(path);
    char *folder = reference_path("cost");
    int count = 0;
    for (const struct doc_node *entry = doc_find(golden.root, "real_modules")->first_child; entry;
         entry = entry->next)
        if (doc_find(entry, "computations") && doc_find(entry, "instructions")) {
            count_module(folder, entry);
            count++;
        }
    free(folder);
    doc_release(&golden);
    assert_true(count > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_corpus_is_read_or_refused_as_by_xla),
        cmocka_unit_test(real_modules_have_all_their_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
