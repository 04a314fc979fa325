/* The formats of a checkpoint's files: what is written, and what is read of their headers. With torch: it loads what is
 * written, and what it saves is restored. */
#include "feed/checkpoint/checkpoints.h"
#include "feed/checkpoint/header.h"
#include "feed/checkpoint/image.h"

#include <stdlib.h>

#define STEM "global_epoch1_step1/"

static const enum workload_checkpoint_format formats[] = {WORKLOAD_CHECKPOINT_TORCH,
                                                          WORKLOAD_CHECKPOINT_SAFETENSORS};

/* Two tensor ranks and two replicas of a transformer with grouped keys, ZeRO 1. */
static struct checkpoint_shards shards_of_ranks(int64_t ranks, int64_t hidden)
{
    struct workload workload;
    struct checkpoint_shards shards = {0};
    struct error err = {0};
    char width[64];
    snprintf(width, sizeof width, "model.transformer.hidden_size=%lld", (long long)hidden);
    const char *const overrides[] = {width,
                                     "model.transformer.vocab_size=1001",
                                     "model.transformer.ffn_hidden_size=96",
                                     "model.transformer.num_attention_heads=4",
                                     "model.transformer.num_kv_heads=2",
                                     "model.num_layers=11",
                                     "model.parallelism.tensor=2"};
    struct workload_options options = {.overrides = overrides, .override_count = 7};
    if (!workload_open(&workload, "llama_7b", &options, &err) ||
        !checkpoint_shards_init(&shards, &workload, ranks, &err))
        fail_msg("%s", err.text);
    workload_release(&workload);
    return shards;
}

static struct checkpoint_options format_options(struct checkpoint_shards shards,
                                                enum workload_checkpoint_format format)
{
    struct checkpoint_options options = options_of(NULL, shards);
    options.format = format;
    if (format == WORKLOAD_CHECKPOINT_SAFETENSORS)
        options.shards.ending = "safetensors";
    return options;
}

static void save_with(struct checkpoint_options options)
{
    options.storage = new_storage(NULL);
    struct checkpoint *checkpoint = new_checkpoint(&options);
    require_save(checkpoint, 1);
    checkpoint_free(checkpoint);
    storage_free(options.storage);
}

/* --- what is restored ----------------------------------------------------------------------------------------- */

static void restore_as(enum workload_checkpoint_format format, struct storage_options how)
{
    struct error err;
    how.root = folder.path;
    struct storage *storage = storage_new(&how, &err);
    if (!storage) {
        print_message("without this way: %s\n", err.text);
        return;
    }
    struct checkpoint_options options = format_options(shards_of_ranks(4, 64), format);
    options.storage = storage;
    struct checkpoint *checkpoint = new_checkpoint(&options);
    if (checkpoint_save(checkpoint, &first, NULL, &err))
        require_load(checkpoint, 1);
    else
        require_text(&err, "O_DIRECT");
    checkpoint_free(checkpoint);
    storage_free(storage);
}

static void every_way_restores_every_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        restore_as(formats[i], (struct storage_options){.method = STORAGE_POSIX});
        restore_as(formats[i], (struct storage_options){.method = STORAGE_POSIX, .direct = true});
        restore_as(formats[i], (struct storage_options){.method = STORAGE_URING, .queue_depth = 4});
        restore_as(formats[i], (struct storage_options){.method = STORAGE_MMAP});
    }
}

static void other_ranks_restore_every_format(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        save_with(format_options(shards_of_ranks(4, 64), formats[i]));
        for (int64_t ranks = 2; ranks <= 8; ranks += 6)
            load_once(format_options(shards_of_ranks(ranks, 64), formats[i]), NULL);
    }
}

static void a_checkpoint_of_another_model_is_refused(void **state)
{
    struct checkpoint_options options = format_options(shards_of_ranks(4, 64), WORKLOAD_CHECKPOINT_TORCH);
    (void)state;
    save_with(options);
    load_once(format_options(shards_of_ranks(4, 68), WORKLOAD_CHECKPOINT_TORCH), "another model");
    load_once(format_options(shards_of_ranks(8, 128), WORKLOAD_CHECKPOINT_TORCH), "another model");
    load_once(format_options(options.shards, WORKLOAD_CHECKPOINT_RAW), "set checkpoint.format=torch");
    options.shards.hidden = 32; /* as many bytes, in tensors of other shapes */
    load_once(options, "of another shape or type");
    options.shards.hidden = 0;
    load_once(options, "expected 'decoder.layers.0.flat_param'");
}

/* --- headers -------------------------------------------------------------------------------------------------- */

/* A file of an image, whose content is zeros that take no memory. */
static bool read_image(void *context, int64_t offset, void *to, size_t n, struct error *err)
{
    const struct checkpoint_image *image = context;
    int64_t at = 0;
    (void)err;
    memset(to, 0, n);
    for (size_t i = 0; i < image->count; at += image->pieces[i++].length) {
        const struct checkpoint_piece *piece = &image->pieces[i];
        int64_t from = at > offset ? at : offset, end = offset + (int64_t)n;
        int64_t last = at + piece->length < end ? at + piece->length : end;
        if (!piece->content && from < last)
            memcpy((char *)to + (from - offset), image->text.data + piece->at + (from - at),
                   (size_t)(last - from));
    }
    return true;
}

static void make_image(struct checkpoint_image *image, enum workload_checkpoint_format format,
                       struct checkpoint_tensors *tensors)
{
    struct error err;
    if (!checkpoint_image_make(image, format, "model_0.pt", tensors, 7, &err))
        fail_msg("%s", err.text);
}

static void add(struct checkpoint_tensors *tensors, struct checkpoint_tensor tensor)
{
    struct error err;
    assert_true(checkpoint_tensors_add(tensors, "test", tensor, &err));
}

/* Files beyond 4 GiB, and many tensors. */
static void headers_say_what_was_written(void **state)
{
    (void)state;
    for (int big = 0; big < 2; big++) {
        for (size_t i = 0; i < 2; i++) {
            struct checkpoint_tensors made = {0}, found;
            struct checkpoint_image image;
            struct error err;
            char name[32];
            if (big)
                add(&made,
                    (struct checkpoint_tensor){
                        .name = "a", .type = WORKLOAD_DATATYPE_FP32, .dims = 2, .shape = {70000, 70000}});
            for (int tensor = 0; tensor < (big ? 2 : 1000); tensor++) {
                snprintf(name, sizeof name, "b.%04d", tensor);
                add(&made, (struct checkpoint_tensor){
                               .name = name, .type = WORKLOAD_DATATYPE_BF16, .dims = 1, .shape = {300}});
            }
            make_image(&image, formats[i], &made);
            const struct dataset_source source = {&image, image.bytes, read_image};
            if (!checkpoint_header_read(&found, formats[i], "test", &source, &err) ||
                !checkpoint_tensors_check(&found, &made, "test", &err))
                fail_msg("%s", err.text);
            int64_t at = 0;
            size_t tensor = 0;
            for (size_t piece = 0; piece < image.count; at += image.pieces[piece++].length)
                if (image.pieces[piece].content)
                    for (int64_t next = at; tensor < found.count && found.items[tensor].offset == next;)
                        next += found.items[tensor++].bytes;
            assert_int_equal(tensor, made.count);
            assert_true(formats[i] == WORKLOAD_CHECKPOINT_SAFETENSORS || found.items[0].offset % 64 == 0);
            checkpoint_tensors_release(&found);
            checkpoint_tensors_release(&made);
            checkpoint_image_release(&image);
        }
    }
}

/* Cut anywhere, or with any byte of the headers another one, a file is read as before or refused. */
static void a_damaged_header_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct checkpoint_tensors made = {0}, found;
        struct checkpoint_image image;
        struct error err;
        add(&made, (struct checkpoint_tensor){
                       .name = "first", .type = WORKLOAD_DATATYPE_FP32, .dims = 2, .shape = {3, 5}});
        add(&made, (struct checkpoint_tensor){
                       .name = "second", .type = WORKLOAD_DATATYPE_UINT8, .dims = 1, .shape = {9}});
        make_image(&image, formats[i], &made);
        for (int64_t size = 0; size < image.bytes; size++) {
            const struct dataset_source source = {&image, size, read_image};
            assert_false(checkpoint_header_read(&found, formats[i], "test", &source, &err));
            checkpoint_tensors_release(&found);
        }
        for (size_t byte = 0; byte < image.text.length; byte++) {
            const struct dataset_source source = {&image, image.bytes, read_image};
            for (int bit = 0; bit < 8; bit++) {
                image.text.data[byte] = (char)(image.text.data[byte] ^ 1 << bit);
                if (checkpoint_header_read(&found, formats[i], "test", &source, &err))
                    for (size_t t = 0; t < found.count; t++)
                        assert_true(found.items[t].bytes <= image.bytes - found.items[t].offset);
                checkpoint_tensors_release(&found);
                image.text.data[byte] = (char)(image.text.data[byte] ^ 1 << bit);
            }
        }
        checkpoint_tensors_release(&made);
        checkpoint_image_release(&image);
    }
}

static void a_cut_file_is_refused(void **state)
{
    char path[512];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct checkpoint_options options = format_options(flat_shards(2, 1200), formats[i]);
        save_with(options);
        path_of(path, i == 0 ? STEM FLAT : STEM "zero_pp_rank_0_mp_rank_0_optim_states.safetensors");
        assert_int_equal(truncate(path, 1100), 0);
        load_once(options, i == 0 ? "no central directory at its end" : "truncated");
    }
}

/* --- torch ---------------------------------------------------------------------------------------------------- */

/* Runs the script; false: skipped. */
static bool run_torch(const char *arguments, const char *expected)
{
    const char *source = getenv("REHEARSE_SOURCE_ROOT"), *python = getenv("REHEARSE_TORCH");
    struct text command = {0};
    char line[256] = "";
    text_format(&command, "%s '%s/tests/feed/checkpoint/through_torch.py' %s", python ? python : "python3",
                source ? source : ".", arguments);
    FILE *from = popen(command.data, "r");
    assert_non_null(from);
    while (fgets(line, sizeof line, from) && !strstr(line, expected))
        ;
    int status = pclose(from);
    text_release(&command);
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127)) {
        print_message("# skipped: %s", WEXITSTATUS(status) == 77 ? line : "no python3\n");
        return false;
    }
    assert_int_equal(status, 0);
    assert_non_null(strstr(line, expected));
    return true;
}

static void torch_loads_what_is_saved_and_its_files_are_restored(void **state)
{
    char path[512];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct checkpoint_options options = format_options(shards_of_ranks(4, 64), formats[i]);
        save_with(options);
        path_of(path, STEM);
        if (!run_torch(path, "6 files, 150 tensors, 0 bytes differ"))
            skip();
        load_once(options, NULL);
        folder_remove(&folder);
        folder_make(&folder);
    }
}

static void what_torch_saves_is_read(void **state)
{
    static const char *const names[] = {"torch.pt", "torch.safetensors"};
    char path[512], option[600];
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct checkpoint_tensors found;
        struct error err = {0};
        snprintf(path, sizeof path, "%s/%s", folder.path, names[i]);
        snprintf(option, sizeof option, "write '%s'", path);
        if (!run_torch(option, ""))
            skip();
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        static char bytes[1 << 16];
        size_t length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        struct checkpoint_piece piece = {.length = (int64_t)length};
        struct checkpoint_image image = {.text.data = bytes, .pieces = &piece, .count = 1};
        const struct dataset_source source = {&image, (int64_t)length, read_image};
        if (!checkpoint_header_read(&found, formats[i], path, &source, &err))
            fail_msg("%s", err.text);
        assert_int_equal(found.count, 6);
        for (size_t t = 0; t < 6; t++) {
            const struct checkpoint_tensor *tensor = &found.items[t];
            int n = tensor->name[6] - '0';
            assert_int_equal(tensor->type, n);
            assert_int_equal(tensor->dims, 3);
            assert_int_equal(tensor->shape[2], n + 1);
            assert_int_equal(tensor->bytes, 6 * (n + 1) * workload_datatype_bytes((enum workload_datatype)n));
            if (tensor->type == WORKLOAD_DATATYPE_INT8) /* 0, 1, 2, ... */
                assert_int_equal(bytes[tensor->offset + 5], 5);
        }
        checkpoint_tensors_release(&found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CHECKPOINT_TEST(every_way_restores_every_format),
        CHECKPOINT_TEST(other_ranks_restore_every_format),
        CHECKPOINT_TEST(a_checkpoint_of_another_model_is_refused),
        cmocka_unit_test(headers_say_what_was_written),
        cmocka_unit_test(a_damaged_header_is_refused),
        CHECKPOINT_TEST(a_cut_file_is_refused),
        CHECKPOINT_TEST(torch_loads_what_is_saved_and_its_files_are_restored),
        CHECKPOINT_TEST(what_torch_saves_is_read),
    };
    return cmocka_run_group_tests_name("feed: formats of checkpoints", tests, NULL, NULL);
}
