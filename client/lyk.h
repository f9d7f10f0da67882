/* libreyolo-kernels: the C interface of libreyolo_kernels.so.1.
 *
 * A slot ("ms_deform_attn") is a computation that several implementations can do. A process hands
 * its tensors to the slot and the first implementation that can take them runs, on the caller's
 * stream; if none can, the caller keeps its own way. The library brings up to four of them: `hub`
 * runs device code that a service has fetched, proven against a pinned commit and sealed against
 * every change; `cuda` the library's own device code, from a file beside it; `cpu` and `reference`
 * take host tensors. Who only wants the pinned code, to launch it himself, asks for the image.
 * docs/abi.md is the way in. C99 and C++; needs nothing but libc.
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
 *     else may be zero, the default. NULL instead of an options struct is all defaults. A struct of
 *     another release is understood as long as what this one does not know is zero.
 *  5. Strings are UTF-8 and end in NUL. One that is handed in is copied. One that is handed out
 *     belongs to the handle that it came from and lives as long, unless its function says else.
 *  6. Threads: every function may be called from any thread. Calls on one handle take turns. The
 *     environment is read by the first function that is about slots, by lyk_reload_environment and
 *     by lyk_client_open: as with getenv, no other thread may change it meanwhile.
 *  7. Fork: a child may go on using a handle and gets a connection of its own; it must close its
 *     handles like anybody. Images are shared with the parent.
 *  8. Nothing is printed but the warnings that lyk_set_message_callback tells of, no signal is sent
 *     or handled, nothing exits or throws, and no call is a cancellation point. Every descriptor is
 *     close-on-exec. A service that had to be started is not a child that the caller could see.
 *     Callbacks of the caller must return: not longjmp, and not throw, which ends the process
 *     (lyk.hpp takes care of C++).
 *  9. The library stays in memory once it is loaded, dlclose or not: what is off for the rest of
 *     the process must stay off, and modules that it gave to the driver have no end of their own.
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
 * is any handle of this interface; NULL stands for calls that have none (lyk_client_open,
 * lyk_call). Empty if there is no such text, never NULL. It lives until the calling thread's next
 * failed call. */
LYK_API const char* lyk_error_message(const void* handle);

/* The version of the library, "0.1.0". A constant string. */
LYK_API const char* lyk_version(void);

/* ---- tensors -------------------------------------------------------------------------------- */

/* Tensors are DLTensors of DLPack 1.x. A program that includes dlpack.h before this header hands
 * its own in; another one fills a lyk_tensor, or casts a pointer, since the layouts are the same.
 * The library reads the description during the call and keeps none of it. */
#if defined(DLPACK_DLPACK_H_)
typedef DLDevice lyk_tensor_device;
typedef DLDataType lyk_dtype;
typedef DLTensor lyk_tensor;
#else
typedef struct lyk_tensor_device {
  int32_t device_type; /* LYK_DEVICE_* */
  int32_t device_id;   /* as the CUDA driver counts devices */
} lyk_tensor_device;

typedef struct lyk_dtype {
  uint8_t code; /* LYK_DTYPE_* */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} lyk_dtype;

typedef struct lyk_tensor {
  void* data;
  lyk_tensor_device device;
  int32_t ndim;
  lyk_dtype dtype;
  int64_t* shape;
  int64_t* strides;     /* in elements; NULL: row-major and dense */
  uint64_t byte_offset; /* from data to the first element */
} lyk_tensor;
#endif

/* The devices that count; texts name them as the comments do. A tensor of another type is taken by
 * what a program has registered, if by anything. */
enum {                              /* DLPack's numbers */
       LYK_DEVICE_CPU = 1,          /* "cpu": host memory. Its device_id says nothing */
       LYK_DEVICE_CUDA = 2,         /* "cuda:0": memory of that GPU */
       LYK_DEVICE_CUDA_HOST = 3,    /* "cuda_host": host memory that is pinned. It counts as the
                                       host's, beside LYK_DEVICE_CPU, and never as a GPU's */
       LYK_DEVICE_CUDA_MANAGED = 13 /* "cuda_managed:0": counts as memory of the GPU of that number,
                                       beside LYK_DEVICE_CUDA, wherever its pages are, and never as
                                       the host's. DLPack puts 0 there: who means another GPU sets
                                       its number */
};

enum { /* DLPack's numbers */
       LYK_DTYPE_INT = 0,
       LYK_DTYPE_UINT = 1,
       LYK_DTYPE_FLOAT = 2,
       LYK_DTYPE_BFLOAT = 4,
       LYK_DTYPE_COMPLEX = 5,
       LYK_DTYPE_BOOL = 6,
       LYK_DTYPE_FLOAT8_E3M4 = 7,
       LYK_DTYPE_FLOAT8_E4M3 = 8,
       LYK_DTYPE_FLOAT8_E4M3B11FNUZ = 9,
       LYK_DTYPE_FLOAT8_E4M3FN = 10,
       LYK_DTYPE_FLOAT8_E4M3FNUZ = 11,
       LYK_DTYPE_FLOAT8_E5M2 = 12,
       LYK_DTYPE_FLOAT8_E5M2FNUZ = 13,
       LYK_DTYPE_FLOAT8_E8M0FNU = 14,
       LYK_DTYPE_FLOAT6_E2M3FN = 15,
       LYK_DTYPE_FLOAT6_E3M2FN = 16,
       LYK_DTYPE_FLOAT4_E2M1FN = 17
};

/* ---- calls ---------------------------------------------------------------------------------- */

/* The rules of every call of a slot.
 *
 * Order: implementations that were registered, newest first; then `hub`, `cuda`, `cpu` and
 * `reference`, as far as this release has them for the slot. The first whose predicate says yes and
 * that takes the tensors runs; one that does not take them is passed over, within the same call.
 *
 * Statuses: LYK_OK: the work is on the stream. LYK_NOT_ELIGIBLE: nothing could take it (no GPU
 * code, another layout or dtype, a capture, everything off); the caller keeps its own way, and the
 * text says for each implementation why. LYK_INVALID_ARGUMENT: the arguments contradict each other
 * or themselves; the text names the one. LYK_CUDA: the context is lost to a sticky error (such as
 * an illegal address, of ours or of whoever worked there before), and with it the tensors; nothing
 * else can be done with them. No other status is returned but LYK_INTERNAL, a defect of ours.
 * After LYK_INVALID_ARGUMENT and LYK_NOT_ELIGIBLE outputs are untouched, unless it was the driver
 * that refused, a pointer or what an implementation had begun: then they hold anything.
 *
 * Failures: an implementation that fails to load or to launch is off for the rest of the process
 * for this slot, with one warning; the next one runs in the same call. That there is no code for a
 * GPU is no failure of `hub` or `cuda`: for the rest of the process it is LYK_NOT_ELIGIBLE for the
 * tensors of that GPU, with one warning that names it, and goes on for those of other GPUs.
 *
 * Streams: `stream` is a CUstream (or cudaStream_t) of the tensors' device, NULL the legacy default
 * stream. Work is ordered as the caller's own on that stream and the call does not wait for it, so
 * tensors and workspace must live until the stream has come by. Two exceptions: the first call of
 * an implementation loads it, which may fetch it first (LIBREYOLO_KERNELS_WAIT), and the first
 * launch of a kernel waits for the stream before and after. Call once before timing or capturing.
 *
 * Capture: a call may be captured once its kernels have run; before that it is LYK_NOT_ELIGIBLE
 * while its stream captures. A capture of any other stream is never disturbed: on the legacy
 * default stream a call is LYK_NOT_ELIGIBLE while a stream that waits for it captures.
 *
 * Contexts: the tensors' primary context must be active, as it is when CUDA's run-time allocated
 * them. It is current during the call, and afterwards whatever was current before, NULL included.
 * With a default stream, which belongs to whatever context is current, another context of the same
 * device must not be: LYK_NOT_ELIGIBLE. Drivers before 12.0 cannot tell a context from its
 * successor: there the library keeps the primary context active once it has loaded into it, and it
 * must not be reset and made again between two calls.
 *
 * Host tensors: done when the call returns; stream and contexts say nothing. `cpu` may allocate and
 * has as many threads as OMP_NUM_THREADS, the cgroup and the processors of the process's first
 * thread grant; its first call asks the latter two, as does the first after a reload or a fork. No
 * result depends on how many there are.
 *
 * Threads: any number at once. A call that was made once and is taken by `hub` or `cuda` allocates
 * nothing, reads nothing back from the device and takes no lock that calls on other streams take.
 *
 * Fork: a child of a process in which this library used the driver gets LYK_NOT_ELIGIBLE from
 * `hub` and `cuda`: no driver works there. */

enum { LYK_FORWARD = 0, LYK_BACKWARD = 1 };

enum {
  LYK_NEEDS_GRADIENT = 1, /* a backward will follow: taken only where that can run too */
  LYK_DETERMINISTIC = 2,  /* only what gives the same bits every time, in forward and, with
                             LYK_NEEDS_GRADIENT, in backward; LIBREYOLO_KERNELS_DETERMINISTIC=1
                             asks for it in every call */
  LYK_FP64_SUMS = 4       /* only what computes in float64 from what is read to what is written,
                             where that is float32; of the library's own, ms_deform_attn by
                             `cpu` alone: all else is LYK_NOT_ELIGIBLE */
};

/* The arguments of a call, as an implementation receives them. */
typedef struct lyk_arguments {
  uint32_t size;
  uint32_t operation; /* LYK_FORWARD, LYK_BACKWARD; other numbers as the slot's users agree */
  uint32_t flags;     /* LYK_NEEDS_GRADIENT, LYK_DETERMINISTIC, LYK_FP64_SUMS; others are zero */
  uint32_t tensor_count;
  const lyk_tensor* const* tensors; /* in the slot's order; NULL where an optional one is absent */
  const void*
      parameters; /* the slot's struct of what is no tensor, beginning with its size; or NULL */
  void* stream;
  void* workspace; /* of the tensors' device, at a multiple of 256; the call may write all of it */
  uint64_t workspace_bytes;
} lyk_arguments;

/* Runs the first implementation of `slot` that takes `arguments`. Rules and statuses: above. A slot
 * that these headers do not declare is whatever its users registered for that name: only `slot` and
 * the struct itself are checked, everything else is between caller and implementation. */
LYK_API int lyk_call(const char* slot, const lyk_arguments* arguments);

/* ---- implementations ------------------------------------------------------------------------ */

/* Runs a call, or says why not: LYK_OK; LYK_NOT_ELIGIBLE: not these arguments, ask the next;
 * LYK_INVALID_ARGUMENT: the caller's mistake; LYK_CUDA: the context is lost. These reach the caller
 * or the next implementation. Any other status means that the implementation has failed: it is off
 * for the rest of the process, with one warning that ends in the text which the function may have
 * set with lyk_set_error_message. `arguments` and what it points to belong to the caller of the
 * slot and live during the call. May be called by several threads at once, and may itself call any
 * function of this header. */
typedef int (*lyk_implementation_fn)(void* user, const lyk_arguments* arguments);

/* Whether the implementation can work in this process at all: positive yes, zero no, negative that
 * it could not tell, which is a no with one warning. Asked when a call or lyk_resolve first needs
 * the answer, and again after anything was registered or unregistered in the slot or the
 * environment was read again; by several threads at once if they come together. */
typedef int (*lyk_predicate_fn)(void* user);

enum {
  LYK_DETERMINISTIC_FORWARD = 1, /* the same bits every time */
  LYK_DETERMINISTIC_BACKWARD = 2,
  LYK_HAS_NO_BACKWARD = 4, /* passed over where a gradient is needed, and in LYK_BACKWARD */
  LYK_SOLE_OF_ITS_NAME = 8 /* not registered where the slot has one of that name */
};

typedef struct lyk_implementation {
  uint32_t size;
  uint32_t flags;   /* LYK_DETERMINISTIC_*, LYK_HAS_NO_BACKWARD, LYK_SOLE_OF_ITS_NAME */
  const char* name; /* 1 to 64 of a-z, 0-9, _, - and . ; not "hub", "cuda" or "cpu" */
  lyk_implementation_fn fn;
  lyk_predicate_fn predicate; /* NULL: always */
  void* user;                 /* handed to both; not the library's */
} lyk_implementation;

/* Puts an implementation on top of all that `slot` has. A slot comes into being with its first
 * implementation; its name is 1 to 64 of a-z, 0-9 and _, beginning with a letter. The same name may
 * be registered again and lies on top of the earlier one. Fails with LYK_INVALID_ARGUMENT; with
 * LYK_BUSY beyond 64 slots, 64 implementations of one slot or 4096 registrations in a process. */
LYK_API int lyk_register(const char* slot, const lyk_implementation* implementation);

/* Takes every registration of that name from `slot`. Calls that began before may still be in it:
 * `fn`, `predicate` and `user` must stay good until those have returned. Registered anew, what had
 * failed is on again. Fails with LYK_NOT_FOUND if there is none; what this library brings itself
 * cannot be taken away, only switched off. */
LYK_API int lyk_unregister(const char* slot, const char* name);

/* The same of one registration: the newest with that name, `fn` and `user`. */
LYK_API int lyk_unregister_one(const char* slot, const lyk_implementation* implementation);

/* The name of the implementation that a call of `slot` would try first: the first that is not off
 * and whose predicate says yes; not one of which calls have found that it has code for no GPU of
 * this process, or none as deterministic as the environment asks. The string lives as long as the
 * process. Fails with LYK_NOT_ELIGIBLE if there is none. Touches neither driver nor service. */
LYK_API int lyk_resolve(const char* slot, const char** name);

typedef struct lyk_implementation_state {
  uint32_t size;
  int32_t is_active; /* 1: it may be called; 0: passed over */
  const char* name;
  const char* reason; /* why so, one line: "off since its first launch failed: ..." */
} lyk_implementation_state;

/* Receives one implementation after the other, in the order in which a call tries them. The struct
 * and its strings live until it returns. It must not call the library. */
typedef void (*lyk_state_fn)(void* user, const lyk_implementation_state* state);

/* What a call of `slot` would do and why: every implementation, with what keeps it from running.
 * While some GPU of the process may have an image, `hub` or `cuda` is active, and its reason names
 * each device that a call has found to have none. An unknown slot has none and is no error. Touches
 * neither driver nor service: what no call has found out yet is not known here either. */
LYK_API int lyk_active(const char* slot, lyk_state_fn each, void* user);

/* Reads the environment again, which is otherwise read once: LIBREYOLO_KERNELS,
 * LIBREYOLO_QUANT_KERNELS, LIBREYOLO_HUB_KERNELS, LIBREYOLO_KERNELS_DISABLE,
 * LIBREYOLO_KERNELS_DETERMINISTIC, OMP_NUM_THREADS and those of lyk_client_open. What has failed
 * stays off. Fails with LYK_INVALID_ARGUMENT and the name of the variable, and with LYK_BUSY after
 * some hundred environments that differed from all before; what was read before stays in force. */
LYK_API int lyk_reload_environment(void);

/* Receives a warning: one line, without control characters, that says what failed, why, and what
 * runs instead. Called by the thread whose call it concerns, with nothing locked. */
typedef void (*lyk_message_fn)(void* user, const char* text);

/* Where warnings go instead of standard error; NULL: to standard error again. There is one for each
 * implementation that goes off, for each GPU that has no image and for each predicate that fails,
 * and nothing else. `fn` and `user` must stay good for the rest of the process. */
LYK_API int lyk_set_message_callback(lyk_message_fn fn, void* user);

/* For implementations and predicates: the text of the failure that they are about to return. One
 * line, copied, cut between characters after at most 1000 bytes; control characters are replaced.
 * lyk_error_message does not tell of it before the call has failed. */
LYK_API void lyk_set_error_message(const char* text);

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
 * XDG_RUNTIME_DIR), this once, and connects to nothing. Fails with LYK_INVALID_ARGUMENT. */
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

/* The image of `slot` that fits `device`, to be closed with lyk_image_close. Blocks: for as long as
 * wait_ms says, and for another 30 s at most if the service is stuck.
 *
 * LYK_NOT_ELIGIBLE means that LIBREYOLO_HUB_KERNELS forbids to ask, or that the process is short of
 * descriptors, memory or processes. LYK_NOT_CACHED, LYK_NETWORK, LYK_BUSY and LYK_TIMEOUT may pass;
 * the others are the same on every try until somebody changes something. */
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

/* Unmaps the bytes and closes the descriptor. A loaded module needs neither. NULL is accepted. */
LYK_API void lyk_image_close(lyk_image* image);

#ifdef __cplusplus
}
#endif

#include "lyk_ms_deform_attn.h" /* the slot ms_deform_attn */
#include "lyk_quantization.h"   /* the slots fake_quant_* and unpack_* */

#endif /* LYK_H */
