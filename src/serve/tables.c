#include "serve/tables.h"

#include "api/api_handlers.h"
#include "changes/approval_draft.h"
#include "changes/approval_request.h"
#include "changes/rollback_trial.h"
#include "changes/change_kind.h"
#include "changes/change_request.h"
#include "changes/policy_config.h"
#include "changes/prequeue.h"
#include "changes/prequeue_set.h"
#include "commands/command_kind.h"
#include "commands/command_request.h"
#include "commands/template_config.h"
#include "commands/template_request.h"
#include "nodes/node_config.h"
#include "nodes/node_request.h"
#include "nodes/node_row.h"
#include "nodes/nodes_role.h"
#include "nodes/resource_config.h"
#include "nodes/standing_kind.h"
#include "nodes/standing_request.h"
#include "nodes/standing_row.h"
#include "schedules/clock_role.h"
#include "schedules/schedule_config.h"
#include "schedules/schedule_put.h"
#include "schedules/schedule_request.h"
#include "schedules/schedule_row.h"
#include "scheduler/check_result.h"
#include "serve/scheduler_role.h"

static const struct api_route routes[] = {
#define ROUTE(method, path, handler, role, body, summary) \
    {API_##method, path, handler, ACCESS_NEED_##role, API_##body, summary},
#include "serve/routes.def"
#undef ROUTE
};

/* clang-format off */
/* First what comes in, then what falls due, then what acts on it: what one
 * role writes, the next ones see in the same turn. */
const struct role *const serve_roles[] = {
    &prequeue_role,
    &clock_role,
    &nodes_role,
    &queue_role,
    &exec_role,
    NULL,
};

static const struct work_kind *const kinds[] = {
    &change_kind,
    &change_kind_rollback,
    &command_kind,
    &standing_kind,
};

const struct work_kinds serve_kinds = {kinds, COUNT(kinds)};

const struct api_tables serve_tables = {
    .routes = routes,
    .route_count = COUNT(routes),
    .roles = serve_roles,
    .kinds = &serve_kinds,
};

const struct store_noun *const serve_nouns[] = {
    &schedule_noun,
    &check_result_noun,
    &node_noun,
    &standing_noun,
};
const size_t serve_noun_count = COUNT(serve_nouns);

const struct config_section *const serve_sections[] = {
    &approval_section,
    &person_section,
    &schedule_section,
    &template_config_section,
    &node_config_section,
    &node_config_source_section,
    &resource_section,
    &worker_limits_section,
    &account_section,
};
const size_t serve_section_count = COUNT(serve_sections);

/* The approvals first: see prequeue_set.h. */
const struct entry_kind *const serve_entry_kinds[] = {
    &prequeue_approval_kind,
    &prequeue_set_kind,
};
const size_t serve_entry_kind_count = COUNT(serve_entry_kinds);
/* clang-format on */
