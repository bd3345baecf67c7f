import { appendFileSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into a process before its program: notes in the file `STALLS.<pid>` for how long its main thread worked without
 * a turn for others, as lines of a time and milliseconds. It is the thread's own CPU time, so that a machine that is busy
 * otherwise does not count.
 */

const file = process.env["STALLS"];
const [every, least] = [5, 20];

function spent() {
  return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ", 1)[0]) / 1e6;
}

if (isMainThread && file !== undefined) {
  let before = spent();
  setInterval(() => {
    const now = spent();
    if (now - before > least) appendFileSync(`${file}.${process.pid}`, `${Date.now()} ${now - before}\n`);
    before = now;
  }, every).unref();
}
