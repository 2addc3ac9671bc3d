/*
 * The disk of a guest's journal, as the kernel option tm_disk says (scripts/cache-peers): "vda" is that disk; "dm-cache" is
 * vda behind a cache on vdb with its metadata on vdc, mode writeback, policy smq, blocks of 64 KiB; "bcache" is vda behind vdb,
 * both formatted for it before; "nbd" is what nbd.h says.
 */
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>

static void must(int is_done, const char *what);

static void wait_for(const char *path) {
    for (int look = 0; access(path, F_OK) != 0; look++) {
        must(look < LOOKS, path);
        usleep(100000);
    }
}

static uint64_t sectors_of(const char *name) {
    char path[64];
    unsigned long long sectors = 0;
    snprintf(path, sizeof path, "/sys/block/%s/size", name);
    FILE *file = fopen(path, "re");
    must(file && fscanf(file, "%llu", &sectors) == 1, path);
    fclose(file);
    return sectors;
}

/* Says `text` to a file of the kernel's. */
static void tell(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    must(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text) && close(file) == 0, path);
}

static void map_cache(void) {
    struct {
        struct dm_ioctl head;
        struct dm_target_spec target;
        char words[256];
    } order;
    unsigned long commands[] = {DM_DEV_CREATE, DM_TABLE_LOAD, DM_DEV_SUSPEND};
    int control = open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
    must(control >= 0, "open the device mapper");
    for (int at = 0; at < 3; at++) {
        memset(&order, 0, sizeof order);
        order.head.version[0] = DM_VERSION_MAJOR;
        order.head.data_size = sizeof order;
        order.head.data_start = offsetof(__typeof__(order), target);
        strcpy(order.head.name, "cached");
        if (commands[at] == DM_TABLE_LOAD) {
            order.head.target_count = 1;
            order.target.length = sectors_of("vda");
            strcpy(order.target.target_type, "cache");
            strcpy(order.words, "/dev/vdc /dev/vdb /dev/vda 128 1 writeback smq 0");
        }
        must(ioctl(control, commands[at], &order) == 0, "make the cached device");
    }
    close(control);
}

#include "nbd.h"

/* Makes the disk that is asked for, and says where it is. */
static const char *attach(const char *disk) {
    must(mkdir("/sys", 0755) == 0 || errno == EEXIST, "make /sys");
    must(mount("sysfs", "/sys", "sysfs", 0, "") == 0, "mount /sys");
    if (strcmp(disk, "nbd") == 0) return attach_nbd();
    wait_for("/dev/vda");
    if (strcmp(disk, "dm-cache") == 0) {
        wait_for("/dev/vdc");
        map_cache();
        wait_for("/dev/dm-0");
        return "/dev/dm-0";
    }
    if (strcmp(disk, "bcache") == 0) {
        wait_for("/dev/vdb");
        tell("/sys/fs/bcache/register", "/dev/vdb");
        tell("/sys/fs/bcache/register", "/dev/vda");
        wait_for("/dev/bcache0");
        return "/dev/bcache0";
    }
    must(strcmp(disk, "vda") == 0, "know such a disk");
    return "/dev/vda";
}
