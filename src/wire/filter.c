#include "wire/filter.h"
