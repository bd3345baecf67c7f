import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { crash } from "./crash.ts";
import { Delivery } from "./delivery.ts";
import { broken, lineOf, missing, summaryOf } from "./delivery-report.ts";
import { brokenBy, suffer } from "./outages.ts";
import { type Step, steps } from "./steps.ts";
import { variants } from "./variants.ts";

interface Options {
  /** Kills at random moments. */
  kills: number;
  seed: number;
}

/** `npm run faults -- NAME`: the long forms. Each prints what it counted, and resolves with whether every promise was kept. */
const faults: Record<string, { kills: number; run: (options: Options) => Promise<boolean> }> = {
  crash: { kills: 50, run: runCrash },
  delivery: { kills: 100, run: runDelivery },
  outages: { kills: 0, run: runOutages },
};

async function runCrash({ kills }: Options): Promise<boolean> {
  const report = await crash({ kills, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  const { lost, doubled, strangers, dropped, replayed } = report;
  const isWhole = lost.length + doubled.length + strangers.length === 0;
  if (!isWhole) console.log("BROKEN: events were lost, doubled or invented");
  if (replayed === 0 || dropped === 0) console.log("BROKEN: no insert was repeated and dropped, so nothing was tested");
  return isWhole && replayed > 0 && dropped > 0;
}

/** Each step for each pipeline, then random kills of all of them. */
async function runDelivery({ kills, seed }: Options): Promise<boolean> {
  const delivery = await Delivery.start(seed, variants);
  const reports: Awaited<ReturnType<Delivery["killAt"]>>[] = [];
  try {
    for (const variant of variants) {
      for (const step of Object.keys(steps) as Step[]) {
        reports.push(await delivery.killAt(step, variant));
        console.log(lineOf(reports.at(-1)!));
      }
    }
    const random = await delivery.killAtRandom(kills, (line) => console.log(line));
    for (const report of random) console.log(lineOf(report));
    reports.push(...random);
  } finally {
    await delivery.clean();
  }
  for (const line of summaryOf(reports)) console.log(line);
  const unseen = missing(reports);
  for (const what of unseen) console.log(`BROKEN: ${what}`);
  return unseen.length === 0 && reports.every((report) => broken(report).length === 0);
}

async function runOutages(): Promise<boolean> {
  const report = await suffer({ each: 90_000, cut: false, log: (line) => console.log(line) });
  console.log(JSON.stringify(report, undefined, 2));
  const problems = brokenBy(report);
  for (const problem of problems) console.log(`BROKEN: ${problem}`);
  return problems.length === 0;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string" }, seed: { type: "string" } },
});
const [name = ""] = positionals;
const fault = Object.hasOwn(faults, name) ? faults[name] : undefined;
const kills = Number(values.kills ?? fault?.kills);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
if (fault === undefined || !Number.isInteger(kills) || !Number.isInteger(seed)) {
  const names = Object.keys(faults).join(", ");
  console.error(`usage: npm run faults -- NAME [--kills N] [--seed N], where NAME is one of: ${names}`);
  process.exitCode = 1;
} else {
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  console.log(`faults -- ${name} --kills ${kills} --seed ${seed}`);
  process.exitCode = (await fault.run({ kills, seed })) ? 0 : 1;
}
