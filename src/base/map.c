#include "base/map.h"
