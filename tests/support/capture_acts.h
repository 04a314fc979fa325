/* A program of known content to be traced: it does what it is told and keeps a record of each call. It is the test
 * program itself, started with "act". */
#ifndef REHEARSE_TESTS_CAPTURE_ACTS_H
#define REHEARSE_TESTS_CAPTURE_ACTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_ACTS    65536
#define ACTS_PLENTY 200000    /* reads of act "plenty" */
#define UNKNOWN     INT64_MIN /* TRACE_NONE */

struct act {
    char call[32], path[256]; /* path: as it is known in the end */
    int64_t pid, tid, fd, offset, size, result;
};

/* argv: program "act" WHAT FOLDER LOG. Files are made in FOLDER; the acts are written to LOG at the end. Gives the exit
 * status: 77 when this build or kernel cannot do WHAT. */
int acts_main(int argc, char **argv);

/* For those who act. `name` is that of a file in FOLDER. */
extern char act_bytes[1 << 20];
const char *act_path(const char *name);
int64_t act_note(const char *call, const char *name, int64_t fd, int64_t offset, int64_t size,
                 int64_t result);
int act_open(const char *name, int flags);
void act_close(const char *name, int fd);

/* The result as the kernel gave it. */
static inline int64_t act_result(long result)
{
    return result == -1 ? -errno : result;
}

#define ON(call, name, fd, offset, size, ...)                                                                \
    act_note(#call, name, fd, offset, size, act_result(syscall(SYS_##call, __VA_ARGS__)))

/* Requests that end later; false where this kernel has none. */
bool act_uring(void);
bool act_aio(void);
bool act_direct(void); /* and where the folder is no place for O_DIRECT */

#endif
