// Operator tags: what select_for knows of an operator. Any other type is an operator of its own.
struct plus {};
struct minimum {};
struct maximum {};

// CUB's classification of element types, with its habits: unsigned long long is an int64, and so on. Specialise it
// for a type of yours only if CUB would classify that type as you do.
template <class T>
struct element_type
{
  static constexpr type_t value =
      std::is_same_v<T, bool>                 ? type_t::boolean
    : std::is_same_v<T, char>                 ? (std::is_signed_v<char> ? type_t::int8 : type_t::uint8)
    : std::is_same_v<T, signed char>          ? type_t::int8
    : std::is_same_v<T, unsigned char>        ? type_t::uint8
    : std::is_same_v<T, signed short>         ? type_t::int16
    : std::is_same_v<T, unsigned short>       ? type_t::uint16
    : std::is_same_v<T, signed int>           ? type_t::int32
    : std::is_same_v<T, unsigned int>         ? type_t::uint32
    : std::is_same_v<T, signed long>          ? (sizeof(long) == 4 ? type_t::int32 : type_t::int64)
    : std::is_same_v<T, unsigned long>        ? (sizeof(long) == 4 ? type_t::uint32 : type_t::uint64)
    : std::is_same_v<T, signed long long>     ? type_t::int64
    : std::is_same_v<T, unsigned long long>   ? type_t::int64
#if defined(__SIZEOF_INT128__)
    : std::is_same_v<T, __int128_t>           ? type_t::int128
    : std::is_same_v<T, __uint128_t>          ? type_t::int128
#endif
    : std::is_same_v<T, float>                ? type_t::float32
    : std::is_same_v<T, double>               ? type_t::float64
                                              : type_t::other;
};

namespace support
{
template <class Op>
inline constexpr op_kind_t operator_kind =
    std::is_same_v<Op, plus>    ? op_kind_t::plus
  : std::is_same_v<Op, minimum> ? op_kind_t::min
  : std::is_same_v<Op, maximum> ? op_kind_t::max
                                : op_kind_t::other;

// What an operator gives for two inputs: plus promotes small integers, as C++ does.
template <class T, class Op, class = void>
struct accumulator
{
  using type = T;
};
template <class T>
struct accumulator<T, plus, std::void_t<decltype(std::declval<T>() + std::declval<T>())>>
{
  using type = std::decay_t<decltype(std::declval<T>() + std::declval<T>())>;
};
template <class T, class Op>
struct accumulator<T, Op, std::enable_if_t<std::is_invocable_v<Op, T, T>>>
{
  using type = std::decay_t<std::invoke_result_t<Op, T, T>>;
};
template <class T, class Op>
using accumulator_t = typename accumulator<T, Op>::type;
} // namespace support
