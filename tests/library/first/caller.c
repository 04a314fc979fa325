/* A program of the first release: it calls each function of that header, and prints what it hears. */
#include <rehearse.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int told;

static void tell(void *user, const char *what, const char *detail)
{
    (void)what;
    (void)detail;
    told += user == &told;
}

static void say(const char *what, const rh_handle *handle, const struct rh_error *error)
{
    struct rh_array array;
    if (!handle) {
        printf("%s: code %d, %s\n", what, error->code, error->text);
        return;
    }
    printf("%s: %s, first name %s, first form %s\n", what, rh_kind(handle), rh_name(handle, 0),
           rh_form(handle, 0));
    printf("layers %g of %s\n", rh_number(handle, "layers"), rh_string(handle, "model"));
    if (rh_get(handle, "forward", &array))
        printf("forward '%c' %d %lld %lld, first %.17g\n", array.type, array.dimensions,
               (long long)array.shape[0], (long long)array.shape[1], *(const double *)array.data);
}

static void write_it(const rh_handle *handle)
{
    struct rh_text text = {NULL, 0};
    struct rh_error error;
    char path[] = "/tmp/rehearse-first-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0 || !rh_write(handle, "json", &text, &error) || !rh_save(handle, "json", path, &error))
        exit(1);
    printf("%zu bytes: %.40s\n", text.length, text.data);
    rh_text_free(&text);
    struct rh_profile_request again = RH_INIT(again);
    again.path = path;
    rh_profile *profile = rh_profile_load(&again, NULL, &error);
    say("loaded", profile, &error);
    rh_free(profile);
    remove(path);
}

static void ask_by_name(const char *command)
{
    struct rh_option option = RH_INIT(option);
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    if (!rh_option(command, 0, &option) || rh_request_size(command) < sizeof request ||
        !rh_set(command, &request, "model", "gpt2", &error) ||
        !rh_set(command, &request, "device", "h100", &error))
        exit(1);
    printf("%s: option %s, field %s, type '%c', at %zu\n", command, option.name, option.field, option.type,
           option.offset);
    rh_handle *made = rh_run(command, &request, NULL, &error);
    say("by name", made, &error);
    rh_free(made);
}

int main(void)
{
    struct rh_cost_request cost = RH_INIT(cost);
    struct rh_call call = RH_INIT(call);
    struct rh_error error;
    call.stop = rh_stop_new();
    call.progress = tell;
    call.user = &told;
    call.threads = 1;
    cost.model = "gpt2-xl";
    cost.devices = "h100,v100-16gb";
    rh_handle *profile = rh_cost(&cost, &call, &error);
    say("priced", profile, &error);
    write_it(profile);
    rh_free(profile);
    cost.precision = "fp3";
    say("refused", rh_cost(&cost, &call, &error), &error);
    cost.precision = NULL;
    rh_stop_request(call.stop);
    say("stopped", rh_cost(&cost, &call, &error), &error);
    rh_stop_free(call.stop);
    for (int i = 0; rh_command(i); i++)
        if (strcmp(rh_command(i), "cost") == 0)
            ask_by_name(rh_command(i));
    printf("version %s, told: %s\nall asked\n", rh_version(), told >= 0 ? "yes" : "no");
    return 0;
}
