#include "schedules/schedule_dir.h"

#define PROJECT_BASE "/.pointsman"

/* "" if it is that directory, "x/y" if it is below. False: neither. */
static bool below(struct span dir, struct span top, struct span *ret_rest) {
    if (dir.len < top.len || memcmp(dir.p, top.p, top.len) != 0 ||
        (dir.len > top.len && dir.p[top.len] != '/'))
        return false;
    *ret_rest = span_make(dir.p + top.len, dir.len - top.len);
    if (ret_rest->len > 0)
        *ret_rest = span_make(ret_rest->p + 1, ret_rest->len - 1);
    return true;
}

static struct span parent_of(const char *base_path) {
    struct span parent = span_of(base_path);
    while (parent.len > 0 && parent.p[parent.len - 1] != '/')
        parent.len--;
    return parent.len > 1 ? span_make(parent.p, parent.len - 1) : parent;
}

void schedule_dir_relate(struct schedule_spec *spec, const char *base_path,
                         struct arena *arena) {
    struct span rest;
    if (spec->import.len > 0 || spec->job.dir.len == 0)
        return;
    if (below(spec->job.dir, span_of(base_path), &rest)) {
        spec->dir = rest.len > 0 ? rest : SPAN(".");
    } else if (span_ends(span_of(base_path), PROJECT_BASE) &&
               below(spec->job.dir, parent_of(base_path), &rest)) {
        spec->dir = span_of(arena_printf(
            arena, "..%s%.*s", rest.len > 0 ? "/" : "", (int)rest.len, rest.p));
    } else {
        return;
    }
    spec->job.dir = (struct span){0};
}

void schedule_dir_resolve(struct schedule_spec *spec, const char *base_path,
                          struct arena *arena) {
    struct span rest = spec->dir, top = span_of(base_path), word;
    if (rest.len == 0)
        return;
    /* Only at the beginning, and once for each directory above the base. */
    while (rest.len > 0 && (span_is(rest, "..") || span_starts(rest, "../"))) {
        (void)span_cut(&rest, '/', &word);
        top = parent_of(arena_string(arena, top));
    }
    if (rest.len == 0 || span_is(rest, "."))
        spec->job.dir = top;
    else
        spec->job.dir = span_of(arena_printf(arena, "%.*s/%.*s", (int)top.len,
                                             top.p, (int)rest.len, rest.p));
    spec->dir = (struct span){0};
}
