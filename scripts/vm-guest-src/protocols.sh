# What runs in the guest of scripts/guest-protocols: runs over NVMe/TCP, whose target and initiator are the guest's kernel, runs over NFS 4.1 with
# ganesha and the kernel's client, and runs on exports of an NFS server outside that the guest's kernel mounts. Whatever is said here is what was seen;
# "wrong: ..." ends it. Emulated: no number counts.
export PATH=/bin HOME=/tmp TILEMARK_RUNS=/runs
# The shell and the sleep of hosts, in place of those of busybox.
/bin/busybox ln -s dash /bin/sh
/bin/busybox --install -s /bin 2>/dev/null
text() { sed -n "s/.*$1=\([^ ]*\).*/\1/p" /proc/cmdline; }
target=/sys/kernel/config/nvmet own=nqn.2026-11.tilemark
wrong() {
    echo "wrong: $*"
    tail -n 20 /log
    dmesg | tail -n 20
    exit 1
}
until_there() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || wrong "$2"
        sleep 0.1
    done
}
tile() {
    cat > /tile.toml <<'T'
name = "light"
title = "Four users who pause"
source = "Made up for tests."
[[workload]]
use = "light.toml"
T
    cat > /light.toml <<'T'
name = "light"
title = "Four users who pause"
source = "Made up for tests."
[metric]
unit = "IOPS"
count = "io"
reference = 2000
[[vm]]
name = "light"
[[vm.disk]]
name = "data"
size = "16GiB"
[[vm.disk]]
name = "log"
size = "16GiB"
[[users]]
name = "users"
vm = "light"
load = { closed = { users = 4, think = { exponential = "20ms" } } }
[[action]]
name = "read"
weight = 60
steps = [{ read = { disk = "data", size = "8k" } }]
[[action]]
name = "write"
weight = 40
steps = [{ write = { disk = "data", size = "8k" } }, { write = { disk = "log", size = "4k" } }, { flush = { disk = "log" } }]
T
}
how=
run() {
    duration=$1
    shift
    $how tilemark run --quick --verify --tile /tile.toml --tiles 1 --footprint 0.001 --duration "$duration" --warm-up-min 500ms --warm-up-max 1s \
        --slice 500ms --live line --allow-root-fs --allow-same-device "$@"
}
check() { tilemark check --over "$1" --tile /tile.toml --allow-root-fs --allow-same-device dir:/ds >/log 2>&1; }
# A run in the background, until its load is measured.
begin() {
    # The process is the program itself, not a shell that waits for it.
    how=exec
    : > /log
    run 300s "$@" >/out 2>>/log &
    runner=$! how=
    until_there "grep -q measuring /log || ! kill -0 $runner 2>/dev/null" "no load"
    kill -0 $runner 2>/dev/null || wrong "the run ended before its load"
}
# The last run, with this exit code, was whole (5: the emulated load says nothing): it did I/O, and what was read back is what it wrote.
whole() {
    case $2 in 0 | 5) ;; *) wrong "$1: exit code $2" ;; esac
    result=$(ls -d /runs/*/ | tail -n 1)
    grep -q '"operations_per_s": *[1-9]' "$result/run.json" || wrong "$1: no I/O"
    grep -o '[0-9.]* [KMG]iB were read back; every block has its last written content' "$result/run.json" || wrong "$1: not verified"
    rm -rf /runs/*
}
# The run in the background ends, with a failure.
failed() {
    wait $runner
    [ $? = 1 ] || wrong "$1: the run did not fail"
}
# Nothing is left of the runs, and what others have in the kernel is as it was.
clean() {
    for left in $target/subsystems/$own* $target/ports/*/subsystems/$own* /tmp/tilemark-over-* /ds/*; do
        [ ! -e "$left" ] || wrong "$1: $left is left"
    done
    grep tilemark-over /proc/mounts && wrong "$1: a mount is left"
    pidof ganesha.nfsd sleep && wrong "$1: a process is left"
    grep -s $own /sys/class/nvme/*/subsysnqn && wrong "$1: a controller is left"
    [ "$(ls $target/ports)" = 1 ] || wrong "$1: a port is left, or another's is gone: $(ls $target/ports)"
    [ "$(cat /sys/class/nvme/nvme0/state)" = live ] || wrong "$1: another's controller is not connected"
    [ "$(dd if=/dev/nvme0n1 bs=6 count=1 2>/dev/null)" = theirs ] || wrong "$1: another's disk has something else"
}

ip link set lo up
hostname guest.example
# ganesha looks for its file system there.
ln -s /proc/self/mounts /etc/mtab
echo "Linux $(uname -r)"
mkdir -p /ds /runs /nfs
mount -t ext4 /dev/vdb /ds || wrong "no datastore"
rmdir /ds/lost+found
tile
# A subsystem of somebody else, and a controller that is connected to it.
others=$target/subsystems/nqn.2014-08.org.nvmexpress:theirs
printf theirs > /theirs
truncate -s 16M /theirs
mkdir -p $others $others/namespaces/1 $target/ports/1
echo 1 > $others/attr_allow_any_host
echo /theirs > $others/namespaces/1/device_path
echo 1 > $others/namespaces/1/enable
for pair in trtype=tcp adrfam=ipv4 traddr=127.0.0.1 trsvcid=4420; do echo ${pair#*=} > $target/ports/1/addr_${pair%=*}; done
ln -s $others $target/ports/1/subsystems/
echo "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=${others##*/}" > /dev/nvme-fabrics || wrong "no connection of somebody else"
until_there "[ -b /dev/nvme0n1 ]" "no disk of somebody else"
clean "before all"

sed -i 's/size = "4k"/size = "512B"/' /light.toml
check nvme-tcp && wrong "small requests are allowed"
grep 'sectors of 4096 B' /log || wrong "small requests are refused for another reason"
tile

# Server and initiator of a protocol, in runs that end in every way.
protocol() {
    check "$1" || wrong "$1 is not allowed"
    grep "^over $1" /log
    for setting in "$1" "$1,mtu=9000"; do
        run 2s --over "$setting" dir:/ds >/log 2>&1
        code=$?
        grep -q "\"protocol\": *\"$1\"" /runs/*/run.json || wrong "the result does not name $1"
        grep -o '"network": *"[^"]*"' /runs/*/run.json
        whole "--over $setting" $code
        clean "--over $setting"
        echo "--over $setting: a whole run, verified; nothing is left"
    done
    begin --over "$1" dir:/ds
    # A shell's background process ignores SIGINT.
    kill -TERM $runner
    wait $runner
    clean "SIGTERM"
    echo "--over $1, SIGTERM: nothing is left"

    begin --over "$1" dir:/ds
    kill -9 $runner
    wait $runner
    [ -n "$(ls -d /tmp/tilemark-over-*)" ] || wrong "nothing is left after kill -9, so cleanup is not tested"
    tilemark cleanup dir:/ds >/log 2>&1 || wrong "cleanup after kill -9"
    clean "kill -9"
    echo "--over $1, kill -9: cleanup leaves nothing"

    begin --over "$1" dir:/ds
    case $1 in
        nvme-tcp) rm $target/ports/*/subsystems/$own* ;;
        *) kill -9 "$(pidof ganesha.nfsd)" ;;
    esac
    failed "a server that goes away"
    grep -h 'closed its connection\|ended under load' /log | tail -n 1 | grep . || wrong "it does not say why"
    clean "a server that goes away"
    echo "--over $1, a server that goes away under load: the run ends, nothing is left"

    begin --over "$1" dir:/ds
    keeper=$(pidof sleep) || { ps; wrong "no process keeps the network"; }
    nsenter --net=/proc/$keeper/ns/net ip link set lo down || wrong "no network to cut"
    failed "a link that is cut"
    grep -h 'does not answer\|hangs' /log | tail -n 1 | grep . || wrong "it does not say why"
    clean "a link that is cut"
    echo "--over $1, a link that is cut under load: the run ends, nothing is left"
}
for word in $(text tm_over | tr + ' '); do protocol "$word"; done

export=$(text tm_export)
if [ -n "$export" ]; then
    ip link set eth0 up
    ip addr add 10.0.2.15/24 dev eth0
    ip route add default via 10.0.2.2
    for version in 3 4.1 4.2; do
        options=addr=10.9.9.1,vers=$version,proto=tcp,hard
        case $version in
            3) source=10.9.9.1:$export options=$options,nolock,mountproto=tcp,mountport=20048,port=2049 ;;
            *) source=10.9.9.1:/disks options=$options,clientaddr=10.0.2.15 ;;
        esac
        mount -i -t nfs -o $options $source /nfs >/log 2>&1 || wrong "no mount of NFS $version"
        grep -q " /nfs nfs4\? .*vers=$version" /proc/mounts || wrong "another version: $(grep /nfs /proc/mounts)"
        mkdir /nfs/ds
        run 2s dir:/nfs/ds >/log 2>&1
        code=$?
        whole "NFS $version" $code
        rmdir /nfs/ds || wrong "NFS $version: something is left"
        umount /nfs || wrong "NFS $version: no unmount"
        echo "the kernel's client of NFS $version: a whole run, verified; nothing is left"
    done
fi
echo "done"
