# What runs in the guest of scripts/guest-stacked: disks that are made of others, VMs that count their own I/O on them, and a watcher whose sums
# are compared. vdb has two partitions: the first is nobody's part, the second is part of volumes, as all of vdc is. "wrong: ..." ends it.
export PATH=/bin
/bin/busybox --install -s /bin
cp /bin/load /bin/qemu-system-x86_64
# Nobody else makes /dev/mapper here.
export DM_DISABLE_UDEV=1
word() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" /proc/cmdline; }
ios=$(word tm_ios) store=/tmp/store
wrong() {
    echo "wrong: $*"
    tail -n 5 /log
    dmesg | tail -n 20
    exit 1
}
until_there() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || wrong "$2"
        sleep 0.1
    done
}
# A disk of device mapper with this table.
volume() {
    volume=$1
    shift
    printf '%s\n' "$@" | dmsetup create "$volume" || wrong "no volume $volume"
    until_there "[ -b /dev/mapper/$volume ]" "/dev/mapper/$volume is not there"
}
remove() { for volume in "$@"; do dmsetup remove "$volume" || wrong "$volume stays"; done; }
watching() {
    rm -rf $store /log /counted
    tilemark watch --store $store "$@" 2>/log &
    watcher=$!
    until_there "grep -qs '^watching' /log" "the watcher does not begin"
    sleep 1
}
# A VM that reads, writes and flushes a device or file.
vm() { qemu-system-x86_64 -name "$1" "$2" "$ios" "$ios" $((ios / 10)) >> /counted || wrong "$1 cannot use $2"; }
# Ends the watcher, says what it saw of the VMs and of the kernel's threads, and compares the VMs' sums with what they counted.
compare() {
    sleep 1
    kill -INT $watcher
    wait $watcher || wrong "the watcher failed"
    rm -f /csv
    tilemark watch export --store $store --last 1d --out /csv || wrong "no export"
    tr -d '\r' < /csv | awk -F, -v title="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { n[$at["disk"] " " ($at["below"] == "true" ? "below" : "top") " " $at["vm"] " " $at["direction"]] += $at["count"] }
        END {
            print title
            for (key in n) { split(key, of, " "); rows[of[1] " " of[2] " " of[3]] = 1 }
            for (row in rows) printf "    %-40s %6d %6d %6d\n", row, n[row " read"], n[row " write"], n[row " flush"] | "sort"
        }'
    for own in $(cut -d' ' -f1 /counted | sort -u); do
        wanted=$(awk -v vm="$own" '$1 == vm { r += $2; w += $3; f += $4 } END { print r, w, f }' /counted)
        found=$(tr -d '\r' < /csv | awk -F, -v vm="$own" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["vm"] == vm && $at["below"] == "false" { n[$at["direction"]] += $at["count"] }
            END { print n["read"] + 0, n["write"] + 0, n["flush"] + 0 }')
        [ "$wanted" = "$found" ] || { echo "    $own counted $wanted, and its sums are $found"; failed=yes; }
    done
    ! grep 'events were lost' /log || wrong "events were lost"
}
failed=

ip link set lo up
uname -r
mkdir -p /mnt /tmp
echo "reads, writes and flushes by disk, layer and sender; each VM does $ios, $ios and $((ios / 10)) on each of its disks"

# As a volume group of two disks has them.
volume data "0 16384 linear /dev/vdb2 2048" "16384 49152 linear /dev/vdc 2048"
mkfs.ext4 -q -F /dev/vdb1 || wrong "no ext4"
mount -t ext4 /dev/vdb1 /mnt || wrong "no mount"
dd if=/dev/zero of=/mnt/file bs=1M count=16 2>/dev/null
sync
watching
vm web1 /dev/mapper/data
vm web1 /mnt/file
vm sql1 /dev/mapper/data
compare "a volume of two disks, and a file on another partition"

watching /dev/mapper/data /dev/vdb
vm web1 /dev/mapper/data
compare "the same, with the volume and one of the disks as TARGETs"

# A volume group that the host has found in what is the disk of a VM.
volume found "0 32768 linear /dev/mapper/data 2048"
watching
vm web1 /dev/mapper/data
compare "a volume below one that nobody uses"
remove found

watching
sleep 11
volume later "0 32768 linear /dev/mapper/data 4096"
sleep 11
vm web1 /dev/mapper/later
compare "a volume that comes while it is watched"
remove later

mkfs.ext4 -q -F /dev/mapper/data || wrong "no ext4"
mkdir -p /volume
mount -t ext4 /dev/mapper/data /volume || wrong "no mount"
dd if=/dev/zero of=/volume/file bs=1M count=16 2>/dev/null
sync
losetup /dev/loop0 /volume/file || wrong "no loop device"
watching
vm web1 /dev/loop0
sync
compare "a loop device of a file on a volume"
losetup -d /dev/loop0
umount /volume
remove data

volume meta "0 8192 linear /dev/vdb2 2048"
volume tdata "0 262144 linear /dev/vdc 2048"
dd if=/dev/zero of=/dev/mapper/meta bs=4k count=1 conv=fsync 2>/dev/null
volume pool "0 262144 thin-pool /dev/mapper/meta /dev/mapper/tdata 128 0"
for thin in 0 1; do
    dmsetup message pool 0 "create_thin $thin" || wrong "no thin volume"
    volume thin$thin "0 65536 thin /dev/mapper/pool $thin"
done
watching
vm web1 /dev/mapper/thin0 &
vm sql1 /dev/mapper/thin1
wait $!
compare "two thin volumes of a pool, while they grow"
dmsetup suspend thin0 && dmsetup message pool 0 "create_snap 2 0" && dmsetup resume thin0 || wrong "no snapshot"
volume snap "0 65536 thin /dev/mapper/pool 2"
watching
vm web1 /dev/mapper/thin0
vm sql1 /dev/mapper/snap
compare "a thin volume and its snapshot"
remove snap thin0 thin1 pool tdata meta

volume crypt "0 65536 crypt aes-xts-plain64 $(printf '%064d' 0) 0 /dev/vdc 2048"
watching
vm web1 /dev/mapper/crypt
compare "dm-crypt"
remove crypt

for level in 1 0; do
    bitmap=
    [ $level = 0 ] || bitmap=--bitmap=internal
    # shellcheck disable=SC2086
    mdadm --create /dev/md0 --level $level --raid-devices 2 --metadata 1.2 --assume-clean --run $bitmap /dev/vdb2 /dev/vdc >/log 2>&1 || wrong "no RAID $level"
    volume data "0 65536 linear /dev/md0 2048"
    watching
    vm web1 /dev/md0
    compare "md RAID $level"
    watching
    vm web1 /dev/mapper/data
    compare "a volume on md RAID $level"
    remove data
    mdadm --stop /dev/md0 2>/dev/null || wrong "RAID $level stays"
    mdadm --zero-superblock /dev/vdb2 /dev/vdc
done

volume paths "0 409600 multipath 0 0 1 1 round-robin 0 1 1 /dev/vdc 1"
volume data "0 65536 linear /dev/mapper/paths 2048"
watching
vm web1 /dev/mapper/data
vm sql1 /dev/mapper/paths
compare "multipath, and a volume on it"
remove data paths

for mode in writethrough writeback; do
    dd if=/dev/zero of=/dev/vdb2 bs=1M count=1 conv=fsync 2>/dev/null
    dd if=/dev/zero of=/dev/vdc bs=1M count=1 conv=fsync 2>/dev/null
    make-bcache --bucket 64k -B /dev/vdc -C /dev/vdb2 >/log 2>&1 || wrong "no bcache"
    echo /dev/vdb2 > /sys/fs/bcache/register || wrong "no cache"
    echo /dev/vdc > /sys/fs/bcache/register || wrong "no disk of bcache"
    until_there "[ -b /dev/bcache0 ]" "no bcache0"
    echo $mode > /sys/block/bcache0/bcache/cache_mode
    watching
    vm web1 /dev/bcache0
    compare "bcache, $mode"
    set=$(ls -d /sys/fs/bcache/*-*)
    echo 1 > /sys/block/bcache0/bcache/stop
    echo 1 > "$set/stop"
    until_there "[ ! -b /dev/bcache0 ] && [ ! -e $set ]" "bcache0 stays"
done
[ -z "$failed" ] || wrong "some sums are not what was counted"
echo "done"
