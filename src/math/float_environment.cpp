#include "math/float_environment.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace topos::math {

#if defined(__x86_64__) || defined(__i386__)

namespace {

constexpr std::uint32_t mxcsr_flags = 0x003F;   // sticky exception flags
constexpr std::uint32_t mxcsr_wanted = 0x1F80;  // all masked, nearest, no DAZ
constexpr std::uint16_t x87_wanted = 0x037F;    // the same, 64-bit significand
// Precision, rounding and masks; the other bits are reserved.
constexpr std::uint16_t x87_modes = 0x0F3F;

std::uint16_t x87_control() {
  std::uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

void set_x87_control(std::uint16_t word) {
  // With an exception pending, unmasking it here would trap at the next x87
  // instruction; the caller had it pending and unmasked already.
  __asm__ volatile("fldcw %0" : : "m"(word));
}

bool differs(std::uint64_t mxcsr) {
  return (mxcsr & ~std::uint64_t{mxcsr_flags}) != mxcsr_wanted;
}

bool x87_differs(std::uint16_t word) {
  return (word & x87_modes) != (x87_wanted & x87_modes);
}

}  // namespace

FloatEnvironment::FloatEnvironment()
    : saved_(_mm_getcsr()), saved_x87_(x87_control()) {
  if (differs(saved_)) _mm_setcsr(mxcsr_wanted);
  if (x87_differs(saved_x87_)) set_x87_control(x87_wanted);
}

FloatEnvironment::~FloatEnvironment() {
  if (differs(saved_)) _mm_setcsr(static_cast<unsigned>(saved_));
  if (x87_differs(saved_x87_)) set_x87_control(saved_x87_);
}

#elif defined(__aarch64__)

namespace {

// FPCR: AHP 26, DN 25, FZ 24, RMode 23:22, FZ16 19, traps 15 and 12:8,
// NEP 2, AH 1, FIZ 0. All zero is what IEEE 754 asks for.
constexpr std::uint64_t fpcr_modes = 0x07C89F07;

std::uint64_t fpcr() {
  std::uint64_t value;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}

void set_fpcr(std::uint64_t value) {
  __asm__ volatile("msr fpcr, %0" : : "r"(value));
}

}  // namespace

FloatEnvironment::FloatEnvironment() : saved_(fpcr()), saved_x87_(0) {
  if ((saved_ & fpcr_modes) != 0) set_fpcr(saved_ & ~fpcr_modes);
}

FloatEnvironment::~FloatEnvironment() {
  if ((saved_ & fpcr_modes) != 0) set_fpcr(saved_);
}

#else

FloatEnvironment::FloatEnvironment()
    : saved_(static_cast<std::uint64_t>(std::fegetround())), saved_x87_(0) {
  if (saved_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
}

FloatEnvironment::~FloatEnvironment() {
  if (saved_ != FE_TONEAREST) std::fesetround(static_cast<int>(saved_));
}

#endif

}  // namespace topos::math
