import { execFile } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Daemon } from "../../examples/quickstart/daemon.ts";
import { PipelineRepository } from "../../examples/quickstart/repository.ts";
import { sluice } from "../support/daemon.ts";
import { classPath } from "../support/kafka/distribution.ts";
import { commandLine } from "../support/java.ts";
import { useKafka } from "../support/kafka/use-kafka.ts";
import { freeAddresses } from "../support/ports.ts";
import { blocksOf, pages, type Block } from "../support/docs/pages.ts";
import { ShellSluice } from "../support/shell-sluice.ts";
import { scriptOf, type Addresses } from "../support/docs/script.ts";

const project = fileURLToPath(new URL("../..", import.meta.url));
const written = pages().map((page) => ({ path: page.path, blocks: blocksOf(page) }));
const withCommands = written.filter(({ blocks }) =>
  blocks.some(({ language, skip }) => language === "sh" && skip === undefined),
);

/** Kafka's own tools, and their classes. */
const kafkaTools = { "kafka-topics.sh": "TopicCommand", "kafka-console-producer.sh": "ConsoleProducer" };

/** Where the commands of pages are run, and what they find there. */
interface Scene {
  folder: string;
  addresses: Addresses;
}

let tools: string;
/** A folder with the program `sluice` as it is installed, for the page that shows all of it once. */
let built: string;
let shellSluice: ShellSluice;

/** A reader types `npx sluice` in a checkout, and `sluice` where that is installed. */
beforeAll(async () => {
  tools = await mkdtemp(join(tmpdir(), "sluice-docs-tools-"));
  built = join(tools, "built");
  await mkdir(built);
  await writeFile(join(built, "sluice"), `#!/bin/sh\nexec "${process.execPath}" "${sluice}" "$@"\n`, { mode: 0o755 });
  shellSluice = await ShellSluice.start(tools);
  await writeFile(join(tools, "npx"), `#!/bin/sh\n[ "$1" = sluice ] || exit 127\nshift\nexec sluice "$@"\n`);
  for (const [tool, main] of Object.entries(kafkaTools)) {
    const program = { main: `org.apache.kafka.tools.${main}`, args: [`"$@"`], heapMegabytes: 128 };
    const java = commandLine({ ...program, classPath: `"$(cat "${tools}/class-path")"` });
    await writeFile(join(tools, tool), `#!/bin/sh\nexec ${java.join(" ")}\n`);
  }
  for (const name of ["npx", ...Object.keys(kafkaTools)]) await chmod(join(tools, name), 0o755);
});

afterAll(async () => {
  await shellSluice.stop();
  await remove(tools);
});

describe("a page that starts Sluice, or is of an example", () => {
  const starting = withCommands.filter((page) => hasOwnScene(page) && !needsKafka(page));
  const [first, others] = [
    starting.filter(({ path }) => path === "README.md"),
    starting.filter(({ path }) => path !== "README.md"),
  ];

  test.each(first)("$path", { timeout: 300_000 }, (page) => runAlone(page, [built]));
  test.each(others)("$path", { tags: ["rest"], timeout: 300_000 }, (page) => runAlone(page));
});

describe("a page of an example that needs a Kafka", () => {
  const kafka = useKafka();

  test.each(withCommands.filter(needsKafka))("$path", { tags: ["rest"], timeout: 300_000 }, async ({ blocks }) => {
    const [broker = ""] = kafka().access.plaintext;
    await writeFile(join(tools, "class-path"), await classPath());
    const scene = await newScene();
    try {
      for (const path of await filesIn(join(scene.folder, "examples"))) await replaceIn(path, "localhost:9092", broker);
      await run(blocks, { ...scene, addresses: { ...scene.addresses, "localhost:9092": broker } });
    } finally {
      await remove(scene.folder);
    }
  });
});

describe("a page for those whose Sluice runs", () => {
  const running = withCommands.filter((page) => !hasOwnScene(page));
  let scene: Scene;
  let daemon: Daemon;

  /** A repository with the pipeline of the README and one for OTLP, and Sluice in its folder. */
  beforeAll(async () => {
    scene = await newScene();
    const { folder, addresses } = scene;
    const readme = written.find(({ path }) => path === "README.md")!;
    const { file = "", text } = readme.blocks.find((block) => block.file !== undefined)!;
    await mkdir(join(folder, "pipelines"));
    await writeFile(join(folder, file), text);
    await cp(join(project, "examples/otlp/pipelines/app-logs.yaml"), join(folder, "pipelines/app-logs.yaml"));
    const repository = await PipelineRepository.from(join(folder, "pipelines"), join(folder, "repository"));
    const head = await repository.commit("The pipelines of the pages");
    daemon = await Daemon.start({
      sluice,
      dataDir: join(folder, "repository", ".sluice"),
      args: ["--repo", repository.folder, "--interval", "1s"],
      listeners: {
        api: addresses["127.0.0.1:8081"]!,
        events: addresses["127.0.0.1:8080"]!,
        otlpGrpc: addresses["127.0.0.1:4317"]!,
        otlpHttp: addresses["127.0.0.1:4318"]!,
      },
    });
    await daemon.reconciled(head);
  }, 180_000);

  afterAll(async () => {
    await daemon?.stop();
    await remove(scene.folder);
  });

  test.each(running)("$path", { tags: ["rest"], timeout: 300_000 }, async ({ blocks }) => {
    const folder = join(scene.folder, "repository");
    // Without the files of the pages before.
    await promisify(execFile)("git", ["clean", "-fdq", "--exclude", ".sluice"], { cwd: folder });
    await run(blocks, { ...scene, folder });
  });
});

function needsKafka({ blocks }: { blocks: readonly Block[] }): boolean {
  return blocks.some(({ needs }) => needs === "kafka");
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

async function replaceIn(path: string, before: string, after: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (text.includes(before)) await writeFile(path, text.replaceAll(before, after));
}

function hasOwnScene({ path, blocks }: { path: string; blocks: readonly Block[] }): boolean {
  return path.startsWith("examples/") || blocks.some(({ isBackground }) => isBackground);
}

/** A folder with nothing but the examples. What pages name are default addresses, which another process may have taken. */
async function newScene(): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-docs-"));
  await cp(join(project, "examples"), join(folder, "examples"), { recursive: true });
  const ports = ["8081", "8080", "4317", "4318"];
  const free = await freeAddresses(ports.length);
  const addresses = Object.fromEntries(ports.map((port, index) => [`127.0.0.1:${port}`, free[index]!]));
  return { folder, addresses };
}

/** Runs the commands of a page in a folder of their own. */
async function runAlone({ blocks }: { blocks: readonly Block[] }, programs: string[] = []): Promise<void> {
  const scene = await newScene();
  try {
    await run(blocks, scene, programs);
  } finally {
    await remove(scene.folder);
  }
}

/**
 * Runs the commands of a page in one shell; fails with what they printed where one does.
 *
 * @param programs folders with programs that are found before the others.
 */
async function run(
  blocks: readonly Block[],
  { folder, addresses }: Scene,
  programs: readonly string[] = [],
): Promise<void> {
  const env = {
    PATH: [...programs, tools, process.env["PATH"]].join(":"),
    HOME: tools,
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.com",
    GIT_COMMITTER_NAME: "Ada",
    GIT_COMMITTER_EMAIL: "ada@example.com",
    SLUICE_API: addresses["127.0.0.1:8081"],
    SLUICE_EVENTS: addresses["127.0.0.1:8080"],
    SLUICE_OTLP_GRPC: addresses["127.0.0.1:4317"],
    SLUICE_OTLP_HTTP: addresses["127.0.0.1:4318"],
  };
  const script = scriptOf(blocks, addresses);
  const options = { cwd: folder, env, timeout: 280_000, maxBuffer: 1 << 26 };
  const { isDone, output } = await new Promise<{ isDone: boolean; output: string }>((resolve) => {
    execFile("bash", ["-c", script], options, (error, stdout, stderr) => {
      resolve({ isDone: error === null, output: `${stdout}\n${stderr}` });
    });
  });
  expect(isDone, output).toBe(true);
}

function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
