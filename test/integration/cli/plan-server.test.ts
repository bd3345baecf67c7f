import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Daemon } from "../../../examples/quickstart/daemon.ts";
import type { PlanReport, ReportedChange } from "../../../reconciler/preview/report.ts";
import { Ajv } from "ajv";
import schema from "../../../schemas/plan-report.schema.json" with { type: "json" };
import { token, tokenEnv, Workplace } from "../../support/daemon.ts";
import { type Printed, runCommand } from "../../support/command.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { dedupOf, type PipelineText, pipelineText } from "../../support/pipeline-text.ts";

const sluiceLines = ["create_table: true", "access_token: ${env:SLUICE_SECRET_TOKEN}"];

/** Pipelines that hold something: keys, events that cannot be written, dead letters, and a password in plain text. */
const base: PipelineText[] = [
  { id: "orders", transforms: [dedupOf("id")], sluice: sluiceLines },
  { id: "stuck", sluice: sluiceLines.slice(1) },
  { id: "letters", sluice: sluiceLines },
  { id: "secretive", sluice: ["create_table: true", "access_token: an-access-token-in-plain-text"] },
];
const apiToken = "a-token-of-the-status-api";

let place: Workplace;
let repository: GitRepository;
let daemon: Daemon;

beforeAll(async () => {
  place = await Workplace.make();
  repository = await GitRepository.create();
  await repository.commit(Object.fromEntries(base.map((one) => [`pipelines/${one.id}.yaml`, pipelineText(one)])));
  const env = { ...tokenEnv, API_TOKEN: apiToken };
  const args = ["--repo", repository.path, "--path", "pipelines", "--api-token", "${env:API_TOKEN}"];
  daemon = await place.start({ args, env });
  await until(async () => (await actual()).pipelines.filter(({ status }) => status === "Running").length === 4);
  for (const [id, body] of events) await post(id, body);
  await until(async () => {
    const found = Object.fromEntries((await actual()).pipelines.map((one) => [one.pipeline_id, one]));
    return found["orders"]?.keys === 3 && found["stuck"]?.held === 2 && found["letters"]?.dead_letters === 1;
  });
}, 60_000);

afterAll(async () => {
  await place.clean();
  await repository.remove();
});

afterEach(() => repository.git("checkout", "--quiet", "--", "."));

const events: [string, unknown][] = [
  ...[1, 2, 3].map((id): [string, unknown] => ["orders", { id, level: "error" }]),
  ...[1, 2].map((id): [string, unknown] => ["stuck", { id, level: "error" }]),
  ["letters", { id: "none", level: "error" }],
];

async function post(id: string, body: unknown): Promise<void> {
  const response = await fetch(`${daemon.events}/v1/pipelines/${id}/topics/input/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pipeline-access-token": token },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(202);
}

interface Actual {
  pipelines: { pipeline_id: string; status: string; held: number; keys?: number; dead_letters: number }[];
}

async function actualText(): Promise<string> {
  const response = await fetch(`${daemon.api}/api/v1/actual`, { headers: { authorization: `Bearer ${apiToken}` } });
  expect(response.status).toBe(200);
  return response.text();
}

const actual = async (): Promise<Actual> => JSON.parse(await actualText()) as Actual;

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 100));
}

function sluice(...argv: string[]): Promise<Printed> {
  return runCommand(argv, { env: { API_TOKEN: apiToken, OTHER_TOKEN: "another-token-than-that" } });
}

const asks = ["--server-token", "${env:API_TOKEN}"];

const plan = (...argv: string[]): Promise<Printed> =>
  sluice("plan", join(repository.path, "pipelines"), "--server", daemon.api, ...asks, ...argv);

async function put(of: PipelineText): Promise<void> {
  await writeFile(join(repository.path, "pipelines", `${of.id}.yaml`), pipelineText(of));
}

/** What the plan says of each pipeline that it names. */
async function changes(): Promise<Record<string, ReportedChange>> {
  const { out } = await plan("--format", "json");
  const report = JSON.parse(out) as PlanReport;
  const isReport = new Ajv({ strict: true, allErrors: true }).compile(schema);
  expect([isReport(report), isReport.errors]).toEqual([true, null]);
  return Object.fromEntries(report.changes.map((one) => [one.pipeline_id, one]));
}

describe("against what runs", () => {
  test("nothing changes where the files are those that run", async () => {
    const { code, out, err } = await plan();
    const commit = (await repository.head()).slice(0, 12);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe(
      "note: secretive has a secret in plain text, which the API does not show: whether it changes is not known here\n" +
        `${daemon.api} (${commit}) to the files as they are: 4 unchanged`,
    );
  });

  test("it says what dedup has in memory and what waits to be written", async () => {
    await put({ ...base[0]!, transforms: [dedupOf("level")] });
    await put({ ...base[1]!, expression: "id > 1" });
    const { orders, stuck } = await changes();
    expect(orders).toMatchObject({
      kind: "update",
      level: "forget",
      calls: ["stop", "update", "resume"],
      now: { status: "Running", events: 0, keys: 3, dead_letters: 0 },
      losses: [{ code: "DedupKeys", text: "what dedup remembers (3 keys)" }],
    });
    expect(orders!.costs.map(({ text }) => text)).toContain(
      "dedup of input forgets its window (now 3 keys): repeats of the last 24h pass once",
    );
    expect(stuck).toMatchObject({ level: "rows", now: { events: 2, paused: expect.any(String) as string } });
    expect(stuck!.costs.at(-1)?.text).toMatch(/it writes what it has read \(2 accepted events/);
    const { code, out } = await plan();
    expect([code, out]).toEqual([2, expect.stringMatching(/now: Running, 3 keys of dedup\n/)]);
    expect((await plan("--fail-on", "forget")).code).toBe(1);
    expect((await plan("--format", "markdown")).out).toContain("- now: Running, 3 keys of dedup");
  });

  test("it says what a deletion waits for", async () => {
    await rm(join(repository.path, "pipelines/letters.yaml"));
    const { letters } = await changes();
    expect(letters).toMatchObject({ kind: "delete", level: "delete", now: { dead_letters: 1 } });
    expect(letters!.costs.map(({ text }) => text)).toContainEqual(
      expect.stringMatching(/^is not deleted while it has dead letters \(now 1 dead letter\)/),
    );
  });

  test("a pipeline that an operator suspended is left alone", async () => {
    const control = ["--data-dir", place.dataDir];
    await sluice("suspend", "orders", "--reason", "the table is being moved", ...control);
    await put({ ...base[0]!, expression: "id > 1" });
    const { orders } = await changes();
    await sluice("resume", "orders", ...control);
    expect(orders).toMatchObject({ kind: "no-op", cause: "Suspended" });
    expect(orders!.reason).toContain("the table is being moved");
  });

  test("directives that change are shown, and --head takes a commit", async () => {
    await repository.git("checkout", "--quiet", "-b", "change");
    const { stuck } = Object.fromEntries(base.map((one) => [one.id, one]));
    await repository.commit({
      "pipelines/stuck.yaml": pipelineText({ ...stuck!, sluice: [...stuck!.sluice!, "prune: false"] }),
    });
    const sha = await repository.head();
    await repository.git("checkout", "--quiet", "main");
    const { out } = await plan("--format", "json", "--head", "change");
    const report = JSON.parse(out) as PlanReport;
    expect(report.head).toEqual({ name: "change", commit: sha });
    expect(report.changes).toMatchObject([
      { pipeline_id: "stuck", kind: "no-op", fields: [{ path: "x-sluice.prune", from: true, to: false }] },
    ]);
  });

  test("another folder than the server follows is warned of", async () => {
    const { err } = await sluice("plan", repository.path, "--server", daemon.api, ...asks);
    expect(err).toBe(
      "sluice: the server follows the folder pipelines of its repository, and . is compared: pipelines of other files look removed, or new",
    );
  });
});

describe("no secret", () => {
  test("is in the answer of the API, in the plan, or in an error", async () => {
    await put({ ...base[3]!, expression: "id > 1" });
    const { out } = await plan("--format", "json");
    const wrong = await sluice("plan", repository.path, "--server", daemon.api, "--server-token", "${env:OTHER_TOKEN}");
    for (const text of [await actualText(), out, wrong.err]) {
      expect(text).not.toMatch(/in-plain-text|a-token-of-the-|another-token/);
    }
    expect(await actualText()).toContain("${env:SLUICE_SECRET_TOKEN}");
  });

  test("is sent where others on the way could read it, unless that is wanted", async () => {
    const url = "http://sluice.example:8081";
    const { code, err } = await sluice("plan", repository.path, "--server", url, ...asks);
    expect([code, err]).toEqual([1, expect.stringContaining("expected https, found http to sluice.example:8081")]);
  });
});

/** What the command says about a server that answers like this. */
async function errorOf(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const { code, out, err } = await sluice("plan", repository.path, "--server", `http://127.0.0.1:${port}`);
    expect([code, out]).toEqual([1, ""]);
    return err.replaceAll(String(port), "PORT");
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** What it says about one that answers what the real one does, changed. */
const json =
  (change: (text: string) => string): (() => Promise<string>) =>
  async () => {
    const text = change(await actualText());
    return errorOf((_req, res) => void res.setHeader("content-type", "application/json").end(text));
  };

describe("a server that does not answer as it should", () => {
  test.each<[string, () => Promise<string>, RegExp]>([
    [
      "no JSON",
      () => errorOf((_req, res) => void res.end("<html>\u001b[2J")),
      /http:\/\/127\.0\.0\.1:PORT\/api\/v1\/actual: expected JSON/,
    ],
    ["another document", json(() => "{}"), /as a sluice of this version answers.*required property 'version'/],
    ["another version", json((text) => text.replace('"version":1', '"version":2')), /\/version must be equal to con/],
    ["a status that is none", json((text) => text.replace('"Running"', '"Well"')), /\/pipelines\/0\/status must be eq/],
    ["a config that is none", json((text) => text.replace('"sources":[', '"sources":["x",')), /pipeline "\w+", \/sour/],
    ["an option that is none", json((text) => text.replace('"create_table":true', '"create_table":"x"')), /\/x-sluice/],
    [
      "a document of any depth",
      json((text) => text.replace(/"config":\{/, `"config":{"x":${"[".repeat(200_000)}${"]".repeat(200_000)},`)),
      /must NOT have additional properties|nested too deeply/,
    ],
    [
      "a refusal",
      () => errorOf((_req, res) => void res.writeHead(401).end('{"message":"a token is needed"}')),
      /answered 401: a token is needed: give its token with --server-token/,
    ],
    [
      "nothing at this path",
      () => errorOf((_req, res) => void res.writeHead(404).end("{}")),
      /404.*is this the status/,
    ],
    [
      "another place",
      () => errorOf((_req, res) => void res.writeHead(302, { location: "http://127.0.0.1:1/" }).end()),
      /expected an answer: unexpected redirect/,
    ],
    [
      "more than is read",
      () =>
        errorOf((_req, res) => {
          const more = (): void =>
            void (res.write(Buffer.alloc(1 << 20, " ")) ? setImmediate(more) : res.once("drain", more));
          more();
        }),
      /the answer cannot be read: expected at most 104857600 bytes/,
    ],
  ])("%s", async (_title, error, said) => {
    const err = await error();
    expect(err).toMatch(said);
    expect(err).not.toContain("\u001b");
  });

  test("or where nothing listens", async () => {
    const { code, err } = await sluice("plan", repository.path, "--server", "http://127.0.0.1:1");
    expect([code, err]).toEqual([1, expect.stringMatching(/expected an answer: .*: is --server the address of its/)]);
  });
});

test.each([
  [["--server", "http://127.0.0.1:1", "--base", "main"], /expected --base REF or --server URL, found both/],
  [["--server", "ftp://127.0.0.1"], /--server: expected a URL such as/],
  [
    ["--server", "http://me:secret@127.0.0.1:1"],
    /--server: expected the URL of a status API, .* found one with a user/,
  ],
  [["--server", "http://127.0.0.1:1", "--server-token", "plain"], /--server-token: expected \$\{env:NAME\}/],
  [
    ["--server", "http://127.0.0.1:1", "--server-token", "${env:NONE}"],
    /--server-token: secret \$\{env:NONE\} is not set/,
  ],
])("what is not understood: %j", async (argv, said) => {
  const { code, err } = await sluice("plan", repository.path, ...argv);
  expect(code).toBe(1);
  expect(err).toMatch(said);
  expect(err).not.toMatch(/me:secret|plain"/);
});

test("a server that follows a folder is compared with the files below that", { tags: ["rest"] }, async () => {
  const other = await Workplace.make();
  try {
    await other.write("orders.yaml", pipelineText(base[0]!));
    const running = await other.start({ env: tokenEnv });
    await running.until(async () => {
      const { lastAppliedRevision } = await running.get<{ lastAppliedRevision?: string }>("/api/v1/reconcile");
      return lastAppliedRevision;
    }, "to apply its files");
    const copy = join(other.path, "copy");
    await mkdir(copy);
    await writeFile(join(copy, "orders.yaml"), pipelineText(base[0]!));
    await writeFile(join(copy, "refunds.yaml"), pipelineText({ id: "refunds", sluice: sluiceLines }));
    const { out, code } = await sluice("plan", copy, "--server", running.api, "--format", "json");
    const { changes: found, counts } = JSON.parse(out) as PlanReport;
    expect([code, counts]).toEqual([2, { create: 1, unchanged: 1 }]);
    expect(found).toMatchObject([{ pipeline_id: "refunds", file: "refunds.yaml", kind: "create" }]);
  } finally {
    await other.clean();
  }
});
