#include "wire/marker.h"

#define HEAD "##submitted\n"

void marker_format(struct span name, const struct access_owner *by,
                   struct text *out) {
    text_adds(out, HEAD "format 1\nname ");
    text_addspan(out, name);
    text_adds(out, "\nby ");
    if (by->uid == ACCESS_PERSON_UID)
        text_addspan(out, by->actor);
    else
        text_addf(out, "uid:%lu", (unsigned long)by->uid);
    text_addc(out, '\n');
}

bool marker_is_meant(struct span text) {
    return span_starts(text, HEAD);
}

/* Whatever the program does not write is refused: half a marker must not count
 * as that of its owner. */
bool marker_parse(struct span text, struct span name,
                  struct access_owner *ret_by, struct refusal *why) {
    static const char word[] = "by ";
    size_t skip = sizeof(word) - 1;
    struct span rest = text, head, format, named, by;
    bool ok = span_cut(&rest, '\n', &head) && span_cut(&rest, '\n', &format) &&
              span_cut(&rest, '\n', &named) && span_cut(&rest, '\n', &by) &&
              rest.p != NULL && rest.len == 0 && marker_is_meant(text) &&
              span_is(format, "format 1") && span_starts(named, "name ") &&
              span_starts(by, word) &&
              access_owner_parse(span_make(by.p + skip, by.len - skip), ret_by);
    if (!ok)
        return refusal_set(why, REFUSAL_JOB_FILE,
                           "the marker does not say who submitted the set");
    return span_equal(span_make(named.p + 5, named.len - 5), name) ||
           refusal_set(why, REFUSAL_JOB_FILE,
                       "the marker belongs to another set");
}
