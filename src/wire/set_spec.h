/* The JSON object that the registry keeps as the `spec` of a change set's job:
 * {"title", "author", "base", "files", "seen", "group_size", "meta"}. It is
 * written and read only here; `seen` and `group_size` are only for display, the
 * job has them as fields (core/job.h). */
#ifndef POINTSMAN_WIRE_SET_SPEC_H
#define POINTSMAN_WIRE_SET_SPEC_H

#include "lib/arena.h"
#include "lib/text.h"
#include "wire/meta.h"
#include "wire/set_name.h"

/* The object as text in the arena. `seen` is the tip of the target's branch at
 * admission: a commit, "none" if there was no such branch, or empty if it is
 * not known. */
struct span set_spec_make(const struct set_name *name, const struct meta *meta,
                          struct span seen, struct arena *arena);

/* The whole text of the set's meta, from which its job file can be written at
 * any time. False: `spec` does not contain it. */
bool set_spec_meta(struct span spec, struct arena *arena,
                   struct span *ret_meta);

#endif
