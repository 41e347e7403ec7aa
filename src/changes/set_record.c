#include "changes/set_record.h"

#include <string.h>

#include "changes/change_kind.h"
#include "wire/set_spec.h"

static void add_edges(struct set_record *record, enum edge_kind kind,
                      const struct lines *ids) {
    for (size_t i = 0; i < ids->count; i++)
        record->edges[record->edge_count++] =
            (struct job_edge){kind, ids->items[i]};
}

static void make_edges(const struct meta *meta, struct arena *arena,
                       struct set_record *record) {
    struct lines supersedes = {NULL, 0}, group = {NULL, 0}, below = {NULL, 0};
    struct span base_set = meta->base_set;
    if (base_set.len > 0)
        below = (struct lines){&base_set, 1};
    struct span old = meta->supersedes;
    if (old.len > 0)
        supersedes = (struct lines){&old, 1};
    struct span name = meta->group;
    if (name.len > 0)
        group = (struct lines){&name, 1};
    record->edges = arena_alloc(
        arena, (meta->dependencies.count + meta->precursors.count + 3) *
                   sizeof(*record->edges));
    /* A rollback lists the sets it rolls back where other sets list their
     * dependencies. */
    add_edges(record,
              meta->movetype == SET_RB ? EDGE_ROLLBACK : EDGE_DEPENDENCY,
              &meta->dependencies);
    add_edges(record, EDGE_HINT, &meta->precursors);
    add_edges(record, EDGE_BASE, &below);
    add_edges(record, EDGE_SUPERSEDES, &supersedes);
    add_edges(record, EDGE_GROUP, &group);
}

static void make_touches(const struct meta *meta, struct arena *arena,
                         struct set_record *record) {
    const struct lines *lists[] = {&meta->files, &meta->deleted};
    record->touches =
        arena_alloc(arena, (meta->files.count + meta->deleted.count + 1) *
                               sizeof(*record->touches));
    for (size_t list = 0; list < COUNT(lists); list++)
        for (size_t i = 0; i < lists[list]->count; i++)
            record->touches[record->touch_count++] = (struct job_touch){
                .path = lists[list]->items[i],
                .deleted = lists[list] == &meta->deleted,
            };
}

/* A set may leave out its target if there is only one. What is recorded always
 * has it, since there may be others later. */
static struct meta with_target(const struct meta *meta, struct span target,
                               struct arena *arena) {
    struct meta whole = *meta;
    const struct sections *all = &meta->sections;
    if (meta->target.len > 0)
        return whole;
    struct section *items =
        arena_alloc(arena, (all->count + 1) * sizeof *items);
    size_t kept = 0;
    items[kept++] = (struct section){.name = SPAN("target")};
    items[0].lines = (struct lines){arena_alloc(arena, sizeof target), 1};
    items[0].lines.items[0] = target;
    for (size_t i = 0; i < all->count; i++)
        if (!span_is(all->items[i].name, "target"))
            items[kept++] = all->items[i];
    whole.target = target;
    whole.sections.items = items;
    whole.sections.count = kept;
    return whole;
}

void set_record_make(const struct set_name *name, const struct meta *meta,
                     struct span target, struct span sum, uint64_t size_bytes,
                     struct span seen, struct arena *arena,
                     struct set_record *ret_record) {
    unsigned char key[SET_KEY_BYTES];
    size_t key_bytes = set_key(name, key);
    *ret_record = (struct set_record){0};
    struct job *job = &ret_record->job;
    job->id = name->csid;
    job->kind = CHANGE_KIND;
    job->job_class = (enum job_class)name->class;
    job->state = STATE_QUEUED;
    job->key = arena_span(arena, span_make(key, key_bytes));
    job->rank = job->key;
    job->target = target;
    job->name = name->text;
    job->sum = sum;
    job->size_bytes = size_bytes;
    struct meta whole = with_target(meta, target, arena);
    job->spec = set_spec_make(name, &whole, seen, arena);
    job->group_size = (unsigned)meta->group_size;
    job->seen = arena_span(arena, seen);
    job->tasks = 1;
    job->has_relations = true;
    make_edges(meta, arena, ret_record);
    make_touches(meta, arena, ret_record);
}

/* ---- from a job file ------------------------------------------------- */

/* Once computed, ##precursors is the queue's record; what the submitter had
 * written there is kept in a section of its own, so that nothing is lost. */
static const char hints_section[] = "precursors-submitted";

static void take_hints(const struct job_file *file, struct arena *arena,
                       struct meta *meta) {
    const struct sections *all = &file->meta.sections;
    const struct section *hints = sections_find(all, hints_section);
    struct sections kept = {
        .items = arena_alloc(arena, (all->count + 1) * sizeof(*kept.items))};
    for (size_t i = 0; i < all->count; i++) {
        struct span name = all->items[i].name;
        bool ours = span_is(name, "job") || span_is(name, hints_section) ||
                    span_is(name, "precursors-computed") ||
                    (file->computed && span_is(name, "precursors"));
        if (!ours)
            kept.items[kept.count++] = all->items[i];
    }
    if (file->computed) {
        meta->precursors = (struct lines){NULL, 0};
        if (hints)
            meta->precursors = hints->lines;
        if (hints)
            kept.items[kept.count++] = (struct section){
                .name = SPAN("precursors"), .lines = hints->lines};
    }
    meta->sections = kept;
}

void set_record_read(const struct job_file *file, struct span target,
                     struct arena *arena, struct set_record *ret_record) {
    struct meta meta = file->meta;
    take_hints(file, arena, &meta);
    set_record_make(&file->name, &meta, target, file->sha256, file->size,
                    file->seen, arena, ret_record);
    ret_record->job.admitted_seq = file->seq;
    if (!file->computed)
        return;
    ret_record->job.record_seq = file->computed_seq;
    size_t count = ret_record->edge_count;
    struct job_edge *edges = arena_alloc(
        arena, (count + file->precursors.count + 1) * sizeof(*edges));
    memcpy(edges, ret_record->edges, count * sizeof(*edges));
    for (size_t i = 0; i < file->precursors.count; i++)
        edges[count++] =
            (struct job_edge){EDGE_PRECURSOR, file->precursors.items[i]};
    ret_record->edges = edges;
    ret_record->edge_count = count;
}

/* ---- job file -------------------------------------------------------- */

static bool read_meta(const struct job *job, struct arena *arena,
                      struct meta *ret_meta, struct err *err) {
    struct span text;
    struct refusal why = {0};
    struct path_limits widest = {4096, 255, 1024};
    if (!set_spec_meta(job->spec, arena, &text))
        return err_set(err, ERR_DATA, "the registry has no meta for set '%.*s'",
                       (int)job->id.len, job->id.p);
    if (!meta_parse(text, &widest, arena, ret_meta, &why))
        return err_set(err, ERR_DATA, "meta of set '%.*s': %s",
                       (int)job->id.len, job->id.p, why.text);
    return true;
}

static void add_hints(struct arena *arena, struct job_file *file) {
    struct sections *sections = &file->meta.sections;
    struct section *items =
        arena_alloc(arena, (sections->count + 1) * sizeof(*items));
    memcpy(items, sections->items, sections->count * sizeof(*items));
    items[sections->count] = (struct section){.name = span_of(hints_section),
                                              .lines = file->meta.precursors};
    sections->items = items;
    sections->count++;
}

static bool read_record(struct store *store, const struct job *job,
                        struct arena *arena, struct job_file *file,
                        struct err *err) {
    struct job_edge *edges;
    size_t count;
    if (!store_edges_from(store, job->num, arena, &edges, &count, err))
        return false;
    file->computed = true;
    file->computed_seq = job->record_seq;
    if (file->meta.precursors.count > 0)
        add_hints(arena, file);
    file->precursors.items =
        arena_alloc(arena, (count + 1) * sizeof(struct span));
    file->precursors.count = 0;
    for (size_t i = 0; i < count; i++)
        if (edges[i].kind == EDGE_PRECURSOR)
            file->precursors.items[file->precursors.count++] = edges[i].to;
    return true;
}

bool set_record_job_file(struct store *store, const struct job *job,
                         struct arena *arena, struct text *out,
                         struct err *err) {
    struct job_file file = {0};
    struct refusal why = {0};
    struct job full = *job;
    if (!full.spec.len && !store_job(store, job->num, arena, &full, err))
        return false;
    if (!set_name_parse(full.name, &file.name, &why))
        return err_set(err, ERR_DATA, "name of set '%.*s' in the registry: %s",
                       (int)full.id.len, full.id.p, why.text);
    file.sha256 = full.sum;
    file.size = full.size_bytes;
    file.seq = full.admitted_seq;
    file.seen = full.seen;
    if (!read_meta(&full, arena, &file.meta, err))
        return false;
    file.precursors = file.meta.precursors;
    if (full.record_seq > 0 && !read_record(store, &full, arena, &file, err))
        return false;
    /* With thousands of precursors, some are cut so that the file can be
     * written. */
    while (!job_file_format(&file, out, err)) {
        if (file.precursors.count == 0)
            return false;
        file.precursors.count /= 2;
    }
    return true;
}
