#include "wire/ref_name.h"

static bool component_is_valid(struct span part) {
    return part.len && part.p[0] != '.' && !span_ends(part, ".lock");
}

static bool byte_is_valid(unsigned char c) {
    return c > ' ' && c != 0x7f && !strchr("~^:?*[\\", c);
}

bool ref_name_is_valid(struct span name) {
    if (!name.len || name.len > REF_NAME_BYTES || name.p[0] == '-' ||
        span_is(name, "@") || name.p[name.len - 1] == '.')
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char next = i + 1 < name.len ? name.p[i + 1] : '\0';
        if (!byte_is_valid((unsigned char)name.p[i]) ||
            (name.p[i] == '.' && next == '.') ||
            (name.p[i] == '@' && next == '{'))
            return false;
    }
    struct span part;
    for (struct span rest = name; span_cut(&rest, '/', &part);)
        if (!component_is_valid(part))
            return false;
    return true;
}
