/* Memory that is refused to calls about measured runs and machines. */
#include "refuse.h"

#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void validating(void **state)
{
    (void)state;
    struct rh_validate_request request = RH_INIT(request);
    request.table = caller_write(
        "runs.csv",
        "source_repo,gpu,gpus,framework,model,precision,tp,pp,mbs,gbs,recompute,zero,sec_per_iter\n"
        "ours,H100,16,NeMo,llama-3-8b,bf16,2,2,1,64,none,1,3\n"
        "ours,H100,16,NeMo,llama-3-8b,bf16,4,1,1,64,none,1,4\n"
        "ours,H100,16,NeMo,llama-3-8b,bf16,4,4,1,64,full,1,5\n");
    request.gpu = "h100";
    request.rank = request.rows = true;
    request.leave_out = "model";
    request.worst = 3;
    refuse_command("validate", &request, 1);
    request.best = request.simulate = true;
    refuse_command("validate", &request, 13);
    request = (struct rh_validate_request){.size = sizeof request, .schedules = true, .rows = true};
    request.table = caller_write("schedules.csv", caller_schedules);
    refuse_command("validate", &request, 1);
}

static void pricing_a_script(void **state)
{
    (void)state;
    const char *const files[] = {caller_write(
        "train.sh",
        "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
        "--num-attention-heads 32 --vocab-size 50304 --seq-length 2048 --micro-batch-size $MBS "
        "--max-position-embeddings 2048 --global-batch-size 64 --bf16\n")};
    const char *const sets[] = {"MBS=1"};
    struct rh_price_request request = RH_INIT(request);
    request.files = (struct rh_list){files, 1};
    request.set = (struct rh_list){sets, 1};
    request.device = "h100";
    request.explain = request.alone = true;
    request.plan = caller_write("stands.json", "");
    refuse_command("price", &request, 1);
    request.alone = false;
    refuse_command("price", &request, 3);
}

static void calibrating(void **state)
{
    (void)state;
    char table[8192];
    size_t length = (size_t)snprintf(table, sizeof table, "collective,ranks,bytes,time_us\n");
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        for (double bytes = 1024; bytes < 1e9; bytes *= 8)
            length += (size_t)snprintf(table + length, sizeof table - length, "all_reduce,%d,%.0f,%g\n",
                                       ranks, bytes, 12.0 + ranks + bytes / 150000);
    struct rh_calibrate_request request = RH_INIT(request);
    request.device = "a100";
    request.collectives = caller_write("nccl.csv", table);
    request.output = caller_write("link.yaml", "");
    refuse_command("calibrate", &request, 7);
    request = (struct rh_calibrate_request){.size = sizeof request, .device = "h100"};
    request.from = caller_file("tests/data/logs/megatron.log");
    refuse_command("calibrate", &request, 1009); /* judging each lab takes most of 0.4 s */
}

static void measuring(void **state)
{
    (void)state;
    const char *const files[] = {caller_write("layer.mlir", caller_layer)};
    struct rh_measure_layers_request request = RH_INIT(request);
    request.files = (struct rh_list){files, 1};
    request.pjrt = getenv("REHEARSE_FAKE_PJRT");
    request.precision = "50%";
    request.limit = 0.01;
    request.output = caller_write("timed.json", "");
    if (!request.pjrt)
        skip();
    refuse_command("measure layers", &request, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(validating),
        cmocka_unit_test(pricing_a_script),
        cmocka_unit_test(calibrating),
        cmocka_unit_test(measuring),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
