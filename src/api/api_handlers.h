/* The API's own handlers, named in routes.def; those of a capability are
 * declared beside it. Each answers the call, or sets `work` (api_call.h). */
#ifndef POINTSMAN_API_API_HANDLERS_H
#define POINTSMAN_API_API_HANDLERS_H

struct api_call;

void api_list(struct api_call *call);
void api_job_show(struct api_call *call);
void api_train(struct api_call *call);
void api_train_forget(struct api_call *call);
void api_train_recheck(struct api_call *call);
void api_workers(struct api_call *call);
void api_why(struct api_call *call);
void api_history(struct api_call *call);
void api_attempts(struct api_call *call);
void api_tasks(struct api_call *call);
void api_running_tasks(struct api_call *call);
void api_progress(struct api_call *call);
void api_logs(struct api_call *call);
void api_depends(struct api_call *call);
void api_dependents(struct api_call *call);
void api_cancel(struct api_call *call);
void api_retry(struct api_call *call);
void api_hold_job(struct api_call *call);
void api_release_job(struct api_call *call);
void api_limit(struct api_call *call);
void api_bulk(struct api_call *call);
void api_edges(struct api_call *call);
void api_rollback(struct api_call *call);
void api_report(struct api_call *call);
void api_files(struct api_call *call);
void api_events(struct api_call *call);
void api_wait(struct api_call *call);
void api_counts(struct api_call *call);
void api_settings(struct api_call *call);
void api_setting(struct api_call *call);
void api_openapi(struct api_call *call);
void api_caller(struct api_call *call);
void api_healthz(struct api_call *call);
void api_readyz(struct api_call *call);
void api_upgrade(struct api_call *call);
void api_upgrade_give_up(struct api_call *call);
void api_upgrade_show(struct api_call *call);
void api_metrics(struct api_call *call);

#endif
