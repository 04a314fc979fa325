/* simulate MODEL DEVICE DEVICES BATCH: the best plan is played in memory, and its first tasks are listed.
 *
 *     run: llama-3-8b h100 16 128 */
#include <rehearse.h>

#include <stdio.h>

#define SHOWN 5

int main(int argc, char **argv)
{
    struct rh_plan_request find = RH_INIT(find);
    struct rh_simulate_request play = RH_INIT(play);
    struct rh_error error;
    struct rh_array names, begins, ends;
    if (argc != 5)
        return fprintf(stderr, "usage: simulate MODEL DEVICE DEVICES BATCH\n"), RH_USAGE;
    find.model = argv[1];
    find.device = argv[2];
    find.devices = argv[3];
    find.global_batch = argv[4];
    rh_plan *plan = rh_plan_find(&find, NULL, &error);
    if (!plan)
        return fprintf(stderr, "%s\n", error.text), error.code;
    play.from = plan;
    play.keep_tasks = true;
    rh_report *run = rh_simulate(&play, NULL, &error);
    rh_free(plan);
    if (!run)
        return fprintf(stderr, "%s\n", error.text), error.code;

    printf("%s: %.3f s, bubble %.1f %%, %g tasks\n", rh_string(run, "schedule"),
           rh_number(run, "iteration_time"), 100 * rh_number(run, "bubble"), rh_number(run, "tasks"));
    rh_get(run, "tasks.kind", &names);
    rh_get(run, "tasks.begin", &begins);
    rh_get(run, "tasks.end", &ends);
    for (int64_t i = 0; i < begins.shape[0] && i < SHOWN; i++)
        printf("%-20s %.6f to %.6f s\n",
               *(const char *const *)((const char *)names.data + i * names.stride[0]),
               *(const double *)((const char *)begins.data + i * begins.stride[0]),
               *(const double *)((const char *)ends.data + i * ends.stride[0]));
    rh_free(run);
    return 0;
}
