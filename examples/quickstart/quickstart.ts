import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Daemon, type Reconcile } from "./daemon.ts";
import { Narrator } from "./narrator.ts";
import { PipelineRepository } from "./repository.ts";
import { count, post, readSamples, type Sample } from "./sample.ts";

/**
 * The quickstart: a Git repository of two pipelines, `sluice run` on it, a few thousand events, three commits, and the
 * result of each. `--exit` ends it after the last step, with 0 only if every count is right.
 */
const project = dirname(dirname(fileURLToPath(import.meta.url)));
const example = join(project, "examples", "quickstart");
const home = relative(process.cwd(), join(project, ".sluice", "quickstart")) || ".";
const dataDir = join(home, "data");
const sluice = fileURLToPath(new URL("sluice.js", import.meta.url));
const tell = new Narrator();

async function main(): Promise<void> {
  const isToExit = process.argv.includes("--exit");
  const repository = await makeRepository();
  const brought = randomBytes(24).toString("base64url");
  const daemon = await startDaemon(repository, brought);
  try {
    await showFirstPlan(daemon, repository);
    const samples = await readSamples(join(example, "events.ndjson"));
    const tokens = await takeTokens(daemon, brought);
    await postSamples(daemon, samples, tokens);
    await changeFilter(daemon, repository, tokens);
    await rename(daemon, repository);
    await changeImmutable(daemon, repository, tokens);
    await lookAtEverything(daemon, samples);
    process.exitCode = tell.sum() ? 0 : 1;
    if (isToExit) return;
    tell.say("\nIt runs until Ctrl-C. Commit a change of your own and watch the result.");
    await daemon.ended();
  } finally {
    await daemon.stop();
  }
}

async function makeRepository(): Promise<PipelineRepository> {
  tell.chapter("A Git repository with two pipelines");
  await rm(dataDir, { recursive: true, force: true });
  const repository = await PipelineRepository.from(join(example, "pipelines"), join(home, "repository"));
  tell.say(`Made ${repository.folder} from examples/quickstart/pipelines:`);
  tell.show("app-errors.yaml        webhook -> filter -> ClickHouse\ncheckout-orders.yaml   webhook -> ClickHouse");
  return repository;
}

async function startDaemon(repository: PipelineRepository, token: string): Promise<Daemon> {
  tell.chapter("Sluice watches it");
  await repository.commit("Two pipelines");
  const args = ["--repo", repository.folder, "--interval", "1s"];
  tell.show(`SLUICE_SECRET_APP_ERRORS=... npx sluice run ${args.join(" ")} --data-dir ${dataDir}`);
  return Daemon.start({ sluice, dataDir, args, env: { SLUICE_SECRET_APP_ERRORS: token } });
}

async function showFirstPlan(daemon: Daemon, repository: PipelineRepository): Promise<void> {
  const commit = await repository.head();
  const started = performance.now();
  await daemon.reconciled(commit);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  tell.say(`Both pipelines run ${seconds} s later. This was the plan, and its result:`);
  await showTurn(daemon, commit);
}

/** Shows the plan for a commit and its outcomes; returns the result for each changed pipeline. */
async function showTurn(daemon: Daemon, commit: string): Promise<Record<string, string>> {
  const { plan = "", outcomes } = await daemon.reconciled(commit);
  tell.show(plan);
  for (const { pipeline_id, result } of outcomes) tell.show(`${pipeline_id}: ${result}`);
  return Object.fromEntries(outcomes.map(({ pipeline_id, result }) => [pipeline_id, result]));
}

async function takeTokens(daemon: Daemon, brought: string): Promise<Record<string, string>> {
  tell.chapter("A few thousand events are posted");
  tell.say("app-errors brings its token from the environment; checkout-orders has a generated one. To have a new one:");
  tell.show(`npx sluice token rotate checkout-orders --data-dir ${dataDir}`);
  const printed = JSON.parse(await daemon.command("token", "rotate", "checkout-orders", "--output", "json")) as {
    access_token: string;
  };
  return { "app-errors": brought, "checkout-orders": printed.access_token };
}

async function postSamples(daemon: Daemon, samples: Sample[], tokens: Record<string, string>): Promise<void> {
  const unauthorised = await post(samples.slice(0, 1), daemon.events, {});
  const started = performance.now();
  const answers = await post(samples, daemon.events, tokens);
  const seconds = (performance.now() - started) / 1000;
  const refused = samples.filter(({ expect }) => expect === "refused").length;
  tell.say(
    `POST ${daemon.events}/v1/pipelines/<id>/topics/input/events, ${samples.length} times in ${seconds.toFixed(1)} s:`,
  );
  tell.check("without the token: answered", [...unauthorised.keys()][0], 401);
  tell.check("answered 202, each after it was on disk", answers.get(202), samples.length - refused);
  tell.check("answered 400, no JSON object", answers.get(400), refused);
  for (const pipeline_id of ["app-errors", "checkout-orders"]) {
    const { counters } = await daemon.settled(pipeline_id);
    tell.check(`${pipeline_id}: rows written`, counters.rows_written, count(samples, pipeline_id, "row"));
    tell.check(
      `${pipeline_id}: dropped by the filter`,
      counters.events_filtered,
      count(samples, pipeline_id, "filtered"),
    );
    tell.check(`${pipeline_id}: dead letters`, counters.dead_lettered, count(samples, pipeline_id, "dead letter"));
  }
}

/** An event that only the new filter lets through. */
function notFound(n: number): Sample {
  const event = {
    event_id: `late-${n}`,
    at: "2026-01-05T10:00:00Z",
    service: "api",
    level: "ERROR",
    path: "/",
    message: "",
  };
  return { pipeline_id: "app-errors", expect: "row", body: JSON.stringify({ ...event, status_code: 404 }) };
}

async function changeFilter(
  daemon: Daemon,
  repository: PipelineRepository,
  tokens: Record<string, string>,
): Promise<void> {
  tell.chapter("A commit changes the filter: the pipeline drains, and continues with the new one");
  const commit = await repository.change(
    "app-errors.yaml",
    'level == "ERROR" and status_code >= 500',
    'level == "ERROR"',
    "Keep all errors",
  );
  tell.check("the change is", (await showTurn(daemon, commit))["app-errors"], "applied");
  const before = (await daemon.health("app-errors")).counters.rows_written;
  await post([notFound(1), notFound(2), notFound(3)], daemon.events, tokens);
  const { counters } = await daemon.settled("app-errors");
  tell.check("rows of three events that the old filter would have dropped", counters.rows_written - before, 3);
}

async function rename(daemon: Daemon, repository: PipelineRepository): Promise<void> {
  tell.chapter("A commit renames a pipeline: it runs on without a restart");
  const commit = await repository.change(
    "checkout-orders.yaml",
    "name: Checkout orders",
    "name: Orders of the shop",
    "Rename",
  );
  tell.check("the change is", (await showTurn(daemon, commit))["checkout-orders"], "applied");
  const { pipeline_name } = await daemon.get<{ pipeline_name: string }>("/api/v1/pipeline/checkout-orders/health");
  tell.check("its name", pipeline_name, "Orders of the shop");
}

async function changeImmutable(
  daemon: Daemon,
  repository: PipelineRepository,
  tokens: Record<string, string>,
): Promise<void> {
  tell.chapter("A commit changes an immutable field: it is refused, and the pipeline runs on");
  const commit = await repository.change("app-errors.yaml", "max_bytes: 64Mi", "max_bytes: 128Mi", "Buffer more");
  await showTurn(daemon, commit);
  const { pipelines } = await daemon.get<Reconcile>("/api/v1/reconcile");
  const stalled = pipelines
    .find(({ pipeline_id }) => pipeline_id === "app-errors")
    ?.conditions.find(({ type }) => type === "Stalled");
  tell.check("the change is refused, because of", stalled?.reason, "ImmutableField");
  tell.check("and the place is named", /app-errors\.yaml:\d+:\d+/.test(stalled?.message ?? ""), true);
  const before = await daemon.health("app-errors");
  await post([notFound(4)], daemon.events, tokens);
  const after = await daemon.settled("app-errors");
  tell.check("app-errors is", after.overall_status, "Running");
  tell.check("rows of one more event", after.counters.rows_written - before.counters.rows_written, 1);
}

async function lookAtEverything(daemon: Daemon, samples: Sample[]): Promise<void> {
  tell.chapter("Where to look further");
  await showCommand(
    daemon,
    "sql",
    "SELECT service, count() AS errors, max(at) AS last FROM app_errors GROUP BY service ORDER BY service",
  );
  await showCommand(
    daemon,
    "sql",
    "SELECT country, count() AS orders, round(sum(amount), 2) AS amount FROM checkout_orders GROUP BY country ORDER BY country",
  );
  await showCommand(daemon, "dlq", "list", "app-errors");
  await showCommand(daemon, "dlq", "list", "checkout-orders");
  const rows = await daemon.command(
    "sql",
    "SELECT (SELECT count() FROM app_errors), (SELECT count() FROM checkout_orders)",
    "--format",
    "CSV",
  );
  tell.check(
    "rows in ClickHouse, in app_errors and in checkout_orders",
    rows,
    `${count(samples, "app-errors", "row") + 4},${count(samples, "checkout-orders", "row")}`,
  );
  tell.say(`\n${daemon.api}/api/v1/pipeline                     the pipelines
${daemon.api}/api/v1/pipeline/app-errors/health   one of them
${daemon.api}/api/v1/reconcile                    what was planned and done, and why something was refused
${daemon.api}/metrics                             for Prometheus`);
}

async function showCommand(daemon: Daemon, ...args: string[]): Promise<void> {
  const words = args.map((word) => (/^[\w-]+$/.test(word) ? word : `"${word}"`));
  tell.say(`npx sluice ${words.join(" ")} --data-dir ${daemon.dataDir}`);
  tell.show(await daemon.command(...args));
  tell.say("");
}

await main().catch((error: unknown) => {
  console.error(`\nThe quickstart failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
