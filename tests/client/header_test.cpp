// lyk.h in a C++17 program, with every warning on: it must compile, and mean the same.
#include <lyk.h>

#include <type_traits>

static_assert(sizeof(lyk_device) == 20 && std::is_standard_layout_v<lyk_device>);
static_assert(sizeof(lyk_resolve_options) == 16 && std::is_standard_layout_v<lyk_resolve_options>);
static_assert(std::is_standard_layout_v<lyk_client_options>);
static_assert(std::is_same_v<decltype(&lyk_image_close), void (*)(lyk_image*)>);

int main() {
  return lyk_status_name(LYK_OK)[0] == 'o' ? 0 : 1;
}
