#include "changes/facts.h"

#include "changes/old_facts.h"

struct event_facts facts_of(const struct store_event *event,
                            struct arena *arena) {
    struct event_facts facts = {0};
    if (event->facts.len == 0)
        old_facts_read(event, &facts);
    else if (!event_facts_parse(event->facts, arena, &facts))
        facts = (struct event_facts){0};
    return facts;
}
