#include "wire/set_tar.h"
