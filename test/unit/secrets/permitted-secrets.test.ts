import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveSecrets, SecretsInUse } from "../../../engine/catalog/secrets.ts";
import { EngineError } from "../../../engine/index.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";
import { defaultPermissions, permissionsOf, type Permission } from "../../../reconciler/secrets/permissions.ts";
import { PermittedSecrets, type OwnSecret } from "../../../reconciler/secrets/permitted-secrets.ts";
import { readBrokerAddress, type Server } from "../../../schemas/index.ts";
import { webhookPipeline } from "../../support/pipelines.ts";

const canary = "c4n4ry-value";
const env = {
  SLUICE_SECRET_ORDERS: canary,
  SLUICE_GIT_TOKEN: canary,
  ORDERS_PASSWORD: canary,
  PAYMENTS_PASSWORD: canary,
  GIT: canary,
  HOME: canary,
};
let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "sluice-permitted-")));
  await mkdir(join(folder, "secrets", "orders"), { recursive: true });
  for (const name of ["secrets/orders/password", "secrets/top", "git", "shadow"]) {
    await writeFile(join(folder, name), canary);
  }
  await symlink(join(folder, "shadow"), join(folder, "secrets", "link-out"));
  await symlink(join(folder, "git"), join(folder, "secrets", "link-to-git"));
  await symlink("orders/password", join(folder, "secrets", "link-inside"));
});

afterAll(() => rm(folder, { recursive: true }));

const at = (text: string): string => text.replaceAll("DIR", folder);

/** Whether `reference` is given; throws where the error holds a value. */
async function given(
  reference: string,
  permissions: readonly Permission[],
  { pipeline_id = "orders-eu", hosts = ["ch.example.com"], own = [] as OwnSecret[], isVerified = true } = {},
): Promise<string> {
  const secrets = new PermittedSecrets({ secrets: new FileAndEnvSecrets(env), permissions, own });
  try {
    const servers = hosts.map((text): Server => {
      const named = { field: "f", text };
      const address = readBrokerAddress(text.includes(":") ? text : `${text}:9093`);
      if (text === "embedded") return { ...named, kind: "embedded" };
      if (address === undefined) return { ...named, kind: "unreadable", problem: "expected a host" };
      return { ...named, kind: "host", ...address, isVerified };
    });
    return await secrets.resolve(at(reference), { pipeline_id, servers });
  } catch (error) {
    const { code, message } = error as EngineError;
    expect(message).not.toContain(canary);
    return `${code}: ${message}`;
  }
}

const rules = (references: Record<string, string>): Permission[] =>
  permissionsOf(Object.fromEntries(Object.entries(references).map(([reference, who]) => [at(reference), who])));

const byDefault = (): Permission[] => defaultPermissions(join(folder, "secrets"));
const everything = (): Permission[] => rules({ "${env:*}": "*", "${file:/*}": "*" });

describe("without a setting", () => {
  test.each([
    ["a variable with the prefix", "${env:SLUICE_SECRET_ORDERS}"],
    ["a file of the secrets folder", "${file:DIR/secrets/top}"],
    ["a file of a folder below it", "${file:DIR/secrets/orders/password}"],
    ["a link to a file in it, as mounted secrets are", "${file:DIR/secrets/link-inside}"],
  ])("gives %s", async (_, reference) => {
    expect(await given(reference, byDefault())).toBe(canary);
  });

  test.each([
    ["any other variable", "${env:HOME}"],
    ["any other file", "${file:DIR/shadow}"],
    ["a file of the system", "${file:/etc/shadow}"],
    ["a file that it reaches by ..", "${file:DIR/secrets/../shadow}"],
    ["a file behind a link that leads out of the folder", "${file:DIR/secrets/link-out}"],
    ["a folder whose name only begins as that of the secrets", "${file:DIR/secrets-of-others/x}"],
    ["a second reference beside an allowed one", "${env:SLUICE_SECRET_ORDERS}${env:HOME}"],
    ["a setting of Sluice", "${env:SLUICE_GIT_TOKEN}"],
  ])("refuses %s", async (_, reference) => {
    expect(await given(reference, byDefault())).toMatch(/^SECRET_NOT_ALLOWED: secret \$\{/);
  });
});

describe("by the setting", () => {
  const reference = "${env:ORDERS_PASSWORD}";

  test.each<[string, Record<string, string>, string, { pipeline_id?: string; hosts?: string[]; isVerified?: boolean }]>(
    [
      ["a variable by its name", { [reference]: "orders-eu" }, reference, {}],
      ["variables by a prefix", { "${env:ORDERS_*}": "orders-eu" }, reference, {}],
      ["pipelines by a pattern", { [reference]: "payments, orders-*" }, reference, {}],
      ["towards a host", { [reference]: "* towards ch.example.com" }, reference, {}],
      [
        "towards hosts by a pattern, in any case",
        { [reference]: "* towards *.Example.com" },
        reference,
        { hosts: ["CH.example.com"] },
      ],
      [
        "towards all brokers of a source",
        { [reference]: "* towards k-*.example.com, k3" },
        reference,
        { hosts: ["k-1.example.com", "k3"] },
      ],
      ["towards a port", { [reference]: "* towards k:9093" }, reference, { hosts: ["k:9093"] }],
      [
        "towards servers with TLS",
        { [reference]: "* towards tls://*.example.com:9093" },
        reference,
        { hosts: ["k.example.com"] },
      ],
      [
        "towards an address in its other spelling",
        { [reference]: "* towards [2001:DB8::0:5]:1" },
        reference,
        { hosts: ["[2001:db8::5]:1"] },
      ],
      ["towards the embedded ClickHouse", { [reference]: "* towards embedded" }, reference, { hosts: ["embedded"] }],
      ["for a token that goes to no host", { [reference]: "* towards ch.example.com" }, reference, { hosts: [] }],
      ["one file", { "${file:DIR/shadow}": "*" }, "${file:DIR/shadow}", {}],
      ["the files of a folder", { "${file:DIR/secrets/orders/*}": "*" }, "${file:DIR/secrets/orders/password}", {}],
      [
        "everything, as it was before there was a setting",
        { "${env:*}": "*", "${file:/*}": "*" },
        "${file:DIR/shadow}",
        {},
      ],
      ["everything, variables too", { "${env:*}": "*", "${file:/*}": "*" }, "${env:HOME}", {}],
    ],
  )("gives %s", async (_, references, used, use) => {
    expect(await given(used, rules(references), use)).toBe(canary);
  });

  test.each<[string, Record<string, string>, string, { pipeline_id?: string; hosts?: string[]; isVerified?: boolean }]>(
    [
      ["what only the default allows", { [reference]: "*" }, "${env:SLUICE_SECRET_ORDERS}", {}],
      ["another pipeline", { [reference]: "orders-eu" }, reference, { pipeline_id: "orders-eu-2" }],
      ["another host", { [reference]: "* towards ch.example.com" }, reference, { hosts: ["evil.example.org"] }],
      [
        "a host that only ends as the pattern",
        { [reference]: "* towards *.example.com" },
        reference,
        { hosts: ["evilexample.com"] },
      ],
      [
        "one foreign broker among the allowed ones",
        { [reference]: "* towards k-*.example.com" },
        reference,
        { hosts: ["k-1.example.com", "evil"] },
      ],
      [
        "an address that a client would read differently",
        { [reference]: "* towards *.kafka.example.com" },
        reference,
        { hosts: ["127.0.0.1:47002:.kafka.example.com"] },
      ],
      [
        "an address that cannot be read, whatever is allowed",
        { [reference]: "* towards *" },
        reference,
        { hosts: ["a b:1"] },
      ],
      ["another port", { [reference]: "* towards k:9093" }, reference, { hosts: ["k:9092"] }],
      [
        "a server without TLS",
        { [reference]: "* towards tls://k" },
        reference,
        { hosts: ["k:9093"], isVerified: false },
      ],
      ["a name for an address", { [reference]: "* towards 10.0.*" }, reference, { hosts: ["10.0.evil.example:1"] }],
      [
        "a broker for the embedded ClickHouse",
        { [reference]: "* towards embedded" },
        reference,
        { hosts: ["embedded:1"] },
      ],
      [
        "the pipelines of one line with the hosts of another",
        { [reference]: "payments", "${env:ORDERS_*}": "orders-eu towards kafka" },
        reference,
        {},
      ],
      ["a variable that only begins as the name", { "${env:ORDERS}": "*" }, reference, {}],
      ["a file of another folder", { "${file:DIR/secrets/orders/*}": "*" }, "${file:DIR/secrets/top}", {}],
    ],
  )("refuses %s", async (_, references, used, use) => {
    expect(await given(used, rules(references), use)).toMatch(/^SECRET_NOT_ALLOWED/);
  });

  test("a refusal says which line would allow it", async () => {
    expect(await given(reference, [], { hosts: ["k-1", "k-2"] })).toBe(
      'SECRET_NOT_ALLOWED: secret ${env:ORDERS_PASSWORD} is not allowed for pipeline orders-eu towards tls://k-1:9093, tls://k-2:9093: an operator allows it by the line "${env:ORDERS_PASSWORD}": "orders-eu towards tls://k-1:9093, tls://k-2:9093" under references in sluice.yaml',
    );
    const line = rules({ [reference]: "orders-eu towards tls://k-1:9093, tls://k-2:9093" });
    expect(await given(reference, line, { hosts: ["k-1", "k-2"] })).toBe(canary);
  });
});

describe("the secrets of Sluice itself are never given", () => {
  test.each([
    ["the variable of --git-token", "${env:GIT}", "${env:GIT}"],
    ["the file of --hook-secret", "${file:DIR/git}", "${file:DIR/git}"],
    ["the file of --git-ssh-key, which is no reference", "${file:DIR/git}", "DIR/git"],
    ["that file by another name", "${file:DIR/secrets/link-to-git}", "DIR/git"],
  ])("%s", async (_, reference, text) => {
    const own = [{ setting: "--git-token", text: at(text) }];
    expect(await given(reference, everything(), { own })).toMatch(
      /^SECRET_NOT_ALLOWED: secret .* is that of --git-token, which no pipeline gets/,
    );
  });
});

test("a form that is no reference is refused as before, and an escape is none", async () => {
  expect(await given("${vault:a}", [])).toMatch(/^SECRET_NOT_FOUND/);
  expect(await given("$${env:HOME}", [])).toBe("${env:HOME}");
});

test("within a sweep a value is read once for all that may use it, and given to no one else", async () => {
  let reads = 0;
  const values = new FileAndEnvSecrets(env);
  const counting = { resolve: (text: string) => ((reads += 1), values.resolve(text)) };
  const permissions = rules({ "${env:ORDERS_PASSWORD}": "orders-*" });
  const secrets = new PermittedSecrets({ secrets: counting, permissions, own: [] });
  const read = new Map<string, Promise<string>>();
  const ask = (pipeline_id: string): Promise<string> =>
    secrets.resolve("${env:ORDERS_PASSWORD}", { pipeline_id, servers: [] }, read);
  expect([await ask("orders-eu"), await ask("orders-us")]).toEqual([canary, canary]);
  await expect(ask("payments")).rejects.toMatchObject({ code: "SECRET_NOT_ALLOWED" });
  expect(reads).toBe(1);
});

test("a sweep over the pipelines that use a secret reads it once, and the next one reads it anew", async () => {
  let value = "the first";
  let reads = 0;
  const secrets = new PermittedSecrets({
    secrets: { resolve: async () => ((reads += 1), value) },
    permissions: everything(),
    own: [],
  });
  const inUse = new SecretsInUse(secrets);
  const usual = webhookPipeline("orders").sink;
  for (const pipeline_id of ["orders-eu", "orders-us", "orders-jp"]) {
    const sink = { ...usual, connection_params: { ...usual.connection_params, password: "${env:ORDERS_PASSWORD}" } };
    const config = webhookPipeline(pipeline_id, { sink });
    inUse.note(pipeline_id, config, await resolveSecrets(config, secrets));
  }
  reads = 0;
  expect([await inUse.stale([]), reads]).toEqual([[], 1]);
  value = "the second";
  const stale = await inUse.stale([]);
  expect(stale.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders-eu", "orders-us", "orders-jp"]);
  expect(stale[0]?.changed).toEqual(["${env:ORDERS_PASSWORD}"]);
  expect(reads).toBe(2);
});
