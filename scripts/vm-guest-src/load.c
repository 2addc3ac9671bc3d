/* Reads, writes and flushes of a device or file, past the page cache, and their numbers: what a watcher of the host should
 * count (scripts/guest-stacked). It is named like a QEMU so that the watcher takes it for a VM.
 * Usage: qemu-system-x86_64 -name VM PATH READS WRITES FLUSHES */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 4096 };

int main(int count, char **words) {
    if (count != 7 || strcmp(words[1], "-name")) {
        fprintf(stderr, "usage: %s -name VM PATH READS WRITES FLUSHES\n", words[0]);
        return 2;
    }
    int file = open(words[3], O_RDWR | O_DIRECT);
    void *page;
    if (file < 0 || posix_memalign(&page, PAGE, PAGE)) {
        perror(words[3]);
        return 1;
    }
    long left[3], done[3] = {0, 0, 0};
    for (int way = 0; way < 3; way++) left[way] = atol(words[4 + way]);
    memset(page, 7, PAGE);
    uint64_t random = 88172645463325252u;
    /* One way after the other, as long as each has something left. */
    for (int way = 0; left[0] + left[1] + left[2] > 0; way = (way + 1) % 3) {
        if (left[way] == 0) continue;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        off_t at = (off_t)(random % PAGES) * PAGE;
        int failed = way == 2 ? fdatasync(file) : (way == 0 ? pread(file, page, PAGE, at) : pwrite(file, page, PAGE, at)) != PAGE;
        if (failed) {
            perror(words[3]);
            return 1;
        }
        left[way]--;
        done[way]++;
    }
    printf("%s %ld %ld %ld\n", words[2], done[0], done[1], done[2]);
    /* The watcher looks a process up some 30 ms after its first I/O, and on an emulated processor later. */
    usleep(500000);
    return 0;
}
