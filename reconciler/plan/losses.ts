import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";

/** What `x-sluice.recreate` would do, for a refusal: without figures, which would make it another refusal each time. */
export function wayByRecreation(desired: DesiredPipeline, present: ActualPipeline): string {
  const gone = losses(desired, present).map(({ named }) => named);
  return `set x-sluice.recreate: true, which writes what was accepted and makes the pipeline anew, without ${list(gone)}`;
}

/** What making it anew takes away, with the figures of this moment. */
export function lossesOf(desired: DesiredPipeline, present: ActualPipeline): string {
  const gone = losses(desired, present).flatMap(({ counted }) => counted ?? []);
  return gone.length === 0 ? "nothing is lost" : `lost: ${gone.join(", ")}`;
}

interface Loss {
  named: string;
  /** With the figure of this moment; absent where there is nothing to lose. */
  counted?: string;
}

function losses(desired: DesiredPipeline, { pipeline_id, config, dead_letters, keys }: ActualPipeline): Loss[] {
  const letters = `${dead_letters} ${dead_letters === 1 ? "dead letter" : "dead letters"}`;
  const hasDedup = config.transforms.some(({ type }) => type === "dedup");
  const remembers = "what dedup remembers";
  const isWebhook = config.sources.some(({ type }) => type === "webhook");
  const staysWebhook = desired.config.sources.some(({ type }) => type === "webhook");
  const isBrought = staysWebhook && desired.options.access_token !== undefined;
  const another = staysWebhook ? ` (sluice token rotate ${pipeline_id} prints a new one)` : "";
  return [
    { named: "its dead letters", ...(dead_letters > 0 && { counted: letters }) },
    ...(hasDedup ? [{ named: remembers, counted: remembers + (keys === undefined ? "" : ` (${keys} keys)`) }] : []),
    ...(isWebhook && !isBrought ? [{ named: "its access token", counted: `its access token${another}` }] : []),
  ];
}

function list(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
