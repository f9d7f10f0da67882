#!/bin/bash
# The library exports what lyk.map lists, lyk.h and what it includes declare and docs/abi.md
# explains, no more and no less, and needs libc and the loader alone.
#
#   symbols_test.sh LIBRARY SOURCE_DIR
set -euo pipefail
library=$1 source=$2
failed=0

mapped=$(grep -o '^ *lyk_[a-z0-9_]*;' "$source/client/lyk.map" | grep -o 'lyk_[a-z0-9_]*' | sort)
exported=$(nm -D --defined-only "$library" |
  awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
declared=$(grep -oh '^LYK_API.*' "$source"/client/lyk{,_ms_deform_attn,_quantization}.h |
  grep -o 'lyk_[a-z0-9_]*(' | tr -d '(' | sort)
explained=$(grep -o '^### `lyk_[a-z0-9_]*`' "$source/docs/abi.md" | grep -o 'lyk_[a-z0-9_]*' | sort)

same() {
  if [ "$2" != "$3" ]; then
    echo "lyk.map and $1 differ:"
    diff <(echo "$2") <(echo "$3") || true
    failed=1
  fi
}
same "the library's exports" "$mapped" "$exported"
same "the headers" "$mapped" "$declared"
same "docs/abi.md" "$mapped" "$explained"

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
  case $name in
    libc.so.6 | libm.so.6 | ld-linux-*.so.*) ;; # libm is a part of libc
    *) echo "it needs $name" && failed=1 ;;
  esac
done
soname=$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
[ "$soname" = libreyolo_kernels.so.1 ] || { echo "its soname is $soname" && failed=1; }
exit $failed
