/* explain FILE [DEVICE]: where the time of a layer goes, kernel by kernel. FILE is HLO, StableHLO or MHLO.
 *
 *     run: examples/gpt-block.mlir a100-80gb */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_text text;
    const char *file = argc > 1 ? argv[1] : "layer.mlir";
    request.files.items = &file;
    request.files.count = 1;
    request.devices = argc > 2 ? argv[2] : NULL; /* the default of the command */
    request.explain = true;
    request.attention = "flash2";
    rh_report *report = rh_cost(&request, NULL, &error);
    if (!report || !rh_write(report, "text", &text, &error)) {
        fprintf(stderr, "%s\n", error.text);
        rh_free(report);
        return error.code;
    }
    fputs(text.data, stdout);
    rh_text_free(&text);
    rh_free(report);
    return 0;
}
