/*
 * Process 1 of a guest that keeps a journal on a file system, for scripts/guest-kills and scripts/cache-peers: what fsync said
 * is on the disk has to be there, whatever became of the disk's server, or of the guest, meanwhile.
 *
 * It mounts its disk (attach.h), appends records of 4 KiB, each with its number in all of its words, calls fsync after each and says
 * "kept N" on the console when that has returned. Every eighth time it also makes a file, and removes the one before, so that
 * the file system's own journal has work. At the end it unmounts, mounts again, compares every record, and says
 * "compared N". With tm_look it writes nothing: it says "found N M", of a journal that is there already N records from its begin
 * without a gap and M in all, and unmounts. Whatever fails is said ("failed: ...") and ends it.
 * Options from the kernel's command line: tm_fs (ext4, xfs), tm_records, tm_disk (vda if absent), tm_look.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RECORD = 4096, WORDS = RECORD / 8, MODULES = 100, LOOKS = 600 };

#include "attach.h"

static uint64_t record[WORDS];

static void end(void) {
    sync();
    reboot(RB_POWER_OFF);
    for (;;) pause();
}

static void must(int is_done, const char *what) {
    if (is_done) return;
    printf("failed: %s: %s\n", what, strerror(errno));
    end();
}

static void load_modules(void) {
    char path[32];
    for (int number = 0; number < MODULES; number++) {
        snprintf(path, sizeof path, "/m/%02d.ko", number);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        must(syscall(SYS_finit_module, file, "", 0) == 0 || errno == EEXIST, path);
        close(file);
    }
}

static void make_and_remove(uint64_t number) {
    char path[64];
    snprintf(path, sizeof path, "/mnt/file-%llu", (unsigned long long)number);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    must(file >= 0 && write(file, record, RECORD) == RECORD && close(file) == 0, "make a file");
    snprintf(path, sizeof path, "/mnt/file-%llu", (unsigned long long)(number - 8));
    must(unlink(path) == 0 || errno == ENOENT, "remove a file");
}

static void fill(uint64_t number) {
    for (int word = 0; word < WORDS; word++) record[word] = number;
}

static int is_whole(uint64_t number) {
    for (int word = 0; word < WORDS; word++) {
        if (record[word] != number) return 0;
    }
    return 1;
}

/* What is there of a journal that somebody else kept. */
static void look(void) {
    unsigned long long number = 0, first = 0, all = 0;
    int file = open("/mnt/journal", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, record, RECORD) == RECORD) {
        number++;
        if (!is_whole(number)) continue;
        all++;
        if (first == number - 1) first = number;
    }
    printf("found %llu %llu\n", first, all);
    if (file >= 0) close(file);
    must(umount("/mnt") == 0, "unmount");
    end();
}

int main(void) {
    setvbuf(stdout, 0, _IOLBF, 0);
    mkdir("/dev", 0755);
    mkdir("/mnt", 0755);
    must(mount("devtmpfs", "/dev", "devtmpfs", 0, "") == 0 || errno == EBUSY, "mount /dev");
    int console = open("/dev/console", O_WRONLY);
    if (console >= 0) dup2(console, 1);
    load_modules();
    const char *fs = getenv("tm_fs"), *count = getenv("tm_records");
    must(fs && count, "find tm_fs and tm_records on the command line");
    uint64_t records = strtoull(count, 0, 10);
    const char *disk = attach(getenv("tm_disk") ? getenv("tm_disk") : "vda");
    must(mount(disk, "/mnt", fs, 0, "") == 0, "mount the disk");
    if (getenv("tm_look")) look();
    int file = open("/mnt/journal", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    must(file >= 0, "make the journal");
    for (uint64_t number = 1; number <= records; number++) {
        fill(number);
        must(write(file, record, RECORD) == RECORD, "write a record");
        must(fsync(file) == 0, "keep a record");
        printf("kept %llu\n", (unsigned long long)number);
        if (number % 8 == 0) make_and_remove(number);
    }
    must(close(file) == 0 && umount("/mnt") == 0, "unmount");
    must(mount(disk, "/mnt", fs, 0, "") == 0, "mount it again");
    file = open("/mnt/journal", O_RDONLY | O_CLOEXEC);
    must(file >= 0, "open the journal");
    for (uint64_t number = 1; number <= records; number++) {
        errno = 0;
        must(read(file, record, RECORD) == RECORD, "read a record");
        errno = EUCLEAN;
        must(is_whole(number), "find in a record what was written");
    }
    must(close(file) == 0 && umount("/mnt") == 0, "unmount again");
    printf("compared %llu\n", (unsigned long long)records);
    end();
}
