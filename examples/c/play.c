/* play MODEL DEVICE DEVICES BATCH: the best plan is played by this process, with a share of its bytes, and what was done is listed.
 *
 *     run: gpt2 a100-80gb 8 16 */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_plan_request find = RH_INIT(find);
    struct rh_play_request play = RH_INIT(play);
    struct rh_error error;
    if (argc != 5)
        return fprintf(stderr, "usage: play MODEL DEVICE DEVICES BATCH\n"), RH_USAGE;
    find.model = argv[1];
    find.device = argv[2];
    find.devices = argv[3];
    find.global_batch = argv[4];
    rh_plan *plan = rh_plan_find(&find, NULL, &error);
    if (!plan)
        return fprintf(stderr, "%s\n", error.text), error.code;
    play.from.items = (const rh_handle *const *)&plan;
    play.from.count = 1;
    play.iterations = 2;
    play.byte_share = 0.001;
    rh_report *run = rh_play(&play, NULL, &error);
    rh_free(plan);
    if (!run)
        return fprintf(stderr, "%s\n", error.text), error.code;

    printf("%g iterations of %g devices, schedule %s\n", rh_number(run, "iterations"),
           rh_number(run, "devices"), rh_string(run, "schedule"));
    printf("%g tasks as scheduled, %g messages, %g collectives with correct sums\n", rh_number(run, "tasks"),
           rh_number(run, "messages"), rh_number(run, "collectives_checked"));
    fprintf(stderr, "planned %.4f s, simulated %.4f s, played %.4f s\n", rh_number(run, "planned"),
            rh_number(run, "simulated"), rh_number(run, "played"));
    rh_free(run);
    return 0;
}
