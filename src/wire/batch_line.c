#include "wire/batch_line.h"
