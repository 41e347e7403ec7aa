#include "wire/path.h"
