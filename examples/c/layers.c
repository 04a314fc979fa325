/* layers MODEL DEVICE: what callers can ask of a profile, and the bytes of its layers.
 *
 *     run: gpt2-xl h100 */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_cost_request request = RH_INIT(request);
    struct rh_error error;
    struct rh_array array;
    if (argc != 3)
        return fprintf(stderr, "usage: layers MODEL DEVICE\n"), RH_USAGE;
    request.model = argv[1];
    request.devices = argv[2];
    rh_profile *profile = rh_cost(&request, NULL, &error);
    if (!profile)
        return fprintf(stderr, "%s\n", error.text), error.code;

    for (int i = 0; rh_name(profile, i); i++) {
        rh_get(profile, rh_name(profile, i), &array);
        printf("%-20s type %c, %d dimensions\n", rh_name(profile, i), array.type, array.dimensions);
    }
    double bytes = 0.0;
    rh_get(profile, "layers.parameters", &array);
    for (int64_t i = 0; i < array.shape[0]; i++)
        bytes += (double)*(const int64_t *)((const char *)array.data + i * array.stride[0]);
    printf("%s: %g layers, %.2f GB of parameters\n", rh_string(profile, "model"),
           rh_number(profile, "layers"), bytes / 1e9);
    rh_free(profile);
    return 0;
}
