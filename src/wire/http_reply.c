#include "wire/http_reply.h"
