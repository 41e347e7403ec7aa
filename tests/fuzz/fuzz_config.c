/* Configuration: every accepted target can be written and read again. The words
 * of a command line, quoted and joined, split into the same words. */
#include <assert.h>

#include "serve/tables.h"
#include "wire/config.h"
#include "wire/words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void words_check(struct span line) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    CLEANUP(text_clear) struct text joined = TEXT_INIT;
    char **words, **again;
    size_t count, again_count;

    if (!words_split(line, &arena, &words, &count, NULL))
        return;
    for (size_t i = 0; i < count; i++) {
        text_addc(&joined, ' ');
        word_quote(span_of(words[i]), &joined);
    }
    assert(words_split(text_span(&joined), &arena, &again, &again_count, NULL));
    assert(count == again_count);
    for (size_t i = 0; i < count; i++)
        assert(!strcmp(words[i], again[i]));
}

static void blind_check(struct span word) {
    enum config_blind blind;

    if (config_blind_parse(word, &blind))
        assert(span_equal(config_blind_word(blind), word));
}

static void target_check(struct config *config, size_t i) {
    CLEANUP(config_clear) struct config again;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct err err = {0};

    config_init(&again);
    config_target_write(config, &config->targets[i], &out);
    assert(config_read(&again, text_span(&out), "again", &err));
    assert(config_finish(&again, &err));
    assert(again.targets[0].lanes == config->targets[i].lanes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(config_clear) struct config config;
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct err err = {0};

    words_check(span_make(data, bytes));
    blind_check(span_make(data, bytes));
    config_sections_use(serve_sections, serve_section_count);
    config_init(&config);
    if (!config_read(&config, span_make(data, bytes), "x.conf", &err) ||
        !config_finish(&config, &err)) {
        assert(err.kind == ERR_CONFIG);
        assert(!strncmp(err.text, "x.conf:", 7));
        return 0;
    }
    config_format(&config, &out);
    assert(out.len);
    for (size_t i = 0; i < config.target_count; i++)
        target_check(&config, i);
    return 0;
}
