import type { Fate } from "./trial.ts";

/** What has become of exports that must not; empty where every promise was kept. */
export function brokenBySenders(fates: readonly Fate[]): string[] {
  return fates.flatMap((fate) => {
    const { path, strain, kind, accepted, requests, lost, parts, copies, unanswered, skipped = 0 } = fate;
    const claims: [boolean, string][] = [
      // On a slow machine each may be given up before its answer, and none of that is wrong.
      [accepted === 0 && (requests === 0 || unanswered < requests), "none was accepted"],
      [lost > 0, `${lost} that were accepted are not there`],
      [parts > 0, `a part of ${parts} is there`],
      [copies + skipped > unanswered, `${copies} copies, and ${skipped} skipped, of ${unanswered} without an answer`],
    ];
    return claims.filter(([isBroken]) => isBroken).map(([, text]) => `${path}, ${strain}, ${kind}: ${text}`);
  });
}

const columns = ["accepted", "refused", "requests", "unanswered", "skipped", "copies", "lost"] as const;

export const sendersHead = [
  `| path | strain | sender | ${columns.join(" | ")} | the last refusal |`,
  `| --- | --- | --- | ${columns.map(() => "--:").join(" | ")} | --- |`,
];

export function rowOfSender(fate: Fate): string {
  const { path, strain, kind, refusal } = fate;
  return `| ${path} | ${strain} | ${kind} | ${columns.map((column) => fate[column] ?? "").join(" | ")} | ${refusal.slice(0, 90)} |`;
}
