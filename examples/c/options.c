/* options [COMMAND]: the options of commands as their tables describe them. A binding is made of this.
 *
 *     run: cost */
#include <rehearse.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *command;
    for (int i = 0; (command = rh_command(i)) != NULL; i++) {
        struct rh_option option = RH_INIT(option);
        if (argc > 1 && strcmp(command, argv[1]) != 0)
            continue;
        printf("%s: a request of %zu bytes\n", command, rh_request_size(command));
        for (int k = 0; rh_option(command, k, &option); k++) {
            printf("  %-18s %c at %3zu%s", option.field, option.type, option.offset,
                   option.required ? ", required" : "");
            if (option.initial)
                printf(", default %s", option.initial);
            for (int w = 0; option.words && option.words[w]; w++)
                printf("%s%s", w == 0 ? ": " : ", ", option.words[w]);
            printf("\n      %s\n", option.help);
        }
    }
    return 0;
}
