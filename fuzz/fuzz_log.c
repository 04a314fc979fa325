/* Logs of training runs. What is read has times above 0 in the order of its lines, a pace within its interval, and a job that the
 * readers of launch descriptions take or refuse with a message. */
#include "launch/log/log.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void read_job(const struct run_log *log)
{
    struct launch_options options = {0};
    struct error err = {0};
    const struct launch_input input = {.path = "fuzz.log",
                                       .syntax = log->job_syntax,
                                       .data = log->job,
                                       .length = log->job_length,
                                       .is_alone = true};
    if (launch_read(&options, &input, &err)) {
        launch_complete(&options);
        launch_options_release(&options);
    } else
        require(err.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run_log log;
    struct run_pace pace;
    struct error err = {0};
    if (!run_log_parse(&log, "fuzz.log", (const char *)data, size, &err)) {
        require(err.text[0] != '\0');
        return 0;
    }
    require(log.software && (log.count > 0 || log.skipped > 0));
    for (int i = 0; i < log.count; i++)
        require(log.steps[i].value > 0 && (i == 0 || log.steps[i].line > log.steps[i - 1].line));
    if (run_log_pace(&log, 4096, 64, &pace, &err))
        require(pace.low <= pace.seconds && pace.seconds <= pace.high && pace.low > 0 &&
                pace.lines + pace.warmup + pace.other_batch == log.count);
    else
        require(err.text[0] != '\0');
    if (log.job)
        read_job(&log);
    run_log_release(&log);
    return 0;
}
