/*
 * A disk over the kernel's own NBD client (tm_disk=nbd): the export vm1 of a server on the host, port 10809, reached through
 * QEMU's user network (10.0.2.2). The handshake is the one without block sizes (NBD_OPT_EXPORT_NAME), and requests are as
 * large as this kernel makes them, up to 32 MiB.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <linux/nbd.h>
#include <net/if.h>
#include <sys/socket.h>

enum { LARGEST = 32 << 20 };

static void read_all(int socket, void *to, size_t bytes) {
    must(recv(socket, to, bytes, MSG_WAITALL) == (ssize_t)bytes, "read from the server");
}

static void set_address(unsigned long order, const char *address) {
    int socket_of = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "eth0"};
    struct sockaddr_in *in = (struct sockaddr_in *)&request.ifr_addr;
    in->sin_family = AF_INET;
    if (address) inet_pton(AF_INET, address, &in->sin_addr);
    if (!address) request.ifr_flags = IFF_UP;
    must(socket_of >= 0 && ioctl(socket_of, order, &request) == 0, "set up the network");
    close(socket_of);
}

/* Shakes hands; fills in the size and the flags of the export. */
static int connect_to_server(uint64_t *size, uint16_t *flags) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(10809)};
    inet_pton(AF_INET, "10.0.2.2", &server.sin_addr);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(client >= 0 && connect(client, (void *)&server, sizeof server) == 0, "connect to the server");
    struct __attribute__((packed)) { uint64_t magic, options; uint16_t flags; } hello;
    read_all(client, &hello, sizeof hello);
    must(be64toh(hello.magic) == 0x4e42444d41474943 && be64toh(hello.options) == 0x49484156454f5054, "know the server");
    struct __attribute__((packed)) { uint32_t flags; uint64_t magic; uint32_t option, length; char name[3]; } wish =
        {htobe32(3), hello.options, htobe32(1), htobe32(3), {'v', 'm', '1'}};
    must(send(client, &wish, sizeof wish, 0) == sizeof wish, "name the export");
    struct __attribute__((packed)) { uint64_t size; uint16_t flags; } export;
    read_all(client, &export, sizeof export);
    *size = be64toh(export.size);
    *flags = be16toh(export.flags);
    return client;
}

/* Reads the disk's first 32 MiB in one request of this size, as a check that the server takes it. */
static void read_largest(void) {
    void *buffer = 0;
    tell("/sys/block/nbd0/queue/max_sectors_kb", "32768");
    int disk = open("/dev/nbd0", O_RDONLY | O_DIRECT | O_CLOEXEC);
    must(disk >= 0 && posix_memalign(&buffer, 4096, LARGEST) == 0, "open the disk");
    must(pread(disk, buffer, LARGEST, 0) == LARGEST, "read 32 MiB at once");
    free(buffer);
    close(disk);
    printf("read 32 MiB at once\n");
}

static const char *attach_nbd(void) {
    uint64_t size = 0;
    uint16_t flags = 0;
    set_address(SIOCSIFADDR, "10.0.2.15");
    set_address(SIOCSIFNETMASK, "255.255.255.0");
    set_address(SIOCSIFFLAGS, 0);
    int client = connect_to_server(&size, &flags);
    int disk = open("/dev/nbd0", O_RDWR | O_CLOEXEC);
    must(disk >= 0 && ioctl(disk, NBD_SET_BLKSIZE, 512) == 0, "set the block size");
    must(ioctl(disk, NBD_SET_SIZE_BLOCKS, size / 512) == 0, "set the size");
    must(ioctl(disk, NBD_SET_FLAGS, (unsigned long)flags) == 0, "set the flags");
    must(ioctl(disk, NBD_SET_SOCK, client) == 0, "give the socket to the kernel");
    if (fork() == 0) {
        ioctl(disk, NBD_DO_IT);
        _exit(0);
    }
    while (sectors_of("nbd0") != size / 512) usleep(10000);
    read_largest();
    return "/dev/nbd0";
}
