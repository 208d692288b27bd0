// Types by name, and the items of inputs: each is a function of its position, so that a check needs no input.

#pragma once

#include <cuda/std/bit>
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace policygen::prove
{
using int8    = std::int8_t;
using int16   = std::int16_t;
using int32   = std::int32_t;
using int64   = std::int64_t;
using uint8   = std::uint8_t;
using uint16  = std::uint16_t;
using uint32  = std::uint32_t;
using uint64  = std::uint64_t;
using float16  = __half;
using bfloat16 = __nv_bfloat16;
using float32 = float;
using float64 = double;

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

template <class T>
constexpr bool is_float = std::is_floating_point_v<T> || is_narrow_float<T>;

template <class T>
std::string type_name()
{
  const std::string bits = std::to_string(8 * sizeof(T));
  if (std::is_same_v<T, bfloat16>)
  {
    return "bfloat16";
  }
  return is_float<T> ? "float" + bits : (std::is_signed_v<T> ? "int" : "uint") + bits;
}

template <class T>
std::string to_text(T value)
{
  if constexpr (is_narrow_float<T>)
  {
    return to_text(static_cast<float>(value));
  }
  else if constexpr (is_float<T>)
  {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", static_cast<double>(value));
    return text;
  }
  else
  {
    return std::to_string(value);
  }
}

// The unsigned type of a size in bytes.
template <std::size_t Size>
using bits_of_size = std::conditional_t<
  Size == 1,
  uint8,
  std::conditional_t<Size == 2, uint16, std::conditional_t<Size == 4, uint32, uint64>>>;

template <class T>
__host__ __device__ auto bits_of(T value)
{
  return ::cuda::std::bit_cast<bits_of_size<sizeof(T)>>(value);
}

// The finaliser of SplitMix64: a bijection that scatters neighbours.
__host__ __device__ constexpr uint64 scattered(uint64 x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Random bits for position i of the stream of a seed.
__host__ __device__ constexpr uint64 random_bits(uint64 seed, int64 i)
{
  return scattered(scattered(seed) + static_cast<uint64>(i));
}

// Where the bits of an infinity are set.
template <class T>
constexpr bits_of_size<sizeof(T)> infinity_bits = [] {
  using bits = bits_of_size<sizeof(T)>;
  constexpr int mantissa = std::is_same_v<T, bfloat16> ? 7 : sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
  constexpr bits sign    = static_cast<bits>(bits{1} << (8 * sizeof(T) - 1));
  return static_cast<bits>(static_cast<bits>(~sign) & static_cast<bits>(~((bits{1} << mantissa) - 1)));
}();

// Any integer; of floating-point numbers any that is finite, and one zero: what compares equal has the same bits.
template <class T>
__host__ __device__ T any_value(uint64 seed, int64 i)
{
  using bits = bits_of_size<sizeof(T)>;
  bits found = static_cast<bits>(random_bits(seed, i));
  if constexpr (is_float<T>)
  {
    constexpr bits infinity = infinity_bits<T>;
    constexpr bits sign     = static_cast<bits>(bits{1} << (8 * sizeof(T) - 1));
    if ((found & infinity) == infinity)
    {
      found = static_cast<bits>(found ^ (infinity & static_cast<bits>(infinity >> 1)));
    }
    if (static_cast<bits>(found & static_cast<bits>(~sign)) == 0)
    {
      found = 0;
    }
  }
  return ::cuda::std::bit_cast<T>(found);
}

// An integer so small that the sum of any neighbours is exact in T, in whatever order they are added: -4 .. 4, or 0 .. 8
// where there is no sign. Their signs are random, so the sum of 2^28 stays in the order of 2^16. Types of 11 and 8
// bits of precision have -1, 0 and 1, and beyond the first 64 positions few that are not 0.
template <class T>
__host__ __device__ T small_value(uint64 seed, int64 i)
{
  const uint64 bits = random_bits(seed, i);
  if constexpr (is_narrow_float<T>)
  {
    constexpr uint64 sparse = std::is_same_v<T, bfloat16> ? 0xffff : 0xfff;
    const bool counts       = i < 64 || ((bits >> 8) & sparse) == 0;
    return static_cast<T>(counts ? (bits & 1 ? 1.0f : -1.0f) : 0.0f);
  }
  else
  {
    const int value = static_cast<int>((bits >> 8) % 9);
    return static_cast<T>(std::is_unsigned_v<T> ? value : value - 4);
  }
}

// Inputs as functions of the position.
template <class T>
struct any_items
{
  uint64 seed;
  __host__ __device__ T operator()(int64 i) const
  {
    return any_value<T>(seed, i);
  }
};

template <class T>
struct small_items
{
  uint64 seed;
  __host__ __device__ T operator()(int64 i) const
  {
    return small_value<T>(seed, i);
  }
};

// The position itself, to follow an item through an algorithm.
template <class T>
struct positions
{
  __host__ __device__ T operator()(int64 i) const
  {
    return static_cast<T>(i);
  }
};
} // namespace policygen::prove
