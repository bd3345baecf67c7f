import { rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";

/** Who writes a pipeline file is not who runs Sluice: what such a file cannot make it do (docs/security.md). */

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Problems extends Reconcile {
  problems: { file: string }[];
}

const canary = "c4n4ry-of-the-operator";
let place: Workplace;
let daemon: Daemon;
/** The server of the author, and all that it was sent. */
let author: Server;
let received = "";

/** A pipeline that writes to the author's server, with lines of `connection_params`. */
function sendingTo(pipeline_id: string, lines: string): string {
  const { port } = author.address() as AddressInfo;
  const params = `{ host: 127.0.0.1, port: "9000", http_port: "${port}", database: d, ${lines} }`;
  return pipelineFile(pipeline_id).replace("{ host: embedded, database: default }", params);
}

/** The text of a file of the author, of its pipeline and the operator's secret file. */
type TextOf = (id: string, secret: string) => string;

const attacks: [string, TextOf][] = [
  [
    "as the password towards a server of the author",
    (id) => sendingTo(id, 'username: u, password: "${env:OPERATOR_SECRET}"'),
  ],
  ["a file as the password", (id, file) => sendingTo(id, `username: u, password: "\${file:${file}}"`)],
  [
    "as the user towards a server of the author",
    (id) => sendingTo(id, 'username: "${env:OPERATOR_SECRET}", password: "x"'),
  ],
  [
    "a file in an expression, which becomes a row",
    (id, file) =>
      pipelineFile(id, {
        rest: `transforms:\n  - { type: filter, source_id: input, config: { expression: 'id != "\${file:${file}}"' } }\n`,
      }),
  ],
  ["in the name of a table", (id) => pipelineFile(id).replace(/table: .*/, 'table: "${env:OPERATOR_SECRET}"')],
  [
    "in the name of a host",
    (id) => sendingTo(id, "username: u, password: x").replace("127.0.0.1", '"${env:OPERATOR_SECRET}.example.org"'),
  ],
  ["a file of the system", (id) => sendingTo(id, 'username: u, password: "${file:/etc/passwd}"')],
  ["as the token of its own webhook", (id) => pipelineFile(id).replace("SLUICE_SECRET_TOKEN", "OPERATOR_SECRET")],
];

const idOf = (index: number): string => `attack-${index}`;
/** The file that asks for a secret of Sluice itself. */
const own = "asks-for-its-own";

beforeAll(async () => {
  place = await Workplace.make();
  author = createServer((req, res) => {
    received += `${req.url} ${JSON.stringify(req.headers)}`;
    req.on("data", (bytes: Buffer) => (received += bytes.toString("latin1"))).on("end", () => res.end("Ok."));
  });
  await new Promise<void>((resolve) => author.listen(0, "127.0.0.1", resolve));
  const secret = join(place.path, "operator-secret");
  await writeFile(secret, canary);
  await place.write("orders.yaml", pipelineFile("orders"));
  for (const [index, [, textOf]] of attacks.entries())
    await place.write(`${idOf(index)}.yaml`, textOf(idOf(index), secret));
  await place.write(`${own}.yaml`, sendingTo(own, 'username: u, password: "${env:GIT_TOKEN_OF_OPERATOR}"'));
  // All may use the variable that is also the secret of the hook.
  const references = ["--reference", "${env:SLUICE_SECRET_*}=*", "--reference", "${env:GIT_*}=*"];
  const hook = ["--hook-secret", "${env:GIT_TOKEN_OF_OPERATOR}", "--hook", "127.0.0.1:0"];
  daemon = await place.start({
    args: ["--dir", place.pipelines, ...references, ...hook],
    env: { ...tokenEnv, OPERATOR_SECRET: canary, GIT_TOKEN_OF_OPERATOR: canary },
  });
});

afterAll(async () => {
  await place.clean();
  await new Promise((resolve) => author.close(resolve));
});

/** What is said of the file and the pipeline of an id. */
async function said(id: string): Promise<string[]> {
  const { problems, pipelines } = await daemon.get<Problems>("/api/v1/reconcile");
  return [
    ...problems.filter(({ file }) => file === `${id}.yaml`),
    ...pipelines.filter(({ pipeline_id }) => pipeline_id === id),
  ].flatMap(textsIn);
}

const isRefusal = (text: string): boolean => /MISPLACED_REFERENCE|is not allowed|which no pipeline gets/.test(text);

/** What is said of a file, once it is refused. */
function refusal(id: string): Promise<string> {
  return daemon.until(async () => (await said(id)).find(isRefusal), `to refuse ${id}.yaml`);
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

test.each(attacks.map(([title], index) => [title, idOf(index)]))(
  "an author reads no secret of the machine: %s",
  async (_, id) => {
    expect(await refusal(id)).toMatch(new RegExp(`MISPLACED_REFERENCE|is not allowed for pipeline ${id}`));
  },
);

test("an author whose references may name it gets no secret of Sluice itself", async () => {
  expect(await refusal(own)).toContain("is that of --hook-secret, which no pipeline gets");
});

test("a commit that asks for more leaves the running pipeline as it is", async () => {
  const send = (n: number): Promise<Response> =>
    fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-pipeline-access-token": tokenEnv.SLUICE_SECRET_TOKEN },
      body: JSON.stringify({ id: "a", n }),
    });
  await daemon.until(async () => ((await send(1)).status === 202 ? true : undefined), "to take events");
  await place.write("orders.yaml", sendingTo("orders", 'username: u, password: "${env:OPERATOR_SECRET}"'));
  const { port } = author.address() as AddressInfo;
  expect(await refusal("orders")).toContain(`the line "\${env:OPERATOR_SECRET}": "orders towards 127.0.0.1:${port}"`);
  expect((await send(2)).status).toBe(202);
  await daemon.settled("orders");
  expect((await daemon.health("orders")).counters.rows_written).toBe(2);
});

test("none of it is told anywhere, and the author's server is asked nothing", async () => {
  const told = [daemon.log.join("\n"), await (await fetch(`${daemon.api}/metrics`)).text()];
  for (const path of ["/api/v1/reconcile", "/api/v1/pipeline"]) told.push(JSON.stringify(await daemon.get(path)));
  expect(told.join("\n")).not.toContain(canary);
  expect(received).toBe("");
  // A file that is gone is refused no more.
  await rm(join(place.pipelines, `${own}.yaml`));
  const isForgotten = async (): Promise<true | undefined> => !(await said(own)).some(isRefusal) || undefined;
  await daemon.until(isForgotten, "to forget the file");
});
