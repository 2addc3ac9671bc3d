/*
 * Process 1 of a guest that keeps a journal on a file system, for scripts/guest-kills: what fsync said is on the disk
 * has to be there, whatever became of the disk's server meanwhile.
 *
 * It mounts /dev/vda, appends records of 4 KiB, each with its number in all of its words, calls fsync after each and says
 * "kept N" on the console when that has returned. Every eighth time it also makes a file, and removes the one before, so that
 * the file system's own journal has work. At the end it unmounts, mounts again, compares every record, and says
 * "compared N". Whatever fails is said ("failed: ...") and ends it.
 * Options from the kernel's command line: tm_fs (ext4, xfs), tm_records.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
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
    for (int look = 0; access("/dev/vda", F_OK) != 0; look++) {
        must(look < LOOKS, "find /dev/vda");
        usleep(100000);
    }
    must(mount("/dev/vda", "/mnt", fs, 0, "") == 0, "mount the disk");
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
    must(mount("/dev/vda", "/mnt", fs, 0, "") == 0, "mount it again");
    file = open("/mnt/journal", O_RDONLY | O_CLOEXEC);
    must(file >= 0, "open the journal");
    for (uint64_t number = 1; number <= records; number++) {
        errno = 0;
        must(read(file, record, RECORD) == RECORD, "read a record");
        for (int word = 0; word < WORDS; word++) {
            errno = EUCLEAN;
            must(record[word] == number, "find in a record what was written");
        }
    }
    must(close(file) == 0 && umount("/mnt") == 0, "unmount again");
    printf("compared %llu\n", (unsigned long long)records);
    end();
}
