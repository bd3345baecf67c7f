import { mkdtemp } from "node:fs/promises";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Hook } from "../../../reconciler/hook/hook.ts";
import type { Fault } from "./fault.ts";
import { startClickHouse } from "../../support/clickhouse.ts";
import { GitRepository } from "../../support/git-repository.ts";
import { edited, fileOf, type Followed, kept, type Scene } from "./scene.ts";

const [first, second, third] = kept;
const otherExpression = { expression: "id > -1" };
const hour = 3_600_000;
const hookSecret = "known-to-the-host-alone";
const compose = 'version: "3.8"\nservices: { web: { image: nginx } }\n';

/** What commits, and those who work with them, do in the field. */
export const fieldFaults: readonly Fault[] = [
  notReady("a commit that names a secret that is not set", async () => ({
    change: (text) => text.replace("${T}", "${UNSET}"),
  })),
  notReady("a commit with a column that the table lacks", async () => ({
    change: (text) =>
      text.replace("  mapping:\n", "  mapping:\n    - { name: id, column_name: absent, column_type: Int64 }\n"),
  })),
  notReady("a commit for a table of another shape", async ({ engine }) => {
    await engine.engine.sql("DROP TABLE IF EXISTS other_shape");
    await engine.engine.sql("CREATE TABLE other_shape (id Array(Int64), level String) ENGINE = MergeTree ORDER BY id");
    return { change: (text) => text.replace(/^ {2}table: .*$/m, "  table: other_shape") };
  }),
  notReady("a commit with a wrong login", async () => {
    const server = await startClickHouse();
    const { hostname, port } = new URL(server.url);
    const login = `host: ${hostname}\n    port: "9000"\n    http_port: "${port}"\n    username: nobody\n    password: \${T}`;
    return { change: (text) => text.replace("host: embedded", login), end: () => server.stop() };
  }),
  {
    name: "a file of another tool",
    told: "ReconciliationSucceeded",
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push({ "compose.yaml": compose });
      return () => scene.push({ "compose.yaml": null }).then(() => undefined);
    },
  },
  {
    name: "a pattern that hits the file of a pipeline",
    told: "InvalidFile",
    of: first,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push({ ".sluiceignore": `${first}.yaml\n` });
      return () => scene.push({ ".sluiceignore": null }).then(() => undefined);
    },
  },
  {
    name: "a rollback while Git is away",
    told: "RolledBack",
    pushes: true,
    // The earlier revision is carried out at once.
    isHarmless: true,
    begin: async ({ repository, proxy, reconciler }) => {
      const commits = (await repository.git("rev-list", "--max-count=5", "main")).split("\n");
      proxy.fault = { kind: "status", status: 503 };
      await reconciler.operator.rollBack(followed(commits, reconciler), { reason: "an incident" }, false);
      return async () => {
        proxy.fault = { kind: "none" };
        await reconciler.operator.cancelRollback({});
      };
    },
  },
  stoppedFor("an operator's stop that is over", 3_000, () => Promise.resolve()),
  stoppedFor("an operator's stop that is ended", hour, async ({ reconciler }) => {
    await reconciler.operator.resume(third, {});
  }),
  stopped("an operator's stop while Git hangs", async (scene) => {
    await scene.push();
    scene.proxy.fault = { kind: "hang before headers" };
    scene.reconciler.trigger("webhook");
    await scene.reconciler.operator.stop(third, hour, { by: "on call" });
    return async () => {
      scene.proxy.fault = { kind: "none" };
      await scene.reconciler.operator.resume(third, {});
      await scene.stands(third, "Running");
    };
  }),
  // Each restarts the reconciler, which then knows no revision that it followed before.
  {
    name: "a push hook before its commit shows",
    told: "ReconciliationSucceeded",
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      const { repository } = scene;
      await scene.follow({ interval: hour });
      await scene.isFollowing(`main@sha1:${await repository.head()}`);
      await repository.git("checkout", "--quiet", "-b", "not-shown");
      const commit = await scene.push();
      await repository.git("checkout", "--quiet", "main");
      const { lastTurn } = scene.snapshot;
      const close = await announce(scene, commit);
      // The poll that the hook asked for found nothing new.
      while (scene.snapshot.lastTurn === lastTurn) await sleep(20);
      await repository.git("merge", "--quiet", "--ff-only", "not-shown");
      await scene.isFollowing(`main@sha1:${commit}`);
      return async () => {
        await close();
        await repository.git("branch", "--quiet", "--delete", "not-shown");
        await scene.follow();
      };
    },
  },
  otherSource("another branch, which lacks pipelines", async ({ repository }) => {
    await repository.git("checkout", "--quiet", "-B", "staging");
    await repository.commit({ [`${third}.yaml`]: null });
    await repository.git("checkout", "--quiet", "main");
    return { branch: "staging" };
  }),
  otherSource("another repository, which lacks pipelines", async () => {
    const other = await GitRepository.create();
    await other.commit({ [`${first}.yaml`]: fileOf(first), [`${edited}.yaml`]: fileOf(edited) });
    return { url: other.path, remove: () => other.remove() };
  }),
  otherSource("another path, which holds no pipeline", async (scene) => {
    await scene.push({ "elsewhere/compose.yaml": compose });
    return { path: "elsewhere" };
  }),
  {
    name: "a first start that finds no pipeline",
    told: "NoPipelines",
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push({ "elsewhere/compose.yaml": compose });
      await scene.follow({ path: "elsewhere" }, await mkdtemp(join(scene.engine.dataDir, "first-")));
      return () => scene.follow();
    },
  },
];

/** A start that follows something else, which lacks `third`, on the same data dir. */
function otherSource(
  name: string,
  make: (scene: Scene) => Promise<Followed & { remove?: () => Promise<void> }>,
): Fault {
  return {
    name,
    told: ["SourceChanged", "EmptySource"],
    of: third,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push();
      const { remove, ...what } = await make(scene);
      await scene.follow(what);
      return async () => {
        await scene.follow();
        await remove?.();
      };
    },
  };
}

/** Tells the push hook of the reconciler of `commit`, as a Git host does; gives what closes the hook. */
async function announce(scene: Scene, commit: string): Promise<() => Promise<void>> {
  const hook = new Hook({
    secrets: async () => [hookSecret],
    branch: () => "main",
    followed: () => scene.snapshot.lastAttemptedRevision?.split(":")[1],
    onPush: () => scene.reconciler.trigger("webhook"),
    telemetry: { answered: () => undefined, secretsMissing: () => undefined, close: () => undefined },
  });
  const server = createServer(hook.handle).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const body = JSON.stringify({ ref: "refs/heads/main", after: commit });
  const headers = { "x-gitlab-token": hookSecret, connection: "close" };
  await fetch(`http://127.0.0.1:${port}/hook`, { method: "POST", headers, body });
  return async () => {
    server.close();
    await hook.close();
  };
}

/** An operator stops `third`, and it runs again at the end. */
function stopped(name: string, begin: Fault["begin"]): Fault {
  const calls: Fault["calls"] = [`stop ${third}`, `resume ${third}`];
  return { name, told: "StoppedByOperator", of: third, pushes: true, isHarmless: true, calls, begin };
}

/** The same for so many milliseconds; `end` ends that. */
function stoppedFor(name: string, milliseconds: number, end: (scene: Scene) => Promise<void>): Fault {
  return stopped(name, async (scene) => {
    await scene.reconciler.operator.stop(third, milliseconds, { by: "on call" });
    await scene.push();
    return async () => {
      await end(scene);
      await scene.stands(third, "Running");
    };
  });
}

/** A commit that changes the file of `second`. `end` undoes what was prepared for it. */
interface WrongCommit {
  change: (text: string) => string;
  end?: () => Promise<void>;
}

/** A commit by which `second` could not run: it runs on as it was. */
function notReady(name: string, prepare: (scene: Scene) => Promise<WrongCommit>): Fault {
  return {
    name,
    told: "NotReady",
    of: second,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      const { change, end } = await prepare(scene);
      await scene.push({ [`${second}.yaml`]: change(fileOf(second, otherExpression)) });
      return async () => {
        await scene.push({ [`${second}.yaml`]: fileOf(second) });
        await end?.();
      };
    },
  };
}

/** The newest of these commits that was followed before the present one. */
function followed(commits: readonly string[], reconciler: Scene["reconciler"]): string {
  const { history, lastAppliedRevision } = reconciler.snapshot();
  const seen = new Set(history.flatMap(({ revision }) => revision ?? []));
  const found = commits.find((sha) => seen.has(`main@sha1:${sha}`) && lastAppliedRevision !== `main@sha1:${sha}`);
  if (found === undefined) throw new Error(`expected an earlier commit of ${edited} that was followed, found none`);
  return found;
}
