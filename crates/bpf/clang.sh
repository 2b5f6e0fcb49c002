#!/bin/sh
# Prints the compiler for programs in BPF: clang 15 or later, the first that writes the tags of pointers to packets
# (btf_type_tag) into the types. It is $CLANG if that is set, and nothing if there is none.
for each in ${CLANG:-clang clang-19 clang-21 clang-20 clang-18 clang-17 clang-16 clang-15}; do
	major=$("$each" -dM -E -x c /dev/null 2>/dev/null | sed -n 's/^#define __clang_major__ //p')
	if [ "${major:-0}" -ge 15 ]; then
		echo "$each"
		exit
	fi
done
