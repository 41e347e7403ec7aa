#include "wire/set_check.h"
