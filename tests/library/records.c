#include "records.h"

#include "caller.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *records_path(const char *name)
{
    const char *path = caller_write(name, "");
    unlink(path);
    return path;
}

static const char *write_calls(const char *name, int microseconds)
{
    char text[16384], file[64];
    size_t length = 0;
    for (int i = 0; i < 50; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "7 1700000000.%06d read(3</data/%d>, \"\"..., 4096) = 4096 <0.%06d>\n",
                                   i * 1000, i % 5, microseconds);
    snprintf(text + length, sizeof text - length,
             "7 1700000001.000000 write(4</out/model>, \"\"..., 65536) = 65536 <0.%06d>\n", microseconds);
    snprintf(file, sizeof file, "%s.strace", name);
    return caller_write(file, text);
}

const char *records_trace(const char *name, int microseconds)
{
    const char *const calls = write_calls(name, microseconds);
    struct rh_trace_import_request request = RH_INIT(request);
    struct rh_error error;
    request.paths = (struct rh_list){&calls, 1};
    request.output = records_path(name);
    request.zone = "UTC";
    rh_report *report = rh_trace_import(&request, NULL, &error);
    if (!report)
        fprintf(stderr, "# no traces: %s\n", error.text);
    bool made = report != NULL;
    rh_free(report);
    return made ? request.output : NULL;
}

const char *records_log(void)
{
    char text[1024];
    size_t length = 0;
    for (int i = 1; i <= 3; i++)
        length +=
            (size_t)snprintf(text + length, sizeof text - length,
                             ":::MLLOG {\"key\": \"step_end\", \"value\": {\"start\": %d.0, \"duration\": "
                             "%d000000000}, \"metadata\": {}}\n",
                             i, i + 1);
    return caller_write("UNET3D_8g_4b.log", text);
}
