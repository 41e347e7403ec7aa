#!/bin/sh
# readme.sh README PROGRAM: runs the commands of "Five minutes" in README.md,
# and checks the configuration example and that the commands named exist.
# Prints TAP.
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
echo "1..$((count + 3))"
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
# The results that the text promises.
n=$((n + 1))
landed=$(git -C project.git log --format='%s %(trailers:key=CS-Id,separator=%x20)' main | head -n 1)
report=$(pointsman logs report)
if [ "$landed" = 'Say hello CS-Id: fix-1' ] && [ "$report" = 'done' ]; then
    echo "ok $n - the set landed and the report was written"
else
    echo "not ok $n - the set landed and the report was written"
    echo "# '$landed' '$report'"
fi

n=$((n + 1))
mkdir -p .pointsman/conf.d
# With an account and a group that every machine has.
sed -n '/^## Configuration/,/^## Leaving/s/^    //p' "$readme" |
    sed 's/@developers$/@root/; s/ alice$/ root/' >.pointsman/conf.d/example.conf
if [ -s .pointsman/conf.d/example.conf ] && pointsman config check >out 2>&1
then
    echo "ok $n - the configuration example is valid"
else
    echo "not ok $n - the configuration example is valid"
    sed 's/^/# /' out
fi
n=$((n + 1))
pointsman help >overview
unknown=
for word in $(grep -o '`pointsman [a-z-]*' "$readme" | cut -d' ' -f2 | sort -u)
do
    grep -q "^  $word\>" overview || unknown="$unknown $word"
done
if [ -z "$unknown" ]; then
    echo "ok $n - every command that the README names exists"
else
    echo "not ok $n - every command that the README names exists"
    echo "#$unknown"
fi
