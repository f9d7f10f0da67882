/* Asks for the device image of a slot and shows what came: sealed memory with proven bytes.
 *
 *   resolve SLOT ARCH [DRIVER]      resolve ms_deform_attn 9.0 13.0
 *
 * Build it with: cc resolve.c $(pkg-config --cflags --libs libreyolo-kernels)
 */
#define _GNU_SOURCE /* F_GET_SEALS */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <lyk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "9.0" as two numbers; 0 for anything else. */
static int parse_version(const char* text, int* major, int* minor) {
  char end = '\0';
  return sscanf(text, "%d.%d%c", major, minor, &end) == 2;
}

static void print_seals(int fd) {
  static const struct {
    int seal;
    const char* name;
  } known[] = {{F_SEAL_WRITE, "write"},
               {F_SEAL_GROW, "grow"},
               {F_SEAL_SHRINK, "shrink"},
               {F_SEAL_SEAL, "seal"}};
  const int seals = fcntl(fd, F_GET_SEALS);
  size_t i;
  printf("sealed against: ");
  if (seals < 0)
    printf("nothing (%s)", strerror(errno));
  else
    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
      if (seals & known[i].seal)
        printf(" %s", known[i].name);
  printf("\n");
}

/* "7f 45 4c 46 ...  .ELF" */
static void print_first_bytes(const unsigned char* bytes, uint64_t count) {
  const uint64_t shown = count < 16 ? count : 16;
  uint64_t i;
  printf("first bytes:    ");
  for (i = 0; i < shown; ++i)
    printf(" %02x", bytes[i]);
  printf("  ");
  for (i = 0; i < shown; ++i)
    putchar(isprint(bytes[i]) ? bytes[i] : '.');
  printf("\n");
}

static int print_image(lyk_image* image) {
  const void* data = NULL;
  const int status = lyk_image_data(image, &data);
  if (status != LYK_OK) {
    fprintf(stderr, "resolve: %s\n", lyk_error_message(image));
    return status;
  }
  printf("image:           %s for %s, %llu bytes\n", lyk_image_kind(image), lyk_image_arch(image),
         (unsigned long long)lyk_image_bytes(image));
  printf("sha256:          %s\n", lyk_image_sha256(image));
  printf("from:            %s at %s\n", lyk_image_file(image), lyk_image_commit(image));
  printf("of:              %s\n", lyk_image_repo(image));
  print_seals(lyk_image_fd(image));
  print_first_bytes(data, lyk_image_bytes(image));
  return LYK_OK;
}

int main(int argc, char** argv) {
  lyk_device device = {0};
  lyk_client* client = NULL;
  lyk_image* image = NULL;
  int major = 0;
  int minor = 0;
  int status;

  device.size = sizeof(device);
  if (argc < 3 || argc > 4 ||
      !parse_version(argv[2], &device.compute_major, &device.compute_minor) ||
      (argc == 4 && !parse_version(argv[3], &major, &minor))) {
    fprintf(stderr,
            "usage: resolve SLOT ARCH [DRIVER], such as: resolve ms_deform_attn 9.0 13.0\n");
    return 2;
  }
  device.driver_version = 1000 * major + 10 * minor;

  status = lyk_client_open(NULL, &client);
  if (status == LYK_OK)
    status = lyk_client_resolve(client, argv[1], &device, NULL, &image);
  if (status == LYK_OK)
    status = print_image(image);
  else
    fprintf(stderr, "resolve: %s (%s)\n", lyk_error_message(client), lyk_status_name(status));
  lyk_image_close(image);
  lyk_client_close(client);
  return status == LYK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
