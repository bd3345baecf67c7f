import { writeSync } from "node:fs";
import { parseArgs } from "node:util";
import { EmbeddedStream } from "../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import { pushOf } from "../conformance/stream-scene.ts";
import { Random } from "../support/random.ts";

/*
 * A program that appends pushes as fast as it can, and says on its output what was answered: `<number of the push> <its
 * last sequence>`. Before it trims, it says that too: `trim <sequence>`.
 */

const most = { events: 200, bytes: 3_000 };
const concurrency = 20;
/** It keeps about so many events. */
const held = 20_000;

/** The events of a push: each names its push, its place, and how many there are. */
function textsOf(number: number, random: Random): string[] {
  const count = random.pick(1, 2 + random.below(10), 1 + random.below(most.events));
  return Array.from({ length: count }, (_, at) => `${number} ${at} ${count} ${"x".repeat(random.below(most.bytes))}`);
}

async function appendForever(stream: EmbeddedStream, numbers: { next: number }, random: Random): Promise<void> {
  for (;;) {
    const number = numbers.next;
    numbers.next += 1;
    const last = await stream.append(pushOf(textsOf(number, random)));
    writeSync(1, `${number} ${last}\n`);
    const settled = last - held;
    if (random.below(50) > 0 || settled <= 0) continue;
    writeSync(1, `trim ${settled}\n`);
    await stream.trim(settled);
  }
}

const { positionals } = parseArgs({ allowPositionals: true });
const [folder = "", trimmed, next, seed] = positionals;
const stream = await EmbeddedStream.open(systemDisk, folder, {
  limits: { max_bytes: 256 * 1024 * 1024, max_msgs: Infinity },
  trimmed: Number(trimmed),
  onAppended: () => undefined,
});
const random = new Random(Number(seed));
const numbers = { next: Number(next) };
await Promise.all(Array.from({ length: concurrency }, () => appendForever(stream, numbers, random)));
