#include "wire/ini.h"
