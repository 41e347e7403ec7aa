#include "wire/refusal.h"
