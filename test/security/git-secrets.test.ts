/** @module-tag rest */
import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { RepositoryOptions } from "../../reconciler/git/repository.ts";
import { FileAndEnvSecrets } from "../../reconciler/secrets/file-and-env.ts";
import { Scene, signal } from "../integration/git/scene.ts";
import { Workplace } from "../support/daemon.ts";
import { type Credentials, serveHttp } from "../support/git-server.ts";
import { commitLarge } from "./git-payloads.ts";

/** Who may list the processes of the machine reads no password of the repository (docs/security.md, Secrets). */

vi.setConfig({ testTimeout: 120_000 });

const canary = "c4n4ry-of-the-repository";
let scene: Scene;

beforeEach(async () => {
  scene = await Scene.make();
});

afterEach(() => scene.end());

/** The command lines of all processes that this one has started, and of those that they have started. */
function commandLines(): string[] {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8", maxBuffer: 64 << 20 });
  const rows = [...table.matchAll(/^\s*(\d+)\s+(\d+)\s+(.*)$/gm)].map(([, pid, parent, args = ""]) => {
    return { pid: Number(pid), parent: Number(parent), args };
  });
  const ours = new Set([process.pid]);
  // Children come after their parents, except where numbers began anew.
  for (const { pid, parent } of [...rows, ...rows]) if (ours.has(parent)) ours.add(pid);
  return rows.filter(({ pid }) => pid !== process.pid && ours.has(pid)).map(({ args }) => args);
}

type Given = [string, Credentials, (url: string) => Partial<RepositoryOptions>];

const inUrl: Given = [
  "the password of the URL",
  { user: "ada", password: canary },
  (url) => ({ url: url.replace("http://", `http://ada:${canary}@`) }),
];
const others: Given[] = [
  [
    "the password of --git-password",
    { user: "git", password: canary },
    (url) => ({ url, access: { password: "${env:GIT}" }, secrets: new FileAndEnvSecrets({ GIT: canary }) }),
  ],
  [
    "the token of --git-token",
    { token: canary },
    (url) => ({ url, access: { token: "${env:GIT}" }, secrets: new FileAndEnvSecrets({ GIT: canary }) }),
  ],
];

/** Looks at all command lines while the server has sent a part and not the rest. */
async function expectHidden(...[, credentials, optionsOf]: Given): Promise<void> {
  await commitLarge(scene.origin, 1 << 20);
  const seen = new Set<string>();
  let parts = 0;
  const each = async (): Promise<void> => {
    parts += 1;
    if (parts % 4 === 0) for (const line of commandLines()) seen.add(line);
  };
  const server = scene.add(await serveHttp(scene.origin.path, credentials, 0, { each }));
  await scene.open(optionsOf(server.url)).fetch(signal);
  const all = [...seen].join("\n");
  expect(all).toMatch(/git-remote-http|git remote-http/);
  expect(all).toContain("fetch --progress");
  expect(all).not.toContain(canary);
  expect(all).not.toContain(Buffer.from(`ada:${canary}`).toString("base64"));
}

test.each([inUrl])("no command line shows %s during a fetch", expectHidden);

test.each(others)("no command line shows %s during a fetch", expectHidden);

test("a password on the command line of sluice is a warning, which does not show it", async () => {
  const place = await Workplace.make();
  try {
    const daemon = await place.start({ args: ["--repo", `http://ada:${canary}@127.0.0.1:1/shop.git`] });
    const line = await daemon.until(
      async () => daemon.log.find((one) => one.includes("The command line shows a secret.")),
      "to warn",
    );
    expect(line).toContain("give --git-password or --git-token as a reference");
    expect(daemon.log.join("\n")).not.toContain(canary);
  } finally {
    await place.clean();
  }
});
