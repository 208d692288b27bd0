// A list of fixed length, as the part of a key that is one record per input.
template <class T, int N>
struct list
{
  T items[N];
  POLICYGEN_FUNCTION static constexpr int size() noexcept
  {
    return N;
  }
  POLICYGEN_FUNCTION constexpr const T* begin() const noexcept
  {
    return items;
  }
  POLICYGEN_FUNCTION constexpr const T* end() const noexcept
  {
    return items + N;
  }
};
template <class T>
struct list<T, 0>
{
  POLICYGEN_FUNCTION static constexpr int size() noexcept
  {
    return 0;
  }
  POLICYGEN_FUNCTION constexpr const T* begin() const noexcept
  {
    return nullptr;
  }
  POLICYGEN_FUNCTION constexpr const T* end() const noexcept
  {
    return nullptr;
  }
};
