#pragma once
#define NUMBER_OF(unit) (unit * STEP)
