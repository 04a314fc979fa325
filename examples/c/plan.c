/* plan MODEL DEVICE DEVICES BATCH: the fastest split of a training job, its stages, and the arguments that launch it.
 *
 *     run: llama-3-70b h100 64 512 */
#include <rehearse.h>

#include <stdio.h>

static const void *element(const rh_plan *plan, const char *name, int64_t at)
{
    struct rh_array array;
    return rh_get(plan, name, &array) ? (const char *)array.data + at * array.stride[0] : NULL;
}

int main(int argc, char **argv)
{
    struct rh_plan_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array stages;
    struct rh_text flags;
    if (argc != 5)
        return fprintf(stderr, "usage: plan MODEL DEVICE DEVICES BATCH\n"), RH_USAGE;
    request.model = argv[1];
    request.device = argv[2];
    request.devices = argv[3];
    request.global_batch = argv[4];
    request.emit = "megatron";
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    if (!plan)
        return fprintf(stderr, "%s\n", error.text), error.code;

    printf("%.3f s, 80 %% of such runs take %.3f to %.3f s; gap %g\n", rh_number(plan, "iteration_time"),
           rh_number(plan, "low"), rh_number(plan, "high"), rh_number(plan, "gap"));
    rh_get(plan, "stages.forward", &stages);
    for (int64_t i = 0; i < stages.shape[0]; i++)
        printf("stage %d: layers %d to %d, tensor %d x data %d, %.1f GB\n", (int)i,
               *(const int *)element(plan, "stages.first_layer", i),
               *(const int *)element(plan, "stages.last_layer", i),
               *(const int *)element(plan, "stages.tensor", i), *(const int *)element(plan, "stages.data", i),
               *(const double *)element(plan, "stages.memory", i) / 1e9);
    if (rh_write(plan, "emit", &flags, &error))
        fputs(flags.data, stdout);
    rh_text_free(&flags);
    rh_free(plan);
    return 0;
}
