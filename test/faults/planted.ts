import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { plantedFaults, type Edit, type PlantedFault } from "./planted-faults.ts";

/** A command that runs tests, and how it names them to the configuration (`TESTS`). */
const commands = { push: "npm test", rest: "npm run test:rest" } as const;

interface Suite {
  tests: keyof typeof commands;
  picked: readonly string[];
}

/** What is run for each fault, one after the other, until one finds it. */
const suites: readonly Suite[] = [
  { tests: "push", picked: ["test/fuzz/world.test.ts"] },
  { tests: "push", picked: ["test/fuzz/stream.test.ts", "test/fuzz/delivery.test.ts"] },
  { tests: "push", picked: ["test/unit", "test/conformance"] },
  { tests: "rest", picked: ["test/fuzz/world.test.ts", "test/fuzz/delivery.test.ts"] },
];

/** What is made from the tree, or found from the copy because it is below the house. */
const notCopied = new Set([".cache", ".git", "dist", "node_modules"]);

/** Which test found a fault, and after how many cases where it is a property. */
export interface Found {
  fault: string;
  /** Undefined where nothing found it. */
  by: string | undefined;
  /** The command that runs this test. */
  command: (typeof commands)[keyof typeof commands] | undefined;
  cases: number | undefined;
  seconds: number;
}

interface Options {
  /** Only faults whose names hold this. */
  only?: string;
  log: (line: string) => void;
}

/**
 * Plants each fault in a copy of the tree and runs the tests on it, as `npm test` has them, and then as the rest has them.
 * Throws where the tests fail without a fault, or where the place of a fault is not in the source any more.
 */
export async function plantFaults({ only = "", log }: Options): Promise<Found[]> {
  const house = fileURLToPath(new URL("../..", import.meta.url));
  // Below the house, so that its packages are found from there.
  await mkdir(join(house, ".cache"), { recursive: true });
  const copy = await mkdtemp(join(house, ".cache", "planted-"));
  try {
    for (const name of await readdir(house)) {
      if (!notCopied.has(name)) await cp(join(house, name), join(copy, name), { recursive: true });
    }
    await mkdir(join(copy, ".cache"));
    // They hold documents and packages against the house, and know nothing of what the program does.
    const docs = await readdir(join(copy, "test/unit/docs"));
    for (const name of docs.filter((one) => one.endsWith(".test.ts"))) await rm(join(copy, "test/unit/docs", name));
    const sound = await search(copy);
    if (sound.by !== undefined) throw new Error(`the tests fail without any fault: ${sound.by}`);
    log(`without a fault: nothing is found in ${sound.seconds} s`);
    const found: Found[] = [];
    for (const fault of plantedFaults.filter(({ name }) => name.includes(only))) {
      found.push(await plant(fault, copy));
      log(lineOf(found.at(-1)!));
    }
    return found;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** As a line of a table. */
export function lineOf({ fault, by, command, cases, seconds }: Found): string {
  const after = cases === undefined ? "" : `, after ${cases} cases`;
  return `| ${fault} | ${by === undefined ? "NOT FOUND" : `${by}${after}`} | ${command ?? ""} | ${seconds} s |`;
}

async function plant({ name, edits }: PlantedFault, folder: string): Promise<Found> {
  const originals = new Map<string, string>();
  for (const { file } of edits) originals.set(file, await readFile(join(folder, file), "utf8"));
  try {
    const texts = new Map(originals);
    for (const edit of edits) texts.set(edit.file, edited(texts.get(edit.file)!, edit));
    for (const [file, text] of texts) await writeFile(join(folder, file), text);
    return { fault: name, ...(await search(folder)) };
  } finally {
    for (const [file, text] of originals) await writeFile(join(folder, file), text);
  }
}

function edited(text: string, { file, find, replace }: Edit): string {
  const parts = text.split(find);
  if (parts.length !== 2) {
    throw new Error(`${file}: expected the place of a planted fault once, found it ${parts.length - 1} times: ${find}`);
  }
  return parts.join(replace);
}

/** Runs the suites until a test fails. */
async function search(folder: string): Promise<Omit<Found, "fault">> {
  const began = performance.now();
  for (const suite of suites) {
    const failed = await firstFailure(folder, suite);
    const seconds = Math.round((performance.now() - began) / 1000);
    if (failed !== undefined) return { ...failed, command: commands[suite.tests], seconds };
  }
  return {
    by: undefined,
    command: undefined,
    cases: undefined,
    seconds: Math.round((performance.now() - began) / 1000),
  };
}

interface Report {
  testResults: {
    name: string;
    message: string;
    status: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

async function firstFailure(
  folder: string,
  { tests, picked }: Suite,
): Promise<Pick<Found, "by" | "cases"> | undefined> {
  const report = join(folder, ".cache", "test-report.json");
  await rm(report, { force: true });
  const args = ["vitest", "run", ...picked, "--bail=1", "--reporter=json", `--outputFile=${report}`];
  const env = { ...process.env, TESTS: tests };
  // What the program prints is in the report; a program that hangs is a fault that is found too.
  const child = spawn("npx", args, { cwd: folder, stdio: "ignore", env });
  await new Promise((resolve) => child.once("exit", resolve));
  const { testResults } = JSON.parse(await readFile(report, "utf8")) as Report;
  for (const { name, message, status, assertionResults } of testResults) {
    const file = name.slice(name.indexOf("test/"));
    const failed = assertionResults.find(
      // After the first failure others are given up, which says nothing of them.
      (one) => one.status === "failed" && one.failureMessages.length > 0,
    );
    if (failed !== undefined) return { by: `${file}: ${failed.fullName}`, cases: casesOf(failed.failureMessages) };
    if (status === "failed" && assertionResults.length === 0 && message !== "")
      return { by: `${file}: ${message.split("\n")[0]!}`, cases: undefined };
  }
  return undefined;
}

function casesOf(messages: readonly string[]): number | undefined {
  const [, count] = /failed after (\d+) tests/.exec(messages.join("\n")) ?? [];
  return count === undefined ? undefined : Number(count);
}
