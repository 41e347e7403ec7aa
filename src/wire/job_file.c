#include "wire/job_file.h"
