/* Names, ids, branches and paths: an accepted name can be formatted and parsed
 * again, is within its limits, and always has the same order key. */
#include <assert.h>

#include "wire/path.h"
#include "wire/ref_name.h"
#include "wire/set_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void name_check(struct span text) {
    CLEANUP(text_clear) struct text out = TEXT_INIT;
    struct set_name name, again;
    struct refusal why = {0};
    unsigned char key[SET_KEY_BYTES], key_again[SET_KEY_BYTES];

    if (!set_name_parse(text, &name, &why)) {
        assert(why.kind == REFUSAL_BAD_NAME && why.text[0]);
        return;
    }
    assert(set_csid_is_valid(name.csid));
    assert(set_name_format(&name, &out));
    assert(set_name_parse(text_span(&out), &again, NULL));
    size_t len = set_key(&name, key);
    assert(len <= SET_KEY_BYTES && len == set_key(&again, key_again) &&
           !memcmp(key, key_again, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct span text = span_make(data, bytes);
    struct path_limits limits = PATH_LIMITS;
    struct refusal why = {0};
    CLEANUP(text_clear) struct text host = TEXT_INIT;

    name_check(text);
    set_host_clean(text, &host);
    assert(host.len && host.len <= SET_HOST_BYTES);
    if (ref_name_is_valid(text))
        assert(!memchr(text.p, ' ', text.len));
    if (path_check(text, &limits, &why)) {
        assert(!path_is_dot_git(text) && text.p[0] != '/');
        assert(!path_compare(text, text));
    } else {
        assert(why.kind && why.text[0]);
    }
    path_link_check(SPAN("a/b"), text, &limits, &why);
    return 0;
}
