#include "landing/commit.h"

#include <ctype.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Bytes that would end an identity, or that git strips from its ends, are not
 * allowed. */
static bool is_ident_byte(char c) {
    return (unsigned char)c >= 0x20 && c != '<' && c != '>' && c != 0x7f;
}

static void ident_add(struct span part, struct text *out) {
    size_t before = out->len;
    for (size_t i = 0; i < part.len; i++)
        if (is_ident_byte(part.p[i]))
            text_addc(out, part.p[i]);
    if (out->len == before)
        text_adds(out, "unknown");
}

/* "uid:1000" is an account of this machine, if it exists. */
static struct span account_name(struct span text, char *room, size_t bytes) {
    uint64_t uid;
    if (!span_starts(text, "uid:") ||
        !span_u64(span_make(text.p + 4, text.len - 4), &uid))
        return text;
    struct passwd *entry = getpwuid((uid_t)uid);
    if (entry == NULL)
        return text;
    snprintf(room, bytes, "%s", entry->pw_name);
    return span_of(room);
}

/* Appends "Name <mail>" made from `text`: a text without a mail address gets
 * NAME@localhost, "uid:N" becomes the account's name, "person:NAME/uid:N" that
 * of the person; bytes that git does not allow in an identity are removed. */
static void format_ident(struct span text, struct text *out) {
    text = span_trim(text);
    const char *open = text.len > 0 ? memchr(text.p, '<', text.len) : NULL;
    if (open != NULL) {
        struct span name = span_make(text.p, (size_t)(open - text.p));
        struct span mail =
            span_make(open + 1, text.len - (size_t)(open + 1 - text.p));
        const char *close = mail.len > 0 ? memchr(mail.p, '>', mail.len) : NULL;
        if (close != NULL)
            mail.len = (size_t)(close - mail.p);
        if (span_trim(name).len == 0)
            name = mail;
        ident_add(span_trim(name), out);
        text_adds(out, " <");
        ident_add(span_trim(mail), out);
        text_addc(out, '>');
        return;
    }
    /* The signer of an approval. */
    if (span_starts(text, "user:")) {
        struct span name = span_make(text.p + 5, text.len - 5);
        ident_add(name, out);
        text_adds(out, " <");
        ident_add(name, out);
        text_adds(out, memchr(name.p, '@', name.len) ? ">" : "@localhost>");
        return;
    }
    /* "person:ann/uid:1005" came under that account. */
    if (span_starts(text, "person:")) {
        struct span rest = span_make(text.p + 7, text.len - 7);
        (void)span_cut(&rest, '/', &text);
    }
    char room[256];
    struct span name = account_name(text, room, sizeof room);
    ident_add(name, out);
    text_adds(out, " <");
    for (size_t i = 0; i < name.len; i++)
        text_addc(out, isalnum((unsigned char)name.p[i]) ||
                               strchr("._+-", name.p[i]) != NULL
                           ? name.p[i]
                           : '-');
    text_adds(out, name.len > 0 ? "@localhost>" : "unknown@localhost>");
}

static void ident_line(struct text *out, const char *role, struct span ident,
                       struct wall at, int zone_min) {
    int64_t seconds = wall_s(at) < 0 ? 0 : wall_s(at);
    int minutes = zone_min < 0 ? -zone_min : zone_min;
    text_addf(out, "%s ", role);
    format_ident(ident, out);
    text_addf(out, " %" PRId64 " %c%02d%02d\n", seconds,
              zone_min < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

static bool is_trailer(struct span line) {
    size_t n = 0;
    while (n < line.len &&
           (isalnum((unsigned char)line.p[n]) || line.p[n] == '-'))
        n++;
    while (n < line.len && (line.p[n] == ' ' || line.p[n] == '\t'))
        n++;
    return n > 0 && n < line.len && line.p[n] == ':';
}

static bool is_git_trailer(struct span line) {
    return span_starts(line, "Signed-off-by: ") ||
           span_starts(line, "(cherry picked from commit ");
}

/* The last paragraph of the message; *ret_first: it is also the first one. */
static struct span last_paragraph(struct span message, bool *ret_first) {
    struct span line, rest = message;
    const char *start = NULL;
    size_t paragraphs = 0;
    bool blank = true;
    while (span_cut(&rest, '\n', &line)) {
        bool now = span_trim(line).len == 0;
        if (blank && !now) {
            start = line.p;
            paragraphs++;
        }
        blank = now;
    }
    *ret_first = paragraphs < 2;
    return start == NULL
               ? (struct span){0}
               : span_make(start, (size_t)(message.p + message.len - start));
}

/* True if the last paragraph of `message` (not its first) is a block of
 * trailers, as defined by git-interpret-trailers(1). */
static bool has_trailers(struct span message) {
    bool first;
    struct span line, block = last_paragraph(message, &first);
    if (first)
        return false;
    size_t trailers = 0, others = 0, made_by_git = 0;
    bool continues = false;
    while (span_cut(&block, '\n', &line)) {
        if (span_trim(line).len == 0)
            continue;
        if (isspace((unsigned char)line.p[0])) {
            others += !continues;
            continue;
        }
        continues = is_trailer(line) || is_git_trailer(line);
        made_by_git += is_git_trailer(line);
        trailers += continues;
        others += !continues;
    }
    return trailers > 0 &&
           (others == 0 || (made_by_git > 0 && trailers * 3 >= others));
}

/* True for the message of one of our commits, such as a backport, or of an
 * author who writes trailers that only we may write. */
static bool says_ours(struct span message) {
    static const char *const keys[] = {"CS-", "RB-Id", "Reverts-CS",
                                       "Restores-CS"};
    bool first;
    struct span line, block = last_paragraph(message, &first);
    while (span_cut(&block, '\n', &line))
        for (size_t i = 0; i < COUNT(keys); i++)
            if (line.len >= strlen(keys[i]) &&
                strncasecmp(line.p, keys[i], strlen(keys[i])) == 0)
                return true;
    return false;
}

static void message_add(struct text *out, const struct commit_draft *draft) {
    struct span message = draft->message;
    while (message.len > 0 && (message.p[message.len - 1] == '\n'))
        message.len--;
    if (message.len == 0)
        message = draft->csid;
    text_addspan(out, message);
    bool joins = has_trailers(message) && !says_ours(message);
    text_adds(out, joins ? "\n" : "\n\n");
}

void commit_format(const struct commit_draft *draft, struct text *out) {
    text_addf(out, "tree %s\n", draft->tree);
    if (draft->parent[0] != '\0')
        text_addf(out, "parent %s\n", draft->parent);
    ident_line(out, "author", draft->author, draft->authored,
               draft->author_zone_min);
    ident_line(out, "committer", draft->committer, draft->committed, 0);
    text_addc(out, '\n');
    message_add(out, draft);
    text_addf(out, "CS-Id: %.*s\n", (int)draft->csid.len, draft->csid.p);
    text_addf(out, "CS-Sum: %.*s\n", (int)draft->sum.len, draft->sum.p);
    text_addf(out, "CS-Class: %.*s\n", (int)draft->class.len, draft->class.p);
    for (size_t i = 0; i < draft->approved_count; i++) {
        text_adds(out, "CS-Approved-By: ");
        format_ident(span_of(draft->approved_by[i]), out);
        text_addc(out, '\n');
    }
    text_addspan(out, draft->more);
}

int commit_date_zone_min(struct span date) {
    date = span_trim(date);
    if (date.len < 6)
        return 0;
    const char *zone = date.p + date.len - 6;
    if ((zone[0] != '+' && zone[0] != '-') || zone[3] != ':')
        return 0;
    int minutes = (zone[1] - '0') * 600 + (zone[2] - '0') * 60 +
                  (zone[4] - '0') * 10 + (zone[5] - '0');
    return zone[0] == '-' ? -minutes : minutes;
}
