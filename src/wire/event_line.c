#include "wire/event_line.h"
