/* Runs `pointsman land` and `pointsman revert`, for tests that start them as
 * real processes. The start is given as options, --key VALUE with '-' for '_',
 * and passed on as the guard does: as JSON on standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/dir.h"
#include "landing/land_start.h"

/* Returns the list that the option adds a member to, or NULL. Consecutive
 * options of a list are its members. */
static const char *list_of(const char *option) {
    static const char *const lists[][2] = {{"--approved-by", "approved_by"},
                                           {"--check", "checks"},
                                           {"--also", "others"},
                                           {"--member", "members"},
                                           {"--again", "members"},
                                           {"--base", "bases"},
                                           {"--need", "needs"}};
    for (size_t i = 0; i < COUNT(lists); i++)
        if (strcmp(option, lists[i][0]) == 0)
            return lists[i][1];
    return NULL;
}

static void add_pair(struct json *json, const char *option, const char *value) {
    static const char *const numbers = " since admitted timeout_s ";
    char key[64], padded[80];
    bool timeout = strcmp(option, "--timeout") == 0;
    snprintf(key, sizeof key, "%s%s", option + 2, timeout ? "_s" : "");
    for (char *p = key; *p != '\0'; p++)
        *p = *p == '-' ? '_' : *p;
    snprintf(padded, sizeof padded, " %s ", key);
    json_key(json, key);
    if (strcmp(key, "filters") == 0)
        json_bool(json, strcmp(value, "yes") == 0);
    else if (strcmp(key, "symlinks") == 0)
        json_bool(json, strcmp(value, "allow") == 0);
    else if (strstr(numbers, padded) != NULL)
        json_raw(json, span_of(value));
    else
        json_string(json, value);
}

/* The words are ID SUM CLASS ADMITTED TARBALL; "-" stands for none. */
static char **add_member(struct json *json, char **words, bool again) {
    static const char *const keys[] = {"--id", "--sum", "--class", "--admitted",
                                       "--tarball"};
    json_object(json);
    for (size_t i = 0; i < COUNT(keys); i++, words++)
        if (strcmp(*words, "-") != 0)
            add_pair(json, keys[i], *words);
    if (again) {
        json_key(json, "again");
        json_bool(json, true);
    }
    json_end(json);
    return words;
}

static char **add_element(struct json *json, char **words) {
    const char *option = *words++;
    if (strcmp(option, "--approved-by") == 0) {
        json_string(json, *words);
        return words + 1;
    }
    if (strcmp(option, "--check") == 0) {
        json_object(json);
        add_pair(json, "--name", words[0]);
        add_pair(json, "--command", words[1]);
        json_end(json);
        return words + 2;
    }
    if (strcmp(option, "--base") == 0) {
        json_object(json);
        add_pair(json, "--id", words[0]);
        add_pair(json, "--sum", words[1]);
        add_pair(json, "--tarball", words[2]);
        json_key(json, "landed");
        json_bool(json, strcmp(words[3], "landed") == 0);
        if (strcmp(words[4], "-") != 0)
            add_pair(json, "--archived", words[4]);
        json_end(json);
        return words + 5;
    }
    if (strcmp(option, "--need") == 0) {
        json_object(json);
        add_pair(json, "--id", words[0]);
        add_pair(json, "--sum", words[1]);
        add_pair(json, "--admitted", words[2]);
        json_end(json);
        return words + 3;
    }
    if (strcmp(option, "--also") != 0)
        return add_member(json, words, strcmp(option, "--again") == 0);
    json_object(json);
    for (; *words != NULL && strcmp(*words, "--also") != 0; words += 2)
        add_pair(json, words[0], words[1]);
    json_end(json);
    return words;
}

static void add_options(struct json *json, char **words) {
    const char *open = NULL; /* the list that is being written */
    json_object(json);
    while (*words != NULL) {
        const char *list = list_of(*words);
        if (open != NULL && (list == NULL || strcmp(list, open) != 0)) {
            json_end(json);
            open = NULL;
        }
        if (list != NULL && open == NULL) {
            json_key(json, open = list);
            json_array(json);
        }
        if (list != NULL) {
            words = add_element(json, words);
        } else if (strcmp(*words, "--probe") == 0 ||
                   strcmp(*words, "--preview") == 0) {
            json_key(json, *words + 2);
            json_bool(json, true);
            words++;
        } else {
            add_pair(json, words[0], words[1]);
            words += 2;
        }
    }
    if (open != NULL)
        json_end(json);
    json_end(json);
}

int main(int argc, char **argv) {
    bool revert = argc > 1 && strcmp(argv[1], "revert") == 0;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;
    struct err err;
    int fd;
    json_open(&json, &text);
    add_options(&json, argv + (revert ? 2 : 1));
    if (!dir_file_sealed("start", text_span(&text), &fd, &err) ||
        dup2(fd, STDIN_FILENO) < 0)
        return 99;
    (void)close(fd);
    return land_main(revert ? LAND_REVERT : LAND_SETS, NULL);
}
