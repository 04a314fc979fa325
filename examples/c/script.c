/* script FILE DEVICE [NAME=VALUE…]: what a launch script costs as it stands, and what the same job could take.
 *
 *     run: examples/train.sh h100 TP=2 */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_price_request request = RH_INIT(request);
    struct rh_error error;
    if (argc < 3)
        return fprintf(stderr, "script FILE DEVICE [NAME=VALUE...]\n"), 2;
    request.files.items = (const char *const *)&argv[1];
    request.files.count = 1;
    request.device = argv[2];
    request.set.items = (const char *const *)&argv[3];
    request.set.count = (size_t)argc - 3;
    rh_report *report = rh_price(&request, NULL, &error);
    if (!report)
        return fprintf(stderr, "%s\n", error.text), error.code;
    printf("%s on %g x %s, %s: %.3f s, 80 %% of such runs take %.3f to %.3f s\n", rh_string(report, "model"),
           rh_number(report, "devices"), rh_string(report, "device_type"), rh_string(report, "reader"),
           rh_number(report, "expected"), rh_number(report, "low"), rh_number(report, "high"));
    if (rh_string(report, "not_planned"))
        printf("no other split: %s\n", rh_string(report, "not_planned"));
    else
        printf("planned freely: %.3f s instead of %.3f s by formula\n",
               rh_number(report, "planned.iteration_time"), rh_number(report, "iteration_time"));
    rh_free(report);
    return 0;
}
