/* S3 against a server that others wrote, which scripts/s3-server runs: moto, or what REHEARSE_S3_SERVER says. Where
 * REHEARSE_S3_BUCKET names a bucket already, with the server and its keys in AWS_…, that is used: objects below
 * "rehearse-test/" are written and removed. */
#include "storage/s3_ways.h"

#include <pthread.h>

#define PART  ((int64_t)5 << 20)
#define LARGE (5 * PART + 12345) /* six parts */
#define MANY  1003               /* a page of a list has 1000 */

static char root[200];
static struct storage *storage;
static struct storage_reader *reader;
static char no_server[400]; /* why there is no server */

static int open_storage(void **state)
{
    (void)state;
    struct error err;
    if (!getenv("REHEARSE_S3_BUCKET"))
        return 0;
    snprintf(root, sizeof root, "s3://%s/rehearse-test", getenv("REHEARSE_S3_BUCKET"));
    struct storage_options options = {.method = STORAGE_S3, .root = root, .request = PART, .queue_depth = 3};
    setenv("no_proxy", "*", 1);
    storage = storage_new(&options, &err);
    reader = storage ? storage_reader_new(storage, &err) : NULL;
    if (!reader)
        print_message("%s\n", err.text);
    return 0;
}

static int close_storage(void **state)
{
    (void)state;
    storage_reader_free(reader);
    storage_free(storage);
    return 0;
}

static void require_server(void)
{
    if (!getenv("REHEARSE_S3_BUCKET")) {
        print_message("%s", no_server);
        skip();
    }
    assert_non_null(reader);
}

static void require_gone(const char *name)
{
    struct error err;
    if (!storage_remove(storage, name, &err))
        fail_msg("%s", err.text);
    struct storage_file *file = require_open(reader, name);
    int64_t size;
    assert_false(storage_file_size(reader, file, &size, &err));
    require_text(&err, "cannot read its size: HTTP 404: not found");
    storage_close(file);
}

static void test_objects_of_any_size_are_read_as_written(void **state)
{
    (void)state;
    require_server();
    static const int64_t sizes[] = {0, 1, 4096, PART - 1, PART, PART + 1, 2 * PART, LARGE};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        require_written(storage, "object", sizes[i]);
        require_content(reader, "object", sizes[i]);
    }
    require_gone("object");
}

static void test_names_of_any_characters(void **state)
{
    (void)state;
    require_server();
    static const char *const names[] = {"a b+c",     "a%20b",    "\xc3\xa4\xe2\x82\xac",
                                        "a&b=c?d#e", "x/.y/..z", "it's;<\"quoted\">",
                                        "*~!()$,:@", "tab\there"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        require_written(storage, names[i], 100);
        require_content(reader, names[i], 100);
        require_gone(names[i]);
    }
}

struct listed {
    int files, folders;
    int64_t bytes;
    const char *expected; /* seen when found */
    bool found;
    int max; /* then the walk ends */
};

static bool note(void *context, const char *name, int64_t size)
{
    struct listed *listed = context;
    listed->files += size >= 0;
    listed->folders += size < 0;
    listed->bytes += size >= 0 ? size : 0;
    listed->found |= listed->expected && strcmp(name, listed->expected) == 0;
    return listed->max == 0 || listed->files + listed->folders < listed->max;
}

/* MinIO refuses such keys, Amazon takes "./a" and "a" for two objects; so does the server of the tests. */
static void test_names_are_keys_without_dots_and_empty_parts(void **state)
{
    (void)state;
    require_server();
    struct error err;
    static const char *const same[] = {"./a/b", "a//b", "a/./b", ".//./a/././/b"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        require_written(storage, same[i], 100 + (int64_t)i);
        require_content(reader, "a/b", 100 + (int64_t)i);
        require_content(reader, same[i], 100 + (int64_t)i);
        require_gone(same[i]);
        if (read_object(storage, "a/b", 1, &err))
            fail_msg("%s: still there", same[i]);
    }
    static const char *const roots[] = {"/.", "//", "/./", "/.//."};
    require_written(storage, "a/b", 7);
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        char odd[300];
        snprintf(odd, sizeof odd, "%s%s", root, roots[i]);
        struct storage_options options = {.method = STORAGE_S3, .root = odd};
        struct storage *other = require_s3(&options);
        struct listed listed = {.expected = "b"};
        assert_string_equal(storage_options(other)->root, root);
        if (!read_object(other, "a/b", 7, &err) || !storage_list(other, "./a/", note, &listed, &err))
            fail_msg("%s", err.text);
        assert_true(listed.found);
        assert_int_equal(listed.files, 1);
        storage_free(other);
    }
    require_gone("a/b");
}

static void test_names_do_not_climb(void **state)
{
    (void)state;
    require_server();
    struct error err;
    static const char *const names[] = {"..", "../a", "a/../b", "a/.."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_null(storage_create(storage, names[i], NULL, &err));
        require_text(&err, "not an S3 object name: it has '..'");
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_null(storage_open(reader, names[i], &err));
        assert_false(storage_list(storage, names[i], note, &(struct listed){0}, &err));
        assert_false(storage_remove(storage, names[i], &err));
        require_text(&err, "not an S3 object name: it has '..'");
    }
    struct storage_options options = {.method = STORAGE_S3, .root = "s3://rehearse/../other"};
    assert_null(storage_new(&options, &err));
    require_text(&err, "s3://rehearse/../other: not an S3 object name: it has '..'");
}

static void test_many_extents_in_one_call(void **state)
{
    (void)state;
    require_server();
    require_written(storage, "object", LARGE);
    struct storage_extent extents[40];
    static char to[40][10000];
    struct storage_file *file = require_open(reader, "object");
    for (int i = 0; i < 40; i++)
        extents[i] = (struct storage_extent){
            .offset = (LARGE - 10000) / 39 * (39 - i), .length = i * 250, .to = i % 5 ? to[i] : NULL};
    require_read(reader, file, extents, 40);
    for (int i = 0; i < 40; i++)
        if (extents[i].to)
            require_bytes(to[i], extents[i].offset, extents[i].length);
    storage_close(file);
    require_gone("object");
}

static void test_an_object_is_not_there_until_it_is_committed(void **state)
{
    (void)state;
    require_server();
    struct error err;
    static char bytes[3 * (5 << 20)];
    int64_t size;
    struct storage_writer *writer = storage_create(storage, "object", NULL, &err);
    assert_true(storage_write(writer, bytes, sizeof bytes, &err));
    struct storage_file *file = require_open(reader, "object");
    assert_false(storage_file_size(reader, file, &size, &err));
    struct storage_written written;
    assert_true(storage_commit(writer, &written, &err));
    assert_int_equal(written.bytes, sizeof bytes);
    assert_true(storage_file_size(reader, file, &size, &err));
    assert_int_equal(size, sizeof bytes);
    storage_close(file);
    require_gone("object");
}

static void test_what_is_discarded_was_never_there(void **state)
{
    (void)state;
    require_server();
    struct error err;
    static char bytes[3 * (5 << 20)];
    require_written(storage, "object", 10);
    struct storage_writer *writer = storage_create(storage, "object", NULL, &err);
    assert_true(storage_write(writer, bytes, sizeof bytes, &err));
    storage_discard(writer);
    require_content(reader, "object", 10); /* the old one is */
    require_gone("object");
}

static struct listed require_list(const char *where, const char *expected, int max)
{
    struct error err;
    struct listed listed = {.expected = expected, .max = max};
    if (!storage_list(storage, where, note, &listed, &err))
        fail_msg("%s", err.text);
    return listed;
}

static void test_folders_and_odd_names_are_listed(void **state)
{
    (void)state;
    require_server();
    static const char *const names[] = {"list/a b+c", "list/\x01&<", "list/folder/b", "list/folder/c",
                                        "list/d"};
    for (int i = 0; i < 5; i++)
        require_written(storage, names[i], i);
    struct listed listed = require_list("list", "a b+c", 0);
    assert_true(listed.found);
    assert_int_equal(listed.files, 3);
    assert_int_equal(listed.folders, 1);
    assert_int_equal(listed.bytes, 0 + 1 + 4);
    assert_true(require_list("list/", "\x01&<", 0).found);
    assert_true(require_list("list", "folder", 0).found);
    assert_int_equal(require_list("list/nothing", NULL, 0).files, 0);
    for (int i = 0; i < 5; i++)
        require_gone(names[i]);
}

static void test_lists_of_several_pages(void **state)
{
    (void)state;
    require_server();
    struct error err;
    char name[40];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%04d", i);
        require_written(storage, name, 1);
    }
    struct listed listed = require_list("many", "1002", 0);
    assert_int_equal(listed.files, MANY);
    assert_true(listed.found);
    assert_int_equal(require_list("many", NULL, 5).files, 5);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%04d", i);
        assert_true(storage_remove(storage, name, &err));
    }
}

static void test_buckets_below_the_host_name(void **state)
{
    (void)state;
    require_server();
    const char *endpoint = getenv("AWS_ENDPOINT_URL");
    if (!endpoint || strncmp(endpoint, "http://127.0.0.1:", 17) != 0)
        skip();
    char local[60];
    snprintf(local, sizeof local, "http://localhost:%s", endpoint + 17); /* and BUCKET.localhost */
    struct storage_s3_options s3 = {.endpoint = local};
    struct storage_options options = {.method = STORAGE_S3, .root = root, .s3 = &s3};
    struct storage *named = require_s3(&options);
    struct error err;
    require_written(named, "object", 1000);
    require_content(reader, "object", 1000);
    if (!read_object(named, "object", 1000, &err))
        fail_msg("%s", err.text);
    assert_int_equal(require_list("", "object", 0).files, 1);
    storage_free(named);
    require_gone("object");
}

static void test_a_wrong_secret_is_reported(void **state)
{
    (void)state;
    require_server();
    struct error err;
    struct storage_s3_options s3 = {.access_key = getenv("AWS_ACCESS_KEY_ID"),
                                    .secret_key = "another+secret"};
    struct storage_options options = {.method = STORAGE_S3, .root = root, .s3 = &s3};
    struct storage *wrong = require_s3(&options);
    assert_false(read_object(wrong, "object", 10, &err));
    require_text(&err,
                 "/rehearse-test/object: cannot read 10 bytes at byte 0: HTTP 403 SignatureDoesNotMatch");
    assert_null(strstr(err.text, "another"));
    storage_free(wrong);
}

static void test_what_is_not_there_is_reported(void **state)
{
    (void)state;
    require_server();
    struct error err;
    assert_false(read_object(storage, "nothing", 10, &err));
    require_text(&err, "/rehearse-test/nothing: cannot read 10 bytes at byte 0: HTTP 404 NoSuchKey");
    assert_true(storage_remove(storage, "nothing", &err));
    struct storage_options options = {.method = STORAGE_S3, .root = "s3://no-such-bucket"};
    struct storage *missing = require_s3(&options);
    assert_false(write_object(missing, "object", 10, &err));
    require_text(&err, "s3://no-such-bucket/object: cannot write: HTTP 404 NoSuchBucket");
    assert_false(storage_list(missing, "", note, &(struct listed){0}, &err));
    require_text(&err, "s3://no-such-bucket: cannot list: HTTP 404 NoSuchBucket");
    assert_false(storage_remove(missing, "object", &err));
    storage_free(missing);
}

static void test_an_object_cut_short_is_truncated(void **state)
{
    (void)state;
    require_server();
    struct error err;
    require_written(storage, "object", 100);
    struct storage_file *file = require_open(reader, "object");
    struct storage_extent extents[] = {{.offset = 90, .length = 11}, {.offset = 100, .length = 1}};
    assert_false(storage_read(reader, file, &extents[0], 1, &err));
    require_text(&err, "object: truncated: expected 11 bytes at byte 90, found 10");
    assert_false(storage_read(reader, file, &extents[1], 1, &err));
    require_text(&err, "object: truncated: expected 1 bytes at byte 100, found 0");
    storage_close(file);
    require_gone("object");
}

static void test_an_object_replaced_under_a_reader_is_reported(void **state)
{
    (void)state;
    require_server();
    struct error err;
    int64_t size;
    require_written(storage, "object", 100);
    struct storage_file *file = require_open(reader, "object");
    assert_true(storage_file_size(reader, file, &size, &err));
    require_written(storage, "object", 200);
    struct storage_extent first = {.length = 10};
    assert_false(storage_read(reader, file, &first, 1, &err));
    require_text(&err, "object: replaced while it was being read");
    storage_close(file);
    require_gone("object");
}

static void *read_and_write(void *number)
{
    struct error err;
    char name[40];
    snprintf(name, sizeof name, "thread-%d", *(int *)number);
    for (int i = 0; i < 5; i++)
        if (!write_object(storage, name, PART + i, &err) || !read_object(storage, name, PART + i, &err))
            return strdup(err.text);
    return storage_remove(storage, name, &err) ? NULL : strdup(err.text);
}

static void test_threads_do_not_meet(void **state)
{
    (void)state;
    require_server();
    pthread_t threads[4];
    int numbers[4];
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_write, &numbers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failure = NULL;
        pthread_join(threads[i], &failure);
        if (failure)
            fail_msg("%s", (char *)failure);
    }
}

/* Begins again with a server, where one can be had. */
static void become_one_with_a_server(char **arguments)
{
    char script[600], command[700];
    const char *source = getenv("REHEARSE_SOURCE_ROOT");
    if (getenv("REHEARSE_S3_BUCKET"))
        return;
    snprintf(script, sizeof script, "%s/scripts/s3-server", source ? source : ".");
    snprintf(command, sizeof command, "'%s' --check 2>&1", script);
    FILE *check = popen(command, "r");
    if (!check || !fgets(no_server, sizeof no_server, check))
        snprintf(no_server, sizeof no_server, "scripts/s3-server does not say why it has no server\n");
    if (check && pclose(check) == 0)
        execl(script, script, arguments[0], (char *)NULL);
}

int main(int count, char **arguments)
{
    (void)count;
    become_one_with_a_server(arguments);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_of_any_size_are_read_as_written),
        cmocka_unit_test(test_names_of_any_characters),
        cmocka_unit_test(test_names_are_keys_without_dots_and_empty_parts),
        cmocka_unit_test(test_names_do_not_climb),
        cmocka_unit_test(test_many_extents_in_one_call),
        cmocka_unit_test(test_an_object_is_not_there_until_it_is_committed),
        cmocka_unit_test(test_what_is_discarded_was_never_there),
        cmocka_unit_test(test_folders_and_odd_names_are_listed),
        cmocka_unit_test(test_lists_of_several_pages),
        cmocka_unit_test(test_buckets_below_the_host_name),
        cmocka_unit_test(test_a_wrong_secret_is_reported),
        cmocka_unit_test(test_what_is_not_there_is_reported),
        cmocka_unit_test(test_an_object_cut_short_is_truncated),
        cmocka_unit_test(test_an_object_replaced_under_a_reader_is_reported),
        cmocka_unit_test(test_threads_do_not_meet),
    };
    return cmocka_run_group_tests(tests, open_storage, close_storage);
}
