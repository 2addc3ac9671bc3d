#!/bin/busybox sh
# Process 1 of a guest that is a host itself (scripts/fence-reservations): it loads its modules, mounts its first disk, and runs
# /main there, with what the kernel has to show mounted below. The guest ends with it.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs devtmpfs /dev
exec >/dev/console 2>&1
for module in /m/*; do insmod "$module" || echo "failed: $module"; done
until [ -b /dev/vda ]; do sleep 0.1; done
# The second is where the kernel's target keeps reservations over a power cut.
mkdir -p /host /var/target/pr
mount -t ext4 /dev/vda /host
mount -t devtmpfs devtmpfs /host/dev
mount -t proc proc /host/proc
mount -t sysfs sysfs /host/sys
[ ! -d /host/sys/kernel/config ] || mount -t configfs configfs /host/sys/kernel/config
# A mount namespace is entered at its own root, where a chroot does not count (scripts/guest-protocols enters one).
! grep -q tm_root=1 /host/proc/cmdline || exec switch_root /host /bin/busybox sh -c '/bin/busybox sh /main; /bin/busybox sync; /bin/busybox poweroff -f'
chroot /host /bin/busybox sh /main
sync
poweroff -f
