#include "scheduler/scheduler_node_why.h"

#include <inttypes.h>

#include "scheduler/scheduler_nodes.h"
#include "scheduler/scheduler_state.h"

#define SPANF(span) (int)(span).len, (span).p

static void add(struct why *why, const char *kind, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void add(struct why *why, const char *kind, const char *format, ...) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    why_add_text(why, kind, text_span(&text));
}

/* ---- the job --------------------------------------------------------------
 */

/* True: a job is not complete of which it waits for all nodes. */
static bool explain_after(struct scheduler *scheduler,
                          const struct node_job_spec *spec, struct why *why) {
    bool waits = false;
    for (size_t i = 0; i < spec->after_count; i++) {
        const struct node_track *other =
            scheduler_nodes_find(scheduler, spec->after_nodes_of[i]);
        bool known = other != NULL && other->job != NULL;
        uint32_t undone = known ? node_pass_job(other->job)->total.undone : 1;
        if (known && node_pass_is_complete(other->job))
            continue;
        waits = true;
        if (undone == 0)
            add(why, "dependency", "%.*s is disabled", SPANF(other->feed.name));
        else
            add(why, "dependency", "%.*s is not done on %" PRIu32 " node%s",
                other != NULL ? (int)other->feed.name.len : 0,
                other != NULL ? other->feed.name.p : "", undone,
                undone == 1 ? "" : "s");
    }
    return waits;
}

void scheduler_node_why(struct scheduler *scheduler, const struct job *job,
                        struct why *why) {
    const struct node_track *track = scheduler_nodes_find(scheduler, job->num);
    size_t counts[TASK_STATUSES] = {0}, nodes = 0;
    if (track == NULL || track->job == NULL)
        return;
    if (!track->feed.is_valid) {
        add(why, "invalid", "its definition cannot be used: %s",
            track->feed.why);
        return;
    }
    const struct node_job *tasks = node_pass_job(track->job);
    const struct node_rows *rows = &tasks->tree->levels[tasks->spec.level];
    for (uint32_t row = 0; row < rows->row_count && row < tasks->task_room;
         row++)
        if (rows->nodes[row] != NODE_NONE) {
            counts[tasks->tasks[row].status]++;
            nodes++;
        }
    bool waits = explain_after(scheduler, &tasks->spec, why);
    add(why, "tasks",
        "of %zu nodes, %zu are done, %zu running, %zu failed and %" PRIu32
        " could start if there were room; pointsman why %.*s --node NODE "
        "explains one of them",
        nodes, counts[TASK_DONE], counts[TASK_RUNNING], counts[TASK_FAILED],
        waits ? 0 : tasks->total.ready, SPANF(job->id));
}

/* ---- one task --------------------------------------------------------------
 */

struct asked {
    struct scheduler *scheduler;
    const struct node_track *track;
    const struct node_job *job;
    const struct node_tree *tree;
    struct span name;
    uint32_t node;
    struct why *why;
};

/* The names above the place, for a place that is one of several. */
static bool explain_closed(const struct asked *asked, uint32_t place) {
    const struct node_names *names = &asked->scheduler->nodes.setup.names;
    const struct node_job_spec *spec = &asked->job->spec;
    const struct node_tree *tree = asked->tree;
    bool closed = false;
    for (; place != NODE_NONE; place = tree->places[place].parent) {
        const struct node_place *at = &tree->places[place];
        struct span name = node_tree_name(tree, at->node);
        const int64_t *left = node_tree_left(tree, at->node);
        if (!at->enabled)
            add(asked->why, "node", "%.*s is disabled", SPANF(name));
        if (!node_filter_accepts(&spec->filters[at->level], name,
                                 node_tree_tags(tree, place)))
            add(asked->why, "filter",
                "the filter of its job for the level %.*s does not accept %.*s",
                SPANF(names->levels[at->level]), SPANF(name));
        closed |= !at->enabled ||
                  !node_filter_accepts(&spec->filters[at->level], name,
                                       node_tree_tags(tree, place));
        for (unsigned r = 0; r < tree->levels[at->level].defined.resource_count;
             r++) {
            int64_t demand = spec->demand.of_level[at->level][r];
            if (demand == 0 || demand <= left[r])
                continue;
            closed = true;
            add(asked->why, "resource",
                "%.*s has %" PRId64
                " of %.*s left, and the task takes %" PRId64,
                SPANF(name), left[r], SPANF(names->of_level[at->level][r]),
                demand);
        }
    }
    return closed;
}

/* Of a node with several places, the reasons at the first one. True: there are
 * some. */
static bool explain_places(const struct asked *asked) {
    struct why nothing = {.arena = asked->why->arena};
    uint32_t first = asked->tree->nodes[asked->node].places;
    for (uint32_t place = asked->tree->places[first].next; place != NODE_NONE;
         place = asked->tree->places[place].next) {
        struct asked other = *asked;
        other.why = &nothing;
        if (!explain_closed(&other, place))
            return false;
    }
    return explain_closed(asked, first);
}

static bool explain_relations(const struct asked *asked) {
    const struct node_job_spec *spec = &asked->job->spec;
    bool waits = false;
    for (size_t i = 0; i < spec->depends_count; i++) {
        const struct node_track *other =
            scheduler_nodes_find(asked->scheduler, spec->depends_on[i]);
        enum task_status status = TASK_UNSTARTED;
        if (other != NULL && other->job != NULL)
            status = (enum task_status)node_pass_job(other->job)
                         ->tasks[asked->tree->nodes[asked->node].row]
                         .status;
        if (status == TASK_DONE)
            continue;
        waits = true;
        add(asked->why, "dependency",
            "the task of %.*s on the same node is not done: %s",
            other != NULL ? (int)other->feed.name.len : 0,
            other != NULL ? other->feed.name.p : "",
            job_task_status_word(status));
    }
    waits |= explain_after(asked->scheduler, spec, asked->why);
    return waits;
}

static bool explain_status(const struct asked *asked,
                           const struct node_task *task) {
    char when[WALL_TEXT_BYTES];
    switch ((enum task_status)task->status) {
    case TASK_DONE:
        add(asked->why, "ended", "done at attempt %" PRIu32, task->attempt);
        return true;
    case TASK_FAILED:
        add(asked->why, "ended",
            "failed at attempt %" PRIu32
            "; pointsman job forgive %.*s %.*s starts it again",
            task->attempt, SPANF(asked->track->feed.name), SPANF(asked->name));
        return true;
    case TASK_RUNNING:
        add(asked->why, "running", "attempt %" PRIu32 " runs", task->attempt);
        return true;
    case TASK_UNSTARTED:
    case TASK_INCOMPLETE:
    case TASK_BACKOFF:
    case TASK_LOST:
    case TASK_STATUSES:
        break;
    }
    if (task->not_before.ns > asked->scheduler->now.ns)
        add(asked->why, "time", "%s after attempt %" PRIu32 ", not before %s",
            job_task_status_word((enum task_status)task->status), task->attempt,
            wall_format(task->not_before, when));
    return false;
}

static void explain_task(const struct asked *asked,
                         const struct node_task *task) {
    const struct node_job_spec *spec = &asked->job->spec;
    size_t before = asked->why->count;
    if (explain_status(asked, task))
        return;
    if (!spec->enabled)
        add(asked->why, "disabled", "its job is disabled");
    (void)explain_relations(asked);
    (void)explain_places(asked);
    if (spec->max_running > 0 && asked->track->live >= spec->max_running)
        add(asked->why, "limit", "at most %" PRIu32 " of its tasks run at once",
            spec->max_running);
    if (asked->job->open.count == 0)
        add(asked->why, "worker",
            "no worker that its job accepts has what it takes");
    if (asked->why->count == before)
        add(asked->why, "turn",
            "nothing holds it back: other tasks come first, or it is about to "
            "start");
}

bool scheduler_why_task(struct scheduler *scheduler, const struct job *job,
                        struct span node, struct wall now, struct arena *arena,
                        struct scheduler_reason **ret_reasons,
                        size_t *ret_count, struct err *err) {
    struct why why = {.arena = arena};
    const struct node_track *track = scheduler_nodes_find(scheduler, job->num);
    struct asked asked = {
        .scheduler = scheduler, .track = track, .name = node, .why = &why};
    if (track == NULL || track->job == NULL)
        return err_set(err, ERR_REFUSED,
                       "job '%.*s' has no tasks on nodes that start here",
                       SPANF(job->id));
    scheduler->now = now;
    asked.job = node_pass_job(track->job);
    asked.tree = node_pass_tree(scheduler->nodes.pass);
    asked.node = node_tree_find(asked.tree, node);
    if (asked.node == NODE_NONE ||
        asked.tree->nodes[asked.node].level != asked.job->spec.level ||
        asked.tree->nodes[asked.node].places == NODE_NONE)
        return err_set(err, ERR_NO_JOB,
                       "job '%.*s' has no node '%.*s' on its level",
                       SPANF(job->id), SPANF(node));
    why_holds(&why, job);
    explain_task(&asked, &asked.job->tasks[asked.tree->nodes[asked.node].row]);
    *ret_reasons = why.reasons;
    *ret_count = why.count;
    return true;
}
