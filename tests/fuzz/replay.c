/* Runs a fuzz target as an ordinary test: first on its corpus, then on
 * mutations of the corpus, which are the same in every run.
 *
 *     fuzz-NAME CORPUS_DIR [MUTATIONS]
 *
 * If the target crashes, the input is kept in $TMPDIR/pointsman-crash.PID; add
 * it to the corpus when the bug is fixed. tools/fuzz.sh runs fuzzing campaigns
 * that search for new paths. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/random.h"
#include "lib/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));
void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

enum {
    MUTATIONS = 3000,
    INPUT_MOST = 1 << 16,       /* bytes of one mutated input */
    ALL_INPUTS_MOST = 48 << 20, /* bytes of all mutated inputs together */
    CHANGES_MOST = 6,           /* changes in one mutation */
};

struct corpus {
    struct text *inputs;
    size_t count;
};

static struct text now; /* the current input */
static char crash_path[512];

static void crash_save(void) {
    FILE *file = fopen(crash_path, "w");

    if (file == NULL)
        return;
    fwrite(now.p, 1, now.len, file);
    fclose(file);
    fprintf(stderr, "the input that crashed the target: %s\n", crash_path);
}

static void on_signal(int sig) {
    crash_save(); /* not async-signal-safe, but the process ends anyway */
    signal(sig, SIG_DFL);
    raise(sig);
}

static void crash_prepare(void) {
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    const char *dir = getenv("TMPDIR");

    snprintf(crash_path, sizeof(crash_path), "%s/pointsman-crash.%d",
             dir != NULL ? dir : "/tmp", (int)getpid());
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(crash_save);
        return;
    }
    for (size_t i = 0; i < COUNT(signals); i++)
        signal(signals[i], on_signal);
}

static void run_now(void) {
    /* A copy of exact size, so that ASan detects a read past its end. */
    uint8_t *exact = mem_grow(NULL, now.len, 1);

    if (now.len > 0)
        memcpy(exact, now.p, now.len);
    LLVMFuzzerTestOneInput(exact, now.len);
    free(exact);
}

static void dir_read_file(const char *path, struct text *ret) {
    FILE *file = fopen(path, "r");
    char buffer[4096];
    size_t bytes;

    if (file == NULL) {
        fprintf(stderr, "cannot open '%s'\n", path);
        exit(1);
    }
    while ((bytes = fread(buffer, 1, sizeof(buffer), file)) > 0)
        text_add(ret, buffer, bytes);
    fclose(file);
}

/* Reads the inputs in the order of their names, which is the same on every file
 * system. */
static struct corpus corpus_read(const char *dir) {
    struct corpus corpus = {0};
    struct dirent **entries;
    int count = scandir(dir, &entries, NULL, alphasort);

    if (count < 0) {
        fprintf(stderr, "cannot read directory '%s'\n", dir);
        exit(1);
    }
    corpus.inputs = mem_alloc(((size_t)count + 1) * sizeof(*corpus.inputs));
    for (int i = 0; i < count; i++) {
        char path[4096];

        snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            dir_read_file(path, &corpus.inputs[corpus.count++]);
        free(entries[i]);
    }
    free(entries);
    return corpus;
}

static void corpus_clear(struct corpus *corpus) {
    for (size_t i = 0; i < corpus->count; i++)
        text_clear(&corpus->inputs[i]);
    free(corpus->inputs);
}

static void now_insert(size_t at, const void *p, size_t bytes) {
    text_reserve(&now, bytes);
    memmove(now.p + at + bytes, now.p + at, now.len - at);
    memcpy(now.p + at, p, bytes);
    now.len += bytes;
}

static void now_delete(size_t at, size_t bytes) {
    memmove(now.p + at, now.p + at + bytes, now.len - at - bytes);
    now.len -= bytes;
}

static char draw_byte(struct random *random) {
    /* Bytes that are special to decoders. */
    static const char special[] = "\0\n\r\t \"\\/.,:;=#@-_[]{}()<>0159aAzZ~"
                                  "\x1b\x7f\x80\xbf\xc0\xc3\xe0\xed\xf0\xff";

    if (random_below(random, 100) < 30)
        return (char)random_below(random, 256);
    return special[random_below(random, sizeof(special) - 1)];
}

/* Inserts a piece of an input of the corpus, or of the current input. */
static void splice(struct random *random, const struct corpus *corpus,
                   size_t at) {
    const struct text *from = &now;
    size_t start, bytes;
    char *piece;

    if (random_below(random, 100) < 70)
        from = &corpus->inputs[random_below(random, corpus->count)];
    if (from->len == 0)
        return;
    start = random_below(random, from->len);
    bytes = 1 + random_below(random, from->len - start);
    piece = mem_copy(from->p + start, bytes);
    now_insert(at, piece, bytes);
    free(piece);
}

static void change(struct random *random, const struct corpus *corpus) {
    size_t at = random_below(random, now.len + 1), left = now.len - at;
    char byte = draw_byte(random);

    switch (random_below(random, 6)) {
    case 0:
        if (left > 0)
            now.p[at] ^= (char)(1 << random_below(random, 8));
        return;
    case 1:
        if (left > 0)
            now.p[at] = byte;
        return;
    case 2:
        now_insert(at, &byte, 1);
        return;
    case 3:
        if (left > 0)
            now_delete(at, 1 + random_below(random, left < 32 ? left : 32));
        return;
    case 4:
        if (random_below(random, 100) < 20)
            now.len = at;
        return;
    default:
        splice(random, corpus, at);
    }
}

static size_t run_mutations(const struct corpus *corpus, size_t most) {
    size_t count = 0, all_bytes = 0;
    struct random random;

    random_init(&random, 1);
    while (count < most && all_bytes < ALL_INPUTS_MOST) {
        const struct text *from =
            &corpus->inputs[random_below(&random, corpus->count)];
        uint64_t changes = 1 + random_below(&random, CHANGES_MOST);

        text_reset(&now);
        text_add(&now, from->p, from->len);
        while (changes-- > 0)
            change(&random, corpus);
        if (now.len > INPUT_MOST)
            now.len = INPUT_MOST;
        run_now();
        all_bytes += now.len;
        count++;
    }
    return count;
}

int main(int argc, char **argv) {
    struct corpus corpus;
    size_t mutations;

    if (argc < 2) {
        fprintf(stderr, "usage: %s CORPUS_DIR [MUTATIONS]\n", argv[0]);
        return 64;
    }
    if (LLVMFuzzerInitialize != NULL)
        LLVMFuzzerInitialize(&argc, &argv);
    mutations = argc > 2 ? strtoul(argv[2], NULL, 10) : MUTATIONS;
    crash_prepare();
    corpus = corpus_read(argv[1]);
    if (corpus.count == 0) {
        fprintf(stderr, "no input in '%s'\n", argv[1]);
        return 1;
    }
    printf("1..2\n");
    for (size_t i = 0; i < corpus.count; i++) {
        text_reset(&now);
        text_add(&now, corpus.inputs[i].p, corpus.inputs[i].len);
        run_now();
    }
    printf("ok 1 - the corpus: %zu inputs\n", corpus.count);
    fflush(stdout);
    printf("ok 2 - mutations of the corpus: %zu\n",
           run_mutations(&corpus, mutations));
    corpus_clear(&corpus);
    text_clear(&now);
    return 0;
}
