/*
 * A client of NBD over a Unix socket that writes records one by one, and who looks for them on a disk (scripts/fence-reservations),
 * and who keeps them in a file by fsync (scripts/guest-ublk).
 * Record N is the block N of 4 KiB, with the stamp and N in each of its words; every eighth is written durably (FUA).
 *
 * records write SOCKET DISK FIRST COUNT STAMP   says "answered M" whenever 64 more are, and at its end how it ended
 * records keep FILE FIRST COUNT STAMP           the same, of a file, where fsync has to return after each
 * records find DEVICE FIRST COUNT STAMP         says how many are there from FIRST on without a gap, and how many in all
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BYTES = 4096, WORDS = BYTES / 8, EVERY = 64 };

static uint64_t block[WORDS] __attribute__((aligned(4096)));

static void must(int is_done, const char *what) {
    if (is_done) return;
    printf("failed: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void put(int socket, const void *bytes, size_t length) {
    must(send(socket, bytes, length, MSG_NOSIGNAL) == (ssize_t)length, "send");
}

static int get(int socket, void *bytes, size_t length) {
    return recv(socket, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

static void fill(uint64_t stamp, uint64_t number) {
    for (int word = 0; word < WORDS; word++) block[word] = stamp << 32 | number;
}

/* The fixed newstyle handshake of the NBD protocol, with the oldest option: the export by its name. */
static int reach(const char *path, const char *disk) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(socket_ >= 0 && connect(socket_, (struct sockaddr *)&address, sizeof address) == 0, path);
    uint8_t greeting[18], size[10];
    must(get(socket_, greeting, sizeof greeting), "be greeted");
    uint32_t flags = htobe32(3), option = htobe32(1), length = htobe32((uint32_t)strlen(disk));
    uint64_t magic = htobe64(0x49484156454F5054);
    put(socket_, &flags, 4);
    put(socket_, &magic, 8);
    put(socket_, &option, 4);
    put(socket_, &length, 4);
    put(socket_, disk, strlen(disk));
    must(get(socket_, size, sizeof size), "get the disk");
    return socket_;
}

static uint64_t record(int socket_, uint64_t number, uint64_t stamp) {
    struct __attribute__((packed)) { uint32_t magic; uint16_t flags, type; uint64_t cookie, offset; uint32_t length; } ask = {
        htobe32(0x25609513), htobe16(number % 8 == 0), htobe16(1), htobe64(number), htobe64(number * BYTES), htobe32(BYTES)};
    struct __attribute__((packed)) { uint32_t magic, error; uint64_t cookie; } answer;
    fill(stamp, number);
    put(socket_, &ask, sizeof ask);
    put(socket_, block, BYTES);
    return get(socket_, &answer, sizeof answer) ? be32toh(answer.error) : ECONNRESET;
}

static void find(const char *path, uint64_t first, uint64_t count, uint64_t stamp) {
    uint64_t all = 0, run = 0;
    int file = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    must(file >= 0, path);
    for (uint64_t number = first; number < first + count; number++) {
        must(pread(file, block, BYTES, (off_t)(number * BYTES)) == BYTES, "read");
        int is_it = 1;
        for (int word = 0; word < WORDS; word++) is_it &= block[word] == (stamp << 32 | number);
        all += is_it;
        run += is_it && run == number - first;
    }
    printf("%llu from the first on, %llu in all\n", (unsigned long long)run, (unsigned long long)all);
}

static void keep(const char *path, uint64_t first, uint64_t count, uint64_t stamp) {
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    must(file >= 0, path);
    for (uint64_t done = 0; done < count; done++) {
        fill(stamp, first + done);
        must(pwrite(file, block, BYTES, (off_t)((first + done) * BYTES)) == BYTES && fsync(file) == 0, "keep a record");
        if ((done + 1) % EVERY == 0) printf("answered %llu\n", (unsigned long long)(done + 1));
    }
    printf("answered %llu, all\n", (unsigned long long)count);
}

int main(int count, char **words) {
    setvbuf(stdout, 0, _IOLBF, 0);
    if (count == 6 && strcmp(words[1], "keep") == 0) {
        keep(words[2], strtoull(words[3], 0, 10), strtoull(words[4], 0, 10), strtoull(words[5], 0, 10));
        return 0;
    }
    if (count == 6 && strcmp(words[1], "find") == 0) {
        find(words[2], strtoull(words[3], 0, 10), strtoull(words[4], 0, 10), strtoull(words[5], 0, 10));
        return 0;
    }
    must(count == 7 && strcmp(words[1], "write") == 0, "understand what is asked");
    uint64_t first = strtoull(words[4], 0, 10), many = strtoull(words[5], 0, 10), stamp = strtoull(words[6], 0, 10);
    int socket_ = reach(words[2], words[3]);
    for (uint64_t done = 0; done < many; done++) {
        uint64_t error = record(socket_, first + done, stamp);
        if (error) {
            printf("answered %llu, then an error (%llu)\n", (unsigned long long)done, (unsigned long long)error);
            return 0;
        }
        if ((done + 1) % EVERY == 0) printf("answered %llu\n", (unsigned long long)(done + 1));
    }
    printf("answered %llu, all\n", (unsigned long long)many);
}
