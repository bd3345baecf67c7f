import { columns } from "../../../reconciler/cli/invocation/terminal.ts";
import type { Verdict } from "./verdict.ts";

const heads = ["fault", "told", "events accepted", "refused", "converged (s)", "broken"];

/** A matrix for people: fault, what was said of it, what running pipelines went through, time to converge, promises broken. */
export function tableOf(verdicts: readonly Verdict[]): string {
  return columns(
    heads,
    verdicts.map(({ name, told, accepted, refused, converged, broken }) => [
      name,
      told === "" ? "healed" : told,
      String(accepted),
      String(refused),
      converged.toFixed(2),
      broken.length === 0 ? "0" : broken.join("; "),
    ]),
  );
}
