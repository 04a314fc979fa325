/* price MODEL DEVICES: the seconds that one micro-batch takes on each device type.
 *
 *     run: gpt2-xl h100,v100-16gb */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array names, forward, backward;
    if (argc != 3)
        return fprintf(stderr, "usage: price MODEL DEVICES\n"), RH_USAGE;
    request.model = argv[1];
    request.devices = argv[2];
    rh_profile *profile = rh_cost(&request, NULL, &error);
    if (!profile)
        return fprintf(stderr, "%s\n", error.text), error.code;

    rh_get(profile, "devices.name", &names);
    rh_get(profile, "forward", &forward);
    rh_get(profile, "backward", &backward);
    for (int64_t d = 0; d < forward.shape[0]; d++) {
        double seconds = 0.0;
        for (int64_t i = 0; i < forward.shape[1]; i++) {
            ptrdiff_t at = d * forward.stride[0] + i * forward.stride[1];
            seconds += *(const double *)((const char *)forward.data + at);
            seconds += *(const double *)((const char *)backward.data + at);
        }
        printf("%-16s %.4f s\n", *(const char *const *)((const char *)names.data + d * names.stride[0]),
               seconds);
    }
    rh_free(profile);
    return 0;
}
