/* Runs `pointsman land` and `pointsman revert`, for tests that start them as
 * real processes. The start is given as options, --key VALUE with '-' for '_',
 * and passed on as the guard does: as JSON on standard input.
 *
 * With checks it does in one process what a merge train does in three: it
 * merges the sets, checks the tree, and lands them if the branch and the tree
 * are still the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "os/dir.h"
#include "landing/land_session.h"
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
    if (strcmp(key, "filters") == 0 || strcmp(key, "joined") == 0)
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
        json_end(json);
        return words + 2;
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

/* ---- with checks --------------------------------------------------------- */

struct gate {
    struct land_start start; /* its sets are one unit */
    struct land_start *others;
    struct child_stop stop;
    struct land_status status;
};

static enum land_verdict gate_step(struct gate *gate,
                                   const struct land_start *step) {
    struct land_session session = {0};
    land_run(step, &session, &gate->stop, &gate->status);
    land_session_clear(&session);
    return gate->status.verdict;
}

/* Merges onto the tree, NULL: only reads the tip. The words of the answer. */
static bool gate_merge(struct gate *gate, const char *onto, char *words[3],
                       char text[LAND_STATUS_BYTES]) {
    struct land_start merge = gate->start;
    char *rest = NULL;
    merge.merge = true;
    merge.fresh = onto == NULL;
    merge.onto = onto;
    if (gate_step(gate, &merge) != LAND_MERGED)
        return false;
    memcpy(text, gate->status.text, LAND_STATUS_BYTES);
    words[0] = strtok_r(text, " ", &rest);
    words[1] = strtok_r(NULL, " ", &rest);
    words[2] = onto != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    if (words[2] == NULL || strcmp(words[2], "conflict") != 0)
        return true;
    /* The answer of a unit of several sets names the set. */
    land_status_set(&gate->status, LAND_CONFLICT, "", span_of(rest));
    return false;
}

static void gate_pass(struct gate *gate) {
    char tip_text[LAND_STATUS_BYTES], text[LAND_STATUS_BYTES];
    char *tip[3], *words[3];
    if (!gate_merge(gate, NULL, tip, tip_text) ||
        !gate_merge(gate, tip[1], words, text))
        return;
    struct land_start check = gate->start, landing = gate->start;
    check.check = words[2];
    if (gate_step(gate, &check) != LAND_PASSED)
        return;
    landing.check_count = 0;
    landing.tip = tip[0];
    *(landing.other_count > 0 ? &gate->others[landing.other_count - 1].tree
                              : &landing.tree) = words[2];
    gate_step(gate, &landing);
}

static int gate_main(const struct land_start *start, struct arena *arena) {
    struct gate gate = {.start = *start};
    /* Beside the directory of the work directory. */
    char *apart = arena_printf(arena, "%s", start->work);
    for (int i = 0; i < 2; i++)
        *strrchr(apart, '/') = '\0';
    gate.start.apart = arena_printf(arena, "%s/apart", apart);
    int fd = land_status_descriptor();
    size_t count = start->other_count;
    gate.others = arena_alloc(arena, (count + 1) * sizeof *gate.others);
    memcpy(gate.others, start->others, count * sizeof *gate.others);
    for (size_t i = 0; i + 1 < count; i++)
        gate.others[i].joined = true;
    gate.start.joined = count > 0;
    gate.start.others = gate.others;
    child_stop_init(&gate.stop);
    setvbuf(stdout, NULL, _IOLBF, 0);
    gate_pass(&gate);
    land_status_send(fd, &gate.status);
    return land_status_exit(&gate.status, &gate.stop);
}

int main(int argc, char **argv) {
    bool revert = argc > 1 && strcmp(argv[1], "revert") == 0;
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    struct json json;
    struct err err;
    int fd;
    json_open(&json, &text);
    add_options(&json, argv + (revert ? 2 : 1));
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct land_start start;
    if (!revert &&
        land_start_parse(text_span(&text), "/", &arena, &start, &err) &&
        start.check_count > 0)
        return gate_main(&start, &arena);
    if (!dir_file_sealed("start", text_span(&text), &fd, &err) ||
        dup2(fd, STDIN_FILENO) < 0)
        return 99;
    (void)close(fd);
    return land_main(revert ? LAND_REVERT : LAND_SETS, NULL);
}
