#include "wire/status_line.h"
