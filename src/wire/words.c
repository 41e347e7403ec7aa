#include "wire/words.h"
