/* An object store that fails in every way we can think of: tests/support/s3_faults.py. */
#include "storage/s3_ways.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define SIZE   ((int64_t)300001) /* of the store's objects */
#define SECRET "a/very+secret=key"
#define PART   ((int64_t)5 << 20) /* the least that S3 has */

#define PATIENCE 1000 /* s: no busy machine stands still so long */

static pid_t server;
static int held; /* the server ends when this closes, whatever ends us */
static char endpoint[64];
static struct storage *storage;

static int start_server(void **state)
{
    (void)state;
    int ends[2], hold[2], port = 0;
    char script[600];
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    snprintf(script, sizeof script, "%s/tests/support/s3_faults.py", root ? root : ".");
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(hold, O_CLOEXEC) != 0)
        return -1;
    server = fork();
    if (server == 0) {
        dup2(hold[0], 0);
        dup2(ends[1], 1);
        execlp("python3", "python3", script, SECRET, (char *)NULL);
        _exit(127);
    }
    close(hold[0]);
    close(ends[1]);
    held = hold[1];
    FILE *out = fdopen(ends[0], "r");
    if (!out || fscanf(out, "%d", &port) != 1)
        return -1;
    fclose(out);
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", port);
    setenv("no_proxy", "*", 1);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    close(held);
    waitpid(server, NULL, 0);
    return 0;
}

static struct storage *open_as(const char *secret, const char *token, int attempts, int depth,
                               double patience)
{
    struct error err;
    struct storage_s3_options s3 = {.access_key = "KEY",
                                    .secret_key = secret,
                                    .session_token = token,
                                    .endpoint = endpoint,
                                    .attempts = attempts,
                                    .patience = patience};
    struct storage_options options = {
        .method = STORAGE_S3, .root = "s3://bucket", .request = 100000, .queue_depth = depth, .s3 = &s3};
    struct storage *opened = storage_new(&options, &err);
    if (!opened)
        fail_msg("%s", err.text);
    return opened;
}

static struct storage *open_with(int attempts, int depth, double patience)
{
    return open_as(SECRET, NULL, attempts, depth, patience);
}

static int open_storage(void **state)
{
    (void)state;
    storage = open_with(3, 4, PATIENCE);
    return 0;
}

static int close_storage(void **state)
{
    (void)state;
    storage_free(storage);
    return 0;
}

static void require_well(const char *name)
{
    struct error err;
    if (!read_object(storage, name, SIZE, &err))
        fail_msg("%s", err.text);
}

static void require_failure(const char *name, const char *expected)
{
    struct error err;
    assert_false(read_object(storage, name, SIZE, &err));
    require_text(&err, expected);
    require_well("plain/after-a-failure"); /* what was under way is gone */
}

static void test_a_store_without_faults(void **state)
{
    (void)state;
    require_well("plain/a");
}

static void test_passing_failures_are_tried_again(void **state)
{
    (void)state;
    static const char *const names[] = {"status503-2/a", "status500-1/a", "status429-2/a",
                                        "html-2/a",      "reset-2/a",     "cut-2/a"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        require_well(names[i]);
}

static void test_a_server_that_stands_still_is_asked_again(void **state)
{
    (void)state;
    /* The server sends five bytes, then nothing until we close the connection. Should a busy machine make it stand still
     * longer than that once more, there are attempts left. */
    struct error err;
    struct storage *hasty = open_with(50, 4, 1);
    if (!read_object(hasty, "stall-1/a", SIZE, &err))
        fail_msg("%s", err.text);
    storage_free(hasty);
}

/* How many requests of the store begin and end like this. */
static int count_requests(const char *start, const char *with)
{
    struct error err;
    int64_t size;
    int count = 0;
    struct storage_reader *reader = require_reader(storage);
    struct storage_file *file = require_open(reader, "requests");
    assert_true(storage_file_size(reader, file, &size, &err));
    char *text = storage_reader_buffer(reader, 0, size + 1, &err);
    storage_close(file);
    file = require_open(reader, "requests"); /* it has grown by our question */
    struct storage_extent all = {.length = size, .to = text};
    require_read(reader, file, &all, 1);
    text[size] = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        count += strncmp(line, start, strlen(start)) == 0 && strstr(line, with);
    storage_close(file);
    storage_reader_free(reader);
    return count;
}

static atomic_bool stop;

static void *read_without_end(void *err)
{
    bool *ok = malloc(sizeof *ok);
    struct storage_s3_options s3 = {.access_key = "KEY",
                                    .secret_key = SECRET,
                                    .endpoint = endpoint,
                                    .attempts = 1000,
                                    .patience = PATIENCE};
    struct storage_options options = {.method = STORAGE_S3, .root = "s3://bucket", .s3 = &s3, .stop = &stop};
    struct storage *patient = require_s3(&options);
    *ok = read_object(patient, "stall-1000/stopped", SIZE, err);
    storage_free(patient);
    return ok;
}

static void test_waiting_ends_when_we_are_to_stop(void **state)
{
    (void)state;
    struct error err;
    pthread_t thread;
    void *ok;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, read_without_end, &err), 0);
    require_well("after/stall-1000/stopped");
    atomic_store(&stop, true);
    pthread_join(thread, &ok);
    assert_false(*(bool *)ok);
    free(ok);
    require_text(
        &err,
        "s3://bucket/stall-1000/stopped: cannot read 300001 bytes at byte 0: stopped (http://127.0.0.1:");
    atomic_store(&stop, false);
}

static void test_attempts_come_to_an_end(void **state)
{
    (void)state;
    require_failure("status503-99/a", "s3://bucket/status503-99/a: cannot read ");
    require_failure("status503-99/a", "HTTP 503 SlowDown: as it was told to (http://127.0.0.1:");
    require_failure("html-99/a", "HTTP 502 (http://127.0.0.1:");
    require_failure("status503-99/b", ", 3 attempts)");
    require_failure("html-99/b", ", 3 attempts)");
    require_failure("reset-99/a", ", 3 attempts)");
    require_failure("cut-99/a", ", 3 attempts)");
}

static void test_one_attempt_is_one(void **state)
{
    (void)state;
    struct error err;
    struct storage *once = open_with(1, 1, PATIENCE);
    assert_false(read_object(once, "status503-1/one", SIZE, &err));
    require_text(&err, "HTTP 503 SlowDown: as it was told to");
    assert_null(strstr(err.text, "attempts"));
    assert_true(read_object(once, "status503-1/one", SIZE, &err));
    storage_free(once);
}

static void test_refusals_are_not_tried_again(void **state)
{
    (void)state;
    require_failure("status403-1/a", "HTTP 403 AccessDenied: as it was told to");
    require_failure("status404-1/a", "HTTP 404 NoSuchKey: as it was told to");
    require_failure("status301-1/a", "HTTP 301 Other: as it was told to");
}

static void test_bytes_that_do_not_fit_the_request_are_refused(void **state)
{
    (void)state;
    require_failure("fewer/a", "the server sent fewer bytes than requested");
    require_failure("more/a", "the server sent more bytes than requested");
    require_failure("other/a", "the server sent another range than requested");
    require_failure("norange/a", "the server does not support range requests");
}

static void test_an_object_that_is_replaced_is_refused(void **state)
{
    (void)state;
    require_failure("replaced/a", "s3://bucket/replaced/a: replaced while it was being read");
}

static void test_an_object_that_ends_early_is_truncated(void **state)
{
    (void)state;
    struct error err;
    struct storage_reader *reader = require_reader(storage);
    struct storage_file *file = require_open(reader, "plain/a");
    struct storage_extent over = {.offset = SIZE - 10, .length = 11};
    assert_false(storage_read(reader, file, &over, 1, &err));
    require_text(&err, "s3://bucket/plain/a: truncated: expected 11 bytes at byte 299991, found 10");
    struct storage_extent beyond = {.offset = SIZE + 10, .length = 1};
    assert_false(storage_read(reader, file, &beyond, 1, &err));
    require_text(&err, "truncated: expected 1 bytes at byte 300011, found 0");
    storage_close(file);
    storage_reader_free(reader);
}

static void test_secrets_are_not_repeated(void **state)
{
    (void)state;
    struct error err;
    assert_false(read_object(storage, "secret-1/a", SIZE, &err));
    require_text(&err, "HTTP 403 AccessDenied: you are *****************, I know");
    assert_null(strstr(err.text, SECRET));
}

/* ---- Lists ---- */

static bool ignore(void *context, const char *name, int64_t size)
{
    (void)name;
    (void)size;
    ++*(int *)context;
    return true;
}

/* A code is compared as the server sent it, and printed without what is secret. */
static void test_secrets_that_are_parts_of_codes(void **state)
{
    (void)state;
    static const struct {
        const char *secret, *token, *shown;
    } cases[] = {
        {"y", NULL, "HTTP 404 NoSuchKe*: as it was told to"},
        {"o", NULL, "HTTP 404 N*SuchKey: as it was t*ld t*"},
        {"NoSuchKey", NULL, "HTTP 404 *********: as it was told to"},
        {SECRET, "Key", "HTTP 404 NoSuch***: as it was told to"},
        {SECRET, "", "HTTP 404 NoSuchKey: as it was told to"},
        {"SlowDown", "InternalError", "HTTP 404 NoSuchKey: as it was told to"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct storage *with = open_as(cases[i].secret, cases[i].token, 3, 4, PATIENCE);
        struct error err;
        char name[60];
        snprintf(name, sizeof name, "status404-1/part-%zu", i);
        assert_false(read_object(with, name, SIZE, &err));
        assert_int_equal(err.kind, ERROR_INPUT); /* it is not there: the object may be made */
        require_text(&err, cases[i].shown);
        snprintf(name, sizeof name, "status503-2/part-%zu", i);
        assert_true(read_object(with, name, SIZE, &err));
        storage_free(with);
    }
}

static void test_lists_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *expected;
    } cases[] = {
        {"broken", "s3://bucket/broken: cannot list: the server sent not S3's XML: it is truncated"},
        {"document", "a document type"},
        {"foreign", "a name outside the requested prefix"},
        {"forever", "the server sent the same page twice (http://127.0.0.1:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error err;
        int count = 0;
        assert_false(storage_list(storage, cases[i].folder, ignore, &count, &err));
        require_text(&err, cases[i].expected);
        assert_int_equal(count, 0);
    }
}

/* ---- Writing ---- */

static void test_small_objects_are_put_again(void **state)
{
    (void)state;
    require_written(storage, "status500-2/put", 5000);
    struct storage_reader *reader = require_reader(storage);
    require_content(reader, "status500-2/put", 5000);
    storage_reader_free(reader);
}

static void require_not_written(const char *name, const char *expected)
{
    struct error err;
    char path[100];
    snprintf(path, sizeof path, "/bucket/%s", name);
    assert_false(write_object(storage, name, 3 * PART, &err));
    require_text(&err, expected);
    assert_int_equal(count_requests("DELETE", path), 1); /* the upload was given up */
}

static void test_uploads_that_fail_are_given_up(void **state)
{
    (void)state;
    require_not_written("badpart/a", "s3://bucket/badpart/a: cannot write: HTTP 400 InvalidPart");
    require_not_written("nevercomplete/a",
                        "s3://bucket/nevercomplete/a: cannot complete: HTTP 200 InvalidPartOrder");
}

static void test_an_upload_that_is_not_complete_though_ok_is_completed_again(void **state)
{
    (void)state;
    require_written(storage, "latererror/a", 2 * PART + 1);
    require_well("latererror/a");
    assert_int_equal(count_requests("DELETE", "latererror"), 0);
}

static void test_an_answer_that_was_lost_is_found(void **state)
{
    (void)state;
    require_written(storage, "lost/a", 2 * PART + 1);
    require_well("lost/a");
}

static void test_an_upload_that_vanished_is_no_success(void **state)
{
    (void)state;
    struct error err;
    assert_false(write_object(storage, "vanished/a", 2 * PART + 1, &err));
    require_text(&err, "cannot complete: HTTP 404 NoSuchUpload");
}

static void test_discarding_gives_the_upload_up(void **state)
{
    (void)state;
    struct error err;
    static char bytes[3 * (5 << 20)];
    struct storage_writer *writer = storage_create(storage, "plain/discarded", NULL, &err);
    assert_true(storage_write(writer, bytes, sizeof bytes, &err));
    storage_discard(writer);
    assert_int_equal(count_requests("DELETE /bucket/plain/discarded", "uploadId="), 1);
    assert_int_equal(count_requests("POST /bucket/plain/discarded", "uploadId="), 0);
}

static void test_a_server_that_is_not_there(void **state)
{
    (void)state;
    struct error err;
    struct storage_s3_options s3 = {
        .access_key = "KEY", .secret_key = SECRET, .endpoint = "http://127.0.0.1:1", .attempts = 2};
    struct storage_options options = {.method = STORAGE_S3, .root = "s3://bucket", .s3 = &s3};
    struct storage *nowhere = require_s3(&options);
    assert_false(read_object(nowhere, "a", SIZE, &err));
    require_text(&err, "s3://bucket/a: cannot read 300001 bytes at byte 0: Failed to connect");
    require_text(&err, "(http://127.0.0.1:1, 2 attempts)");
    storage_free(nowhere);
}

/* ---- Options ---- */

static void require_refused(const struct storage_s3_options *s3, const char *root, const char *expected)
{
    struct error err;
    struct storage_options options = {.method = STORAGE_S3, .root = root, .s3 = s3};
    assert_null(storage_new(&options, &err));
    require_text(&err, expected);
    assert_null(strstr(err.text, "hidden"));
}

static void test_options_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct storage_s3_options s3 = {.access_key = "KEY", .secret_key = "hidden", .endpoint = endpoint};
    require_refused(&s3, "data", "'data': expected s3://BUCKET");
    require_refused(&s3, "s3://b", "'b' is not a bucket name");
    require_refused(&s3, "s3://bu cket/a", "'bu cket' is not a bucket name");
    s3.endpoint = "http://user:hidden@127.0.0.1:1";
    require_refused(&s3, "s3://bucket", "the endpoint has a user or password");
    s3.endpoint = "http://127.0.0.1:1/path";
    require_refused(&s3, "s3://bucket", "the endpoint has a path");
    s3.endpoint = "ftp://127.0.0.1";
    require_refused(&s3, "s3://bucket", "the endpoint is not an HTTP address");
    s3.endpoint = endpoint;
    s3.region = "us-east-1\r\nX: y";
    require_refused(&s3, "s3://bucket", "expected letters, digits");
    s3.region = NULL;
    s3.secret_key = "hidden\r\n";
    require_refused(&s3, "s3://bucket", "the secret access key has invalid characters");
    s3.secret_key = "hidden";
    s3.attempts = -1;
    require_refused(&s3, "s3://bucket", "S3 attempts: expected 1 to");
}

static void test_credentials_come_from_the_environment(void **state)
{
    (void)state;
    struct storage_s3_options s3 = {.endpoint = endpoint};
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
    require_refused(&s3, "s3://bucket",
                    "no access key id: set storage.storage_options.access_key_id or AWS_ACCESS_KEY_ID");
    setenv("AWS_ACCESS_KEY_ID", "KEY", 1);
    require_refused(&s3, "s3://bucket", "no secret access key");
    setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
    struct storage_options options = {.method = STORAGE_S3, .root = "s3://bucket", .s3 = &s3};
    struct storage *opened = require_s3(&options);
    struct error err;
    assert_true(read_object(opened, "plain/a", SIZE, &err));
    assert_null(storage_options(opened)->s3);
    storage_free(opened);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_storage, close_storage)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_store_without_faults),
        TEST(test_passing_failures_are_tried_again),
        TEST(test_a_server_that_stands_still_is_asked_again),
        TEST(test_waiting_ends_when_we_are_to_stop),
        TEST(test_attempts_come_to_an_end),
        TEST(test_one_attempt_is_one),
        TEST(test_refusals_are_not_tried_again),
        TEST(test_bytes_that_do_not_fit_the_request_are_refused),
        TEST(test_an_object_that_is_replaced_is_refused),
        TEST(test_an_object_that_ends_early_is_truncated),
        TEST(test_secrets_are_not_repeated),
        TEST(test_secrets_that_are_parts_of_codes),
        TEST(test_lists_that_make_no_sense_are_refused),
        TEST(test_small_objects_are_put_again),
        TEST(test_uploads_that_fail_are_given_up),
        TEST(test_an_upload_that_is_not_complete_though_ok_is_completed_again),
        TEST(test_an_answer_that_was_lost_is_found),
        TEST(test_an_upload_that_vanished_is_no_success),
        TEST(test_discarding_gives_the_upload_up),
        TEST(test_a_server_that_is_not_there),
        TEST(test_options_that_make_no_sense_are_refused),
        TEST(test_credentials_come_from_the_environment),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
