#include "wire/meta.h"
