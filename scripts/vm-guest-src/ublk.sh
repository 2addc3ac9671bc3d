# What runs in the guest of scripts/guest-ublk: a server, its disk as a block device of the same host, and who uses that.
# Whatever is said here is what was seen; "wrong: ..." ends it.
export PATH=/bin
/bin/busybox --install -s /bin
word() { sed -n "s/.*$1=\([0-9]*\).*/\1/p" /proc/cmdline; }
records=$(word tm_records) kills=$(word tm_kills) device=/dev/ublkb0
wrong() {
    echo "wrong: $*"
    tail -n 5 /log
    dmesg | tail -n 20
    exit 1
}
# Serves vm1 as the device; its process is that of the server.
serve() {
    tilemark tier serve /tier --disk vm1=/vm1.raw --mode back --socket /run/s --ublk vm1=0 2>>/log &
    server=$!
    until_there "[ -b $device ] && tilemark tier status /run/s >/dev/null 2>&1" "the device is not there"
}
until_there() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || wrong "$2"
        sleep 0.1
    done
}
end() {
    kill $1 $server
    wait $server 2>/dev/null
}
answered() { sed -n 's/^answered \([0-9]*\).*/\1/p' /written | tail -n 1; }
of() { cat /sys/block/ublkb0/$1; }
same() { [ "$(sha256sum < "$1")" = "$(sha256sum < "$2")" ] || wrong "$3"; }

ip link set lo up
uname -r
truncate -s 400M /vm1.raw
tilemark tier init /tier --size 128MiB --chunk 2MiB --log 30 2>/dev/null || wrong "no tier"
tilemark tier init /other --size 48MiB --chunk 1MiB 2>/dev/null || wrong "no other tier"
truncate -s 400M /vm2.raw
serve
echo "$device: $(of size) sectors, blocks of $(of queue/logical_block_size), $(of queue/write_cache), fua $(of queue/fua), discards of $(of queue/discard_max_bytes), zeroes of $(of queue/write_zeroes_max_bytes), requests of $(of queue/max_hw_sectors_kb) KiB"
[ "$(of size)" = 819200 ] || wrong "it is not as large as its disk"

dd if=/dev/urandom of=/noise bs=1M count=8 2>/dev/null
dd if=/noise of=$device bs=1M seek=3 conv=fsync 2>/dev/null || wrong "it cannot be written"
dd if=$device of=/read bs=1M skip=3 count=8 iflag=direct 2>/dev/null || wrong "it cannot be read"
same /noise /read "it reads what was not written"
/bin/blkdiscard -z -o 4M -l 2M $device || wrong "no zeroes"
/bin/blkdiscard -o 8M -l 1M $device || wrong "no discard"
cp /noise /wanted
dd if=/dev/zero of=/wanted bs=1M seek=1 count=2 conv=notrunc 2>/dev/null
dd if=$device of=/read bs=1M skip=3 count=8 iflag=direct 2>/dev/null
for file in wanted read; do dd if=/$file of=/$file.a bs=1M count=5 2>/dev/null; done
same /wanted.a /read.a "zeroes are not there, or more than that"
tilemark tier drain /run/s vm1 2>/dev/null || wrong "no drain"
dd if=/vm1.raw of=/read bs=1M skip=3 count=5 2>/dev/null
same /wanted.a /read "the backing file has something else"
echo "what is written, zeroed and discarded is so, on the device and on the backing file"

tilemark tier serve /other --disk vm1=/vm2.raw --socket /run/o --ublk vm1=0 2>/log.o && wrong "another tier has it, too"
echo "another tier, meanwhile:"
sed 's/^/    /' /log.o
end -9
tilemark tier serve /other --disk vm1=/vm2.raw --socket /run/o --ublk vm1=0 2>/log.o && wrong "another tier takes it over"
echo "another tier, when the first one was killed:"
sed 's/^/    /' /log.o
# What is mounted on the device would go on with another disk's data.
mv /tier /kept
tilemark tier init /tier --size 48MiB --chunk 1MiB 2>/dev/null || wrong "no new tier"
truncate -s 400M /new.raw
tilemark tier serve /tier --disk vm1=/new.raw --socket /run/o --ublk vm1=0 2>/log.o && wrong "another disk of this name takes it over"
echo "another disk of this name, of a new tier at the same place:"
sed 's/^/    /' /log.o
rm /tier /new.raw
mv /kept /tier
serve
end -TERM
until_there "[ ! -e $device ] && [ ! -e /dev/ublkc0 ]" "the device is not removed"
echo "the first one takes it over, and removes it when it ends"

for fs in ext4 xfs; do
    serve
    if [ $fs = ext4 ]; then force=-F; else force=-f; fi
    mkfs.$fs -q $force $device >/log.fs 2>&1 || { cat /log.fs; wrong "no $fs"; }
    mkdir -p /mnt
    mount -t $fs $device /mnt || wrong "no mount"
    records keep /mnt/journal 0 $records 1 > /written 2>&1 &
    writer=$!
    for kill in $(seq $kills); do
        until_there "[ 0\$(answered) -ge $((kill * records / (kills + 1) / 64 * 64)) ]" "nothing is answered"
        end -9
        serve
    done
    wait $writer
    [ "$(tail -n 1 /written)" = "answered $records, all" ] || { cat /written; wrong "not all is answered"; }
    umount /mnt || wrong "no unmount"
    mount -t $fs $device /mnt || wrong "no mount again"
    found=$(records find /mnt/journal 0 $records 1)
    [ "$found" = "$records from the first on, $records in all" ] || wrong "there are $found"
    umount /mnt
    if [ $fs = ext4 ]; then e2fsck -fn $device >/log.fs 2>&1; else xfs_repair -n $device >/log.fs 2>&1; fi || { cat /log.fs; wrong "the file system is damaged"; }
    end -TERM
    until_there "[ ! -e $device ]" "the device is not removed"
    echo "$fs: $records records kept through $kills kills, all there; the file system is clean"
done

serve
mount -t xfs $device /mnt || wrong "no mount"
end -TERM
[ -b $device ] || wrong "a device that is mounted is removed"
tail -n 2 /log | sed 's/^/    /'
serve
records keep /mnt/later 0 64 2 > /written 2>&1 || wrong "the mount does not go on"
tilemark tier detach /run/s vm1 2>/log.d &
detacher=$!
until_there "grep -q 'is waited for' /log" "nobody waits for it"
records keep /mnt/later 64 64 2 > /written 2>&1 || wrong "the mount does not go on while its disk is to be detached"
umount /mnt || wrong "no unmount"
wait $detacher || { cat /log.d; wrong "it is not detached"; }
until_there "[ ! -e $device ]" "the device is not removed"
echo "mounted, it outlives an end in order, and a detach waits for the unmount"
end -TERM
echo "done"
