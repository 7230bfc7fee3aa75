#include "shared/help.h"

#include <string.h>

static void print_meaning(FILE *file, const char *meaning)
{
    int column = HELP_COLUMN;
    for (const char *word = meaning; *word != '\0';) {
        int length = (int)strcspn(word, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_WIDTH) {
            fprintf(file, "\n%*s", (int)HELP_COLUMN, "");
            column = HELP_COLUMN;
        } else if (word != meaning) {
            putc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", length, word);
        column += length;
        word += length + strspn(word + length, " ");
    }
    putc('\n', file);
}

void help_print_flag(FILE *file, char letter, const char *name, const char *value, const char *meaning)
{
    const char before[] = {'-', letter, ',', '\0'};
    int width = fprintf(file, "  %3s --%s%s%s", letter != 0 ? before : "", name, value != NULL ? " " : "",
                        value != NULL ? value : "");
    if (width >= HELP_COLUMN) { /* no room is left beside it */
        putc('\n', file);
        width = 0;
    }
    fprintf(file, "%*s", HELP_COLUMN - width, "");
    print_meaning(file, meaning);
}
