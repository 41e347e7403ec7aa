#include "wire/line_index.h"
