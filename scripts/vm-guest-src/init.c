/*
 * The only program of the small guest that Tilemark moves about. It is process 1, needs no library,
 * and speaks lines over the second serial port (crates/load/vm/src/guest.rs reads them).
 *
 * It keeps four promises that can be checked:
 *   - "still": pages written once from a seed and never again;
 *   - "dirty": pages rewritten one after another at a given rate, each with the number of its last
 *     writing, which a table elsewhere in memory holds too;
 *   - "disk": blocks of the last quarter of /dev/vda, rewritten likewise with O_DIRECT;
 *   - a beat ten times a second, numbered.
 * A page or block that does not hold what its table says was lost, torn or came from another time.
 *
 * Options come from the kernel's command line (it hands name=value on as environment):
 *   tm_still tm_dirty      pages of 4 KiB each
 *   tm_pages tm_blocks     how many are rewritten each second
 *   tm_seed                what everything is made from
 *   tm_alone               seconds of its own time after which it switches itself off if nobody on the
 *                          host has spoken to it (0: never)
 * Commands, one to a line: "check N" stops the rewriting, looks at everything and answers
 *   "seen N still=H dirty=H disk=H stamped=H lost_pages=K lost_blocks=K pages=N blocks=N errors=K"
 * (digests of the still pages, the dirty ones, the first three quarters of the disk and the last), and
 * nothing is rewritten until the next line comes or half a minute has passed. "go" does nothing else than
 * to be such a line, and a word from the host. Every line from here ends in " *HHHHHHHH", the FNV-1a of
 * what is before it: a line that was cut or mixed up is no line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <linux/fs.h>

enum { PAGE = 4096, WORDS = PAGE / 8, CHUNK = 64 * PAGE };

static int console = -1, disk = -1;
static uint64_t seed, still_pages, dirty_pages, pages_s, blocks_s, alone_s;
static uint64_t *still, *dirty, *page_table, *block_table, *buffer;
static uint64_t disk_bytes, first_block, block_count;
static uint64_t pages, blocks, errors, beats, heard_ms;

/* splitmix64, the finaliser of Steele, Lea and Flood (OOPSLA 2014). */
static uint64_t mix(uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Word w of page or block i as written the n-th time. */
static uint64_t word(uint64_t kind, uint64_t i, uint64_t n, uint64_t w) {
    return mix(mix(seed ^ (kind << 56) ^ i) ^ (n << 16)) + w * 0x9e3779b97f4a7c15u;
}

static void fill(uint64_t *page, uint64_t kind, uint64_t i, uint64_t n) {
    uint64_t first = word(kind, i, n, 0);
    for (uint64_t w = 0; w < WORDS; w++) page[w] = first + w * 0x9e3779b97f4a7c15u;
}

static int holds(const uint64_t *page, uint64_t kind, uint64_t i, uint64_t n) {
    uint64_t first = word(kind, i, n, 0);
    for (uint64_t w = 0; w < WORDS; w++)
        if (page[w] != first + w * 0x9e3779b97f4a7c15u) return 0;
    return 1;
}

/* The digest that crates/load/vm/src/digest.rs computes over the same bytes. */
static uint64_t digest(uint64_t h, const uint64_t *words, uint64_t count) {
    for (uint64_t w = 0; w < count; w++) {
        h = (h ^ words[w]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void say(const char *text) {
    char line[512];
    uint32_t sum = 2166136261u;
    for (const char *c = text; *c; c++) sum = (sum ^ (uint8_t)*c) * 16777619u;
    int length = snprintf(line, sizeof line, "%s *%08x\n", text, sum);
    for (int sent = 0; sent < length;) {
        ssize_t got = write(console, line + sent, (size_t)(length - sent));
        if (got < 0 && errno != EINTR && errno != EAGAIN) return;
        if (got > 0) sent += (int)got;
    }
}

static uint64_t option(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, 0, 10) : otherwise;
}

static void die(const char *what) {
    char line[200];
    snprintf(line, sizeof line, "cannot %s: %s", what, strerror(errno));
    fprintf(stderr, "%s\n", line);
    if (console >= 0) say(line);
    sync();
    sleep(1);
    reboot(RB_AUTOBOOT);
    for (;;) pause();
}

static void *pages_of(uint64_t count) {
    size_t size = (size_t)(count ? count : 1) * PAGE;
    void *at = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED) die("have the memory that was asked for");
    return at;
}

static void modules(void) {
    char path[32];
    for (int i = 0; i < 100; i++) {
        snprintf(path, sizeof path, "/m/%02d.ko", i);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        if (syscall(SYS_finit_module, file, "", 0) && errno != EEXIST) die(path);
        close(file);
    }
}

static void open_console(void) {
    console = open("/dev/ttyS1", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (console < 0) die("open the second serial port");
    struct termios raw;
    tcgetattr(console, &raw);
    cfmakeraw(&raw);
    cfsetspeed(&raw, B115200);
    raw.c_cflag |= CLOCAL | CREAD;
    tcsetattr(console, TCSANOW, &raw);
}

static void open_disk(void) {
    for (int i = 0; i < 100 && disk < 0; i++) {
        disk = open("/dev/vda", O_RDWR | O_DIRECT | O_CLOEXEC);
        if (disk < 0) usleep(20000);
    }
    if (disk < 0) die("open its disk");
    if (ioctl(disk, BLKGETSIZE64, &disk_bytes)) die("ask for the size of its disk");
    uint64_t all = disk_bytes / PAGE;
    block_count = all / 4;
    first_block = all - block_count;
}

static void write_block(uint64_t i, uint64_t n) {
    fill(buffer, 3, i, n);
    off_t at = (off_t)((first_block + i) * PAGE);
    if (pwrite(disk, buffer, PAGE, at) == PAGE) block_table[i] = n;
    else errors++;
}

static void check(uint64_t id) {
    char line[400];
    uint64_t lost_pages = 0, lost_blocks = 0, first = seed, last = seed;
    uint64_t still_digest = digest(seed, still, still_pages * WORDS);
    uint64_t dirty_digest = digest(seed, dirty, dirty_pages * WORDS);
    for (uint64_t i = 0; i < still_pages; i++)
        if (!holds(still + i * WORDS, 1, i, 0)) lost_pages++;
    for (uint64_t i = 0; i < dirty_pages; i++)
        if (!holds(dirty + i * WORDS, 2, i, page_table[i])) lost_pages++;
    fsync(disk);
    for (uint64_t at = 0; at < disk_bytes;) {
        uint64_t end = at < first_block * PAGE ? first_block * PAGE : disk_bytes;
        uint64_t size = end - at < CHUNK ? end - at : CHUNK;
        if (pread(disk, buffer, size, (off_t)at) != (ssize_t)size) { errors++; break; }
        if (at < first_block * PAGE) first = digest(first, buffer, size / 8);
        else last = digest(last, buffer, size / 8);
        for (uint64_t b = 0; b < size / PAGE; b++) {
            uint64_t block = at / PAGE + b;
            if (block < first_block) continue;
            uint64_t i = block - first_block;
            if (i < block_count && block_table[i] && !holds(buffer + b * WORDS, 3, i, block_table[i]))
                lost_blocks++;
        }
        at += size;
    }
    snprintf(line, sizeof line,
        "seen %llu still=%016llx dirty=%016llx disk=%016llx stamped=%016llx lost_pages=%llu "
        "lost_blocks=%llu pages=%llu blocks=%llu errors=%llu",
        (unsigned long long)id, (unsigned long long)still_digest, (unsigned long long)dirty_digest,
        (unsigned long long)first, (unsigned long long)last, (unsigned long long)lost_pages,
        (unsigned long long)lost_blocks, (unsigned long long)pages, (unsigned long long)blocks,
        (unsigned long long)errors);
    say(line);
    struct pollfd look = { .fd = console, .events = POLLIN };
    poll(&look, 1, 30000);
}

/* Takes what came from the host. Only whole lines are commands. */
static void listen_to_host(int wait_ms) {
    static char line[128];
    static size_t have;
    struct pollfd look = { .fd = console, .events = POLLIN };
    if (poll(&look, 1, wait_ms) <= 0) return;
    char got[64];
    ssize_t count = read(console, got, sizeof got);
    for (ssize_t i = 0; i < count; i++) {
        if (got[i] != '\n') {
            if (have < sizeof line - 1) line[have++] = got[i];
            continue;
        }
        line[have] = 0;
        have = 0;
        heard_ms = now_ms();
        if (!strncmp(line, "check ", 6)) check(strtoull(line + 6, 0, 10));
    }
}

/* Rewrites as many as are due at `rate`; never more than a tenth of a second's worth at once. */
static void rewrite(uint64_t rate, uint64_t *done, uint64_t count, uint64_t *owed_from, int is_page) {
    uint64_t now = now_ms(), due = (now - *owed_from) * rate / 1000;
    if (!count || !due) return;
    *owed_from = now;
    if (due > rate / 10 + 1) due = rate / 10 + 1;
    for (uint64_t k = 0; k < due; k++) {
        uint64_t i = *done % count, n = *done / count + 1;
        if (is_page) {
            fill(dirty + i * WORDS, 2, i, n);
            page_table[i] = n;
        } else {
            write_block(i, n);
        }
        (*done)++;
    }
}

int main(void) {
    mkdir("/dev", 0755);
    mount("devtmpfs", "/dev", "devtmpfs", 0, 0);
    open_console();
    modules();
    seed = option("tm_seed", 1);
    still_pages = option("tm_still", 1024);
    dirty_pages = option("tm_dirty", 2048);
    pages_s = option("tm_pages", 1000);
    blocks_s = option("tm_blocks", 50);
    alone_s = option("tm_alone", 0);
    open_disk();
    buffer = pages_of(CHUNK / PAGE);
    still = pages_of(still_pages);
    dirty = pages_of(dirty_pages);
    page_table = pages_of(dirty_pages * 8 / PAGE + 1);
    block_table = pages_of(block_count * 8 / PAGE + 1);
    for (uint64_t i = 0; i < still_pages; i++) fill(still + i * WORDS, 1, i, 0);
    for (uint64_t i = 0; i < dirty_pages; i++) fill(dirty + i * WORDS, 2, i, 0);
    char line[200];
    snprintf(line, sizeof line, "ready disk=%llu at=%llu", (unsigned long long)disk_bytes,
        (unsigned long long)now_ms());
    say(line);
    uint64_t pages_from = now_ms(), blocks_from = pages_from, next = pages_from;
    heard_ms = pages_from;
    for (;;) {
        rewrite(pages_s, &pages, dirty_pages, &pages_from, 1);
        rewrite(blocks_s, &blocks, block_count, &blocks_from, 0);
        uint64_t now = now_ms();
        if (now >= next) {
            next = now + 100;
            snprintf(line, sizeof line, "beat %llu at=%llu pages=%llu blocks=%llu errors=%llu",
                (unsigned long long)++beats, (unsigned long long)now, (unsigned long long)pages,
                (unsigned long long)blocks, (unsigned long long)errors);
            say(line);
        }
        if (alone_s && now - heard_ms > alone_s * 1000) die("hear anybody");
        listen_to_host(5);
    }
}
