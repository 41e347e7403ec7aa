/* The role "nursery": notes what each toy said when its job is done. */
#ifndef POINTSMAN_TOY_TOY_ROLE_H
#define POINTSMAN_TOY_TOY_ROLE_H

#include "base/role.h"

extern const struct role toy_role;

#endif
