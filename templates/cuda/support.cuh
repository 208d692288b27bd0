//@ least
template <class T>
POLICYGEN_FUNCTION constexpr T least(T a, T b) noexcept
{
  return b < a ? b : a;
}
//@ greatest
template <class T>
POLICYGEN_FUNCTION constexpr T greatest(T a, T b) noexcept
{
  return a < b ? b : a;
}
//@ clamp
template <class T>
POLICYGEN_FUNCTION constexpr T clamp(T a, T low, T high) noexcept
{
  return a < low ? low : high < a ? high : a;
}
//@ ceil_div
template <class T>
POLICYGEN_FUNCTION constexpr T ceil_div(T a, T b) noexcept
{
  return a / b + (a % b != 0 ? 1 : 0);
}
//@ round_up ceil_div
template <class T>
POLICYGEN_FUNCTION constexpr T round_up(T a, T b) noexcept
{
  return ceil_div(a, b) * b;
}
//@ round_down
template <class T>
POLICYGEN_FUNCTION constexpr T round_down(T a, T b) noexcept
{
  return a / b * b;
}
//@ is_power_of_two
template <class T>
POLICYGEN_FUNCTION constexpr bool is_power_of_two(T a) noexcept
{
  return a > 0 && (a & (a - 1)) == 0;
}
//@ power_of_two_factor
template <class T>
POLICYGEN_FUNCTION constexpr T power_of_two_factor(T a) noexcept
{
  return a & -a;
}
//@ next_power_of_two
template <class T>
POLICYGEN_FUNCTION constexpr T next_power_of_two(T a) noexcept
{
  T power = 1;
  while (power < a)
  {
    power = power * 2;
  }
  return power;
}
//@ scaling_result
struct scaling_result
{
  int items_per_thread;
  int threads_per_block;
};
//@ capped_threads least round_up
// Truncated first, rounded up to a warp of 32 after: a tile may exceed 48 KiB, and threads may be zero.
POLICYGEN_FUNCTION constexpr int capped_threads(int threads, int bytes_per_thread) noexcept
{
  return least(threads, round_up(49152 / bytes_per_thread, 32));
}
//@ scale_mem_bound scaling_result capped_threads clamp
POLICYGEN_FUNCTION constexpr scaling_result scale_mem_bound(int threads, int items, int size) noexcept
{
  const int scaled = clamp(items * 4 / size, 1, items * 2);
  return {scaled, capped_threads(threads, size * scaled)};
}
//@ scale_reg_bound scaling_result capped_threads greatest
POLICYGEN_FUNCTION constexpr scaling_result scale_reg_bound(int threads, int items, int size) noexcept
{
  const int scaled = greatest(1, items * 4 / greatest(4, size));
  return {scaled, capped_threads(threads, size * scaled)};
}
//@ nominal_4b_items clamp
POLICYGEN_FUNCTION constexpr int nominal_4b_items(int items, int size) noexcept
{
  return clamp(items * 4 / size, 1, items);
}
//@ nominal_8b_items clamp ceil_div
POLICYGEN_FUNCTION constexpr int nominal_8b_items(int items, int size) noexcept
{
  return size <= 8 ? items : clamp(ceil_div(8 * items, size), 1, items);
}
//@ refuse
// Not constexpr: in a constant expression the compiler stops here, and names this function and its argument.
[[noreturn]] POLICYGEN_FUNCTION inline void refuse(const char* /*reason*/)
{
#if defined(__CUDA_ARCH__)
  __trap();
#else
  std::abort();
#endif
}
