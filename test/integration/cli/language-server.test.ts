import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createMessageConnection, type MessageConnection } from "vscode-jsonrpc/node.js";
import { main } from "../../../reconciler/cli/main.ts";

/** What editors show of the files that `sluice init` writes: the language server of YAML is the one that they run. */
const server = createRequire(import.meta.url).resolve("yaml-language-server/bin/yaml-language-server");

let folder: string;
let child: ChildProcess;
let connection: MessageConnection;
const diagnostics = new Map<string, { message: string; line: number }[]>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-editor-"));
  const terminal = { out: () => undefined, err: () => undefined };
  expect(await main(["init", folder], { terminal, env: {}, untilStopped: () => AbortSignal.abort() })).toBe(0);
  child = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
  connection = createMessageConnection(child.stdout!, child.stdin!);
  connection.onRequest("workspace/configuration", ({ items }: { items: { section: string }[] }) =>
    items.map(({ section }) => (section === "yaml" ? { schemaStore: { enable: false } } : null)),
  );
  connection.onRequest("client/registerCapability", () => null);
  connection.onNotification("textDocument/publishDiagnostics", (given: Published) => {
    diagnostics.set(
      given.uri,
      given.diagnostics.map(({ message, range }) => ({ message, line: range.start.line + 1 })),
    );
  });
  connection.listen();
  await connection.sendRequest("initialize", {
    processId: process.pid,
    rootUri: pathToFileURL(folder).href,
    capabilities: { textDocument: { hover: { contentFormat: ["markdown"] } }, workspace: { configuration: true } },
  });
  await connection.sendNotification("initialized", {});
});

afterAll(async () => {
  await connection.sendRequest("shutdown");
  connection.dispose();
  child.kill();
  await rm(folder, { recursive: true, force: true });
});

interface Published {
  uri: string;
  diagnostics: { message: string; range: { start: { line: number } } }[];
}

let opened = 0;

/** Opens the pipeline that `init` wrote, changed; resolves with its URI once the server has said something of it. */
async function open(change: (text: string) => string): Promise<{ uri: string; text: string }> {
  return openText(change(await readFile(join(folder, "pipelines/orders.yaml"), "utf8")));
}

async function openText(text: string): Promise<{ uri: string; text: string }> {
  const uri = pathToFileURL(join(folder, `pipelines/orders-${(opened += 1)}.yaml`)).href;
  await connection.sendNotification("textDocument/didOpen", {
    textDocument: { uri, languageId: "yaml", version: 1, text },
  });
  await vi.waitFor(() => expect(diagnostics.has(uri)).toBe(true), { timeout: 60_000 });
  return { uri, text };
}

/** Where a text ends in a file, as the server counts. */
function after(text: string, passage: string): { line: number; character: number } {
  const lines = text.slice(0, text.indexOf(passage) + passage.length).split("\n");
  return { line: lines.length - 1, character: lines.at(-1)!.length };
}

test("a good file has no diagnostic", async () => {
  const { uri } = await open((text) => text);
  expect(diagnostics.get(uri)).toEqual([]);
});

test("of the pipelines of the examples none has a diagnostic, but for the wrong key that is planted in one more", async () => {
  const examples = readdirSync("examples", { recursive: true, encoding: "utf8" })
    .filter((path) => /pipelines\/.*\.yaml$/.test(path) && !path.endsWith(".test.yaml"))
    .map((path) => readFileSync(join("examples", path), "utf8"));
  expect(examples.length).toBeGreaterThan(15);
  const planted = "version: v3\nwrong-key: ${var:X}\n";
  const named = [...examples, planted].map(
    (text) => `# yaml-language-server: $schema=../.pipeline.schema.json\n${text}`,
  );
  const { uri } = await openText(named.join("\n---\n"));
  expect(new Set(diagnostics.get(uri)?.map(({ message }) => message))).toEqual(
    new Set([
      'Missing property "pipeline_id".',
      'Missing property "sources".',
      'Missing property "sink".',
      "Property wrong-key is not allowed.",
    ]),
  );
});

test.each([
  ["a wrong key", "  table: orders\n", "  tabel: orders\n", /tabel/],
  ["a wrong type of source", "type: webhook", "type: webhok", /webhook/],
  ["a wrong word", "create_table: true", "state: Sleeping", /"Running"/],
  ["a wrong number", "max_batch_size: 1000", "max_batch_size: many", /at most 1048448 rows/],
  ["a wrong pipeline_id", "pipeline_id: orders", "pipeline_id: X", /5 to 40 of a-z/],
])("%s has a diagnostic on its line", async (_, passage, by, message) => {
  const { uri, text } = await open((content) => content.replace(passage, by));
  const line = text.slice(0, text.indexOf(by)).split("\n").length;
  expect(diagnostics.get(uri)).toContainEqual({ message: expect.stringMatching(message), line });
});

test.each([
  ["a key of a definition", "pipeline_id", "A change is refused while the pipeline exists."],
  ["a key", "\nsink", "Where rows go."],
  ["a key with a default", "max_batch_size", "Default:"],
  ["an example", "table", "Example:"],
])("hovering over %s shows what it means", async (_, key, told) => {
  const { uri, text } = await open((content) => content);
  const position = after(text, key);
  const at = { ...position, character: position.character - 1 };
  const hover = await connection.sendRequest("textDocument/hover", { textDocument: { uri }, position: at });
  expect(JSON.stringify(hover)).toContain(told);
});

test.each([
  ["keys", "x-sluice:\n", "  \n", ["alter_table", "depends_on", "state"]],
  ["types", "transforms:\n", "  - type: \n", ["filter", "dedup", "stateless"]],
  ["values", "x-sluice:\n", "  state: \n", ["Running", "Stopped"]],
])("%s are completed", async (_, passage, typed, expected) => {
  const { uri, text } = await open((content) => content.replace(passage, `${passage}${typed}`));
  const found = await connection.sendRequest<{ items: { label: string }[] }>("textDocument/completion", {
    textDocument: { uri },
    position: after(text, `${passage}${typed.trimEnd()}${typed.includes(":") ? " " : "  "}`),
  });
  expect(found.items.map(({ label }) => label)).toEqual(expect.arrayContaining(expected));
});
