import { rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, tokenEnv, Workplace } from "../support/daemon.ts";

/** Who writes a pipeline file is not who runs Sluice: what such a file cannot make it do (docs/security.md). */

const canary = "c4n4ry-of-the-operator";
let place: Workplace;
let daemon: Daemon;
/** The server of the author, and all that it was sent. */
let author: Server;
let received: string;

async function open(): Promise<void> {
  place = await Workplace.make();
  received = "";
  author = createServer((req, res) => {
    received += `${req.url} ${JSON.stringify(req.headers)}`;
    req.on("data", (bytes: Buffer) => (received += bytes.toString("latin1"))).on("end", () => res.end("Ok."));
  });
  await new Promise<void>((resolve) => author.listen(0, "127.0.0.1", resolve));
  await writeFile(join(place.path, "operator-secret"), canary);
}

async function close(): Promise<void> {
  await place.clean();
  await new Promise((resolve) => author.close(resolve));
}

/** A pipeline that writes to the author's server, with lines of `connection_params`. */
function sendingTo(pipeline_id: string, lines: string): string {
  const { port } = author.address() as AddressInfo;
  const params = `{ host: 127.0.0.1, port: "9000", http_port: "${port}", database: d, ${lines} }`;
  return pipelineFile(pipeline_id).replace("{ host: embedded, database: default }", params);
}

async function started(args: string[] = []): Promise<void> {
  daemon = await place.start({
    args: ["--dir", place.pipelines, ...args],
    env: { ...tokenEnv, OPERATOR_SECRET: canary, GIT_TOKEN_OF_OPERATOR: canary },
  });
}

/** What is said of a file that is refused; undefined where none is. */
async function refused(): Promise<string | undefined> {
  const isRefusal = /MISPLACED_REFERENCE|is not allowed|which no pipeline gets/;
  const { history: _past, ...present } = await daemon.get<Reconcile>("/api/v1/reconcile");
  return textsIn(present).find((text) => isRefusal.test(text));
}

/** What is said of the file, once it was looked at. */
function refusal(): Promise<string> {
  return daemon.until(refused, "to refuse the file");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

async function expectNothingTold(): Promise<void> {
  const told = [daemon.log.join("\n"), received, await (await fetch(`${daemon.api}/metrics`)).text()];
  for (const path of ["/api/v1/reconcile", "/api/v1/pipeline"]) {
    told.push(JSON.stringify(await daemon.get(path).catch(() => "")));
  }
  expect(told.join("\n")).not.toContain(canary);
}

const files: [string, (secret: string) => string][] = [
  [
    "as the password towards a server of the author",
    () => sendingTo("attack", 'username: u, password: "${env:OPERATOR_SECRET}"'),
  ],
  ["a file as the password", (file) => sendingTo("attack", `username: u, password: "\${file:${file}}"`)],
  [
    "as the user towards a server of the author",
    () => sendingTo("attack", 'username: "${env:OPERATOR_SECRET}", password: "x"'),
  ],
  [
    "a file in an expression, which becomes a row",
    (file) =>
      pipelineFile("attack", {
        rest: `transforms:\n  - { type: filter, source_id: input, config: { expression: 'id != "\${file:${file}}"' } }\n`,
      }),
  ],
  ["in the name of a table", () => pipelineFile("attack").replace("table: attack", 'table: "${env:OPERATOR_SECRET}"')],
  [
    "in the name of a host",
    () => sendingTo("attack", "username: u, password: x").replace("127.0.0.1", '"${env:OPERATOR_SECRET}.example.org"'),
  ],
  ["a file of the system", () => sendingTo("attack", 'username: u, password: "${file:/etc/passwd}"')],
  ["as the token of its own webhook", () => pipelineFile("attack").replace("SLUICE_SECRET_TOKEN", "OPERATOR_SECRET")],
];

describe("an author reads no secret of the machine", () => {
  beforeAll(async () => {
    await open();
    await started();
  }, 60_000);

  afterEach(async () => {
    await rm(join(place.pipelines, "attack.yaml"));
    await daemon.until(async () => ((await refused()) === undefined ? true : undefined), "to forget the file");
  });

  afterAll(close);

  test.each(files)("%s", { timeout: 60_000 }, async (_, textOf) => {
    await place.write("attack.yaml", textOf(join(place.path, "operator-secret")));
    expect(await refusal()).toMatch(/MISPLACED_REFERENCE|is not allowed for pipeline attack/);
    await expectNothingTold();
    expect(received).toBe("");
  });
});

describe("an author asks for more", () => {
  beforeEach(open);
  afterEach(close);

  test("an author who may use everything gets no secret of Sluice itself", { timeout: 60_000 }, async () => {
    const everything = ["--reference", "${env:*}=*", "--reference", "${file:/*}=*"];
    await started([...everything, "--hook-secret", "${env:GIT_TOKEN_OF_OPERATOR}", "--hook", "127.0.0.1:0"]);
    await place.write("attack.yaml", sendingTo("attack", 'username: u, password: "${env:GIT_TOKEN_OF_OPERATOR}"'));
    expect(await refusal()).toContain("is that of --hook-secret, which no pipeline gets");
    await expectNothingTold();
  });

  test("a commit that asks for more leaves the running pipeline as it is", { timeout: 60_000 }, async () => {
    await place.write("orders.yaml", pipelineFile("orders"));
    await started();
    const send = (n: number): Promise<Response> =>
      fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-pipeline-access-token": tokenEnv.SLUICE_SECRET_TOKEN },
        body: JSON.stringify({ id: "a", n }),
      });
    await daemon.until(async () => ((await send(1)).status === 202 ? true : undefined), "to take events");
    await place.write("orders.yaml", sendingTo("orders", 'username: u, password: "${env:OPERATOR_SECRET}"'));
    expect(await refusal()).toContain('the line "${env:OPERATOR_SECRET}": "orders towards 127.0.0.1"');
    expect((await send(2)).status).toBe(202);
    await daemon.settled("orders");
    expect((await daemon.health("orders")).counters.rows_written).toBe(2);
  });
});
