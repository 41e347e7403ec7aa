/* `pointsman land` alone, for tests that must start it as a real process. */
#include "serve/land.h"

int main(int argc, char **argv) {
    return land_main(argc, argv);
}
