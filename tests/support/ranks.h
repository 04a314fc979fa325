/* A test program that starts itself as several ranks: `PROGRAM rank MODE` is one of them. */
#ifndef REHEARSE_TESTS_SUPPORT_RANKS_H
#define REHEARSE_TESTS_SUPPORT_RANKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char ranks_output[65536];

/* Runs `count` ranks and keeps what they print. False, and a word why, where this machine has no MPI for it. */
static inline bool ranks_run(int count, const char *mode, const char *options)
{
    char command[2048], program[1024];
    const char *module = getenv("REHEARSE_MPI_MODULE");
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (!module || access(module, F_OK) != 0 || system("command -v mpirun > /dev/null") != 0) {
        print_message("no mpirun, or no module of MPI in REHEARSE_MPI_MODULE\n");
        return false;
    }
    assert_true(length > 0);
    program[length] = 0;
    snprintf(
        command, sizeof command,
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_base_warn_component_unused=0 "
        "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 ASAN_OPTIONS=detect_leaks=0 "
        "TSAN_OPTIONS=report_bugs=0 timeout -k 5 60 mpirun -n %d %s '%s' rank %s 2>&1",
        count, options, program, mode);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t read = fread(ranks_output, 1, sizeof ranks_output - 1, pipe);
    ranks_output[read] = 0;
    pclose(pipe);
    return true;
}

static inline void ranks_require(const char *text)
{
    if (!strstr(ranks_output, text))
        fail_msg("'%s' is not in:\n%s", text, ranks_output);
}

static inline int ranks_count(const char *text)
{
    int count = 0;
    for (const char *at = ranks_output; (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

#endif
