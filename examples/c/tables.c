/* tables: the models, devices, links and software that are known, as JSON.
 *
 *     run: */
#include <rehearse.h>

#include <stdio.h>

int main(void)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_text json;
    request.list = true;
    rh_report *tables = rh_cost(&request, NULL, &error);
    if (!tables || !rh_write(tables, "json", &json, &error)) {
        fprintf(stderr, "%s\n", error.text);
        rh_free(tables);
        return error.code;
    }
    fwrite(json.data, 1, json.length, stdout);
    rh_text_free(&json);
    rh_free(tables);
    return 0;
}
