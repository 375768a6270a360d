#include "product_rivals.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#ifdef TOPOS_BENCH_OPENBLAS
#include <cblas.h>
#endif
#ifdef TOPOS_BENCH_ONEDNN
#include <fmt/format.h>

#include <dnnl.hpp>
#endif

namespace topos::bench {

namespace {

#ifdef TOPOS_BENCH_OPENBLAS

ProductRival openblas(const Product& p, const float* left, const float* right,
                      float* result, int threads) {
  openblas_set_num_threads(threads);
  const auto run = [=] {
    const auto m = static_cast<blasint>(p.m);
    const auto k = static_cast<blasint>(p.k);
    const auto n = static_cast<blasint>(p.n);
    for (std::int64_t entry = 0; entry < p.batch; ++entry) {
      cblas_sgemm(CblasRowMajor, p.left_transposed ? CblasTrans : CblasNoTrans,
                  p.right_transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.0f,
                  left + entry * p.m * p.k, p.left_transposed ? m : k,
                  right + entry * p.k * p.n, p.right_transposed ? k : n, 0.0f,
                  result + entry * p.m * p.n, n);
    }
  };
  return {"OpenBLAS", openblas_get_config(), run};
}

#endif

#ifdef TOPOS_BENCH_ONEDNN

using Memory = dnnl::memory;

Memory::desc matrices(Memory::data_type type, std::int64_t batch,
                      std::int64_t rows, std::int64_t columns,
                      bool transposed) {
  const Memory::dims strides = {rows * columns, transposed ? 1 : columns,
                                transposed ? rows : 1};
  // A product of matrices is faster there than a batch of one.
  if (batch == 1) return {{rows, columns}, type, {strides[1], strides[2]}};
  return {{batch, rows, columns}, type, strides};
}

Memory of(const Memory::desc& desc, const dnnl::engine& engine,
          const void* data) {
  return {desc, engine, const_cast<void*>(data)};
}

/// With the right operand as it lies, or in the layout that oneDNN likes best.
ProductRival onednn(const Product& p, Memory::data_type type, const void* left,
                    const void* right, float* result, bool packed) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto a = matrices(type, p.batch, p.m, p.k, p.left_transposed);
  const auto b = matrices(type, p.batch, p.k, p.n, p.right_transposed);
  const auto c = matrices(Memory::data_type::f32, p.batch, p.m, p.n, false);
  const Memory::desc any(b.dims(), type, Memory::format_tag::any);
  const dnnl::matmul::primitive_desc description({a, packed ? any : b, c},
                                                 engine);
  Memory weights = of(b, engine, right);
  if (packed) {
    const Memory best(description.weights_desc(), engine);
    dnnl::reorder(weights, best)
        .execute(stream, weights, const_cast<Memory&>(best));
    stream.wait();
    weights = best;
  }
  const auto run = [primitive = dnnl::matmul(description), stream, weights,
                    x = of(a, engine, left),
                    y = of(c, engine, result)]() mutable {
    primitive.execute(
        stream,
        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, y}});
    stream.wait();
  };
  const dnnl_version_t* version = dnnl_version();
  return {
      packed ? "oneDNN, packed once" : "oneDNN",
      fmt::format("{}.{}.{}", version->major, version->minor, version->patch),
      run};
}

#endif

/// True if the variable was as wanted.
bool set(const char* name, const std::string& value) {
  const char* before = std::getenv(name);
  if (before != nullptr && before == value) return true;
  setenv(name, value.c_str(), 1);
  return false;
}

}  // namespace

std::vector<ProductRival> product_rivals(
    [[maybe_unused]] const Product& product, [[maybe_unused]] const float* left,
    [[maybe_unused]] const float* right, [[maybe_unused]] float* result,
    [[maybe_unused]] int threads) {
  std::vector<ProductRival> rivals;
#ifdef TOPOS_BENCH_OPENBLAS
  rivals.push_back(openblas(product, left, right, result, threads));
#endif
#ifdef TOPOS_BENCH_ONEDNN
  constexpr auto type = Memory::data_type::f32;
  rivals.push_back(onednn(product, type, left, right, result, false));
  if (product.kept) {
    rivals.push_back(onednn(product, type, left, right, result, true));
  }
#endif
  return rivals;
}

std::vector<ProductRival> product_rivals(
    [[maybe_unused]] const Product& product,
    [[maybe_unused]] const BFloat16* left,
    [[maybe_unused]] const BFloat16* right, [[maybe_unused]] float* result,
    [[maybe_unused]] int threads) {
  std::vector<ProductRival> rivals;
#ifdef TOPOS_BENCH_ONEDNN
  for (const bool packed : {false, true}) {
    rivals.push_back(
        onednn(product, Memory::data_type::bf16, left, right, result, packed));
  }
#endif
  return rivals;
}

void set_rivals_environment(char** argv, int threads) {
  bool ready = set("OMP_NUM_THREADS", std::to_string(threads));
  // Its threads wait for more work for 2^20 cycles and not for 2^26, in which
  // they would hold a CPU while another program has its turn.
  ready &= set("OPENBLAS_THREAD_TIMEOUT", "20");
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) {
    ready &= set("OPENBLAS_CORETYPE", "SkylakeX");
  } else if (__builtin_cpu_supports("avx2")) {
    ready &= set("OPENBLAS_CORETYPE", "Haswell");
  }
#endif
  if (!ready) execv("/proc/self/exe", argv);
}

}  // namespace topos::bench
