/* Configurations as DLIO writes them, overrides, mistakes, printing. */
#include "feed/workloads.h"

#include "core/doc.h"
#include "core/file.h"
#include "core/file_output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct workload overridden(const char *override)
{
    struct workload_options options = {.overrides = &override, .override_count = 1};
    return read_with("{}", &options);
}

static void assert_refused_with(const char *text, const struct workload_options *options, const char *message)
{
    struct workload workload;
    struct error err = {0};
    if (workload_parse(&workload, "a.yaml", text, strlen(text), options, &err))
        fail_msg("'%s' was read", text);
    assert_contains(err.text, message);
    assert_null(workload.arena.last);
}

static void assert_refused(const char *text, const char *message)
{
    assert_refused_with(text, NULL, message);
}

static void assert_override_refused(const char *override, const char *message)
{
    struct workload_options options = {.overrides = &override, .override_count = 1};
    assert_refused_with("{}", &options, message);
}

/* --- what is read --------------------------------------------------------------------------------------------- */

static void an_empty_file_has_dlio_s_defaults(void **state)
{
    struct workload w = read_text("{}");
    (void)state;
    assert_int_equal(w.framework, WORKLOAD_TENSORFLOW);
    assert_string_equal(w.model.name, "default");
    assert_int_equal(w.model.model_size_bytes, 10240);
    assert_int_equal(w.model.optimizer_datatype, WORKLOAD_DATATYPE_FP32);
    assert_true(w.workflow.train && !w.workflow.checkpoint && !w.workflow.evaluation);
    assert_string_equal(w.dataset.format, "tfrecord");
    assert_int_equal(w.dataset.num_files_train, 8);
    assert_true(w.dataset.record_length_bytes == 65536);
    assert_int_equal(w.reader.prefetch_size, 2);
    assert_int_equal(w.reader.data_loader_sampler, WORKLOAD_SAMPLER_ITERATIVE);
    assert_int_equal(w.train.seed, 123);
    assert_int_equal(w.checkpoint.steps_between_checkpoints, -1);
    assert_true(w.metric.au == 0.9);
    assert_int_equal(w.output.exclude_start_steps, 1);
    workload_release(&w);
}

static void keys_have_their_own_paths_fields_and_meanings(void **state)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    (void)state;
    assert_true(count > 100);
    for (int i = 0; i < count; i++) {
        assert_ptr_equal(workload_key_find(keys[i].path), &keys[i]);
        for (int other = 0; other < i; other++)
            assert_true(keys[other].offset != keys[i].offset);
    }
    assert_null(workload_key_find("reader"));
    assert_null(workload_key_find("reader.batch_sise"));
}

static void values_are_written_as_yaml_1_1_and_python_do(void **state)
{
    struct workload w =
        read_text("workflow: {train: True, evaluation: no, checkpoint: 'on'}\n"
                  "train: {computation_time: 1e-3, total_training_steps: 1_000}\n"
                  "dataset: {record_length_bytes: 114660.07, num_files_train: '12', "
                  "generation_buffer_size: 2 GiB}\n"
                  "reader: {file_shuffle: off, sample_shuffle: False, transfer_size: 256 KiB}\n");
    (void)state;
    assert_true(w.workflow.train && !w.workflow.evaluation && w.workflow.checkpoint);
    assert_true(w.train.computation_time.first == 1e-3);
    assert_int_equal(w.train.total_training_steps, 1000);
    assert_true(w.dataset.record_length_bytes == 114660.07);
    assert_int_equal(w.dataset.num_files_train, 12);
    assert_int_equal(w.dataset.generation_buffer_size, INT64_C(1) << 31);
    assert_int_equal(w.reader.file_shuffle, WORKLOAD_SHUFFLE_OFF);
    assert_int_equal(w.reader.sample_shuffle, WORKLOAD_SHUFFLE_OFF);
    assert_int_equal(w.reader.transfer_size, 262144);
    workload_release(&w);
}

static void null_is_the_default(void **state)
{
    struct workload w =
        read_text("model: {name: null}\nreader: {transfer_size: ~, batch_size: null}\ntrain:\n");
    (void)state;
    assert_string_equal(w.model.name, "default");
    assert_int_equal(w.reader.batch_size, 1);
    assert_false(workload_key_given(&w, workload_key_find("reader.batch_size")));
    workload_release(&w);
}

static void other_names_of_keys_are_known(void **state)
{
    struct workload w = read_text("model: {model_size: 499153191}\n"
                                  "dataset: {record_length: 2500, record_length_stdev: 10}\n"
                                  "data_reader: {batch_size: 3}\n"
                                  "evaluation: {num_eval_steps: 100}\n");
    (void)state;
    assert_int_equal(w.model.model_size_bytes, 499153191);
    assert_true(w.dataset.record_length_bytes == 2500 && w.dataset.record_length_bytes_stdev == 10);
    assert_int_equal(w.reader.batch_size, 3);
    assert_int_equal(w.evaluation.total_eval_steps, 100);
    assert_int_equal(w.warning_count, 0);
    workload_release(&w);
    assert_refused("model: {model_size: 1, model_size_bytes: 2}",
                   "a.yaml:1:42: model.model_size_bytes: given twice");
}

static void times_are_numbers_or_distributions(void **state)
{
    struct workload w = read_text("train: {computation_time: 1.5, computation_time_stdev: 0.25}\n"
                                  "reader: {preprocess_time: {type: uniform, min: 0, max: 1}}\n"
                                  "evaluation: {eval_time: {mean: 0.5}}\n");
    (void)state;
    assert_int_equal(w.train.computation_time.type, DISTRIBUTION_NORMAL);
    assert_true(w.train.computation_time.first == 1.5 && w.train.computation_time.second == 0.25);
    assert_int_equal(w.reader.preprocess_time.type, DISTRIBUTION_UNIFORM);
    assert_true(w.evaluation.eval_time.first == 0.5);
    workload_release(&w);
    assert_refused("train: {computation_time: {type: exponential, scale: 1}, computation_time_stdev: 1}",
                   "is already a distribution");
}

static void the_loader_follows_the_framework(void **state)
{
    struct workload w = read_text("framework: pytorch");
    (void)state;
    assert_int_equal(w.reader.data_loader, WORKLOAD_LOADER_PYTORCH);
    assert_int_equal(w.reader.data_loader_sampler, WORKLOAD_SAMPLER_INDEX);
    workload_release(&w);
}

static void folders_lose_their_last_slash(void **state)
{
    struct workload w =
        read_text("dataset: {data_folder: data/unet3d//}\ncheckpoint: {checkpoint_folder: /}");
    (void)state;
    assert_string_equal(w.dataset.data_folder, "data/unet3d");
    assert_string_equal(w.checkpoint.checkpoint_folder, "/");
    workload_release(&w);
}

/* Hydra's own files beside DLIO's results. What stands beside `workload` is not read. */
static void a_file_may_have_all_of_it_below_workload(void **state)
{
    struct workload w =
        read_text("format: " WORKLOAD_FORMAT "\nhydra: {}\nworkload: {reader: {batch_size: 7}}\n"
                  "output: {folder: elsewhere}\nbananas: 7");
    (void)state;
    assert_int_equal(w.reader.batch_size, 7);
    assert_null(w.output.folder);
    assert_int_equal(w.warning_count, 3);
    assert_contains(w.warnings[1],
                    "a.yaml:4:9: output: unknown key, ignored, did you mean 'workload.output'?");
    assert_contains(w.warnings[2], "a.yaml:5:10: bananas: unknown key, ignored");
    workload_release(&w);
    struct workload_options strict = {.strict = true};
    assert_refused_with("workload: {}\ntrain: {epochs: 3}", &strict,
                        "train: unknown key, did you mean 'workload.train'?");
}

/* `model: NAME`, and no time: the study's fork takes its formula. */
static void files_of_the_study_s_fork_use_its_formula(void **state)
{
    struct workload w = read_text("model: unet3d\nframework: pytorch\nnum_gpus: 8\n"
                                  "checkpoint: {model_size: 499153191, ckpt_write_sz_q1: 1280}\n"
                                  "evaluation: {steps_between_evals: 5, total_eval_steps: 3}\n");
    (void)state;
    assert_string_equal(w.model.name, "unet3d");
    assert_int_equal(w.train.computation_model, WORKLOAD_COMPUTATION_VLDB_UNET3D);
    assert_int_equal(w.num_gpus, 8);
    assert_int_equal(w.model.model_size_bytes, 499153191);
    assert_true(w.checkpoint.write_size_q1 == 1280);
    assert_int_equal(w.evaluation.steps_between_evals, 5);
    workload_release(&w);
    w = read_text("model: unet3d\ntrain: {computation_time: 1.3604}");
    assert_int_equal(w.train.computation_model, WORKLOAD_COMPUTATION_TIME);
    workload_release(&w);
    w = read_text("model: {name: unet3d}");
    assert_int_equal(w.train.computation_model, WORKLOAD_COMPUTATION_TIME);
    workload_release(&w);
}

/* --- unknown keys and mistakes -------------------------------------------------------------------------------- */

static void unknown_keys_are_warnings_with_the_nearest(void **state)
{
    struct workload w =
        read_text("reader:\n  read_thread: 4\ntrain: {batch_size: 2}\nstorge: {a: 1}\ndefaults: [x]\n");
    (void)state;
    assert_int_equal(w.warning_count, 4);
    assert_string_equal(w.warnings[0], "a.yaml:2:16: reader.read_thread: unknown key, ignored, did you mean "
                                       "'reader.read_threads'?");
    assert_contains(w.warnings[1], "did you mean 'reader.batch_size'?");
    assert_contains(w.warnings[2], "a.yaml:4:9: storge: unknown key, ignored");
    assert_contains(w.warnings[3], "'defaults' is ignored");
    assert_int_equal(w.reader.read_threads, 1);
    workload_release(&w);
}

static void so_many_warnings_are_kept(void **state)
{
    struct text text = {0};
    (void)state;
    text_add(&text, "framework: pytorch\n");
    for (int i = 0; i < 3 * WORKLOAD_MAX_WARNINGS; i++)
        text_format(&text, "key_%d: 1\n", i);
    struct workload w = read_text(text.data);
    assert_int_equal(w.warning_count, WORKLOAD_MAX_WARNINGS);
    assert_string_equal(w.warnings[WORKLOAD_MAX_WARNINGS - 1], "further warnings are not listed");
    workload_release(&w);
    text_release(&text);
}

static void unknown_keys_are_errors_when_strict(void **state)
{
    struct workload_options strict = {.strict = true};
    (void)state;
    assert_refused_with("reader: {read_thread: 4}", &strict,
                        "a.yaml:1:23: reader.read_thread: unknown key, did you mean 'reader.read_threads'?");
}

static void other_files_are_no_workloads(void **state)
{
    (void)state;
    assert_refused("{format: rehearse-plan/2, model: llama-2-7b}",
                   "a.yaml:1:10: format: expected a workload, found 'rehearse-plan/2'");
    assert_refused("{schema: rehearse-feed-result/1, storage: {}}",
                   "a.yaml:1:10: schema: expected a workload, found 'rehearse-feed-result/1'");
    assert_refused("{groups: []}", "a.yaml:1:1: not a workload: it has no key of a workload");
}

static void mistakes_say_where_they_are(void **state)
{
    (void)state;
    assert_refused("reader: {batch_size: 0}",
                   "a.yaml:1:22: reader.batch_size: expected a whole number from 1 to");
    assert_refused("dataset: {num_files_train: -1}",
                   "dataset.num_files_train: expected a whole number from 0 to");
    assert_refused("dataset: {record_length_bytes: -5}",
                   "dataset.record_length_bytes: expected a number from 1 to");
    assert_refused("dataset: {format: npx}", "did you mean 'npz'?");
    assert_refused("reader: {file_shuffle: sometimes}",
                   "expected one of off, seed, random; found 'sometimes'");
    assert_refused("workflow: {train: maybe}", "workflow.train: expected true or false");
    assert_refused("metric: {au: 90}", "metric.au: expected a number from 0 to 1, found '90'");
    assert_refused("checkpoint: {time_between_checkpoints: -0.5}", "expected -1 or at least 0");
    assert_refused("reader: 5", "a.yaml:1:9: reader: expected a map, found '5'");
    assert_refused("[1, 2]", "expected a map, found a list");
    assert_refused("dataset:\n  data_folder: ???", "unresolved variable");
    assert_refused("dataset: {data_folder: '${oc.env:HOME}'}", "unresolved variable");
    assert_refused("dataset: {record_dims: [4, x]}", "dataset.record_dims[1]: expected a whole number");
    assert_refused("dataset: {parquet: {columns: [{dtype: float32}]}}", "'name' is missing");
    assert_refused("dataset: {parquet: {columns: [{name: a, dtype: float31}]}}", "did you mean 'float32'?");
    assert_refused("a: [", "a.yaml:");
}

static void contradictions_are_named(void **state)
{
    (void)state;
    assert_refused("dataset: {num_files_train: 0}",
                   "a.yaml:1:28: dataset.num_files_train: expected at least 1, or workflow.train=false");
    assert_refused("workflow: {evaluation: true}", "a.yaml: dataset.num_files_eval: expected at least 1");
    assert_refused("dataset: {record_dims: [4, 4], record_length_bytes_stdev: 3}",
                   "need record_length_bytes_stdev=0");
    assert_refused("dataset: {record_dims: [5], hdf5: {num_dset_per_record: 2}}", "2 does not divide");
    assert_refused("dataset: {format: png, record_dims: [2, 2, 2]}",
                   "an image has at most 2 dimensions, found 3");
    assert_refused("dataset: {format: jpeg, record_element_type: float32}", "jpeg files need uint8");
    assert_refused("dataset: {enable_chunking: true}", "set chunk_size or hdf5.chunk_dims");
    assert_refused("dataset: {num_files_train: 1e12, num_samples_per_file: 1e12}", "more than 2^62 bytes");
    assert_refused("reader: {transformed_record_dims: [4000000000, 4000000000]}", "more than 2^62 bytes");
    assert_refused("framework: pytorch\nreader: {data_loader: tensorflow}", "the framework is pytorch");
    assert_refused("storage: {storage_type: aistore}", "aistore is not supported");
    assert_refused("workflow: {checkpoint: true}\nmodel: {parallelism: {zero_stage: 3, pipeline: 2}}",
                   "ZeRO stage 3 excludes pipeline parallelism");
    assert_refused("workflow: {checkpoint: true}\nmodel: {num_layers: 2, parallelism: {pipeline: 4}}",
                   "4 stages exceed the 2 layers");
    assert_refused("workflow: {checkpoint: true}\nmodel: {parallelism: {data: 4}}",
                   "derived from the number of ranks");
    assert_refused("workflow: {checkpoint: true}\ncheckpoint: {mode: subset}",
                   "required with checkpoint.mode=subset");
    assert_refused(
        "workflow: {checkpoint: true}\ncheckpoint: {num_checkpoints_write: 2, num_checkpoints_read: 3}",
        "3, but only 2 are written");
}

static void ranks_must_fit_the_parallelism(void **state)
{
    struct workload workload;
    struct workload_options eight = {.ranks = 8}, enough = {.ranks = 64};
    struct error err = {0};
    (void)state;
    assert_false(workload_open(&workload, "llama_70b", &eight, &err));
    assert_contains(err.text, "8 ranks do not divide into replicas of 8 tensor x 4 pipeline ranks");
    assert_true(workload_open(&workload, "llama_70b", &enough, &err));
    workload_release(&workload);
}

/* --- overrides ------------------------------------------------------------------------------------------------ */

static void overrides_are_written_plainly_or_as_hydra_does(void **state)
{
    static const char *const forms[] = {
        "reader.read_threads=8",          "+reader.read_threads=8",           "++reader.read_threads=8",
        "workload.reader.read_threads=8", "++workload.reader.read_threads=8", "data_reader.read_threads= 8"};
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct workload w = overridden(forms[i]);
        assert_int_equal(w.reader.read_threads, 8);
        assert_string_equal(
            w.given[workload_key_find("reader.read_threads") - workload_key_find("framework")],
            strchr(forms[i], 'd') == forms[i] ? "override 'data_reader.read_threads':1:2"
                                              : "override 'reader.read_threads':1:1");
        workload_release(&w);
    }
}

static void overrides_take_lists_maps_and_sections(void **state)
{
    struct workload w = overridden("train.computation_time={type: gamma, shape: 4, scale: 0.1}");
    (void)state;
    assert_int_equal(w.train.computation_time.type, DISTRIBUTION_GAMMA);
    workload_release(&w);
    w = overridden("dataset.record_dims=[3, 224, 224]");
    assert_int_equal(w.dataset.record_dims.count, 3);
    assert_int_equal(w.dataset.record_dims.values[2], 224);
    workload_release(&w);
    w = overridden("model.parallelism={tensor: 8, zero_stage: 1}");
    assert_int_equal(w.model.split.tensor, 8);
    assert_int_equal(w.model.split.zero_stage, 1);
    workload_release(&w);
    w = overridden("storage.storage_options.endpoint_url=http://localhost:9000");
    assert_string_equal(w.storage.endpoint_url, "http://localhost:9000");
    workload_release(&w);
}

static void the_last_override_counts(void **state)
{
    static const char *const three[] = {"reader.batch_size=2", "reader.batch_size=3", "metric.au=null"};
    struct workload_options options = {.overrides = three, .override_count = 3};
    struct workload w = read_with("reader: {batch_size: 9}\nmetric: {au: 0.5}", &options);
    (void)state;
    assert_int_equal(w.reader.batch_size, 3);
    assert_true(w.metric.au == 0.9);
    workload_release(&w);
}

static void mistakes_in_overrides_are_named(void **state)
{
    (void)state;
    assert_override_refused("reader.read_threads",
                            "override 'reader.read_threads': expected SECTION.KEY=VALUE");
    assert_override_refused("=8", "expected SECTION.KEY=VALUE");
    assert_override_refused("reader.read_threads=", "the value is missing");
    assert_override_refused(
        "reader.read_threads=many",
        "override 'reader.read_threads': expected a whole number from 0 to 65536, found 'many'");
    assert_override_refused(
        "reader.read_treads=4",
        "override 'reader.read_treads': unknown key, did you mean 'reader.read_threads'?");
    assert_override_refused("reader=4", "override 'reader': expected a map, found '4'");
}

/* --- printing ------------------------------------------------------------------------------------------------- */

static void what_is_printed_as_yaml_reads_back_the_same(void **state)
{
    int count, key_count;
    const char *const *names = workload_builtins(&count);
    const struct workload_key *keys = workload_keys(&key_count);
    (void)state;
    for (int i = 0; i < count; i++) {
        struct workload first = open_workload(names[i]);
        struct text text = {0};
        struct workload_options strict = {.strict = true};
        workload_write_yaml(&first, &text);
        struct workload second = read_with(text.data, &strict);
        for (int k = 0; k < key_count; k++)
            if (!keys[k].secret && !key_equal(&first, &second, &keys[k]))
                fail_msg("%s: %s", names[i], keys[k].path);
        workload_release(&second);
        workload_release(&first);
        text_release(&text);
    }
}

static void what_is_printed_as_json_is_the_same_tree(void **state)
{
    struct workload w = open_workload("flux_b200");
    struct text text = {0};
    struct json json = {.out = &text};
    struct doc doc;
    struct error err = {0};
    (void)state;
    workload_write_json(&w, &json, NULL);
    assert_true(doc_parse(&doc, DOC_JSON, "a.json", text.data, text.length, &err));
    const struct doc_node *reader = doc_find(doc.root, "reader");
    assert_true(doc_find(reader, "batch_size")->number == 48);
    const struct doc_node *columns = doc_find(doc_find(doc_find(doc.root, "dataset"), "parquet"), "columns");
    assert_int_equal(columns->count, 5);
    assert_string_equal(doc_find(doc_find(doc_find(doc.root, "model"), "parallelism"), "data")->text, "-1");
    doc_release(&doc);
    text_release(&text);
    workload_release(&w);
}

static void secrets_are_not_printed(void **state)
{
    struct workload w = overridden("storage.storage_options.secret_access_key=hush");
    struct text text = {0};
    struct json json = {.out = &text};
    (void)state;
    workload_write_yaml(&w, &text);
    workload_write_json(&w, &json, NULL);
    assert_null(strstr(text.data, "hush"));
    assert_contains(text.data, "secret_access_key: \"***\"");
    text_release(&text);
    workload_release(&w);
}

static void add_words(const struct workload_key *key, struct text *out)
{
    static const char *const kinds[] = {
        [WORKLOAD_TEXT] = "text",
        [WORKLOAD_BOOL] = "true or false",
        [WORKLOAD_INTEGER] = "whole number",
        [WORKLOAD_NUMBER] = "number",
        [WORKLOAD_WORD] = "",
        [WORKLOAD_INTEGERS] = "whole numbers",
        [WORKLOAD_TEXTS] = "list of texts",
        [WORKLOAD_DISTRIBUTION] = "time",
        [WORKLOAD_COLUMNS] = "list",
    };
    if (!key->words)
        text_add(out, key->unit == WORKLOAD_BYTES ? "bytes" : kinds[key->type]);
    for (int i = 0; key->words && key->words[i]; i++)
        text_format(out, "%s`%s`", i ? ", " : "", key->words[i]);
    if (key->type == WORKLOAD_NUMBER && key->unit == WORKLOAD_SECONDS)
        text_add(out, " (s)");
}

/* Writes the table of keys in Markdown. */
static void write_keys(struct text *out)
{
    int count;
    const struct workload_key *keys = workload_keys(&count);
    text_add(out, "| key | value | left out | meaning |\n|---|---|---|---|\n");
    for (int i = 0; i < count; i++) {
        const char *left_out = keys[i].default_json;
        size_t length = strlen(left_out);
        bool quoted = *left_out == '"';
        text_format(out, "| `%s` | ", keys[i].path);
        add_words(&keys[i], out);
        if (strcmp(left_out, "null") == 0)
            text_add(out, " | | ");
        else
            text_format(out, " | `%.*s` | ", (int)(quoted ? length - 2 : length),
                        quoted ? left_out + 1 : left_out);
        text_format(out, "%s%s|\n", keys[i].meaning, *keys[i].meaning ? " " : "");
    }
}

/* docs/tables/workload-keys.md has the table between two lines. REHEARSE_UPDATE=1 writes it there. */
static void the_documented_table_is_this_one(void **state)
{
    static const char begin[] = "<!-- keys of workloads -->\n", end[] = "<!-- end of keys -->";
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[4096], *page;
    size_t length;
    struct error err = {0};
    struct text table = {0};
    (void)state;
    snprintf(path, sizeof path, "%s/docs/tables/workload-keys.md", root ? root : ".");
    if (!file_read(path, 1 << 20, &page, &length, &err))
        fail_msg("%s", err.text);
    char *start = strstr(page, begin), *stop = strstr(page, end);
    assert_true(start && stop && stop > start);
    start += strlen(begin);
    write_keys(&table);
    bool same = table.length == (size_t)(stop - start) && memcmp(start, table.data, table.length) == 0;
    if (!same && getenv("REHEARSE_UPDATE")) {
        struct text fresh = {0};
        text_add_bytes(&fresh, page, (size_t)(start - page));
        text_add(&fresh, table.data);
        text_add(&fresh, stop);
        same = file_write(path, fresh.data, fresh.length, &err);
        text_release(&fresh);
    }
    text_release(&table);
    free(page);
    if (!same)
        fail_msg("the table in docs/tables/workload-keys.md is stale; run this test with REHEARSE_UPDATE=1");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_has_dlio_s_defaults),
        cmocka_unit_test(keys_have_their_own_paths_fields_and_meanings),
        cmocka_unit_test(values_are_written_as_yaml_1_1_and_python_do),
        cmocka_unit_test(null_is_the_default),
        cmocka_unit_test(other_names_of_keys_are_known),
        cmocka_unit_test(times_are_numbers_or_distributions),
        cmocka_unit_test(the_loader_follows_the_framework),
        cmocka_unit_test(folders_lose_their_last_slash),
        cmocka_unit_test(a_file_may_have_all_of_it_below_workload),
        cmocka_unit_test(files_of_the_study_s_fork_use_its_formula),
        cmocka_unit_test(unknown_keys_are_warnings_with_the_nearest),
        cmocka_unit_test(so_many_warnings_are_kept),
        cmocka_unit_test(unknown_keys_are_errors_when_strict),
        cmocka_unit_test(other_files_are_no_workloads),
        cmocka_unit_test(mistakes_say_where_they_are),
        cmocka_unit_test(contradictions_are_named),
        cmocka_unit_test(ranks_must_fit_the_parallelism),
        cmocka_unit_test(overrides_are_written_plainly_or_as_hydra_does),
        cmocka_unit_test(overrides_take_lists_maps_and_sections),
        cmocka_unit_test(the_last_override_counts),
        cmocka_unit_test(mistakes_in_overrides_are_named),
        cmocka_unit_test(what_is_printed_as_yaml_reads_back_the_same),
        cmocka_unit_test(what_is_printed_as_json_is_the_same_tree),
        cmocka_unit_test(secrets_are_not_printed),
        cmocka_unit_test(the_documented_table_is_this_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
