#!/bin/sh
# collide.sh PROGRAM: names chosen to collide in a hash map with a known seed
# cost no more than other names. The server reports the longest search in any of
# its maps. Without a seed it would be as long as the list of names; with a
# random seed it is some tens, at most a few hundred.
# shellcheck source=tests/support/scenario.sh
. "$(dirname "$0")/../support/scenario.sh"

# longest_search: prints the longest search that the server reports
longest_search() {
    python3 -c '
import socket
line = socket.socket(socket.AF_UNIX)
line.connect("base/ctrl/sock")
line.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
while part := line.recv(65536):
    print(part.decode(), end="")
' | sed -n 's/^pointsman_map_longest_search //p'
}

check_search() {
    search=$(longest_search)
    [ -n "$search" ] || wrong 'the server does not report the longest search'
    remark "the longest search is $search"
    [ "$search" -lt 1000 ] || wrong "the longest search is $search"
    [ "$search" -gt 10 ] || wrong "the longest search is $search: no full map?"
}

# list FILE: the lines of a file as a JSON array
list() {
    sed 's/.*/"&"/' "$1" | paste -sd, | sed 's/.*/[&]/'
}

by_array() {
    make_base
    "$COLLIDE" 30000 '' >names
    same names "$(sort -u names | wc -l)" 30000
    serve_begin
    ends 0 pointsman submit --after none-such --array names -- true
    check_search
    serve_end
}

by_touches() {
    make_base
    "$COLLIDE" 30000 k >names
    serve_begin
    printf '{"id":"t","command":["true"],"after":["none-such"],"touches":%s}\n' \
        "$(list names)" | ends 0 pointsman submit --batch
    pointsman why t >reasons
    says none-such reasons
    check_search
    serve_end
    serve_begin # reads the names from the registry
    pointsman why t >reasons
    check_search
    serve_end
}

by_paths() {
    make_base
    "$COLLIDE" 3000 pmain@ >names
    make_set wide DC README text
    mkdir -p packing/lroot
    (cd packing/lroot && rm README && tr "\n" "\0" <../../names | xargs -0 touch)
    {
        printf '##movetype\nDC\n##target\nmain\n##files\n'
        cat names
    } >packing/meta
    tar -C packing -cf "$made" meta lroot
    serve_begin
    ends 0 pointsman change submit "$made"
    ends 0 within pointsman wait wide
    check_search
    serve_end
}

scenario 'colliding array lines cost no more than others' by_array
scenario 'colliding touch keys cost no more than others, also after a restart' \
    by_touches
scenario 'colliding paths of a set cost no more than others' by_paths
finish
