#pragma once
#include <fake_cub.cuh>
