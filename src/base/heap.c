#include "base/heap.h"
