import type { BacklogReport } from "./backlog.ts";

/** What a backlog of large exports has broken. Only a request that was being stored when its sender left may be there twice. */
export function brokenByBacklog(name: string, report: BacklogReport): string[] {
  const { acknowledged, givenUp, unanswered, copies, lost } = report;
  const problems: string[] = [];
  if (lost > 0) problems.push(`${name}: ${lost} acknowledged requests are not there`);
  if (givenUp > 0) problems.push(`${name}: ${givenUp} requests were never taken`);
  const extra = copies - acknowledged;
  if (extra > unanswered) problems.push(`${name}: ${extra} copies of ${unanswered} requests without an answer`);
  if (extra > acknowledged / 2) problems.push(`${name}: ${extra} copies: work that nobody waited for was stored`);
  return problems;
}

export function lineOfBacklog(name: string, { seconds, ...counts }: BacklogReport): string {
  const figures = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  return `${name}: ${figures.join(", ")} in ${seconds.toFixed(1)} s`;
}
