#include "wire/sections.h"
