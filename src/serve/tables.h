/* The tables that capabilities plug into, put together from their rows. */
#ifndef POINTSMAN_SERVE_TABLES_H
#define POINTSMAN_SERVE_TABLES_H

#include "api/api.h"

extern const struct api_tables serve_tables;

#endif
