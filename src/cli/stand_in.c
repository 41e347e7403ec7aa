#include "serve/prune.h"
#include "serve/fsck.h"
#include "serve/backup.h"
bool fsck_rebuild(const char *p, struct wall now, struct fsck_report *r,
                  struct err *e) {
    (void)p, (void)now, (void)r;
    return err_set(e, ERR_INTERNAL, "no");
}
bool fsck_check(struct base *b, struct fsck_report *r, struct err *e) {
    (void)b, (void)r;
    return err_set(e, ERR_INTERNAL, "no");
}
bool backup_write(struct base *b, const char *f, struct backup_report *r,
                  struct err *e) {
    (void)b, (void)f, (void)r;
    return err_set(e, ERR_INTERNAL, "no");
}
bool backup_restore(const char *f, const char *p, struct wall n,
                    struct backup_report *r, struct err *e) {
    (void)n, (void)p, (void)f, (void)r;
    return err_set(e, ERR_INTERNAL, "no");
}
bool prune(struct base *b, struct wall n, struct prune_report *r,
           struct err *e) {
    (void)b, (void)n, (void)e;
    *r = (struct prune_report){0};
    return true;
}
