#include "core/file.h"
#include "core/file_output.h"
#include "model/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static struct folder folder;
static char path[300], other[300];

static int make_folder(void **state)
{
    (void)state;
    folder_make(&folder);
    snprintf(path, sizeof path, "%s/file", folder.path);
    snprintf(other, sizeof other, "%s/other", folder.path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    folder_remove(&folder);
    return 0;
}

static void require_content(const char *file, const char *text, size_t length)
{
    struct error err;
    char *data;
    size_t found;
    if (!file_read(file, (size_t)1 << 30, &data, &found, &err))
        fail_msg("%s", err.text);
    assert_int_equal(found, length);
    assert_memory_equal(data, text, length);
    assert_int_equal(data[length], 0);
    free(data);
}

static void require_unread(const char *file, size_t limit, enum error_kind kind, const char *message)
{
    struct error err;
    char *data = NULL;
    size_t length;
    assert_false(file_read(file, limit, &data, &length, &err));
    assert_int_equal(err.kind, kind);
    if (!strstr(err.text, message))
        fail_msg("%s; expected: %s", err.text, message);
    assert_null(data);
}

static int entries(void)
{
    DIR *listing = opendir(folder.path);
    int count = 0;
    assert_non_null(listing);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count - 2;
}

static mode_t mode_of(const char *file)
{
    struct stat info;
    assert_int_equal(lstat(file, &info), 0);
    return info.st_mode;
}

static void what_was_written_is_read(void **state)
{
    static const size_t lengths[] = {0, 1, 65534, 65535, 65536, 65537, 200000, 1 << 20};
    struct error err;
    char *data = malloc(1 << 20);
    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < 1 << 20; i++)
        data[i] = (char)(i * 31 + i / 251);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_true(file_write(path, data, lengths[i], &err));
        require_content(path, data, lengths[i]);
        assert_int_equal(entries(), 1);
    }
    free(data);
}

static void the_limit_is_the_last_that_is_read(void **state)
{
    char *data;
    size_t length;
    struct error err;
    (void)state;
    folder_write(&folder, "file", "12345678");
    assert_true(file_read(path, 8, &data, &length, &err));
    free(data);
    require_unread(path, 7, ERROR_INPUT, "/file: larger than the limit of 0 MiB");
    require_unread(path, 0, ERROR_INPUT, "/file: larger than the limit of 0 MiB");
}

static void what_has_no_size_has_a_limit_too(void **state)
{
    (void)state;
    require_unread("/dev/zero", 1 << 20, ERROR_INPUT, "/dev/zero: larger than the limit of 1 MiB");
}

static void files_without_a_size_are_read(void **state)
{
    char *data;
    size_t length;
    struct error err;
    (void)state;
    if (access("/proc/self/status", R_OK) != 0)
        skip();
    assert_true(file_read("/proc/self/status", 1 << 20, &data, &length, &err));
    assert_true(length > 0);
    free(data);
}

static void a_directory_is_no_file(void **state)
{
    (void)state;
    require_unread(folder.path, 100, ERROR_INPUT, ": a directory, expected a file");
}

static void a_missing_file_is_an_error(void **state)
{
    (void)state;
    require_unread(path, 100, ERROR_INPUT, "/file: cannot open: No such file or directory");
}

static void standard_input_is_a_dash(void **state)
{
    int ends[2], kept = dup(STDIN_FILENO);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    require_content("-", "piped", 5);
    require_content("-", "", 0);
    close(ends[0]);
    if (kept >= 0) {
        dup2(kept, STDIN_FILENO);
        close(kept);
    }
}

static void a_new_file_has_the_permissions_the_mask_leaves(void **state)
{
    struct error err;
    mode_t mask = umask(027);
    (void)state;
    bool ok = file_write(path, "x", 1, &err);
    umask(mask);
    assert_true(ok);
    assert_int_equal(mode_of(path) & 07777, 0640);
}

static void a_file_keeps_its_permissions(void **state)
{
    struct error err;
    (void)state;
    folder_write(&folder, "file", "old");
    assert_int_equal(chmod(path, 0751), 0);
    assert_true(file_write(path, "new", 3, &err));
    assert_int_equal(mode_of(path) & 07777, 0751);
    require_content(path, "new", 3);
}

static void a_link_stays_a_link(void **state)
{
    struct error err;
    (void)state;
    folder_write(&folder, "other", "old");
    assert_int_equal(symlink("other", path), 0);
    assert_true(file_write(path, "new", 3, &err));
    assert_true(S_ISLNK(mode_of(path)));
    assert_true(S_ISREG(mode_of(other)));
    require_content(other, "new", 3);
    assert_int_equal(entries(), 2);
}

/* A reader that has the old file open keeps it. */
static void a_file_is_replaced_and_not_overwritten(void **state)
{
    struct error err;
    char text[4] = "";
    (void)state;
    folder_write(&folder, "file", "old");
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(file_write(path, "new", 3, &err));
    assert_int_equal(read(fd, text, 3), 3);
    assert_string_equal(text, "old");
    close(fd);
}

static void a_file_that_does_not_fit_is_not_written_at_all(void **state)
{
    struct rlimit kept, small;
    struct error err;
    char data[8192] = "";
    (void)state;
    folder_write(&folder, "file", "old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    small = kept;
    small.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    bool replaced = file_write(path, data, sizeof data, &err);
    bool made = file_write(other, data, sizeof data, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_false(replaced || made);
    assert_int_equal(err.kind, ERROR_FAILED);
    assert_non_null(strstr(err.text, "/other: cannot write: File too large"));
    require_content(path, "old", 3);
    assert_int_equal(entries(), 1);
}

static void a_full_device_is_an_error(void **state)
{
    struct error err;
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_false(file_write("/dev/full", "x", 1, &err));
    assert_int_equal(err.kind, ERROR_FAILED);
    assert_string_equal(err.text, "/dev/full: cannot write: No space left on device");
    assert_true(S_ISCHR(mode_of("/dev/full")));
}

static void a_device_is_written_in_place(void **state)
{
    struct error err;
    (void)state;
    assert_true(file_write("/dev/null", "x", 1, &err));
    assert_true(S_ISCHR(mode_of("/dev/null")));
}

static void a_file_cannot_take_the_place_of_a_directory(void **state)
{
    struct error err;
    (void)state;
    assert_false(file_write(folder.path, "x", 1, &err));
    assert_int_equal(err.kind, ERROR_FAILED);
    assert_non_null(strstr(err.text, ": cannot write: it is a directory"));
}

static void a_folder_that_is_not_there_is_an_error(void **state)
{
    struct error err;
    char inside[400];
    (void)state;
    snprintf(inside, sizeof inside, "%s/lost/file", folder.path);
    assert_false(file_write(inside, "x", 1, &err));
    assert_non_null(strstr(err.text, "/lost/file: cannot write: No such file or directory"));
    folder_write(&folder, "lost", "a file");
    assert_false(file_write(inside, "x", 1, &err));
    assert_non_null(strstr(err.text, "/lost/file: cannot write: Not a directory"));
}

static void a_folder_that_may_not_be_written_is_an_error(void **state)
{
    struct error err;
    (void)state;
    if (geteuid() == 0)
        skip(); /* root may */
    folder_write(&folder, "file", "old");
    assert_int_equal(chmod(folder.path, 0500), 0);
    bool written = file_write(path, "new", 3, &err);
    assert_int_equal(chmod(folder.path, 0700), 0);
    assert_false(written);
    assert_non_null(strstr(err.text, "/file: cannot write: Permission denied"));
    require_content(path, "old", 3);
}

static void a_name_without_a_folder_is_written_here(void **state)
{
    struct error err;
    char here[4096];
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder.path), 0);
    bool ok = file_write("file", "x", 1, &err);
    assert_int_equal(chdir(here), 0);
    assert_true(ok);
    require_content(path, "x", 1);
}

static void standard_output_is_a_dash(void **state)
{
    struct error err;
    (void)state;
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CREAT, 0600);
    dup2(fd, STDOUT_FILENO);
    printf("first "); /* stays before what is written */
    bool ok = file_write("-", "second", 6, &err);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(fd);
    assert_true(ok);
    require_content(path, "first second", 12);
}

static enum file_kind kind_of(const char *name)
{
    struct error err;
    enum file_kind kind;
    assert_true(file_look(name, &kind, &err));
    return kind;
}

static void files_and_directories_are_told_apart(void **state)
{
    (void)state;
    folder_write(&folder, "file", "");
    assert_int_equal(kind_of(path), FILE_REGULAR);
    assert_int_equal(kind_of(folder.path), FILE_FOLDER);
    assert_int_equal(kind_of("/dev/null"), FILE_OTHER);
    assert_int_equal(kind_of(other), FILE_NONE);
}

static void a_directory_is_made_once(void **state)
{
    struct error err;
    char inside[400];
    (void)state;
    assert_true(file_make_directory(path, &err));
    assert_int_equal(kind_of(path), FILE_FOLDER);
    assert_true(file_make_directory(path, &err));
    folder_write(&folder, "other", "");
    assert_false(file_make_directory(other, &err));
    assert_non_null(strstr(err.text, "/other: cannot make a directory: File exists"));
    snprintf(inside, sizeof inside, "%s/a/b", folder.path);
    assert_false(file_make_directory(inside, &err));
    assert_non_null(strstr(err.text, "/a/b: cannot make a directory: No such file or directory"));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_was_written_is_read),
        IN_FOLDER(the_limit_is_the_last_that_is_read),
        cmocka_unit_test(what_has_no_size_has_a_limit_too),
        cmocka_unit_test(files_without_a_size_are_read),
        IN_FOLDER(a_directory_is_no_file),
        IN_FOLDER(a_missing_file_is_an_error),
        cmocka_unit_test(standard_input_is_a_dash),
        IN_FOLDER(a_new_file_has_the_permissions_the_mask_leaves),
        IN_FOLDER(a_file_keeps_its_permissions),
        IN_FOLDER(a_link_stays_a_link),
        IN_FOLDER(a_file_is_replaced_and_not_overwritten),
        IN_FOLDER(a_file_that_does_not_fit_is_not_written_at_all),
        cmocka_unit_test(a_full_device_is_an_error),
        cmocka_unit_test(a_device_is_written_in_place),
        IN_FOLDER(a_file_cannot_take_the_place_of_a_directory),
        IN_FOLDER(a_folder_that_is_not_there_is_an_error),
        IN_FOLDER(a_folder_that_may_not_be_written_is_an_error),
        IN_FOLDER(a_name_without_a_folder_is_written_here),
        IN_FOLDER(standard_output_is_a_dash),
        IN_FOLDER(files_and_directories_are_told_apart),
        IN_FOLDER(a_directory_is_made_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
