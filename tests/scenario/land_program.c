/* `pointsman land` and `pointsman revert` alone, for tests that must start them
 * as real processes. */
#include <string.h>

#include "landing/land.h"
#include "landing/revert.h"

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "revert") == 0)
        return revert_main(argc - 1, argv + 1);
    return land_main(argc, argv);
}
