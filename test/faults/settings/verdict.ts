import type { Observation, SceneTable } from "./scene.ts";

/**
 * What a profile changed.
 *
 * - `nothing`: the answers and the rows of the default run.
 * - `told`: an answer said something else, and the rows agree with the answers.
 * - `named`: rows differ, and a condition names the setting.
 * - `breach`: rows are lost, doubled or changed, or a refusal is none, and nothing said so.
 */
export type Verdict = { kind: "nothing" } | { kind: "told" | "named" | "breach"; text: string };

/** Compares what was seen under a profile with what is seen without. */
export function judge(setting: string, usual: Observation, seen: Observation): Verdict {
  const broken = [
    ...untrueAnswers(seen),
    ...untrueSuccess(usual, seen),
    ...doubled(usual, seen),
    ...changed(usual, seen),
  ];
  const said = otherAnswers(usual, seen);
  const isNamed = seen.named.some((text) => text.includes(setting));
  if (broken.length > 0) return { kind: isNamed ? "named" : "breach", text: [...broken, ...said].join("; ") };
  return said.length === 0 ? { kind: "nothing" } : { kind: "told", text: said.join("; ") };
}

/** A refusal, where rows are in the table. */
function untrueAnswers({ answers, afterWrong, rows }: Observation): string[] {
  const claims: [step: string, written: number][] = [
    ["wrong row", afterWrong],
    ["failing view", rows.main.failing.length],
  ];
  const untrue = claims.filter(([step, written]) => answers[step]?.kind === "refused" && written > 0);
  return untrue.map(([step, written]) => `${step} is refused, and ${written} rows are written`);
}

/** Success, where something is wrong with the rows or with a view. */
function untrueSuccess(usual: Observation, seen: Observation): string[] {
  const steps = Object.entries(seen.answers).filter(
    ([step, { kind }]) => kind === "ok" && usual.answers[step]?.kind !== "ok",
  );
  return steps.map(([step]) => `${step} is answered with success`);
}

/** A row twice, where it is there once without the profile, whatever was answered. */
function doubled(usual: Observation, seen: Observation): string[] {
  return namesOf(seen).flatMap((name) => {
    const { good, failing } = seen.rows[name];
    const more = good.length - usual.rows[name].good.length;
    const again = failing.length - new Set(failing).size;
    return [
      ...(more > 0 ? [`${name} has ${more} rows more`] : []),
      ...(again > 0 ? [`${name} has ${again} rows twice`] : []),
    ];
  });
}

/** Rows that differ where the answers promise all of them. */
function changed(usual: Observation, seen: Observation): string[] {
  const { insert, repeat, "failing view": failing } = seen.answers;
  const isWritten = insert?.kind === "ok" && repeat?.kind === "ok";
  const rows = namesOf(seen).flatMap((name) => [
    ...(isWritten ? difference(name, usual.rows[name].good, seen.rows[name].good) : []),
    ...(failing?.kind === "unknown" && name === "main"
      ? strangers(usual.rows.main.failing, seen.rows.main.failing)
      : []),
  ]);
  return [...rows, ...bolderReading(usual, seen)];
}

/** A reading that promises more than it should, or overlooks a view: one that promises less is cautious. */
function bolderReading({ reading: usual }: Observation, { reading: seen }: Observation): string[] {
  if (usual === undefined || seen === undefined) return [];
  const hasSame = seen.isReplicated === usual.isReplicated && seen.views.join() === usual.views.join();
  if (hasSame && seen.entries <= usual.entries) return [];
  return [`the target is read as another one: ${JSON.stringify(seen)}`];
}

function difference(name: string, usual: readonly string[], seen: readonly string[]): string[] {
  if (usual.length < seen.length || usual.join() === seen.join()) return [];
  const first = seen.find((row) => !usual.includes(row)) ?? `${seen.length} of ${usual.length}`;
  return [`${name} has other rows: ${first.slice(0, 200)}`];
}

/** Rows that no event is. */
function strangers(usual: readonly string[], seen: readonly string[]): string[] {
  const other = seen.filter((row) => !usual.includes(row));
  return other.length === 0 ? [] : [`main has other rows: ${other[0]!.slice(0, 200)}`];
}

function namesOf({ rows }: Observation): SceneTable[] {
  return Object.keys(rows) as SceneTable[];
}

/** Answers of another kind, or a probe that finds something else. */
function otherAnswers(usual: Observation, seen: Observation): string[] {
  return Object.entries(seen.answers).flatMap(([step, { kind, text }]) => {
    const expected = usual.answers[step];
    const isAlike = expected?.kind === kind && (kind !== "found" || expected.text === text);
    return isAlike ? [] : [`${step}: ${kind} ${text.replaceAll(/\s+/g, " ").slice(0, 220)}`];
  });
}
