#!/bin/sh
# embed.sh FILE.sql...: the files, in order, as the C array schema_steps.
echo '#include "store/schema.h"'
echo
echo 'const char *const schema_steps[] = {'
for file in "$@"; do
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n"/' "$file"
    echo '    ,'
done
echo '};'
echo 'const int schema_version ='
echo '    sizeof(schema_steps) / sizeof(schema_steps[0]);'
