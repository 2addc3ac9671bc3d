# What scripts have in common that start guests of `scripts/vm-guest` beside a served tier. Whoever reads it in has set `name`, `here`,
# and `tools` with the Debian `packages` that have them, and `initrd` if it is not
# that of the journal, `kernel` if it is not that of Debian 12; its first argument is where a directory may be made.
tilemark="${TILEMARK:-$here/target/release/tilemark}"
vm="${TILEMARK_VM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/tilemark/vm}"
PATH=$PATH:/usr/sbin:/sbin
for tool in $tools; do
    command -v "$tool" >/dev/null || { echo "$name needs $tool (Debian: $packages)" >&2; exit 1; }
done
qemu=$vm/qemu/qemu-system-x86_64
[ -x "$qemu" ] || qemu=qemu-system-x86_64
initrd=$vm/${initrd:-journal.gz}
[ -f "$initrd" ] || { echo "$name needs the guests of: scripts/vm-guest --qemu" >&2; exit 1; }
dir=$(mktemp -d "${1:-.}/tilemark-$name.XXXXXX")
dir=$(cd "$dir" && pwd)
server='' machine=''
# shellcheck disable=SC2317
clear_up() {
    for process in $machine $server; do kill -9 "$process" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap clear_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Serves the tier in $dir/tier over the socket $dir/s, with these options.
serve() {
    "$tilemark" tier serve "$dir/tier" --mode back --socket "$dir/s" "$@" 2>>"$dir/server.log" &
    server=$!
    until [ -S "$dir/s.control" ] && "$tilemark" tier status "$dir/s" >/dev/null 2>&1; do
        kill -0 $server 2>/dev/null || { cat "$dir/server.log" >&2; echo "the server did not start" >&2; exit 1; }
        sleep 0.1
    done
}
kill_server() {
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    server=
}
# Makes the disk of a guest that is a host itself, of so much: $dir/root with these programs and what they need, and /main.
host() {
    size=$1 main=$2
    shift 2
    root=$dir/root
    for made in bin dev etc lib64 proc run shared sys tmp; do mkdir -p "$root/$made"; done
    cp "$vm/busybox" "$vm/records" "$root/bin/"
    for program in "$@"; do
        cp -L "$program" "$root/bin/"
        ldd "$program" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' | while read -r library; do
            mkdir -p "$root${library%/*}"
            cp -L "$library" "$root$library"
        done
    done
    cp "$here/scripts/vm-guest-src/$main" "$root/main"
    truncate -s "$size" "$dir/host.img"
    mkfs.ext4 -q -d "$root" "$dir/host.img"
}
# Starts a machine of so many MiB of memory, with these words for its program, and options for QEMU; it says on "console" what it does.
start() {
    memory=$1 words=$2
    shift 2
    : > "$dir/console"
    "$qemu" -nodefaults -no-user-config -display none -serial "file:$dir/console" -no-reboot -accel tcg,tb-size=32 \
        -machine pc -cpu max -m "$memory" -kernel "$vm/${kernel:-vmlinuz}" -initrd "$initrd" "$@" \
        -append "console=ttyS0 quiet panic=-1 no_timer_check $words" >"$dir/machine.log" 2>&1 &
    machine=$!
}
# Waits until the guest has kept so many records.
until_kept() {
    until grep -q "^kept $1" "$dir/console"; do
        kill -0 "$machine" 2>/dev/null || { cat "$dir/console" "$dir/machine.log" >&2; echo "the machine has ended" >&2; exit 1; }
        sleep 0.05
    done
}
