"""The processes of a test, as /proc shows them."""
import os
import pathlib


def process_stat(pid):
    """(name, state, parent, start in clock ticks), or None."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    words = tail.split()
    return head.partition("(")[2], words[0], int(words[1]), int(words[19])


def processes_below():
    """{pid: process_stat} of all processes below this one, zombies included.
    If this one is a subreaper, orphans are among them."""
    stats = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        stat = process_stat(name)
        if stat:
            stats[int(name)] = stat
    ours = {os.getpid()}
    while True:
        more = {pid for pid, stat in stats.items() if stat[2] in ours} - ours
        if not more:
            return {pid: stats[pid] for pid in ours - {os.getpid()}}
        ours |= more
