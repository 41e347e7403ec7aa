#include "wire/job_file.h"

static bool is_sum(struct span span) {
    if (span.len != 64)
        return false;
    for (size_t i = 0; i < span.len; i++)
        if (!span.p[i] || !strchr("0123456789abcdef", span.p[i]))
            return false;
    return true;
}

static bool is_seen(struct span span) {
    if (span_is(span, "none"))
        return true;
    for (size_t i = 0; i < span.len; i++)
        if (!span.p[i] || !strchr("0123456789abcdef", span.p[i]))
            return false;
    return span.len == 40 || span.len == 64;
}

static bool refuse_line(struct refusal *why, struct span line) {
    return refusal_set(why, REFUSAL_JOB_FILE, "##job: '%.*s' is wrong",
                       (int)line.len, line.p);
}

enum job_word {
    WORD_FORMAT,
    WORD_NAME,
    WORD_CSID,
    WORD_SUM,
    WORD_SIZE,
    WORD_SEQ,
    WORDS_NEEDED,
    WORD_SEEN = WORDS_NEEDED,
    WORDS
};

static const char *const words[WORDS] = {"format", "name", "csid", "sha256",
                                         "size",   "seq",  "seen"};

static bool take_value(struct job_file *job, enum job_word word,
                       struct span value, struct span *csid,
                       struct refusal *why) {
    switch (word) {
    case WORD_FORMAT:
        return span_is(value, "1");
    case WORD_NAME:
        return set_name_parse(value, &job->name, why);
    case WORD_CSID:
        *csid = value;
        return set_csid_is_valid(value);
    case WORD_SUM:
        job->sha256 = value;
        return is_sum(value);
    case WORD_SIZE:
        return span_u64(value, &job->size);
    case WORD_SEQ:
        return span_u64(value, &job->seq);
    case WORD_SEEN:
        job->seen = value;
        return is_seen(value);
    case WORDS:
        break;
    }
    return false;
}

/* Unknown words are ignored: a later program may write them with the same
 * format number. */
static bool read_job(struct job_file *job, const struct section *section,
                     struct refusal *why) {
    bool seen[WORDS] = {false};
    struct span csid = {0};
    for (size_t i = 0; i < section->lines.count; i++) {
        struct span word, rest = section->lines.items[i];
        if (!rest.p || !span_cut(&rest, ' ', &word))
            return refuse_line(why, section->lines.items[i]);
        for (int w = 0; w < WORDS; w++) {
            if (!span_is(word, words[w]))
                continue;
            if (seen[w] || !take_value(job, (enum job_word)w, rest, &csid, why))
                return refuse_line(why, section->lines.items[i]);
            seen[w] = true;
        }
    }
    for (int w = 0; w < WORDS_NEEDED; w++)
        if (!seen[w])
            return refusal_set(why, REFUSAL_JOB_FILE, "##job has no '%s'",
                               words[w]);
    if (!span_equal(csid, job->name.csid))
        return refusal_set(why, REFUSAL_JOB_FILE,
                           "##job: name and csid differ");
    return true;
}

static bool read_record(struct job_file *job, struct refusal *why) {
    const struct section *section =
        sections_find(&job->meta.sections, "precursors-computed");
    job->precursors = job->meta.precursors;
    if (!section)
        return true;
    struct span seq = section->argument;
    if (!seq.len && section->lines.count == 1)
        seq = section->lines.items[0];
    if (!span_u64(seq, &job->computed_seq))
        return refusal_set(why, REFUSAL_JOB_FILE,
                           "##precursors-computed has no event number");
    job->computed = true;
    return true;
}

bool job_file_parse(struct span text, struct arena *arena,
                    struct job_file *ret_job, struct refusal *why) {
    struct sections sections;
    *ret_job = (struct job_file){0};
    if (text.len > JOB_FILE_BYTES)
        return refusal_set(why, REFUSAL_TOO_BIG,
                           "job file has %zu bytes, at most %d are allowed",
                           text.len, JOB_FILE_BYTES);
    if (!sections_parse(text, arena, &sections, why))
        return refusal_wrap(why, "job file");
    const struct section *job = sections_find(&sections, "job");
    if (!job)
        return refusal_set(why, REFUSAL_JOB_FILE,
                           "job file has no section ##job");
    /* The widest limits that can be configured: the limits in force at its
     * admission are not known. */
    struct path_limits widest = {4096, 255, 1024};
    if (!meta_read(&sections, &widest, arena, &ret_job->meta, why) ||
        !read_job(ret_job, job, why) || !read_record(ret_job, why) ||
        !meta_match_name(&ret_job->meta, &ret_job->name, why))
        return refusal_wrap(why, "job file");
    return true;
}

static void put_job(const struct job_file *job, struct text *out) {
    text_adds(out, "##job\nformat 1\nname ");
    text_addspan(out, job->name.text);
    text_adds(out, "\ncsid ");
    text_addspan(out, job->name.csid);
    text_adds(out, "\nsha256 ");
    text_addspan(out, job->sha256);
    text_addf(out, "\nsize %llu\nseq %llu\n", (unsigned long long)job->size,
              (unsigned long long)job->seq);
    if (job->seen.len > 0)
        text_addf(out, "seen %.*s\n", (int)job->seen.len, job->seen.p);
}

bool job_file_format(const struct job_file *job, struct text *out,
                     struct err *err) {
    static const char *const ours[] = {"job", "precursors",
                                       "precursors-computed"};
    size_t before = out->len;
    put_job(job, out);
    for (size_t i = 0; i < job->meta.sections.count; i++) {
        const struct section *section = &job->meta.sections.items[i];
        bool copied = true;
        for (size_t k = 0; k < COUNT(ours); k++)
            copied = copied && !span_is(section->name, ours[k]);
        if (copied)
            section_format(section, out);
    }
    if (job->precursors.count || job->computed) {
        struct section record = {.name = SPAN("precursors"),
                                 .lines = job->precursors};
        section_format(&record, out);
    }
    if (job->computed)
        text_addf(out, "##precursors-computed %llu\n",
                  (unsigned long long)job->computed_seq);
    if (out->len - before <= JOB_FILE_BYTES)
        return true;
    err_set(err, ERR_REFUSED,
            "job file of '%.*s' would have %zu bytes, at most %d are allowed",
            (int)job->name.csid.len, job->name.csid.p, out->len - before,
            JOB_FILE_BYTES);
    out->len = before;
    out->p[before] = '\0';
    return false;
}
