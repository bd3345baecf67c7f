import { type FiringAlert } from "./alerts.ts";
import { Scene, type Said } from "./scene.ts";
import { secrets, situations, type Situation } from "./situations.ts";

/** Milliseconds until everything must be told, and until it must be well again. */
const patience = 60_000;

/** What an on-call saw of one situation, and what was not as it must be. */
interface Seen {
  situation: Situation;
  get: Said;
  one: Said;
  alerts: FiringAlert[];
  missing: string[];
}

/**
 * Lets each situation, or those whose name matches `only`, arise and be over, and prints what an on-call sees of
 * it. Returns what was not told.
 */
export async function transcript(log: (text: string) => void, only = ""): Promise<string[]> {
  const scene = await Scene.open();
  const problems: string[] = [];
  try {
    if (!(await isWell(scene))) throw new Error("expected a healthy start");
    for (const [index, situation] of situations.entries()) {
      if (!new RegExp(only).test(situation.is)) continue;
      const remedy = await situation.begin(scene);
      const seen = await look(scene, situation);
      log(textOf(index + 1, seen));
      problems.push(...seen.missing.map((text) => `${situation.is}: ${text}`));
      await remedy();
      if (!(await isWell(scene)))
        problems.push(`${situation.is}: it is not well again: ${(await scene.command("get")).text}`);
    }
  } finally {
    await scene.close();
  }
  return problems;
}

/** Looks until all is told that must be, or time is up. */
async function look(scene: Scene, situation: Situation): Promise<Seen> {
  let seen: Seen | undefined;
  await scene.within(patience, async () => {
    const get = await scene.command("get");
    const one = situation.of === "source" ? get : await scene.command("get", situation.of);
    const alerts = await scene.alerts.firing();
    seen = { situation, get, one, alerts, missing: missingOf(situation, get, one, alerts) };
    return seen.missing.length === 0;
  });
  return seen!;
}

function missingOf(situation: Situation, get: Said, one: Said, alerts: readonly FiringAlert[]): string[] {
  const { of, row, says, alert } = situation;
  const cells = get.text.split("\n").find((line) => line.startsWith(`${of} `)) ?? "";
  const isRow = row.every((cell) => cells.split(/ +/).includes(cell));
  const about = alerts.filter(({ pipeline_id }) => pipeline_id === undefined || pipeline_id === of);
  const fresh = about.flatMap(({ name }) => (remembered.has(name) ? [] : [name]));
  const claims: [boolean, string][] = [
    [!isRow && row[0] !== "", `expected the row ${row.join(" ")}, found ${cells}`],
    [!says.test(one.text), `expected ${says} of sluice get ${of}`],
    [alert !== undefined && !about.some(({ name }) => name === alert), `expected the alert ${alert}`],
    [alert === undefined && fresh.length > 0, `expected no alert, found ${fresh.join(", ")}`],
    [secrets.some((secret) => `${get.text}${one.text}`.includes(secret)), "a secret was shown"],
  ];
  return claims.filter(([isMissing]) => isMissing).map(([, text]) => text);
}

/** Whether both pipelines are ready, the source too, and no alert is left; counters remember for longer. */
function isWell(scene: Scene): Promise<boolean> {
  return scene.within(patience, async () => {
    const { conditions, pipelines } = await scene.snapshot();
    const all = [conditions, ...pipelines.map((one) => one.conditions)];
    const isReady = all.every((found) => found.some(({ type, status }) => type === "Ready" && status === "True"));
    const alerts = await scene.alerts.firing();
    return isReady && pipelines.length === 2 && alerts.every(({ name }) => remembered.has(name));
  });
}

/** They look back over minutes: what they report stays true for as long. */
const remembered = new Set(["SluiceDeadLetters", "SluicePruneBlocked", "SluiceGitRequestsFail", "SluiceChangesFail"]);

function textOf(number: number, { situation, get, one, alerts, missing }: Seen): string {
  const { is, of } = situation;
  const fired = alerts.map(
    ({ name, pipeline_id, summary }) => `${name}${pipeline_id ? ` (${pipeline_id})` : ""}: ${summary}`,
  );
  return [
    `== ${number}. ${is}`,
    "$ sluice get",
    get.text,
    ...(of === "source" ? [] : [`$ sluice get ${of}`, one.text.split("\nversion:")[0]!]),
    ...(fired.length === 0 ? ["no alert"] : fired.map((text) => `alert ${text}`)),
    ...missing.map((text) => `BROKEN: ${text}`),
    "",
  ].join("\n");
}
