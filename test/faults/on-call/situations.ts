import { rename, rm } from "node:fs/promises";
import { token, type Scene } from "./scene.ts";

/** Ends a situation. */
type Remedy = () => Promise<unknown>;

/** What an on-call finds, and what they must be told of it. */
export interface Situation {
  /** What is true. */
  is: string;
  /** Whom it befell: a pipeline, or the source. */
  of: string;
  begin: (scene: Scene) => Promise<Remedy>;
  /** `READY` and `REASON` of its row. */
  row: readonly [ready: string, reason: string];
  /** What `sluice get ID` has to say, for the source its row. */
  says: RegExp;
  /** The alert that fires; absent where no one need get up for it. */
  alert?: string;
}

const nothing = async (): Promise<void> => undefined;

/** A commit of `orders`, which is taken back. */
function commit(change: (scene: Scene) => string): Situation["begin"] {
  return async (scene) => {
    await scene.commit({ "orders.yaml": change(scene) });
    return () => scene.commit({ "orders.yaml": scene.fileOf("orders") });
  };
}

/** A start with other flags, which are taken back. */
function start(flags: string[], prepare: (scene: Scene) => Promise<unknown> = nothing): Situation["begin"] {
  return async (scene) => {
    await prepare(scene);
    await scene.restart(flags);
    return () => scene.restart();
  };
}

/** A command of the operator, which another one ends. */
function operator(args: string[], ...end: string[]): Situation["begin"] {
  return async (scene) => {
    await scene.command(...args);
    return () => scene.command(...end);
  };
}

export const situations: readonly Situation[] = [
  {
    is: "everything is well",
    of: "orders",
    begin: async (scene) => {
      await scene.send("orders", { id: 1, level: "info" });
      return nothing;
    },
    row: ["True", "ReconciliationSucceeded"],
    says: /Ready: +True, ReconciliationSucceeded/,
  },
  {
    is: "a commit broke the syntax of a file; the pipeline runs on",
    of: "orders",
    begin: commit((scene) => scene.fileOf("orders").replace("sources:", "sources")),
    row: ["False", "InvalidFile"],
    says: /Stalled: +True, InvalidFile.*orders\.yaml.*stays Running/s,
    alert: "SluicePipelineStalled",
  },
  {
    is: "a commit changed a field that cannot change; the pipeline runs on",
    of: "orders",
    begin: commit((scene) => scene.fileOf("orders", { root: ["resources: { nats: { stream: { max_age: 48h } } }"] })),
    row: ["False", "ImmutableField"],
    says: /max_age cannot change after creation.*Ways out: restore the old value/s,
    alert: "SluicePipelineStalled",
  },
  {
    is: "a commit names a secret that is not set; the pipeline runs on",
    of: "orders",
    begin: commit((scene) =>
      scene.fileOf("orders", { expression: "id > 1" }).replace("SLUICE_SECRET_TOKEN", "SLUICE_SECRET_UNSET"),
    ),
    row: ["False", "NotReady"],
    says: /\$\{env:SLUICE_SECRET_UNSET\} is not set: set SLUICE_SECRET_UNSET in the environment of sluice run/,
    alert: "SluicePipelineStalled",
  },
  {
    is: "a commit maps a column that the table lacks; the pipeline runs on",
    of: "orders",
    begin: commit((scene) =>
      scene
        .fileOf("orders")
        .replace("mapping:\n", "mapping:\n    - { name: id, column_name: absent, column_type: Int64 }\n"),
    ),
    row: ["False", "NotReady"],
    says: /absent/,
    alert: "SluicePipelineStalled",
  },
  {
    is: "a commit is of a class that waits for an approval in Git; the pipeline runs on",
    of: "orders",
    begin: async (scene) => {
      await scene.restart(["--branch", "main", "--approve", "class>=restart"]);
      await scene.commit({ "orders.yaml": scene.fileOf("orders", { expression: "id > 1" }) });
      return async () => {
        await scene.commit({ "orders.yaml": scene.fileOf("orders") });
        await scene.restart();
      };
    },
    row: ["False", "NotApproved"],
    says: /Sluice-Approve: rows-[0-9a-f]{32}/,
    alert: "SluiceChangeNotApproved",
  },
  {
    is: "two files describe one pipeline; it runs on",
    of: "orders",
    begin: async (scene) => {
      await scene.commit({ "copy.yaml": scene.fileOf("orders") });
      return () => scene.commit({ "copy.yaml": null });
    },
    row: ["False", "DuplicateId"],
    says: /copy\.yaml/,
    alert: "SluicePipelineStalled",
  },
  {
    is: "the file was removed, beyond what one commit may delete; the pipeline runs on",
    of: "sales",
    begin: async (scene) => {
      await scene.commit({ "sales.yaml": null });
      return () => scene.commit({ "sales.yaml": scene.fileOf("sales") });
    },
    row: ["False", "DeletionBudget"],
    says: /removes the files of 1 of 2 pipelines, and --max-deletions \(0\) allows 0/,
    alert: "SluicePipelineStalled",
  },
  {
    is: "the file was moved to a hidden folder; the pipeline runs on",
    of: "sales",
    begin: async (scene) => {
      await scene.commit({ "sales.yaml": null, ".old/sales.yaml": scene.fileOf("sales") });
      return () => scene.commit({ ".old": null, "sales.yaml": scene.fileOf("sales") });
    },
    row: ["False", "InvalidFile"],
    says: /\.old\/sales\.yaml/,
    alert: "SluicePipelineStalled",
  },
  {
    is: "a new pipeline depends on one that no file describes",
    of: "later",
    begin: async (scene) => {
      await scene.commit({ "later.yaml": scene.fileOf("later", { sluice: ["depends_on: [earlier]"] }) });
      return () => scene.commit({ "later.yaml": null });
    },
    row: ["False", "DependencyNotReady"],
    says: /blocked by earlier, which no valid file describes/,
    alert: "SluicePipelineNotReady",
  },
  {
    is: "ClickHouse is away",
    of: "orders",
    begin: async (scene) => {
      await scene.proxy.change("refusing");
      await scene.send("orders", { id: 2, level: "info" });
      return () => scene.proxy.change("passing");
    },
    row: ["False", "PausedTransient"],
    says: /ECONNREFUSED.*it goes on by itself when the server answers again/,
    alert: "SluicePipelinePaused",
  },
  {
    is: "ClickHouse takes connections and does not answer",
    of: "orders",
    begin: async (scene) => {
      await scene.proxy.change("hanging");
      await scene.send("orders", { id: 3, level: "info" });
      return async () => {
        await scene.proxy.change("passing");
        scene.proxy.cut();
      };
    },
    row: ["False", "PausedTransient"],
    says: /no answer yet to an insert of 1 row/,
    alert: "SluicePipelinePaused",
  },
  {
    is: "a column of the table was renamed",
    of: "orders",
    begin: async (scene) => {
      await scene.server.client.command({ query: "ALTER TABLE orders RENAME COLUMN level TO severity" });
      await scene.send("orders", { id: 4, level: "info" });
      return () => scene.server.client.command({ query: "ALTER TABLE orders RENAME COLUMN severity TO level" });
    },
    row: ["False", "PausedSetup"],
    says: /table default\.orders has no column "level" that can be written/,
    alert: "SluicePipelinePaused",
  },
  {
    is: "the password was changed, and is wrong",
    of: "orders",
    begin: async (scene) => {
      await scene.setPassword("wrong");
      await scene.send("orders", { id: 5, level: "info" });
      return () => scene.setPassword(scene.server.password);
    },
    row: ["False", "PausedSetup"],
    says: /AUTHENTICATION_FAILED|Authentication failed/,
    alert: "SluicePipelinePaused",
  },
  {
    is: "the file of the password is gone; the pipeline runs on with the value that it has",
    of: "orders",
    begin: async (scene) => {
      await rm(scene.secretFile);
      return () => scene.setPassword(scene.server.password);
    },
    row: ["True", "ReconciliationSucceeded"],
    says: /SecretMissing: +True/,
  },
  {
    is: "an event does not fit the table",
    of: "orders",
    begin: async (scene) => {
      await scene.send("orders", { id: "many", level: "info" });
      return () => scene.command("dlq", "purge", "orders");
    },
    row: ["True", "ReconciliationSucceeded"],
    says: /Ready: +True/,
    alert: "SluiceDeadLetters",
  },
  {
    is: "a colleague suspended the pipeline",
    of: "orders",
    begin: operator(["suspend", "orders", "--reason", "the table is being moved"], "resume", "orders"),
    row: ["True", "Suspended"],
    says: /suspended by: .*the table is being moved/,
  },
  {
    is: "a colleague suspended the pipeline, and a commit waits",
    of: "orders",
    begin: async (scene) => {
      await scene.command("suspend", "orders", "--reason", "the table is being moved");
      await scene.commit({ "orders.yaml": scene.fileOf("orders", { expression: "id > 2" }) });
      return async () => {
        await scene.commit({ "orders.yaml": scene.fileOf("orders") });
        await scene.command("resume", "orders");
      };
    },
    row: ["False", "Suspended"],
    says: /the table is being moved; .*what waits for that: transforms/,
    alert: "SluicePipelineNotReady",
  },
  {
    is: "a colleague stopped the pipeline for two hours",
    of: "orders",
    begin: operator(["stop", "orders", "--for", "2h", "--reason", "the disk is full"], "resume", "orders"),
    row: ["False", "StoppedByOperator"],
    says: /the disk is full; it runs again at 2/,
    alert: "SluicePipelineNotReady",
  },
  {
    is: "a colleague rolled back to the commit before",
    of: "source",
    begin: async (scene) => {
      await scene.commit({ "orders.yaml": scene.fileOf("orders", { tags: ["newer"] }) });
      await scene.command("reconcile", "--wait");
      await scene.command("rollback", await scene.repository.git("rev-parse", "HEAD~1"));
      return async () => {
        await scene.command("rollback", "--cancel");
        await scene.commit({ "orders.yaml": scene.fileOf("orders") });
      };
    },
    row: ["True", "ReconciliationSucceeded"],
    says: /rolled back by \S+ since/,
  },
  {
    is: "the repository is gone",
    of: "source",
    begin: async (scene) => {
      const aside = `${scene.repository.path}-aside`;
      await rename(scene.repository.path, aside);
      return () => rename(aside, scene.repository.path);
    },
    row: ["False", "RepositoryNotFound"],
    says: /stays in effect/,
    alert: "SluiceSourceFailing",
  },
  {
    is: "the daemon was started on another branch, which lacks a pipeline",
    of: "sales",
    begin: start(["--branch", "staging"], async ({ repository }) => {
      await repository.git("checkout", "--quiet", "-B", "staging");
      await repository.commit({ "sales.yaml": null });
      await repository.git("checkout", "--quiet", "main");
    }),
    row: ["False", "SourceChanged"],
    says: /branch staging.*"sluice approve"/s,
    alert: "SluicePipelineStalled",
  },
  {
    is: "the daemon was started on a path without pipelines",
    of: "source",
    begin: start(["--branch", "main", "--path", "docs"], (scene) => scene.commit({ "docs/README.md": "Nothing.\n" })),
    row: ["False", "ReconciliationIncomplete"],
    says: /differ from their files/,
    alert: "SluiceSourceFailing",
  },
  {
    is: "the brokers of a Kafka pipeline are away",
    of: "clicks",
    begin: async (scene) => {
      await scene.commit({ "clicks.yaml": scene.fileOf("clicks", { topic: "clicks", brokers: ["127.0.0.1:9"] }) });
      return async () => {
        await scene.commit({ "clicks.yaml": null });
        await scene.restart(["--branch", "main", "--max-deletions", "1"]);
      };
    },
    row: ["False", "PausedSource"],
    says: /127\.0\.0\.1:9/,
    alert: "SluicePipelinePaused",
  },
  {
    is: "the daemon is down",
    of: "source",
    begin: async (scene) => {
      await scene.daemon.stop();
      return () => scene.restart();
    },
    row: ["", ""],
    says: /sluice run/,
    alert: "SluiceAbsent",
  },
];

/** What no output may hold. */
export const secrets: readonly string[] = [token];
