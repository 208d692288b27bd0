//@ has_more
// Whether an aggregate takes more initialisers than a number: then it has members that nobody here knows of.
struct anything
{
  template <class T>
  constexpr operator T() const noexcept;
};
template <std::size_t>
using initialiser = anything;
template <class T, class Indices, class = void>
struct takes : std::false_type
{};
template <class T, std::size_t... Indices>
struct takes<T, std::index_sequence<Indices...>, std::void_t<decltype(T{initialiser<Indices>{}...})>> : std::true_type
{};
template <class T, std::size_t Count>
inline constexpr bool has_more = takes<T, std::make_index_sequence<Count + 1>>::value;
//@ classified
// CUB's classification of a type; float16 and bfloat16, which CUB has no name for, are told apart.
template <class T>
inline constexpr type_t classified = of_cub(CUB_NS_QUALIFIER::detail::classify_type<T>);
#if _CCCL_HAS_NVFP16()
template <>
inline constexpr type_t classified<__half> = type_t::float16;
#endif
#if _CCCL_HAS_NVBF16()
template <>
inline constexpr type_t classified<__nv_bfloat16> = type_t::bfloat16;
#endif
