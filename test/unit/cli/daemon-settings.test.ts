import { expect, test } from "vitest";
import { hookSecrets, ownSecrets, permissionsIn, targetRules } from "../../../reconciler/cli/daemon/daemon-settings.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";

const [one, two] = ["the secret of this month", "the secret of next month"];

function read(flags: Record<string, string>, env: Record<string, string> = {}) {
  const settings = resolveSettings("run", { flags, env: {}, file: [] });
  return hookSecrets(settings, new FileAndEnvSecrets(env));
}

const reference = { hook: "127.0.0.1:0", hook_secret: "${env:HOOK}" };

test("one secret a line, read anew at each call", async () => {
  const env = { HOOK: `${one}\r\n\n ${two}\n` };
  const secrets = await read(reference, env);
  expect(await secrets()).toEqual([one, two]);
  env.HOOK = two;
  expect(await secrets()).toEqual([two]);
});

test("none is needed while the hook is off", async () => {
  expect(await (await read({ hook_secret: "${env:HOOK}" }))()).toEqual([]);
});

test.each([
  ["no secret", { hook: "127.0.0.1:0" }, {}, "--hook: expected --hook-secret too"],
  ["a secret itself", { ...reference, hook_secret: one }, {}, "--hook-secret: expected ${env:NAME} or ${file:/path}"],
  ["a variable that is not set", reference, {}, "--hook-secret: secret ${env:HOOK} is not set"],
  ["a secret that is short", reference, { HOOK: `${one}\nshort` }, "expected 1 to 4 lines of at least 16 characters"],
  ["too many", reference, { HOOK: Array.from({ length: 5 }, () => one).join("\n") }, "expected 1 to 4 lines"],
  ["blank lines", reference, { HOOK: " \n " }, "expected 1 to 4 lines"],
])("%s is refused in words that hold no secret", async (_, flags, env, message) => {
  const error: unknown = await read(flags, env).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toMatch(/secret of this month|short/);
});

const rowsOf = (settingsFile: string | undefined, references?: string[]): string[] => {
  const settings = resolveSettings("run", { flags: references === undefined ? {} : { references }, env: {}, file: [] });
  const permissions = permissionsIn({ settings, ...(settingsFile !== undefined && { settingsFile }) });
  return permissions.map(({ reference: of, pipelines, towards = [] }) => {
    const servers = towards.map(({ pattern, port, needsTls }) => `${needsTls ? "tls " : ""}${pattern} ${port ?? "*"}`);
    return [of, pipelines.join("|"), ...servers].join(" ");
  });
};

test("which secrets pipelines may use: a prefix and a folder beside the settings, or what the setting says", () => {
  expect(rowsOf("/srv/sluice/sluice.yaml")).toEqual(["${env:SLUICE_SECRET_*} *", "${file:/srv/sluice/secrets/*} *"]);
  expect(rowsOf(undefined)[1]).toBe("${file:/etc/sluice/secrets/*} *");
  const towards = "ch.Example.com, tls://k-*:9093, [2001:DB8::5]:9092, ::1, 10.0.0.7";
  expect(rowsOf("/srv/sluice/sluice.yaml", [`\${env:ORDERS_*}=orders-*, payments towards ${towards}`])).toEqual([
    "${env:ORDERS_*} orders-*|payments ch.example.com * tls k-* 9093 2001:db8::5 9092 ::1 * 10.0.0.7 *",
  ]);
});

test.each([
  ["ch:0", "expected a port from 1 to 65535"],
  ["ch:70000", "expected a port from 1 to 65535"],
  ["ch:x", "expected a name or an address"],
  ["[10.0.0.7]", "expected a name or an address"],
  ["[ch]:8123", "expected a name or an address"],
  ["tls://", "expected a reference"],
  ["fd00:*", "expected a name or an address"],
])("a secret goes not towards %s, which cannot be read", (server, message) => {
  expect(() => rowsOf(undefined, [`\${env:A}=orders towards k, ${server}`])).toThrow(
    `--reference: ${message.startsWith("expected a reference") ? "" : "towards: "}${message}`,
  );
});

test.each([
  "${env:A*B}=orders",
  "${env:}=orders",
  "${file:relative}=orders",
  "${file:/run/*/x}=orders",
  "${file:/run/sec*}=orders",
  "env:A=orders",
  "${env:A}=",
  "${env:A}=Orders",
  "${env:A}=orders towards",
  "${env:A}=orders towards https://ch",
])("%s is no reference with its pipelines", (given) => {
  expect(() => rowsOf(undefined, [given])).toThrow(/^--reference: expected a reference and who may use it, such as /);
});

test("the secrets of the daemon itself, of every origin", () => {
  const flags = { git_token: "${env:GIT}", hook_secret: "${file:/run/hook}", git_ssh_key: "/run/key" };
  const settings = resolveSettings("run", { flags, env: { SLUICE_GIT_TOKEN: "${env:OTHER}" }, file: [] });
  expect(ownSecrets(settings)).toEqual([
    { setting: "--git-token", text: "${env:GIT}" },
    { setting: "SLUICE_GIT_TOKEN", text: "${env:OTHER}" },
    { setting: "--git-ssh-key", text: "/run/key" },
    { setting: "--hook-secret", text: "${file:/run/hook}" },
  ]);
});

test("the secrets of the daemon itself, also those that --dir leaves without a use", () => {
  const file = [
    { key: "git_ssh_key", value: "/run/key", place: "sluice.yaml:1:1" },
    { key: "git_token", value: "${env:GIT}", place: "sluice.yaml:2:1" },
  ];
  const settings = resolveSettings("run", { flags: { dir: "/srv/pipelines" }, env: {}, file: file as never });
  expect(settings.optional("git_ssh_key")).toBeUndefined();
  expect(ownSecrets(settings).map(({ text }) => text)).toEqual(["${env:GIT}", "/run/key"]);
});

const targetsOf = (flags: Record<string, string>): ReturnType<typeof targetRules> =>
  targetRules(resolveSettings("run", { flags, env: {}, file: [] }));

test("which servers pipelines may connect to: all, or those of the settings", () => {
  expect(targetsOf({})).toEqual({ deniesPrivate: false });
  expect(targetsOf({ targets: "*.example.com, k:9092,10.0.0.0/8", private_targets: "deny" })).toEqual({
    allowed: ["*.example.com", "k:9092", "10.0.0.0/8"],
    deniesPrivate: true,
  });
});

test.each(["10.0.0.0/33", "ch/8", "a b", "https://ch", "a,,b"])("%s names no targets", (targets) => {
  expect(() => targetsOf({ targets })).toThrow(/^--targets: expected (names, addresses and ranges|a range|a name)/);
});
