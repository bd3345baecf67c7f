import { judge, mutant } from "./files.ts";

/** What is sent before each file, so that the parent knows the one at which a run hangs. */
export interface Progress {
  file: number;
}

/** What is sent at the end, or at the first file that broke the promise. */
export interface Report {
  runs: number;
  good: number;
  refused: number;
  /** How often each code was given. */
  codes: Record<string, number>;
  slowest: { ms: number; file: number; bytes: number };
  failure?: { file: number; error: string };
}

const [seed = 1, runs = 0] = process.argv.slice(2).map(Number);
const report: Report = { runs: 0, good: 0, refused: 0, codes: {}, slowest: { ms: 0, file: 0, bytes: 0 } };

function send(message: Progress | Report): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}

function run(file: number): void {
  const source = mutant(seed + file);
  const started = performance.now();
  try {
    const { good, refused, codes } = judge(source);
    report.good += good;
    report.refused += refused;
    for (const code of codes) report.codes[code] = (report.codes[code] ?? 0) + 1;
  } catch (error) {
    report.failure = { file, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
  const ms = performance.now() - started;
  if (ms > report.slowest.ms) report.slowest = { ms, file, bytes: source.bytes.length };
  report.runs += 1;
}

for (let file = 0; file < runs && report.failure === undefined; file += 1) {
  await send({ file });
  run(file);
}
await send(report);
process.disconnect();
