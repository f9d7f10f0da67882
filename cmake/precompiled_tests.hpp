// As precompiled.hpp, for the test programs.
#pragma once

#include <gtest/gtest.h>

#include "cmake/precompiled.hpp"
