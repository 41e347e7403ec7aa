#include "changes/signers.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "changes/approvals.h"
#include "os/dir.h"
#include "os/sum.h"
#include "wire/approval_text.h"
#include "wire/revoked_keys.h"
#include "wire/ssh_key.h"
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

/* `*` of ssh-keygen matches any characters, as `**` does in
 * core/approval.h. */
static struct span as_pattern(const char *prefix, struct span from,
                              struct arena *arena) {
    CLEANUP(text_clear) struct text text = TEXT_INIT;
    text_adds(&text, prefix);
    for (size_t i = 0; i < from.len; i++)
        text_adds(&text,
                  from.p[i] == '*' ? "**" : (const char[]){from.p[i], '\0'});
    return arena_span(arena, text_span(&text));
}

/* As ssh-keygen reads a list of patterns: what is excluded (`!`) is not in it.
 */
static bool list_matches(const char *prefix, struct span list,
                         struct span name) {
    CLEANUP(arena_clear) struct arena arena = ARENA_INIT;
    struct span part;
    bool is_listed = false;
    while (span_cut(&list, ',', &part)) {
        bool excluded = span_starts(part, "!");
        if (excluded)
            part = span_make(part.p + 1, part.len - 1);
        if (!approval_name_matches(as_pattern(prefix, part, &arena), name))
            continue;
        if (excluded)
            return false;
        is_listed = true;
    }
    return is_listed;
}

struct signer_line {
    struct span principals;
    char key[SUM_SSH_KEY_BYTES];
    bool by_authority; /* the key is that of a certificate authority */
    bool may_approve;
};

static bool option_is(struct span option, const char *name) {
    size_t len = strlen(name);
    return option.len >= len && strncasecmp(option.p, name, len) == 0;
}

/* One option, up to the comma that is not between quotes. */
static struct span next_option(struct span *rest) {
    bool quoted = false;
    size_t end = 0;
    for (; end < rest->len && (quoted || rest->p[end] != ','); end++)
        quoted ^= rest->p[end] == '"';
    struct span option = span_make(rest->p, end);
    end += end < rest->len;
    *rest = span_make(rest->p + end, rest->len - end);
    return option;
}

/* ssh-keygen accepts no line with an option that it does not know. */
static void read_options(struct span options, struct signer_line *line) {
    static const char spaces[] = "namespaces=";
    while (options.len > 0) {
        struct span option = next_option(&options);
        if (option_is(option, spaces)) {
            size_t skip = sizeof(spaces) - 1;
            option = unquoted(span_make(option.p + skip, option.len - skip));
            line->may_approve &=
                list_matches("", option, SPAN(APPROVAL_NAMESPACE));
        } else if (option_is(option, "cert-authority")) {
            line->by_authority = true;
        } else {
            line->may_approve &= option_is(option, "valid-after=") ||
                                 option_is(option, "valid-before=");
        }
    }
}

/* The fingerprint of the key alone, also of a certificate. False: it is no key
 * of this type (empty: any). */
static bool key_sum(struct span blob, struct span type,
                    char ret[SUM_SSH_KEY_BYTES]) {
    CLEANUP(text_clear) struct text plain = TEXT_INIT;
    struct ssh_key key;
    if (!ssh_key_parse(blob, &key, &plain) ||
        (type.len > 0 && !span_equal(key.type, type)))
        return false;
    sum_ssh_blob(text_span(&plain), ret);
    return true;
}

static bool base64_key_sum(struct span base64, struct span type,
                           char ret[SUM_SSH_KEY_BYTES]) {
    CLEANUP(text_clear) struct text blob = TEXT_INIT;
    return sum_base64(base64, &blob) && key_sum(text_span(&blob), type, ret);
}

/* "PRINCIPALS [OPTIONS] TYPE KEY [COMMENT]". A key begins with the length of
 * the name of its type, three of whose four bytes are 0. */
static bool parse_line(struct span line, struct signer_line *ret_line) {
    *ret_line = (struct signer_line){.may_approve = true};
    ret_line->principals = unquoted(next_word(&line));
    if (ret_line->principals.len == 0 || ret_line->principals.p[0] == '#')
        return false;
    struct span type = next_word(&line), key = next_word(&line);
    if (!span_starts(key, "AAAA")) {
        read_options(type, ret_line);
        type = key;
        key = next_word(&line);
    }
    return base64_key_sum(key, type, ret_line->key);
}

/* ---- its names ----------------------------------------------------------- */

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
        names[count++] = as_pattern("user:", part, arena);
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
        struct signer_line signer;
        if (!parse_line(line, &signer) || signer.by_authority)
            continue;
        policies->keys[policies->key_count++] = (struct approval_person){
            .name = arena_span(arena, span_of(signer.key)),
            .names = names_of(base, signer.principals, arena),
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
        return err_wrap(err, "file '%s'", path);
    *ret_bytes = arena_span(arena, text_span(&text));
    return true;
}

/* ---- revoked keys -------------------------------------------------------- */

static bool revoked_sum(const struct revoked_key *key,
                        char ret[SUM_SSH_KEY_BYTES]) {
    switch (key->how) {
    case REVOKED_BASE64:
        return base64_key_sum(key->bytes, key->type, ret);
    case REVOKED_BLOB:
        return key_sum(key->bytes, (struct span){0}, ret);
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
        if (!revoked_sum(&key, sum)) {
            keys.is_damaged = true;
            break;
        }
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

static bool line_allows(const struct policies *policies,
                        const struct signer_line *line, struct span name) {
    return line->may_approve && !is_revoked(policies, span_of(line->key)) &&
           (name.len == 0 || list_matches("user:", line->principals, name));
}

bool signers_allow(const struct policies *policies,
                   const struct approval_given *given) {
    struct span line, rest = policies->signers;
    struct span by = given->authority.len > 0 ? given->authority : given->key;
    if (policies->no_signature != NULL || is_revoked(policies, given->key))
        return false;
    while (span_cut(&rest, '\n', &line)) {
        struct signer_line signer;
        if (parse_line(line, &signer) && span_is(by, signer.key) &&
            signer.by_authority == (given->authority.len > 0) &&
            line_allows(policies, &signer, given->who))
            return true;
    }
    return false;
}

bool signers_might_allow(const struct policies *policies, struct span name,
                         struct span key) {
    struct span line, rest = policies->signers;
    if (policies->no_signature != NULL || is_revoked(policies, key))
        return false;
    while (span_cut(&rest, '\n', &line)) {
        struct signer_line signer;
        if (parse_line(line, &signer) &&
            (signer.by_authority || key.len == 0 || span_is(key, signer.key)) &&
            line_allows(policies, &signer, name))
            return true;
    }
    return false;
}

struct span signers_authority(struct span signature, struct arena *arena) {
    static const char begin[] = "-----BEGIN SSH SIGNATURE-----",
                      end[] = "-----END SSH SIGNATURE-----";
    CLEANUP(text_clear) struct text bytes = TEXT_INIT;
    CLEANUP(text_clear) struct text plain = TEXT_INIT;
    char sum[SUM_SSH_KEY_BYTES];
    struct ssh_key key;
    struct span blob, base64 = span_trim(signature);
    size_t edges = sizeof(begin) - 1 + sizeof(end) - 1;
    if (!span_starts(base64, begin) || !span_ends(base64, end) ||
        base64.len < edges ||
        !sum_base64(span_make(base64.p + sizeof(begin) - 1, base64.len - edges),
                    &bytes) ||
        !ssh_signature_key(text_span(&bytes), &blob) ||
        !ssh_key_parse(blob, &key, &plain))
        return SPAN("unknown");
    if (key.authority.len == 0)
        return (struct span){0};
    sum_ssh_blob(key.authority, sum);
    return arena_span(arena, span_of(sum));
}
