#!/bin/sh
# syslog-ng with an HTTP destination, fed by a file that grows. README.md says how it is called; EXPORTERS are its workers
# and are one source, RECORDS is the length of an event in units of 400 characters, and the token is in TOKEN. It tries
# again by itself, and says only how many events it has dropped: where it has dropped some, no event counts as accepted.
set -u
address=$2 pipeline=$3 sender=$4 exporters=$5 exports=$6 records=$7 pause=$8 timeout=$9
folder=$(mktemp -d)
text=$(head -c "$((records * 400))" /dev/zero | tr '\0' x)
: > "$folder/lines"
cat > "$folder/syslog-ng.conf" <<CONF
@version: 3.38
options { log-msg-size(1048576); stats-level(1); stats-freq(0); };
source s { file("$folder/lines" follow-freq(0.1) flags(no-parse)); };
destination d {
  http(
    url("http://$address/v1/pipelines/$pipeline/topics/input/events") method("POST")
    headers("Content-Type: application/json", "X-PIPELINE-ACCESS-TOKEN: $TOKEN")
    body('\$MSG') workers($exporters) timeout($(((timeout + 999) / 1000))) time-reopen(1)
  );
};
log { source(s); destination(d); };
CONF
syslog-ng --foreground --no-caps --cfgfile "$folder/syslog-ng.conf" --persist-file "$folder/persist" \
  --pidfile "$folder/pid" --control "$folder/control" > "$folder/log" 2>&1 &
daemon=$!
trap 'kill "$daemon" 2> /dev/null; wait "$daemon"; rm -rf "$folder"' EXIT
# A job in the background would read from nothing.
exec 3<&0
[ "$exports" != 0 ] || { cat <&3 > /dev/null; : > "$folder/stop"; } &

# One of its counters, such as written, of the destination.
counted() {
  syslog-ng-ctl stats --control "$folder/control" 2> /dev/null | awk -F ';' -v of="$1" '$1 == "dst.http" && $5 == of { sum += $6 } END { print sum + 0 }'
}

total=$((exports * exporters))
count=0
while [ ! -e "$folder/stop" ] && { [ "$exports" = 0 ] || [ "$count" -lt "$total" ]; }; do
  printf '{"sender":"%s","export":"0-%s","text":"%s"}\n' "$sender" "$count" "$text" >> "$folder/lines"
  count=$((count + 1))
  [ "$exports" != 0 ] || echo "0-$count sent"
  sleep "$(echo "$pause" | awk '{ print $1 / 1000 }')"
done
while [ "$(($(counted written) + $(counted dropped)))" -lt "$count" ]; do
  kill -0 "$daemon" || { cat "$folder/log" >&2; exit 1; }
  sleep 0.2
done
dropped=$(counted dropped)
number=0
while [ "$number" -lt "$count" ]; do
  if [ "$dropped" = 0 ]; then echo "0-$number accepted"; else echo "0-$number refused: $dropped of $count are dropped"; fi
  number=$((number + 1))
done
