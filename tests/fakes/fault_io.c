// An LD_PRELOAD library that makes the Nth change to a folder fail, or kills the process there. It
// counts what changes files: open that makes one, write, pwrite, fsync, fdatasync, rename, link,
// unlink, mkdir, ftruncate, fallocate, fchmod; SQLite's calls are among them.
//
//   FAULT_IO_ROOT      only paths that begin with this count
//   FAULT_IO_AT        number of the call that fails, from 1; 0: none
//   FAULT_IO_ACTION    "kill": SIGKILL before the call, a write after its first half
//                      "power": the same, and what no fsync has put on the disk is gone (below)
//                      a number: the call fails with this errno
//   FAULT_IO_COUNT     file that gets the number of calls when the process ends by itself
//   FAULT_IO_UNREADABLE  reading (pread) a file whose path has this in it fails with EIO
//   FAULT_IO_NO_FLOCK  flock fails with this errno, always
//   FAULT_IO_NO_LOCKS  flock and record locks do
//
// A power cut is imitated for the files of blobs/ and tmp/: a file written after its last fsync
// loses all of its bytes, and a rename whose folder was not synced afterwards is undone. (SQLite's
// own files are left alone: in-place writes cannot be undone from outside.)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { tracked_max = 64 };

struct rename_done {
  char from[PATH_MAX];
  char to[PATH_MAX];
  bool pending;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls;
static char dirty[tracked_max][PATH_MAX];  // written since the last fsync; "": free
static struct rename_done renames[tracked_max];

static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "" : value;
}

static bool path_of(int fd, char* path) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlink, link, path, PATH_MAX - 1);
  if (length < 0)
    return false;
  path[length] = '\0';
  return true;
}

static bool is_ours(const char* path) {
  const char* root = setting("FAULT_IO_ROOT");
  return *root != '\0' && strncmp(path, root, strlen(root)) == 0;
}

// Files whose loss a power cut is imitated for.
static bool is_content(const char* path) {
  return is_ours(path) && (strstr(path, "/tmp/") != NULL || strstr(path, "/blobs/") != NULL);
}

static char* find_dirty(const char* path) {
  for (int i = 0; i < tracked_max; ++i)
    if (strcmp(dirty[i], path) == 0)
      return dirty[i];
  return NULL;
}

static void set_dirty(const char* path) {
  if (!is_content(path) || find_dirty(path) != NULL)
    return;
  char* slot = find_dirty("");
  if (slot == NULL)
    abort();
  (void)snprintf(slot, PATH_MAX, "%s", path);
}

static void set_clean(const char* path) {
  char* slot = find_dirty(path);
  if (slot != NULL && *path != '\0')
    *slot = '\0';
}

static bool is_in_folder(const char* path, const char* folder) {
  const size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && path[length] == '/' &&
         strchr(path + length + 1, '/') == NULL;
}

// fsync of a file, or of a folder with the renames into it.
static void set_synced(const char* path) {
  set_clean(path);
  for (int i = 0; i < tracked_max; ++i)
    if (renames[i].pending && is_in_folder(renames[i].to, path))
      renames[i].pending = false;
}

static void set_renamed(const char* from, const char* to) {
  if (!is_content(to))
    return;
  if (find_dirty(from) != NULL) {
    set_clean(from);
    set_dirty(to);
  }
  for (int i = 0; i < tracked_max; ++i)
    if (!renames[i].pending) {
      (void)snprintf(renames[i].from, PATH_MAX, "%s", from);
      (void)snprintf(renames[i].to, PATH_MAX, "%s", to);
      renames[i].pending = true;
      return;
    }
  abort();
}

static void lose_what_is_not_synced(void) {
  for (int i = 0; i < tracked_max; ++i)
    if (*dirty[i] != '\0')
      (void)syscall(SYS_truncate, dirty[i], 0L);
  for (int i = tracked_max - 1; i >= 0; --i)
    if (renames[i].pending)
      (void)syscall(SYS_rename, renames[i].to, renames[i].from);
}

static void die(void) {
  if (strcmp(setting("FAULT_IO_ACTION"), "power") == 0)
    lose_what_is_not_synced();
  (void)syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
  for (;;)
    (void)pause();
}

__attribute__((destructor)) static void report_count(void) {
  char text[32];
  const int length = snprintf(text, sizeof text, "%ld", calls);
  const long fd =
      syscall(SYS_openat, AT_FDCWD, setting("FAULT_IO_COUNT"), O_WRONLY | O_CREAT, 0600);
  if (fd >= 0) {
    (void)syscall(SYS_write, fd, text, length);
    (void)syscall(SYS_close, fd);
  }
}

// What a caller does with the call that it is about to make.
enum verdict { go_on, fail, die_here };

static enum verdict next_call(const char* path) {
  if (!is_ours(path))
    return go_on;
  ++calls;
  const char* action = setting("FAULT_IO_ACTION");
  if (calls != strtol(setting("FAULT_IO_AT"), NULL, 10))
    return go_on;
  if (strcmp(action, "kill") == 0 || strcmp(action, "power") == 0)
    return die_here;
  errno = (int)strtol(action, NULL, 10);
  return fail;
}

// For everything but writes. True: go on; false: fail, errno is set.
static bool allowed(const char* path) {
  const enum verdict verdict = next_call(path);
  if (verdict == die_here)
    die();
  return verdict == go_on;
}

static bool allowed_fd(int fd) {
  char path[PATH_MAX];
  return !path_of(fd, path) || allowed(path);
}

static long write_at(int fd, const void* bytes, size_t size, off_t offset, bool at_offset) {
  char path[PATH_MAX];
  if (!path_of(fd, path))
    *path = '\0';
  const enum verdict verdict = next_call(path);
  if (verdict == fail)
    return -1;
  set_dirty(path);
  const size_t now = verdict == die_here ? size / 2 : size;
  const long written = at_offset ? syscall(SYS_pwrite64, fd, bytes, now, offset)
                                 : syscall(SYS_write, fd, bytes, now);
  const int number = errno;
  if (verdict == die_here)
    die();
  errno = number;
  return written;
}

static long locked_write(int fd, const void* bytes, size_t size, off_t offset, bool at_offset) {
  (void)pthread_mutex_lock(&mutex);
  const long written = write_at(fd, bytes, size, offset, at_offset);
  const int number = errno;
  (void)pthread_mutex_unlock(&mutex);
  errno = number;
  return written;
}

EXPORT ssize_t write(int fd, const void* bytes, size_t size) {
  return locked_write(fd, bytes, size, 0, false);
}
EXPORT ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return locked_write(fd, bytes, size, offset, true);
}
EXPORT ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) {
  return locked_write(fd, bytes, size, offset, true);
}

static int sync_by(long number, int fd) {
  (void)pthread_mutex_lock(&mutex);
  long result = -1;
  if (allowed_fd(fd)) {
    result = syscall(number, fd);
    char path[PATH_MAX];
    if (result == 0 && path_of(fd, path))
      set_synced(path);
  }
  const int error = errno;
  (void)pthread_mutex_unlock(&mutex);
  errno = error;
  return (int)result;
}

EXPORT int fsync(int fd) {
  return sync_by(SYS_fsync, fd);
}
EXPORT int fdatasync(int fd) {
  return sync_by(SYS_fdatasync, fd);
}

EXPORT int rename(const char* from, const char* to) {
  (void)pthread_mutex_lock(&mutex);
  long result = -1;
  if (allowed(to)) {
    struct stat status;
    const bool replaces = syscall(SYS_newfstatat, AT_FDCWD, to, &status, 0) == 0;
    result = syscall(SYS_rename, from, to);
    if (result == 0 && !replaces)
      set_renamed(from, to);
  }
  const int error = errno;
  (void)pthread_mutex_unlock(&mutex);
  errno = error;
  return (int)result;
}

EXPORT int unlink(const char* path) {
  (void)pthread_mutex_lock(&mutex);
  long result = -1;
  if (allowed(path)) {
    result = syscall(SYS_unlink, path);
    set_clean(path);
  }
  const int error = errno;
  (void)pthread_mutex_unlock(&mutex);
  errno = error;
  return (int)result;
}

// The rest changes no bytes that a power cut could take: one shape for all.
#define GUARDED(condition, call)        \
  do {                                  \
    (void)pthread_mutex_lock(&mutex);   \
    long result = -1;                   \
    if (condition)                      \
      result = call;                    \
    const int error = errno;            \
    (void)pthread_mutex_unlock(&mutex); \
    errno = error;                      \
    return (int)result;                 \
  } while (0)

EXPORT int mkdir(const char* path, mode_t mode) {
  GUARDED(allowed(path), syscall(SYS_mkdir, path, mode));
}
EXPORT int link(const char* from, const char* to) {
  GUARDED(allowed(to), syscall(SYS_link, from, to));
}
EXPORT int ftruncate(int fd, off_t size) {
  GUARDED(allowed_fd(fd), syscall(SYS_ftruncate, fd, size));
}
EXPORT int ftruncate64(int fd, off64_t size) {
  GUARDED(allowed_fd(fd), syscall(SYS_ftruncate, fd, size));
}
EXPORT int fallocate(int fd, int mode, off_t offset, off_t size) {
  GUARDED(allowed_fd(fd), syscall(SYS_fallocate, fd, mode, offset, size));
}
EXPORT int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  GUARDED(allowed_fd(fd), syscall(SYS_fallocate, fd, mode, offset, size));
}
EXPORT int fchmod(int fd, mode_t mode) {
  GUARDED(allowed_fd(fd), syscall(SYS_fchmod, fd, mode));
}

// Opening what is there changes nothing.
static bool makes_file(const char* path, int flags) {
  struct stat status;
  return (flags & O_CREAT) != 0 && syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0;
}

static int open_by(const char* path, int flags, mode_t mode) {
  GUARDED(!makes_file(path, flags) || allowed(path),
          syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode));
}

#define MODE_OF(flags)                          \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list rest;                               \
    va_start(rest, flags);                      \
    mode = va_arg(rest, mode_t);                \
    va_end(rest);                               \
  }

EXPORT int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_by(path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_by(path, flags, mode);
}

static bool fails_by(const char* name) {
  const int number = (int)strtol(setting(name), NULL, 10);
  if (number == 0)
    return false;
  errno = number;
  return true;
}

EXPORT int flock(int fd, int operation) {
  if (fails_by("FAULT_IO_NO_FLOCK") || fails_by("FAULT_IO_NO_LOCKS"))
    return -1;
  return (int)syscall(SYS_flock, fd, operation);
}

static ssize_t read_at(int fd, void* bytes, size_t size, off_t offset) {
  char path[PATH_MAX];
  const char* unreadable = setting("FAULT_IO_UNREADABLE");
  if (*unreadable != '\0' && path_of(fd, path) && strstr(path, unreadable) != NULL) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, fd, bytes, size, offset);
}

EXPORT ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return read_at(fd, bytes, size, offset);
}
EXPORT ssize_t pread64(int fd, void* bytes, size_t size, off64_t offset) {
  return read_at(fd, bytes, size, offset);
}

static int fcntl_by(int fd, int command, void* argument) {
  const bool is_lock = command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
                       command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
  return is_lock && fails_by("FAULT_IO_NO_LOCKS") ? -1
                                                  : (int)syscall(SYS_fcntl, fd, command, argument);
}

#define ARGUMENT_OF(command)            \
  va_list rest;                         \
  va_start(rest, command);              \
  void* argument = va_arg(rest, void*); \
  va_end(rest);

EXPORT int fcntl(int fd, int command, ...) {
  ARGUMENT_OF(command)
  return fcntl_by(fd, command, argument);
}
EXPORT int fcntl64(int fd, int command, ...) {
  ARGUMENT_OF(command)
  return fcntl_by(fd, command, argument);
}
