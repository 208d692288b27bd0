// A compute capability as major * 10 + minor: 90, 103. It is not made of an int by itself, and 900 is none.
struct compute_capability
{
  int value;
  POLICYGEN_FUNCTION explicit constexpr compute_capability(int packed)
      : value(packed)
  {
    if (packed < 10 || packed > 299)
    {
      support::refuse("a compute capability is major * 10 + minor, such as 90");
    }
  }
};
