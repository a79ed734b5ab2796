# SPDX-License-Identifier: MIT
"""Memory on large pages."""

import builtins
import ctypes
import hashlib
import mmap
import unittest
from unittest import mock

import hpo._forking._large_pages as pages


def kernel_can():
    """True if this kernel joins pages: Linux 6.1 and later, built with large pages."""
    memory = mmap.mmap(-1, 4 * pages._LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"x" * len(memory))
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    begin = -(-begin // pages._LARGE) * pages._LARGE
    return ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(pages._LARGE), pages._COLLAPSE) == 0


def on_large_pages():
    """Bytes of this process."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("AnonHugePages:"))


class Pages(unittest.TestCase):
    def test_a_full_region_comes_on_large_pages_and_keeps_its_content(self):
        if not kernel_can():
            self.skipTest("this kernel joins no pages")
        memory = bytearray(range(256)) * (32 * pages._LARGE // 256)
        content = hashlib.sha256(memory).digest()
        before = on_large_pages()
        with mock.patch.object(pages, "_MOST_SECONDS", 60.0):
            pages.join()
        self.assertGreater(on_large_pages() - before, 16 * pages._LARGE)
        self.assertEqual(hashlib.sha256(memory).digest(), content)

    def test_a_region_that_is_mostly_empty_stays_as_it_is(self):
        memory = mmap.mmap(-1, 16 * pages._LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.write(b"x")
        place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.assertFalse(any(begin <= place < end for begin, end in pages._own_memory()))

    def test_without_proc_nothing_happens(self):
        with mock.patch.object(builtins, "open", side_effect=FileNotFoundError):
            pages.join()


if __name__ == "__main__":
    unittest.main()
