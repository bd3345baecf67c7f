import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { staticType } from "./otlp-requests.ts";

/**
 * A program of its own, the floor of the OTLP benchmark: the code that protobufjs generates decodes the requests in a folder
 * again and again, and nothing is done with what it makes. Says its Cost as JSON.
 */
const [, , folder = "", requests] = process.argv;

const type = await staticType();
const bodies = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
const started = performance.now();
const before = process.cpuUsage();
for (let sent = 0; sent < Number(requests); sent += 1) type.decode(bodies[sent % bodies.length]!);
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ seconds: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 }));
