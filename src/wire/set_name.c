#include "wire/set_name.h"
