/* convert PROFILE FORM OUT: a profile in another format.
 *
 *     run: tests/cli/files/profile.json oobleck $SCRATCH/oobleck */
#include <rehearse.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct rh_profile_request request = RH_INIT(request);
    struct rh_error error;
    if (argc != 4)
        return fprintf(stderr, "usage: convert PROFILE FORM OUT\n"), RH_USAGE;
    request.path = argv[1];
    rh_profile *profile = rh_profile_load(&request, NULL, &error);
    if (!profile)
        return fprintf(stderr, "%s\n", error.text), error.code;
    bool saved = rh_save(profile, argv[2], argv[3], &error);
    if (!saved) {
        fprintf(stderr, "%s\nthe forms of a %s are:", error.text, rh_kind(profile));
        for (int i = 0; rh_form(profile, i); i++)
            fprintf(stderr, " %s", rh_form(profile, i));
        fprintf(stderr, "\n");
    }
    rh_free(profile);
    return saved ? 0 : error.code;
}
