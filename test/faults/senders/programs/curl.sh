#!/bin/sh
# A shell script that posts events with curl. README.md says how it is called; RECORDS is the length of an event in units
# of 400 characters, TRANSPORT is http, and the token is in TOKEN.
set -u
address=$2 pipeline=$3 sender=$4 exporters=$5 exports=$6 records=$7 pause=$8 timeout=$9
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head -c "$((records * 400))" /dev/zero | tr '\0' x > "$folder/text"
# A job in the background would read from nothing.
exec 3<&0
[ "$exports" != 0 ] || { cat <&3 > /dev/null; : > "$folder/stop"; } &

seconds() { echo "$1" | awk '{ print $1 / 1000 }'; }

run() {
  count=0
  while [ ! -e "$folder/stop" ] && { [ "$exports" = 0 ] || [ "$count" -lt "$exports" ]; }; do
    { printf '{"sender":"%s","export":"%s-%s","text":"' "$sender" "$1" "$count"; cat "$folder/text"; printf '"}'; } > "$folder/body-$1"
    if said=$(curl --silent --show-error --fail --max-time "$(seconds "$timeout")" --retry 3 --retry-all-errors --retry-delay 1 \
      --header "Content-Type: application/json" --header "X-PIPELINE-ACCESS-TOKEN: $TOKEN" --data-binary "@$folder/body-$1" \
      "http://$address/v1/pipelines/$pipeline/topics/input/events" 2>&1 > /dev/null)
    then echo "$1-$count accepted"
    else echo "$1-$count refused $(echo "$said" | tail -n 1)"
    fi
    count=$((count + 1))
    sleep "$(seconds "$pause")"
  done
}

exporter=0
pids=
while [ "$exporter" -lt "$exporters" ]; do
  run "$exporter" &
  pids="$pids $!"
  exporter=$((exporter + 1))
done
wait $pids
