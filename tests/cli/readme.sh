#!/bin/sh
# Runs the commands of README's "Five minutes", one after the other, as they
# stand: readme.sh README PROGRAM. Prints TAP.
set -u
readme=$1
PATH=$(cd "$(dirname "$2")" && pwd):$PATH
export PATH
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset POINTSMAN_BASE
sed -n '/^## Five minutes/,/^## Conf/p' "$readme" |
    sed -n 's/^    //p' | grep -v '^ninja ' >"$dir/commands"
cd "$dir" || exit 1
count=$(grep -c . "$dir/commands")
echo "1..$((count + 1))"
n=0
while IFS= read -r command; do
    n=$((n + 1))
    if sh -c "$command" >out 2>&1 </dev/null; then
        echo "ok $n - $command" | tr '#' '.'
    else
        echo "not ok $n - $command" | tr '#' '.'
        sed 's/^/# /' out
    fi
done <"$dir/commands"
# What the text promises of them.
n=$((n + 1))
landed=$(git -C project.git log --format='%s %(trailers:key=CS-Id,separator=%x20)' main | head -n 1)
report=$(pointsman logs report)
if [ "$landed" = 'Say hello CS-Id: fix-1' ] && [ "$report" = 'done' ]; then
    echo "ok $n - the set landed and the report was written"
else
    echo "not ok $n - the set landed and the report was written"
    echo "# '$landed' '$report'"
fi
