import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Fault as ProxyFault } from "../../support/git-fault-proxy.ts";
import { GitRepository } from "../../support/git-repository.ts";
import type { Fault } from "./fault.ts";
import { edited, fileOf, kept, type Scene } from "./scene.ts";

const port = "http://127.0.0.1";

/** Where a small pack breaks decides which of them Git notices first. */
const broken = ["TransferIncomplete", "TransferCorrupt"] as const;

/** For a while the server names another repository of its own, which lacks a pipeline and edits another one. */
const redirectedElsewhere: Fault = {
  name: "redirected to another repository",
  told: "SourceChanged",
  of: kept[2],
  begin: async ({ proxy }) => {
    const other = await GitRepository.create();
    await other.commit({ [`${kept[0]}.yaml`]: fileOf(kept[0], { expression: "id > 7" }) });
    const [path, location] = [new URL(proxy.url).pathname, `/${basename(other.path)}/.git/info/refs`];
    proxy.fault = { kind: "status", status: 302, path, headers: { location } };
    return async () => {
      proxy.fault = { kind: "none" };
      await other.remove();
    };
  },
};

/** What the way to the remote, and its server, can do. */
export const gitFaults: readonly Fault[] = [
  elsewhere("a name that does not resolve", "HostNotFound", "http://no-such-host.invalid"),
  elsewhere("a port where nothing listens", "ConnectionRefused", "http://127.0.0.1:1/"),
  elsewhere("no TLS where TLS is expected", "TLSFailed", "https://127.0.0.1"),
  onTheWay("401", "AuthenticationFailed", { kind: "status", status: 401 }),
  onTheWay("403", "AuthenticationFailed", { kind: "status", status: 403 }),
  onTheWay("404", "RepositoryNotFound", { kind: "status", status: 404 }),
  onTheWay("429", "RateLimited", { kind: "status", status: 429 }),
  onTheWay("429 with Retry-After", "RateLimited", { kind: "status", status: 429, headers: { "retry-after": "1" } }),
  onTheWay("500", "ServerError", { kind: "status", status: 500 }),
  onTheWay("503 with Retry-After", "ServerError", { kind: "status", status: 503, headers: { "retry-after": "1" } }),
  onTheWay("redirected to a page", "Redirected", {
    kind: "status",
    status: 302,
    headers: { location: "/login" },
  }),
  redirectedElsewhere,
  personWith("settings of a person that would stop Git", "ReconciliationSucceeded", async () => ({
    settings:
      "[safe]\nbareRepository = explicit\n[init]\ndefaultObjectFormat = sha256\n[core]\ncompression = 99\n[fetch]\nfsckObjects = maybe\n",
  })),
  personWith("a helper for credentials that never answers", "AuthenticationFailed", async ({ proxy, engine }) => {
    const helper = join(engine.dataDir, "helper");
    await writeFile(helper, "#!/bin/sh\nexec sleep 600\n", { mode: 0o700 });
    proxy.fault = { kind: "status", status: 401, headers: { "WWW-Authenticate": 'Basic realm="git"' } };
    return { settings: `[credential]\nhelper = ${helper}\n[core]\naskPass = ${helper}\n` };
  }),
  {
    name: "the same files in a repository of SHA-256",
    told: "ReconciliationSucceeded",
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push();
      const other = await GitRepository.create("main", "sha256");
      await other.commit(Object.fromEntries([...kept, edited].map((id) => [`${id}.yaml`, fileOf(id)])));
      await scene.follow({ url: other.path });
      return async () => {
        await scene.follow();
        await other.remove();
      };
    },
  },
  onTheWay("connections cut off", "ConnectionFailed", { kind: "hang up" }),
  onTheWay("silence before the headers", "Timeout", { kind: "hang before headers" }),
  onTheWay("silence after the headers", "Timeout", { kind: "hang after headers" }),
  onTheWay("one byte a second", "Timeout", { kind: "one byte a second" }),
  onTheWay("a pack cut short", broken, { kind: "pack cut short" }),
  onTheWay("a pack with a wrong byte", broken, { kind: "pack with a wrong byte" }),
  onTheWay("a pack with a wrong checksum", broken, { kind: "pack with a wrong checksum" }),
];

/** The person who runs Sluice has these settings of Git meanwhile. A push is applied all the same where that is told. */
function personWith(name: string, told: string, make: (scene: Scene) => Promise<{ settings: string }>): Fault {
  const begin = async (scene: Scene): Promise<() => Promise<void>> => {
    await writeFile(scene.gitConfig, (await make(scene)).settings);
    return async () => {
      scene.proxy.fault = { kind: "none" };
      await writeFile(scene.gitConfig, "");
    };
  };
  return { name, told, begin, ...(told === "ReconciliationSucceeded" && { isHarmless: true }) };
}

/** The server, or what stands before it, answers so. */
function onTheWay(name: string, told: Fault["told"] & {}, fault: ProxyFault): Fault {
  const begin = ({ proxy }: Scene): (() => void) => {
    proxy.fault = fault;
    return () => {
      proxy.fault = { kind: "none" };
    };
  };
  return { name, told, begin };
}

/** Git is led to another place by a setting of the machine. */
function elsewhere(name: string, told: string, url: string): Fault {
  const begin = async ({ proxy, gitConfig }: Scene): Promise<() => Promise<void>> => {
    const there = url.endsWith("/") ? url : `${url}:${proxy.port}/`;
    await writeFile(gitConfig, `[url "${there}"]\n\tinsteadOf = "${port}:${proxy.port}/"\n`);
    return () => writeFile(gitConfig, "");
  };
  return { name, told, begin };
}
