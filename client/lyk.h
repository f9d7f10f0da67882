/* libreyolo-kernels: the C interface of libreyolo_kernels.so.1.
 *
 * A process asks for a slot ("ms_deform_attn") and names its GPU; it receives the one device image
 * (cubin or PTX) that fits, proven against the pinned commit by the service and sealed against
 * every change. docs/abi.md is the way in. C99 and C++; needs nothing but libc.
 *
 * Conventions, which each declaration relies on:
 *
 *  1. Handles are opaque. `lyk_X_close` ends one and accepts NULL; what reads a handle, such as
 *     lyk_image_fd, does not. A handle must not be used after it was closed, nor closed while
 *     another thread uses it.
 *  2. A function that can fail returns a status: LYK_OK, or a negative LYK_*. Statuses are stable
 *     and only ever added: treat one that you do not know as a failure. Outputs come last and are
 *     left as they were on failure.
 *  3. The text of a failure is lyk_error_message(). Programs decide by status, never by text.
 *  4. A struct that is handed in begins with `size`, its sizeof at the caller's compile time; all
 *     else may be zero, which asks for the default. NULL instead of an options struct is all
 *     defaults. A struct of another release is understood as long as what this release does not
 *     know is zero.
 *  5. Strings are UTF-8 and end in NUL. A string that is handed in is copied. A string that is
 *     handed out belongs to the handle that it came from and lives as long, unless its function
 *     says else.
 *  6. Threads: every function may be called from any thread. Calls on one handle take turns.
 *  7. Fork: a child may go on using a handle and gets a connection of its own; it must close its
 *     handles like anybody. Images are shared with the parent.
 *  8. Nothing is printed, no signal is sent or handled, nothing exits or throws, and no call is a
 *     cancellation point. Every descriptor is close-on-exec. A service that had to be started is
 *     not a child that the caller could see.
 */
#ifndef LYK_H
#define LYK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#  define LYK_API __attribute__((visibility("default")))
#else
#  define LYK_API
#endif

/* ---- statuses ------------------------------------------------------------------------------- */

enum {
  LYK_OK = 0,
  LYK_INVALID_ARGUMENT = -1, /* the text names the argument, or the environment variable */
  LYK_NOT_FOUND = -2,
  LYK_NOT_PINNED = -3, /* no pin names this slot */
  LYK_REFUSED = -4,    /* by the service; or its socket is of a user who is not trusted */
  LYK_OFFLINE = -5,    /* it would have to be fetched, and that is forbidden */
  LYK_NETWORK = -6,    /* no service answers, or it cannot reach the Hub */
  LYK_REMOTE_STATUS = -7,
  LYK_TIMEOUT = -8,
  LYK_CANCELLED = -9,
  LYK_BUSY = -10,
  LYK_PROTOCOL = -11, /* what came is not what a service may send */
  LYK_SIZE_MISMATCH = -12,
  LYK_DIGEST_MISMATCH = -13,
  LYK_SIGNATURE_INVALID = -14,
  LYK_NO_SPACE = -15,
  LYK_IO = -16,
  LYK_CORRUPT_STORE = -17,
  LYK_NO_DRIVER = -18,
  LYK_CUDA = -19,
  LYK_INTERNAL = -20,
  LYK_NOT_CACHED = -21,  /* the fetch goes on: a later process will have it */
  LYK_NO_IMAGE = -22,    /* nothing in the pinned files fits this GPU */
  LYK_NOT_ELIGIBLE = -23 /* not a failure: the caller keeps its own way */
};

/* "not_cached" for LYK_NOT_CACHED, "ok" for LYK_OK, "unknown" for what this release does not know.
 * A constant string. */
LYK_API const char* lyk_status_name(int status);

/* The text of the calling thread's last failed call, if that was on `handle`: one line without a
 * full stop, such as "service '/run/libreyolo-kernels/socket': pin ms_deform_attn: ...". `handle`
 * is any handle of this interface; NULL stands for calls that have none (lyk_client_open). Empty if
 * there is no such text, never NULL. It lives until the calling thread's next failed call. */
LYK_API const char* lyk_error_message(const void* handle);

/* The version of the library, "0.1.0". A constant string. */
LYK_API const char* lyk_version(void);

/* ---- client --------------------------------------------------------------------------------- */

/* A connection to the service, made by the first call that needs it and anew when the service was
 * restarted. Calls on one client take turns, also while one waits for a fetch: a thread that must
 * not wait behind another opens its own. */
typedef struct lyk_client lyk_client;

enum {
  LYK_CLIENT_NO_EXEC = 1 /* never start a service, as LIBREYOLO_KERNELS_EXEC=0 */
};

typedef struct lyk_client_options {
  uint32_t size;
  uint32_t flags;     /* LYK_CLIENT_*; other bits must be zero */
  const char* socket; /* as LIBREYOLO_KERNELS_SOCKET; NULL: as the environment says */
} lyk_client_options;

/* Reads the environment (LIBREYOLO_KERNELS_SOCKET, _EXEC, _WAIT, _TRUST_UID, LIBREYOLO_HUB_KERNELS,
 * XDG_RUNTIME_DIR), this once; like getenv it must not run while another thread changes the
 * environment. Connects to nothing. `options` may be NULL. Fails with LYK_INVALID_ARGUMENT. */
LYK_API int lyk_client_open(const lyk_client_options* options, lyk_client** client);

/* Closes the connection. Images that came over it stay. NULL is accepted. */
LYK_API void lyk_client_close(lyk_client* client);

/* ---- images --------------------------------------------------------------------------------- */

/* One device image: the bytes, which nobody can change any more, and where they come from. It does
 * not depend on the client that it came from. */
typedef struct lyk_image lyk_image;

enum {
  LYK_TEGRA_AUTO = 0, /* told from the compute capability */
  LYK_TEGRA_NO = 1,
  LYK_TEGRA_YES = 2 /* an integrated Tegra chip, which takes exact images only */
};

typedef struct lyk_device {
  uint32_t size;
  int32_t compute_major;  /* 9 of 9.0 */
  int32_t compute_minor;  /* 0 of 9.0 */
  int32_t driver_version; /* as cuDriverGetVersion tells it, 13000 for CUDA 13.0; 0: not known */
  int32_t tegra;          /* LYK_TEGRA_* */
} lyk_device;

enum {
  LYK_RESOLVE_OFFLINE = 1, /* only what is there: a miss is LYK_OFFLINE */
  LYK_RESOLVE_NO_WAIT = 2  /* a miss starts the fetch and is LYK_NOT_CACHED at once */
};

typedef struct lyk_resolve_options {
  uint32_t size;
  uint32_t flags;   /* LYK_RESOLVE_*; other bits must be zero */
  uint64_t wait_ms; /* for the fetch of a miss; 0: LIBREYOLO_KERNELS_WAIT, else 30 s */
} lyk_resolve_options;

/* The image of `slot` that fits `device`. `options` may be NULL. On success `*image` is the
 * caller's, to be closed with lyk_image_close. Blocks: for as long as wait_ms says, and for another
 * 30 s at most if the service is stuck.
 *
 * LYK_NOT_ELIGIBLE means that LIBREYOLO_HUB_KERNELS forbids to ask, or that the process has no room
 * for one more descriptor. LYK_NOT_CACHED, LYK_NETWORK, LYK_BUSY and LYK_TIMEOUT may pass; the
 * others are the same on every try until somebody changes something. */
LYK_API int lyk_client_resolve(lyk_client* client,
                               const char* slot,
                               const lyk_device* device,
                               const lyk_resolve_options* options,
                               lyk_image** image);

/* The sealed memfd, which stays the image's. It holds exactly lyk_image_bytes() bytes, and after
 * PTX one NUL more. Its offset is shared with other holders: map it or use pread. */
LYK_API int lyk_image_fd(const lyk_image* image);

/* The bytes of the image; the NUL after PTX is not counted. */
LYK_API uint64_t lyk_image_bytes(const lyk_image* image);

/* The bytes, mapped read-only by the first call; `*data` lives as long as the image. It is what
 * cuModuleLoadData takes: PTX ends in NUL. Fails with LYK_IO if there is no memory for it. */
LYK_API int lyk_image_data(lyk_image* image, const void** data);

LYK_API const char* lyk_image_sha256(const lyk_image* image); /* of the bytes: 64 hex digits */
LYK_API const char* lyk_image_kind(const lyk_image* image);   /* "cubin" or "ptx" */
LYK_API const char* lyk_image_arch(const lyk_image* image);   /* "sm_90", "sm_90a", "sm_100f" */
LYK_API const char* lyk_image_repo(const lyk_image* image);   /* "namespace/name" on the Hub */
LYK_API const char* lyk_image_commit(const lyk_image* image); /* 40 hex digits */
LYK_API const char* lyk_image_file(const lyk_image* image);   /* its path in the repo */

/* Unmaps the bytes and closes the descriptor. A module that a driver has loaded does not need them.
 * NULL is accepted. */
LYK_API void lyk_image_close(lyk_image* image);

#ifdef __cplusplus
}
#endif

#endif /* LYK_H */
