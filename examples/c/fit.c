/* fit LOG DEVICE: what a run of one's own says of jobs like it, as YAML for `calibration` of other requests.
 *
 *     run: tests/data/logs/megatron.log h100 */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_calibrate_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array texts;
    request.from = argc > 1 ? argv[1] : "run.log";
    request.device = argc > 2 ? argv[2] : NULL; /* else the one that the log names */
    rh_report *report = rh_calibrate(&request, NULL, &error);
    if (!report)
        return fprintf(stderr, "%s\n", error.text), error.code;
    printf("# %s: %.3f s measured, %.3f s expected\n", rh_string(report, "job"),
           rh_number(report, "measured"), rh_number(report, "expected"));
    rh_get(report, "files.text", &texts);
    for (int64_t i = 0; i < texts.shape[0]; i++)
        fputs(*(const char *const *)(const void *)((const char *)texts.data + i * texts.stride[0]), stdout);
    rh_free(report);
    return 0;
}
