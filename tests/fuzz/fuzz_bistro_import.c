/* Configurations of Bistro: any bytes can be read; what is accepted becomes a
 * list of objects, and otherwise something is said to be wrong. */
#include <assert.h>

#include "lib/json.h"
#include "nodes/bistro_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text sections = TEXT_INIT;
    CLEANUP(text_clear) struct text jobs = TEXT_INIT;
    CLEANUP(text_clear) struct text errors = TEXT_INIT;
    CLEANUP(text_clear) struct text list = TEXT_INIT;
    struct json_value value;
    bool ok = bistro_import(span_make(data, bytes), &sections, &jobs, &errors);

    assert(ok == (errors.len == 0));
    text_addf(&list, "[%s]", text_string(&jobs));
    assert(!ok || json_parse(text_span(&list), &value, NULL));
    return 0;
}
