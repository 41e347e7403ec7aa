#include "wire/ref_name.h"
