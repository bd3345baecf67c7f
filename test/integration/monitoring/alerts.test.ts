import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { engineMetrics } from "../../../engine/telemetry/metrics.ts";
import { createHookTelemetry } from "../../../reconciler/status/hook-telemetry.ts";
import { refusalReasons } from "../../../reconciler/listeners/connection-limit.ts";
import { createListenersTelemetry } from "../../../reconciler/status/listener-telemetry.ts";
import { createTelemetry } from "../../../reconciler/status/telemetry.ts";
import { emptySnapshot } from "../../support/empty-snapshot.ts";
import { keptLog } from "../../support/engine.ts";
import { promtool } from "../../support/prometheus.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";

const run = promisify(execFile);
const rules = fileURLToPath(new URL("../../../examples/monitoring/alerts.yaml", import.meta.url));

/** The values of a series, one a minute, as promtool writes them. */
type Series = Readonly<Record<string, string>>;

const [minutes, hour] = [24 * 60, 60];
const instance = `instance="sluice:9090", job="sluice"`;
const of = (name: string, labels = ""): string => `${name}{${instance}${labels === "" ? "" : `, ${labels}`}}`;
/** A value that stays. */
const always = (value: number): string => `${value}x${minutes}`;
/** A counter that is 0, and from an hour on so much. */
const from = (value: number): string => `0x${hour} ${value}x${minutes}`;
/** The time, and from an hour on the time of then. */
const stopped = `0+60x${hour} ${hour * 60}x${minutes}`;

/** What a healthy daemon exports for a day, with one pipeline, of all that the rules name. */
const healthy: Series = {
  [of("sluice_gitops_last_attempt_timestamp_seconds")]: `0+60x${minutes}`,
  [of("sluice_gitops_last_success_timestamp_seconds")]: `0+60x${minutes}`,
  [of("sluice_gitops_in_progress_start_time_seconds")]: always(0),
  [of("sluice_gitops_reconcile_total", `result="success", trigger="start"`)]: always(1),
  [of("sluice_gitops_reconcile_total", `result="success", trigger="poll"`)]: `0+1x${minutes}`,
  [of("sluice_gitops_revision_lag_seconds")]: always(0),
  [of("sluice_gitops_source_condition", `type="Ready", status="True"`)]: always(1),
  [of("sluice_gitops_git_request_total", `op="fetch", result="success"`)]: `0+1x${minutes}`,
  [of("sluice_gitops_git_request_total", `op="fetch", result="error"`)]: always(0),
  [of("sluice_gitops_webhook_requests_total", `result="accepted"`)]: `0+1x${minutes}`,
  [of("sluice_gitops_webhook_requests_total", `result="bad_signature"`)]: always(0),
  [of("sluice_listener_connections_refused_total", `listener="events", reason="address_limit"`)]: always(0),
  [of("sluice_listener_connections_refused_total", `listener="events", reason="no_request"`)]: `0+1x${minutes}`,
  [of("sluice_gitops_everything_suspended_since_timestamp_seconds")]: always(0),
  [of("sluice_gitops_pinned_since_timestamp_seconds")]: always(0),
  [of("sluice_gitops_fights_total")]: always(0),
  [of("sluice_gitops_condition", `pipeline_id="orders", type="Ready", status="True"`)]: always(1),
  [of("sluice_gitops_pipeline_info", `pipeline_id="orders", ready="True", reason="ReconciliationSucceeded"`)]:
    always(1),
  [of("sluice_gitops_prune_blocked_total", `reason="DeletionBudget"`)]: always(0),
  [of("sluice_gitops_operation_total", `op="stop", result="success"`)]: `0+1x${minutes}`,
  [of("sluice_gitops_operation_total", `op="stop", result="error"`)]: always(0),
  [of("sluice_data_dir_free_bytes")]: always(10 * 2 ** 30),
  [of("sluice_data_dir_reserve_bytes")]: always(48 * 2 ** 20),
  [of("sluice_push_refusals_total", `pipeline_id="orders", reason="disk_full"`)]: always(0),
  [of("sluice_push_refusals_total", `pipeline_id="orders", reason="busy"`)]: `0+1x${minutes}`,
  [of("sluice_push_refusals_total", `pipeline_id="unknown", reason="no_token"`)]: `0+1x${minutes}`,
  [of("sluice_dead_letters_total", `pipeline_id="orders"`)]: always(0),
  [of("sluice_events_aged_out_total", `pipeline_id="orders"`)]: always(0),
  [of("sluice_events_skipped_total", `pipeline_id="orders"`)]: always(0),
  [of("sluice_pipeline_freshness_seconds", `pipeline_id="orders"`)]: always(2),
};

/** What a pipeline with a change that is not approved exports after an hour. */
const notApproved: Series = {
  [of("sluice_gitops_condition", `pipeline_id="orders", type="Stalled", status="True"`)]: `_x${hour} 1x${minutes}`,
  [of("sluice_gitops_pipeline_info", `pipeline_id="orders", ready="False", reason="NotApproved"`)]:
    `_x${hour} 1x${minutes}`,
};

interface Situation {
  series: Series;
  within: number;
  gone?: RegExp;
}

/** What begins after an hour, in place of what is healthy, and how many minutes later its alert has to fire. */
const situations: Readonly<Record<string, Situation>> = {
  SluiceAbsent: { series: {}, gone: /last_attempt/, within: 11 },
  SluiceReconcilerStopped: {
    series: {
      [of("sluice_gitops_reconcile_total", `result="success", trigger="poll"`)]: `0+1x${hour} ${hour}x${minutes}`,
    },
    within: 91,
  },
  SluiceReconcileStuck: {
    series: { [of("sluice_gitops_in_progress_start_time_seconds")]: from(hour * 60) },
    within: 21,
  },
  SluiceOldLastSuccess: { series: { [of("sluice_gitops_last_success_timestamp_seconds")]: stopped }, within: 131 },
  SluiceCommitNotApplied: {
    series: { [of("sluice_gitops_revision_lag_seconds")]: `0x${hour} 0+60x${minutes}` },
    within: 75,
  },
  SluiceSourceFailing: {
    series: { [of("sluice_gitops_source_condition", `type="Ready", status="False"`)]: `_x${hour} 1x${minutes}` },
    within: 16,
  },
  SluiceGitRequestsFail: {
    series: { [of("sluice_gitops_git_request_total", `op="fetch", result="error"`)]: `0x${hour} 0+1x${minutes}` },
    within: 11,
  },
  SluiceHookRefusesPushes: {
    series: { [of("sluice_gitops_webhook_requests_total", `result="bad_signature"`)]: from(6) },
    within: 1,
  },
  SluiceRefusesConnections: {
    series: {
      [of("sluice_listener_connections_refused_total", `listener="events", reason="address_limit"`)]: from(51),
    },
    within: 1,
  },
  SluiceDiskLow: {
    series: { [of("sluice_data_dir_free_bytes")]: `${10 * 2 ** 30}x${hour} ${95 * 2 ** 20}x${minutes}` },
    within: 1,
  },
  SluiceSendersRefused: {
    series: { [of("sluice_push_refusals_total", `pipeline_id="orders", reason="disk_full"`)]: from(1) },
    within: 1,
  },
  SluiceRequestsInvalid: {
    series: { [of("sluice_push_refusals_total", `pipeline_id="unknown", reason="no_token"`)]: from(101) },
    within: 1,
  },
  SluiceSuspended: {
    series: { [of("sluice_gitops_everything_suspended_since_timestamp_seconds")]: from(60) },
    within: 23 * hour + 2,
  },
  SluiceRolledBack: {
    series: { [of("sluice_gitops_pinned_since_timestamp_seconds")]: from(60) },
    within: 23 * hour + 2,
  },
  SluicePipelineSuspended: {
    series: {
      [of("sluice_gitops_suspended_since_timestamp_seconds", `pipeline_id="orders"`)]:
        `_x${hour} ${-7 * 86_400 + 3600}x${minutes}`,
    },
    within: 1,
  },
  SluiceDriftFight: { series: { [of("sluice_gitops_fights_total")]: from(1) }, within: 1 },
  SluiceChangeNotApproved: { series: notApproved, within: 16 },
  SluicePipelineStalled: {
    series: {
      [of("sluice_gitops_condition", `pipeline_id="orders", type="Stalled", status="True"`)]: `_x${hour} 1x${minutes}`,
    },
    within: 6,
  },
  SluicePipelineNotReady: {
    series: {
      [of("sluice_gitops_pipeline_info", `pipeline_id="orders", ready="False", reason="Failed"`)]:
        `_x${hour} 1x${minutes}`,
    },
    within: 16,
  },
  SluicePruneBlocked: {
    series: { [of("sluice_gitops_prune_blocked_total", `reason="DeletionBudget"`)]: from(1) },
    within: 1,
  },
  SluiceChangesFail: {
    series: { [of("sluice_gitops_operation_total", `op="stop", result="error"`)]: `0x${hour} 0+1x${minutes}` },
    within: 11,
  },
  SluicePipelinePaused: {
    series: { [of("sluice_pipeline_paused", `pipeline_id="orders", class="transient"`)]: `_x${hour} 1x${minutes}` },
    within: 11,
  },
  SluiceRowsLate: {
    series: { [of("sluice_pipeline_freshness_seconds", `pipeline_id="orders"`)]: `0x${hour} 0+60x${minutes}` },
    within: 22,
  },
  SluiceJoinMakesNoRows: {
    series: {
      [of("sluice_gitops_condition", `pipeline_id="orders", type="Unmatched", status="True"`)]:
        `_x${hour} 1x${minutes}`,
    },
    within: 62,
  },
  SluiceOpenTransaction: {
    series: {
      [of("sluice_gitops_condition", `pipeline_id="orders", type="OpenTransaction", status="True"`)]:
        `_x${hour} 1x${minutes}`,
    },
    within: 6,
  },
  SluiceDeadLetters: { series: { [of("sluice_dead_letters_total", `pipeline_id="orders"`)]: from(1) }, within: 1 },
  SluiceEventsAgedOut: { series: { [of("sluice_events_aged_out_total", `pipeline_id="orders"`)]: from(1) }, within: 1 },
  SluiceEventsSkipped: { series: { [of("sluice_events_skipped_total", `pipeline_id="orders"`)]: from(1) }, within: 1 },
};

let path: string;
let folder: string;
let obstacle: string | undefined;
let names: string[];
interface Rule {
  alert: string;
}
let all: Rule[];

beforeAll(async () => {
  const found = await promtool();
  if ("obstacle" in found) obstacle = found.obstacle;
  else ({ path } = found);
  folder = await mkdtemp(join(tmpdir(), "sluice-alerts-"));
  const { groups } = parse(await readFile(rules, "utf8")) as { groups: { rules: Rule[] }[] };
  all = groups.flatMap((group) => group.rules);
  names = all.map(({ alert }) => alert);
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(({ skip }) => requireOrSkip(obstacle, skip));

/** The minutes at which promtool says that rules fire; it prints them as 1d2h3m. */
function minutesOf(said: string): number[] {
  const times = said.matchAll(/time: (?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?,/g);
  return [...times].map(
    ([, days = 0, hours = 0, left = 0]) => (Number(days) * 24 + Number(hours)) * hour + Number(left),
  );
}

/** A minute, and the rule that must not fire then. */
type Look = [minute: number, alert: string];

interface Case {
  series: Series;
  at: Look[];
  /** How often the rules are looked at. */
  every?: string;
}

/** The file of the rules, or one with those alone that are looked for: the others take most of the time. */
async function rulesOf(at: readonly Look[]): Promise<string> {
  const looked = new Set(at.map(([, alert]) => alert));
  if (looked.size === all.length) return rules;
  const file = join(folder, "rules.yaml");
  await writeFile(
    file,
    stringify({ groups: [{ name: "looked-for", rules: all.filter(({ alert }) => looked.has(alert)) }] }),
  );
  return file;
}

/** Lets promtool run the rules over series; resolves with what it says of rules that fire. */
async function fires({ series, at, every = "1m" }: Case): Promise<string> {
  const file = join(folder, "case.yaml");
  const input_series = Object.entries(series).map(([name, values]) => ({ series: name, values }));
  const wanted = at.map(([minute, alertname]) => ({ eval_time: `${minute}m`, alertname, exp_alerts: [] }));
  const tests = [{ interval: "1m", input_series, alert_rule_test: wanted }];
  await writeFile(file, stringify({ rule_files: [await rulesOf(at)], evaluation_interval: every, tests }));
  return run(path, ["test", "rules", file], { maxBuffer: 64 * 1024 * 1024 }).then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
}

async function firesAtOnce(alert: string, one: Situation): Promise<void> {
  const { series: begins, within, gone } = one;
  const kept = Object.entries(healthy).map(([name, values]) => [
    name,
    gone?.test(name) === true ? `0+60x${hour} _x${minutes}` : values,
  ]);
  const series = { ...Object.fromEntries(kept), ...begins } as Series;
  const looks: Look[] = [hour - 1, hour + within].map((minute) => [minute, alert]);
  // Where none is expected, promtool says which fires, and when.
  const said = await fires({ series, at: looks });
  expect(said).toMatch(new RegExp(`got:\\[\\s*0:\\s*Labels:\\{alertname="${alert}"`));
  expect(minutesOf(said)).toEqual([hour + within]);
}

describe("the alert rules", () => {
  test("each have a situation in which they have to fire", () => {
    expect(Object.keys(situations).toSorted()).toEqual(names.toSorted());
  });

  test("are silent for a day where all is well", async () => {
    const at = names.flatMap((alert) => Array.from({ length: 24 }, (_, index): Look => [index * hour + 50, alert]));
    expect(await fires({ series: healthy, at, every: "5m" })).toBe("");
  });

  const [first, second, third, ...others] = Object.entries(situations);
  test.each([first!, second!, third!])("%s fires at its first event, and was silent before", firesAtOnce);
  test.each(others)("%s fires at its first event, and was silent before", { tags: ["rest"] }, firesAtOnce);
});

test(
  "a change that waits for an approval is neither a refusal nor a pipeline that fails",
  { tags: ["rest"] },
  async () => {
    const series = { ...healthy, ...notApproved };
    const others = ["SluicePipelineStalled", "SluicePipelineNotReady"];
    expect(await fires({ series, at: others.map((alert): Look => [2 * hour, alert]) })).toBe("");
    const also: Series = {
      [of("sluice_gitops_condition", `pipeline_id="other", type="Stalled", status="True"`)]: `_x${hour} 1x${minutes}`,
    };
    const said = await fires({ series: { ...series, ...also }, at: [[2 * hour, "SluicePipelineStalled"]] });
    expect(said).toContain('pipeline_id="other"');
    expect(said).not.toContain('pipeline_id="orders"');
  },
);

test.each([
  ["first", `_x${hour} 0x${minutes}`],
  ["again", `0+60x${hour} 0x${minutes}`],
])(
  "a process that is started %s is not said to have had no success for two hours",
  { tags: ["rest"] },
  async (_title, values) => {
    const alert = "SluiceOldLastSuccess";
    const series = { ...healthy, [of("sluice_gitops_last_success_timestamp_seconds")]: values };
    expect(await fires({ series, at: [[2 * hour + 50, alert]] })).toBe("");
    expect(await fires({ series, at: [[3 * hour + 12, alert]] })).toContain(alert);
  },
);

describe("the metrics", () => {
  /** The name that the specification has beside the one with `_total`. */
  const known = /^gfm_receiver_request_count /;

  test("have names that promtool check metrics accepts, but for an alias of the specification", async () => {
    const registry = new Registry();
    engineMetrics(registry, keptLog());
    createTelemetry(keptLog(), registry).exposeState(() => emptySnapshot);
    createHookTelemetry(keptLog(), registry);
    createListenersTelemetry(keptLog(), registry, refusalReasons);
    for (const { name } of registry.getMetricsAsArray()) {
      const metric = registry.getSingleMetric(name) as (Counter | Gauge | Histogram) & { labelNames?: string[] };
      const labels = Object.fromEntries((metric.labelNames ?? []).map((label) => [label, "x"]));
      if (metric instanceof Histogram) metric.observe(labels, 1);
      else metric.inc(labels, 1);
    }
    const check = run(path, ["check", "metrics"]);
    check.child.stdin?.end(await registry.metrics());
    const said = await check.then(
      ({ stderr }) => stderr,
      (error: { stderr: string }) => error.stderr,
    );
    const lines = said.split("\n").filter((line) => line !== "");
    expect(lines.filter((line) => !known.test(line))).toEqual([]);
    expect(lines).toHaveLength(2);
  });
});
