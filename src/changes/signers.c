#include "changes/signers.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/approvals.h"
#include "os/dir.h"
#include "os/sum.h"
#include "wire/revoked_keys.h"
#include "lib/map.h"

enum { LIST_BYTES = 1 << 20 };

/* ---- one line ------------------------------------------------------------ */

/* The next word; blanks between double quotes belong to it. Empty: none. */
static struct span next_word(struct span *rest) {
    bool quoted = false;
    *rest = span_trim(*rest);
    size_t end = 0;
    for (; end < rest->len; end++) {
        char c = rest->p[end];
        if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == ' ' || c == '\t'))
            break;
    }
    struct span word = span_make(rest->p, end);
    *rest = span_make(rest->p + end, rest->len - end);
    return word;
}

static struct span unquoted(struct span word) {
    return word.len >= 2 && word.p[0] == '"' && word.p[word.len - 1] == '"'
               ? span_make(word.p + 1, word.len - 2)
               : word;
}

static bool has_authority(struct span options) {
    static const char word[] = "cert-authority";
    return memmem(options.p, options.len, word, sizeof(word) - 1) != NULL;
}

/* "PRINCIPALS [OPTIONS] TYPE KEY [COMMENT]". A key begins with the length of
 * the name of its type, three of whose four bytes are 0. The key of a
 * certificate authority is not that of a signer: ret_key is "" then. */
static bool parse_line(struct span line, struct span *ret_principals,
                       char ret_key[SUM_SSH_KEY_BYTES]) {
    struct span word;
    bool by_authority = false;
    *ret_principals = unquoted(next_word(&line));
    if (ret_principals->len == 0 || ret_principals->p[0] == '#')
        return false;
    while ((word = next_word(&line)).len > 0) {
        if (span_starts(word, "AAAA")) {
            bool ok = sum_ssh_key(word, ret_key);
            if (by_authority)
                ret_key[0] = '\0';
            return ok;
        }
        by_authority |= has_authority(word);
    }
    return false;
}

/* ---- its names ----------------------------------------------------------- */

/* `*` of ssh-keygen matches any characters, as `**` does in
 * core/approval.h. */
static struct span as_pattern(struct span principal, struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text, "user:");
    for (size_t i = 0; i < principal.len; i++)
        text_adds(&text, principal.p[i] == '*'
                             ? "**"
                             : (const char[]){principal.p[i], '\0'});
    return arena_span(arena, text_span(&text));
}

static struct approval_list
names_of(const struct base *base, struct span principals, struct arena *arena) {
    struct span part, rest = principals;
    size_t most = 1, count = 0;
    for (size_t i = 0; i < principals.len; i++)
        most += principals.p[i] == ',';
    struct span *names = arena_alloc(arena, 2 * most * sizeof(*names));
    while (span_cut(&rest, ',', &part)) {
        if (part.len == 0 || part.p[0] == '!')
            continue;
        names[count++] = as_pattern(part, arena);
        struct span alias = approvals_alias(base, part, arena);
        if (alias.len > 0)
            names[count++] = alias;
    }
    return (struct approval_list){names, count};
}

/* ---- the list ------------------------------------------------------------ */

static void read_lines(const struct base *base, struct arena *arena,
                       struct policies *policies) {
    struct span line, rest = policies->signers;
    size_t most = 1;
    for (size_t i = 0; i < rest.len; i++)
        most += rest.p[i] == '\n';
    policies->keys = arena_alloc(arena, most * sizeof(*policies->keys));
    while (span_cut(&rest, '\n', &line)) {
        struct span principals;
        char key[SUM_SSH_KEY_BYTES];
        if (!parse_line(line, &principals, key) || key[0] == '\0')
            continue;
        policies->keys[policies->key_count++] = (struct approval_person){
            .name = arena_span(arena, span_of(key)),
            .names = names_of(base, principals, arena),
        };
    }
}

/* *ret_bytes: its content, in the arena. */
static bool read_list(const struct base *base, struct span name,
                      struct arena *arena, struct span *ret_bytes,
                      struct err *err) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    const char *path = base_resolve(base->path, name, arena);
    CLEANUP(fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    if (!dir_read_file(fd, LIST_BYTES, &text, err))
        return err_wrap(err, "cannot read '%s'", path);
    *ret_bytes = arena_span(arena, text_span(&text));
    return true;
}

/* ---- revoked keys -------------------------------------------------------- */

static bool key_sum(const struct revoked_key *key,
                    char ret[SUM_SSH_KEY_BYTES]) {
    switch (key->how) {
    case REVOKED_BASE64:
        return sum_ssh_key(key->bytes, ret);
    case REVOKED_BLOB:
        sum_ssh_blob(key->bytes, ret);
        return true;
    case REVOKED_SHA256:
        sum_ssh_digest((const unsigned char *)key->bytes.p, ret);
        return true;
    }
    return false;
}

static void revoked_add(struct policies *policies, struct arena *arena,
                        size_t *cap, const char *sum) {
    if (policies->revoked_count == *cap) {
        *cap = *cap > 0 ? 2 * *cap : 16;
        struct span *more = arena_alloc(arena, *cap * sizeof(*more));
        for (size_t i = 0; i < policies->revoked_count; i++)
            more[i] = policies->revoked[i];
        policies->revoked = more;
    }
    policies->revoked[policies->revoked_count++] =
        arena_span(arena, span_of(sum));
}

static bool revoked_read(const struct base *base, struct arena *arena,
                         struct policies *policies, struct err *err) {
    struct span name = base->config.queue.revoked_keys;
    struct revoked_keys keys = {0};
    struct revoked_key key;
    size_t cap = 0;
    if (name.len == 0)
        return true;
    if (!read_list(base, name, arena, &keys.rest, err))
        return false;
    while (revoked_keys_next(&keys, &key)) {
        char sum[SUM_SSH_KEY_BYTES];
        if (key_sum(&key, sum))
            revoked_add(policies, arena, &cap, sum);
    }
    return !keys.is_damaged ||
           err_set(err, ERR_DATA, "the list of revoked keys '%.*s' is damaged",
                   (int)name.len, name.p);
}

static bool is_revoked(const struct policies *policies, struct span key) {
    for (size_t i = 0; i < policies->revoked_count; i++)
        if (span_equal(policies->revoked[i], key))
            return true;
    return false;
}

/* ---- both lists ---------------------------------------------------------- */

bool signers_read(const struct base *base, struct arena *arena,
                  struct policies *policies, struct err *err) {
    struct err why = {0};
    if (!revoked_read(base, arena, policies, &why))
        policies->no_signature = arena_string(arena, span_of(why.text));
    why = (struct err){0};
    if (read_list(base, base->config.queue.allowed_signers, arena,
                  &policies->signers, &why)) {
        read_lines(base, arena, policies);
        return true;
    }
    return why.sys == ENOENT || err_set(err, why.kind, "%s", why.text);
}

static uint64_t list_version(const struct base *base, struct span name,
                             uint64_t version) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct stat st = {0};
    if (name.len > 0)
        (void)stat(base_resolve(base->path, name, &arena), &st);
    int64_t facts[] = {(int64_t)st.st_ino,     (int64_t)st.st_size,
                       st.st_mtim.tv_sec,      st.st_mtim.tv_nsec,
                       st.st_ctim.tv_sec,      st.st_ctim.tv_nsec,
                       (int64_t)(version >> 1)};
    return map_hash_bytes(facts, sizeof(facts));
}

uint64_t signers_version(const struct base *base) {
    const struct config_queue *queue = &base->config.queue;
    return list_version(base, queue->revoked_keys,
                        list_version(base, queue->allowed_signers, 0));
}

/* As ssh-keygen reads a list of principals: one that is excluded is not in it.
 */
static bool is_principal(struct span principals, struct span name) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span part;
    bool is_listed = name.len == 0;
    while (name.len > 0 && span_cut(&principals, ',', &part)) {
        bool excluded = span_starts(part, "!");
        if (excluded)
            part = span_make(part.p + 1, part.len - 1);
        if (!approval_name_matches(as_pattern(part, &arena), name))
            continue;
        if (excluded)
            return false;
        is_listed = true;
    }
    return is_listed;
}

bool signers_allow(const struct policies *policies, struct span name,
                   struct span key) {
    struct span line, rest = policies->signers;
    while (policies->no_signature == NULL && span_cut(&rest, '\n', &line)) {
        struct span principals;
        char listed[SUM_SSH_KEY_BYTES];
        if (parse_line(line, &principals, listed) &&
            (listed[0] == '\0' || key.len == 0 || span_is(key, listed)) &&
            !is_revoked(policies, key.len > 0 ? key : span_of(listed)) &&
            is_principal(principals, name))
            return true;
    }
    return false;
}
