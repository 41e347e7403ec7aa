#!/bin/sh
# embed.sh NAME NNN.sql...: the files as the C array NAME_steps, for store/noun.h.
name=$1
shift
echo '#include "store/noun.h"'
echo
echo "extern const struct store_step ${name}_steps[];"
echo "const struct store_step ${name}_steps[] = {"
for file in "$@"; do
    number=$(basename "$file" .sql | sed 's/^0*//')
    echo "    {$number,"
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n"/' "$file"
    echo '    },'
done
echo '    {0, NULL},'
echo '};'
