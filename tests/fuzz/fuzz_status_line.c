/* The last line of a task on its status descriptor: any bytes have a meaning,
 * and the same bytes with blanks around them the same one. */
#include <assert.h>
#include <stdlib.h>

#include "core/retry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    CLEANUP(text_clear) struct text padded = TEXT_INIT;
    struct span line = span_make(data, bytes);
    enum retry_status status = retry_status_parse(line);

    assert(status <= RETRY_STATUS_UNREADABLE);
    text_addc(&padded, ' ');
    text_addspan(&padded, line);
    text_addc(&padded, '\n');
    assert(retry_status_parse(text_span(&padded)) == status);
    return 0;
}
