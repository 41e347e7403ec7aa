/* Keys, certificates and signatures of OpenSSH: what is found lies in them. */
#include <assert.h>

#include "wire/ssh_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text plain = TEXT_INIT;
    CLEANUP(text_clear) struct text again = TEXT_INIT;
    struct span blob = span_make(data, bytes), inner;
    struct ssh_key key;
    if (ssh_signature_key(blob, &inner)) {
        assert(inner.p >= blob.p && inner.p + inner.len <= blob.p + bytes);
        blob = inner;
    }
    if (!ssh_key_parse(blob, &key, &plain))
        return 0;
    assert(key.authority.len < blob.len);
    assert((key.authority.len > 0) == (plain.len < blob.len));
    assert(ssh_key_parse(text_span(&plain), &key, &again));
    assert(key.authority.len == 0);
    assert(span_equal(text_span(&plain), text_span(&again)));
    return 0;
}
