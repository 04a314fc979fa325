#include "core/caller.h"
#include "core/file.h"
#include "core/file_output.h"
#include "model/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
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

static void require_content(const char *file, const char *text)
{
    struct error err;
    char *data;
    size_t found;
    if (!file_read(file, (size_t)1 << 30, &data, &found, &err))
        fail_msg("%s", err.text);
    assert_string_equal(data, text);
    free(data);
}

static int entries(void)
{
    int count = -2; /* . and .. */
    DIR *list = opendir(folder.path);
    assert_non_null(list);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

static struct stat look(const char *file)
{
    struct stat info;
    assert_int_equal(lstat(file, &info), 0);
    return info;
}

static struct file_output require_open(const char *file)
{
    struct file_output output;
    struct error err;
    if (!file_output_open(&output, file, &err))
        fail_msg("%s", err.text);
    return output;
}

static void require_close(struct file_output *output, bool done)
{
    struct error err;
    if (file_output_close(output, done, &err) != done)
        fail_msg("%s", err.text);
}

static void write_text(const char *file, const char *text)
{
    struct file_output output = require_open(file);
    fputs(text, output.out);
    require_close(&output, true);
}

static void require_refused(const char *file, const char *message)
{
    struct file_output output;
    struct error err;
    assert_false(file_output_open(&output, file, &err));
    assert_int_equal(err.kind, ERROR_FAILED);
    if (!strstr(err.text, message))
        fail_msg("%s; expected: %s", err.text, message);
    require_close(&output, false); /* of nothing */
}

static void need_root(void)
{
    if (geteuid() != 0)
        skip();
}

static void a_stream_appears_when_it_is_whole(void **state)
{
    (void)state;
    folder_write(&folder, "file", "old");
    struct file_output output = require_open(path);
    for (int i = 0; i < 100000; i++)
        fprintf(output.out, "%d\n", i);
    require_content(path, "old");
    require_close(&output, true);
    assert_int_equal(look(path).st_size, 588890);
    assert_int_equal(entries(), 1);
}

static void what_is_not_done_leaves_the_old_file(void **state)
{
    (void)state;
    folder_write(&folder, "file", "old");
    struct file_output output = require_open(path);
    fputs("new", output.out);
    require_close(&output, false);
    require_content(path, "old");
    assert_int_equal(entries(), 1);
}

/* The first failure is told, whatever comes after it. */
static void a_stop_leaves_the_old_file(void **state)
{
    const atomic_bool stop = true;
    struct caller caller = {.stop = &stop}, *before;
    struct file_output output;
    struct error err = {.kind = ERROR_FAILED};
    (void)state;
    folder_write(&folder, "file", "old");
    assert_true(file_output_open(&output, path, &err));
    fputs("a part of the ne", output.out);
    before = caller_set(&caller);
    assert_false(file_output_close(&output, true, &err));
    assert_int_equal(err.kind, ERROR_STOPPED);
    assert_false(file_write(path, "new", 3, &err));
    caller_set(before);
    require_content(path, "old");
    assert_int_equal(entries(), 1);
}

static void a_failed_write_is_told_at_the_end(void **state)
{
    struct rlimit old, limit;
    struct error err;
    (void)state;
    folder_write(&folder, "file", "old");
    struct file_output output = require_open(path);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = (struct rlimit){.rlim_cur = 100000, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 100000; i++)
        fputs("some text\n", output.out);
    errno = 0;
    bool done = file_output_close(&output, true, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(done);
    assert_non_null(strstr(err.text, "/file: cannot write: File too large"));
    require_content(path, "old");
    assert_int_equal(entries(), 1);
}

static void a_new_file_takes_nobodys_place(void **state)
{
    struct error err;
    (void)state;
    struct file_output output = require_open(path);
    output.fresh = true;
    fputs("new", output.out);
    folder_write(&folder, "file", "meanwhile");
    assert_false(file_output_close(&output, true, &err));
    assert_non_null(strstr(err.text, "/file: cannot write: File exists"));
    require_content(path, "meanwhile");
    assert_int_equal(entries(), 1);
    output = require_open(other);
    output.fresh = true;
    assert_true(file_output_close(&output, true, &err));
    require_content(other, "");
}

static void a_link_stays_a_link(void **state)
{
    char text[512];
    (void)state;
    folder_write(&folder, "below/real", "old");
    assert_int_equal(symlink("below/link", path), 0);
    snprintf(text, sizeof text, "%s/below/link", folder.path);
    assert_int_equal(symlink("real", text), 0);
    write_text(path, "new");
    assert_true(S_ISLNK(look(path).st_mode));
    assert_true(S_ISLNK(look(text).st_mode));
    require_content(path, "new");
    snprintf(text, sizeof text, "%s/below/real", folder.path);
    assert_true(S_ISREG(look(text).st_mode));
    require_content(text, "new");
    assert_int_equal(entries(), 2);
}

static void a_link_to_nowhere_gets_its_file(void **state)
{
    (void)state;
    assert_int_equal(symlink("other", path), 0);
    write_text(path, "new");
    assert_true(S_ISLNK(look(path).st_mode));
    require_content(other, "new");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("nowhere/other", path), 0);
    require_refused(path, "/file: cannot write: No such file or directory");
    assert_int_equal(entries(), 2);
}

static void links_in_a_circle_are_an_error(void **state)
{
    (void)state;
    assert_int_equal(symlink("other", path), 0);
    assert_int_equal(symlink("file", other), 0);
    require_refused(path, "/file: cannot write: Too many levels of symbolic links");
}

static void a_device_is_written_in_place(void **state)
{
    (void)state;
    need_root();
    if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) != 0) /* as /dev/null is */
        skip();
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip(); /* a file system without devices */
    close(fd);
    assert_int_equal(symlink("file", other), 0);
    write_text(path, "new");
    write_text(other, "new");
    assert_true(S_ISCHR(look(path).st_mode));
    assert_true(S_ISLNK(look(other).st_mode));
    assert_int_equal(entries(), 2);
}

static void *read_pipe(void *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    for (ssize_t got; (got = read(fd, (char *)text + length, 99 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    return NULL;
}

static void a_pipe_is_written_in_place(void **state)
{
    char text[100] = "";
    pthread_t reader;
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_pipe, text), 0);
    write_text(path, "through the pipe");
    pthread_join(reader, NULL);
    assert_string_equal(text, "through the pipe");
    assert_true(S_ISFIFO(look(path).st_mode));
    assert_int_equal(entries(), 1);
}

/* Opened anew, the file behind standard output would lose what came before. */
static void open_files_are_gone_on_with(void **state)
{
    char number[40];
    (void)state;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "first ", 6), 6);
    snprintf(number, sizeof number, "/dev/fd/%d", fd);
    write_text(number, "second ");
    snprintf(number, sizeof number, "/proc/self/fd/%d", fd);
    write_text(number, "third ");
    assert_int_equal(write(fd, "last", 4), 4);
    close(fd);
    require_content(path, "first second third last");
    require_refused("/dev/fd/999999", "/dev/fd/999999: cannot write: Bad file descriptor");
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(fd, STDOUT_FILENO);
    printf("a");
    struct file_output output;
    struct error err;
    bool ok = file_output_open(&output, "-", &err);
    fputs("b", output.out);
    ok = file_output_close(&output, ok, &err) && file_output_open(&output, "/dev/stdout", &err);
    fputs("c", output.out);
    ok = file_output_close(&output, ok, &err);
    printf("d");
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
    close(fd);
    assert_true(ok);
    require_content(other, "abcd");
}

static void owner_group_and_permissions_stay(void **state)
{
    (void)state;
    need_root();
    folder_write(&folder, "file", "old");
    assert_int_equal(chown(path, 4711, 815), 0);
    assert_int_equal(chmod(path, 0640), 0);
    write_text(path, "new");
    assert_int_equal(look(path).st_uid, 4711);
    assert_int_equal(look(path).st_gid, 815);
    assert_int_equal(look(path).st_mode & 07777, 0640);
    require_content(path, "new");
}

/* Until it is whole nobody may read it who may not read the old one. */
static void a_temporary_file_is_as_private_as_the_file(void **state)
{
    (void)state;
    folder_write(&folder, "file", "old");
    assert_int_equal(chmod(path, 0600), 0);
    struct file_output output = require_open(path);
    assert_int_equal(look(output.temporary).st_mode & 07777, 0600);
    require_close(&output, false);
}

/* In a child, who is not root: the group of a file of others cannot be kept, so it gets what all get. */
static void anothers_file_does_not_open_up(void **state)
{
    (void)state;
    need_root();
    folder_write(&folder, "file", "old");
    assert_int_equal(chmod(folder.path, 0777), 0);
    assert_int_equal(chown(path, 4711, 815), 0);
    assert_int_equal(chmod(path, 06662), 0);
    pid_t child = fork();
    if (child == 0) {
        struct error err;
        if (setgid(65534) != 0 || setuid(65534) != 0)
            _exit(2);
        _exit(!file_write(path, "new", 3, &err));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(look(path).st_uid, 65534);
    assert_int_equal(look(path).st_mode & 07777, 0622);
}

static void attributes_stay(void **state)
{
    char value[20] = "";
    (void)state;
    folder_write(&folder, "file", "old");
    if (setxattr(path, "user.origin", "run 7", 5, 0) != 0)
        skip(); /* this file system has none */
    write_text(path, "new");
    assert_int_equal(getxattr(path, "user.origin", value, sizeof value), 5);
    assert_memory_equal(value, "run 7", 5);
}

/* {"version 2", user::rw-, user:4711:r--, group::---, mask::r--, other::---} as the kernel has it. */
static void an_access_list_stays(void **state)
{
    static const unsigned char list[] = {2,    0,    0,    0,    1,    0,    6,    0,    0xff, 0xff, 0xff,
                                         0xff, 2,    0,    4,    0,    0x67, 0x12, 0,    0,    4,    0,
                                         0,    0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,    4,    0,    0xff,
                                         0xff, 0xff, 0xff, 0x20, 0,    0,    0,    0xff, 0xff, 0xff, 0xff};
    unsigned char now[sizeof list] = {0};
    (void)state;
    folder_write(&folder, "file", "old");
    if (setxattr(path, "system.posix_acl_access", list, sizeof list, 0) != 0)
        skip(); /* this file system has none */
    write_text(path, "new");
    assert_int_equal(getxattr(path, "system.posix_acl_access", now, sizeof now), sizeof list);
    assert_memory_equal(now, list, sizeof list);
}

/* In a child, who is not root. */
static void a_file_that_may_not_be_written_is_kept(void **state)
{
    (void)state;
    folder_write(&folder, "file", "old");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder.path, 0777), 0);
    pid_t child = fork();
    if (child == 0) {
        struct error err = {.text = ""};
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(2);
        _exit(file_write(path, "new", 3, &err) ||
              !strstr(err.text, "/file: cannot write: Permission denied"));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    require_content(path, "old");
    assert_int_equal(entries(), 1);
}

static void a_long_name_has_room_for_a_temporary_one(void **state)
{
    char name[300], text[600];
    (void)state;
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(text, sizeof text, "%s/%s", folder.path, name);
    write_text(text, "new");
    require_content(text, "new");
    assert_int_equal(entries(), 1);
}

static void a_named_file_is_filled_by_others(void **state)
{
    struct file_output output;
    struct error err;
    (void)state;
    assert_true(file_output_beside(&output, path, "a trace is a database", &err));
    assert_null(output.out);
    FILE *file = fopen(output.temporary, "w");
    assert_non_null(file);
    fputs("by a library", file);
    fclose(file);
    assert_int_not_equal(access(path, F_OK), 0);
    require_close(&output, true);
    require_content(path, "by a library");
    assert_false(file_output_beside(&output, "-", "a trace is a database", &err));
    assert_string_equal(err.text, "-: cannot write: a trace is a database and needs a regular file");
    assert_int_equal(mkfifo(other, 0600), 0);
    assert_false(file_output_beside(&output, other, "a trace is a database", &err));
    assert_non_null(strstr(err.text, "/other: cannot write: a trace is a database and needs a regular file"));
    assert_int_equal(entries(), 2);
}

static void a_signal_takes_what_is_not_done(void **state)
{
    (void)state;
    folder_write(&folder, "file", "old");
    struct file_output first = require_open(path), second = require_open(other);
    assert_int_equal(entries(), 3);
    pid_t child = fork(); /* whose files they are not */
    if (child == 0) {
        file_output_abandon();
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(entries(), 3);
    file_output_abandon();
    assert_int_equal(entries(), 1);
    require_content(path, "old");
    require_close(&first, false);
    require_close(&second, false);
}

/* ---- NAME.part ---- */

static void require_part_refused(const char *message)
{
    struct file_part part;
    struct error err;
    assert_false(file_part_open(&part, path, false, &err));
    if (!strstr(err.text, message))
        fail_msg("%s; expected: %s", err.text, message);
}

static void write_part(const char *text)
{
    struct file_part part;
    struct error err;
    if (!file_part_open(&part, path, false, &err))
        fail_msg("%s", err.text);
    assert_int_equal(write(part.fd, text, strlen(text)), strlen(text));
    if (!file_part_rename(&part, &err))
        fail_msg("%s", err.text);
    file_part_close(&part);
}

static void a_planted_part_is_refused(void **state)
{
    char planted[310];
    (void)state;
    snprintf(planted, sizeof planted, "%s.part", path);
    folder_write(&folder, "other", "precious");
    assert_int_equal(symlink("other", planted), 0);
    require_part_refused("/file.part: cannot write: it is a symbolic link (not followed)");
    assert_int_equal(unlink(planted), 0);
    assert_int_equal(link(other, planted), 0);
    require_part_refused("/file.part: cannot write: it is also another file (a hard link)");
    assert_int_equal(unlink(planted), 0);
    require_content(other, "precious");
    assert_int_equal(mkfifo(planted, 0600), 0);
    require_part_refused("/file.part: cannot write: it is not a regular file");
    int reader = open(planted, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    require_part_refused("/file.part: cannot write: it is not a regular file");
    close(reader);
    assert_int_equal(unlink(planted), 0);
    write_part("new");
    require_content(path, "new");
}

static void a_part_replaces_a_link_and_no_device(void **state)
{
    (void)state;
    folder_write(&folder, "other", "precious");
    assert_int_equal(symlink("other", path), 0);
    write_part("new");
    assert_true(S_ISREG(look(path).st_mode));
    require_content(other, "precious");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    require_part_refused("/file: cannot write: it is not a regular file");
    assert_true(S_ISFIFO(look(path).st_mode));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    require_part_refused("/file: cannot write: it is a directory");
    assert_int_equal(entries(), 2);
}

static void a_part_gets_the_owner_of_the_old_file(void **state)
{
    (void)state;
    need_root();
    folder_write(&folder, "file", "old");
    assert_int_equal(chown(path, 4711, 815), 0);
    assert_int_equal(chmod(path, 0640), 0);
    write_part("new");
    require_content(path, "new");
    assert_int_equal(look(path).st_uid, 4711);
    assert_int_equal(look(path).st_gid, 815);
    assert_int_equal(look(path).st_mode & 07777, 0640);
}

static void a_part_has_one_writer(void **state)
{
    struct file_part part;
    struct error err;
    (void)state;
    folder_write(&folder, "file.part", "left by a killed program, longer than what comes");
    assert_true(file_part_open(&part, path, false, &err));
    require_part_refused("/file: cannot write: another program is writing it");
    assert_int_equal(write(part.fd, "new", 3), 3);
    assert_true(file_part_rename(&part, &err));
    file_part_remove(&part); /* what has its name is not removed */
    require_content(path, "new");
    assert_int_equal(entries(), 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_stream_appears_when_it_is_whole),
        IN_FOLDER(what_is_not_done_leaves_the_old_file),
        IN_FOLDER(a_stop_leaves_the_old_file),
        IN_FOLDER(a_failed_write_is_told_at_the_end),
        IN_FOLDER(a_new_file_takes_nobodys_place),
        IN_FOLDER(a_link_stays_a_link),
        IN_FOLDER(a_link_to_nowhere_gets_its_file),
        IN_FOLDER(links_in_a_circle_are_an_error),
        IN_FOLDER(a_device_is_written_in_place),
        IN_FOLDER(a_pipe_is_written_in_place),
        IN_FOLDER(open_files_are_gone_on_with),
        IN_FOLDER(owner_group_and_permissions_stay),
        IN_FOLDER(a_temporary_file_is_as_private_as_the_file),
        IN_FOLDER(anothers_file_does_not_open_up),
        IN_FOLDER(attributes_stay),
        IN_FOLDER(an_access_list_stays),
        IN_FOLDER(a_file_that_may_not_be_written_is_kept),
        IN_FOLDER(a_long_name_has_room_for_a_temporary_one),
        IN_FOLDER(a_named_file_is_filled_by_others),
        IN_FOLDER(a_signal_takes_what_is_not_done),
        IN_FOLDER(a_planted_part_is_refused),
        IN_FOLDER(a_part_replaces_a_link_and_no_device),
        IN_FOLDER(a_part_gets_the_owner_of_the_old_file),
        IN_FOLDER(a_part_has_one_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
