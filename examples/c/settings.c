/* settings OPTION=VALUE...: fields set from text, as a launcher reads them from its own configuration.
 *
 *     run: model=gpt2-xl device=h100 microbatch-size=4 precision=fp8 */
#include <rehearse.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    for (int i = 1; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals)
            return fprintf(stderr, "expected OPTION=VALUE, found '%s'\n", argv[i]), RH_USAGE;
        *equals = '\0';
        if (!rh_set("cost", &request, argv[i], equals + 1,
                    &error)) /* the text must live as long as the request */
            return fprintf(stderr, "%s\n", error.text), error.code;
    }
    rh_profile *profile = rh_cost(&request, NULL, &error);
    if (!profile)
        return fprintf(stderr, "%s\n", error.text), error.code;
    printf("%s, micro-batches of %g\n", rh_string(profile, "source"), rh_number(profile, "microbatch_size"));
    rh_free(profile);
    return 0;
}
