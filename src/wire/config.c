#include "wire/config.h"
