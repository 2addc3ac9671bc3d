# What runs in the guest of scripts/fence-reservations: one LUN of the kernel's target, seen by two initiators over iSCSI, each of them a
# host with a name of its own. Whatever is said here is what was seen; "wrong: ..." ends it.
export PATH=/bin
/bin/busybox --install -s /bin
records=4000 stop_at=600
wrong() {
    echo "wrong: $*"
    tail -n 4 /log.*
    dmesg | tail -n 20
    exit 1
}
# Becomes a program of a host, with that one's own name, on which its key depends.
as() {
    host=$1
    shift
    exec unshare -m sh -c 'mount --bind "/etc/machine-id.$0" /etc/machine-id && exec "$@"' "$host" "$@"
}
device() { if [ "$1" = a ]; then echo /dev/sda; else echo /dev/sdb; fi; }
# Serves vm1 on a host; its process is that of the server.
serve() {
    host=$1
    shift
    as "$host" tilemark tier serve "/$host/tier" --disk "vm1=$(device "$host")" --sidecar /shared --reserve --socket "/run/$host" "$@" 2>>"/log.$host" &
    server=$!
    tries=0
    until tilemark tier status "/run/$host" >/dev/null 2>&1; do
        kill -0 $server 2>/dev/null || return 1
        tries=$((tries + 1))
        [ $tries -lt 300 ] || wrong "the server of $host does not answer"
        sleep 0.2
    done
}
end() {
    kill ${2:-} "$1"
    wait "$1" 2>/dev/null
}
answered() { sed -n 's/^answered \([0-9]*\).*/\1/p' "$1" | tail -n 1; }
until_said() {
    tries=0
    until grep -q "$1" "$2"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || wrong "nobody says: $1"
        sleep 0.1
    done
}
last_of() { grep -v "^the tier\|^serving\|^ending" "$1" | tail -n "$2" | sed 's/^/    /'; }

ip link set lo up
name=iqn.2026-01.example:lun
lun=/sys/kernel/config/target/core/fileio_0/lun
truncate -s 64M /lun
mkdir -p $lun
echo "fd_dev_name=/lun,fd_dev_size=67108864" > $lun/control
echo 1 > $lun/enable
echo 1 > $lun/wwn/vpd_unit_serial
port=/sys/kernel/config/target/iscsi/$name/tpgt_1
mkdir -p $port/np/127.0.0.1:3260 $port/np/127.0.0.2:3260 $port/lun/lun_0
ln -s $lun $port/lun/lun_0/lun
for line in authentication=0 generate_node_acls=1 cache_dynamic_acls=1 demo_mode_write_protect=0; do
    echo "${line#*=}" > "$port/attrib/${line%=*}"
done
echo 1 > $port/enable
# The second device is that of the second initiator. Of one address its program would say that it is there already.
for host in a b; do
    if [ $host = a ]; then address=127.0.0.1; else address=127.0.0.2; fi
    iscsistart -i iqn.2026-01.example:$host -t $name -g 1 -a $address >/log.i 2>&1 || { cat /log.i; wrong "no way to the LUN for $host"; }
    tries=0
    until [ -b "$(device $host)" ]; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || wrong "the LUN of $host is not there"
        sleep 0.1
    done
done
for host in a b; do
    mkdir -p /$host
    tilemark tier init /$host/tier --size 96MiB --chunk 2MiB --log 40 2>/dev/null || wrong "no tier for $host"
done
tilemark tier serve --hold /held --socket /run/h 2>/log.h &
holder=$!
until_said "holding copies" /log.h

echo "in order: a serves it"
serve a || wrong "a does not serve it"
first=$server
serve b && wrong "b serves it, too"
echo "b, meanwhile:"
last_of /log.b 2
tilemark tier detach /run/a vm1 2>/dev/null || wrong "a does not detach it"
end $first
serve b || wrong "b does not get it"
echo "b serves it after a has detached it"
tilemark tier detach /run/b vm1 2>/dev/null || wrong "b does not detach it"
end $server

echo "a serves it in mode back, with a copy on a third one"
serve a --mode back --copies 1 --peer "h=nbd+unix:///?socket=/run/h" || wrong "a does not serve it"
first=$server
tilemark tier set /run/a vm1 --mode back 2>/dev/null || wrong "no mode back"
end $first -9
serve a --mode back --copies 1 --peer "h=nbd+unix:///?socket=/run/h" || wrong "a does not go on after kill -9"
first=$server
tilemark tier set /run/a vm1 --mode back 2>/dev/null || wrong "no mode back"
echo "a goes on after kill -9"
records write /run/a vm1 0 $records 1 > /written.a 2>&1 &
writer=$!
until [ "$(answered /written.a || echo 0)0" -ge ${stop_at}0 ] 2>/dev/null; do
    kill -0 $writer || wrong "the client has ended"
    sleep 0.01
done
kill -STOP $first
promised=$(answered /written.a)
echo "a is stopped (SIGSTOP) when $promised of its writes, or some more, have been answered"
(as b tilemark tier takeover vm1=/dev/sdb --sidecar /shared --fence-proof pr) 2>/log.t || { cat /log.t; wrong "no take-over"; }
echo "b takes it over:"
last_of /log.t 2
there=$(records find /dev/sdb 0 $records 1)
echo "of a's records there are $there"
[ "${there%% *}" -ge "$promised" ] || wrong "answered writes are lost"
serve b --mode back || wrong "b does not serve it"
second=$server
records write /run/b vm1 0 $records 2 > /written.b 2>&1
echo "b's client: $(tail -n 1 /written.b)"
tilemark tier drain /run/b vm1 2>/dev/null || wrong "b does not drain it"
before=$(sha256sum < /lun)
lines=$(dmesg | wc -l)
kill -STOP $holder
kill -CONT $first
echo "a goes on (SIGCONT), and who holds its copy is stopped, so that nobody but the device can tell it:"
until_said "has taken the reservation" /log.a
last_of /log.a 1
wait $writer
echo "a's client: $(tail -n 1 /written.a)"
sleep 3
echo "what the kernel says since then:"
dmesg | tail -n "+$((lines + 1))" | sed 's/^\[[^]]*\]/   /'
[ "$(sha256sum < /lun)" = "$before" ] || wrong "something landed late"
echo "every byte of the LUN is what it was; of b's records there are $(records find /dev/sdb 0 $records 2)"
end $first
serve a --mode back && wrong "a serves it again"
echo "a, started again:"
last_of /log.a 2

echo "and back, in mode through:"
tilemark tier set /run/b vm1 --mode through 2>/dev/null || wrong "no mode through"
records write /run/b vm1 0 $records 3 > /written.c 2>&1 &
writer=$!
until [ "$(answered /written.c || echo 0)0" -ge 1000 ] 2>/dev/null; do
    kill -0 $writer || wrong "the client has ended"
    sleep 0.01
done
kill -STOP $second
promised=$(answered /written.c)
(as a tilemark tier takeover vm1=/dev/sda --sidecar /shared --fence-proof pr) 2>/log.t || { cat /log.t; wrong "no take-over"; }
there=$(records find /dev/sda 0 $records 3)
echo "a takes it over; of $promised of b's records, or some more, there are $there"
[ "${there%% *}" -ge "$promised" ] || wrong "answered writes are lost"
# Its old tier has a log that counts no more.
rm /a/tier
tilemark tier init /a/tier --size 96MiB --chunk 2MiB --log 40 2>/dev/null || wrong "no tier for a"
serve a || wrong "a does not serve it"
records write /run/a vm1 0 1000 4 > /written.a 2>&1
echo "a's client: $(tail -n 1 /written.a)"
before=$(sha256sum < /lun)
lines=$(dmesg | wc -l)
kill -CONT $second
until_said "has taken the reservation" /log.b
wait $writer
sleep 3
echo "b goes on, and its client has a write that it never asked for: $(tail -n 1 /written.c)"
dmesg | tail -n "+$((lines + 1))" | sed 's/^\[[^]]*\]/   /'
[ "$(sha256sum < /lun)" = "$before" ] || wrong "something landed late"
echo "every byte of the LUN is what it was; of a's records there are $(records find /dev/sda 0 1000 4)"
echo "done"
