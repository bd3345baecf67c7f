import type { Fault } from "./fault.ts";
import { edited, fileOf, kept, type Scene } from "./scene.ts";

const [first, second, third] = kept;
const otherExpression = { expression: "id > -1" };
const hour = 3_600_000;

/** What commits, and those who work with them, do in the field. */
export const fieldFaults: readonly Fault[] = [
  notReady("a commit that names a secret that is not set", (text) => text.replace("${T}", "${UNSET}")),
  notReady("a commit with a column that the table lacks", (text) =>
    text.replace("  mapping:\n", "  mapping:\n    - { name: id, column_name: absent, column_type: Int64 }\n"),
  ),
  notReady(
    "a commit for a table of another shape",
    (text) => text.replace(/^ {2}table: .*$/m, "  table: other_shape"),
    async ({ engine }) => {
      await engine.engine.sql("DROP TABLE IF EXISTS other_shape");
      await engine.engine.sql(
        "CREATE TABLE other_shape (id Array(Int64), level String) ENGINE = MergeTree ORDER BY id",
      );
    },
  ),
  {
    name: "a file of another tool",
    told: "ReconciliationSucceeded",
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push({ "compose.yaml": 'version: "3.8"\nservices: { web: { image: nginx } }\n' });
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
];

/** An operator stops `third` for so many milliseconds; `end` ends that. */
function stoppedFor(name: string, milliseconds: number, end: (scene: Scene) => Promise<void>): Fault {
  return {
    name,
    told: "StoppedByOperator",
    of: third,
    pushes: true,
    isHarmless: true,
    calls: [`stop ${third}`, `resume ${third}`],
    begin: async (scene) => {
      await scene.reconciler.operator.stop(third, milliseconds, { by: "on call" });
      await scene.push();
      return async () => {
        await end(scene);
        await scene.stands(third, "Running");
      };
    },
  };
}

/** A commit by which `second` could not run: it runs on as it was. */
function notReady(
  name: string,
  change: (text: string) => string,
  prepare: (scene: Scene) => Promise<void> = () => Promise.resolve(),
): Fault {
  return {
    name,
    told: "NotReady",
    of: second,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await prepare(scene);
      await scene.push({ [`${second}.yaml`]: change(fileOf(second, otherExpression)) });
      return () => scene.push({ [`${second}.yaml`]: fileOf(second) }).then(() => undefined);
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
