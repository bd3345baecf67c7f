import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import { counted, listed } from "./wording.ts";

/** What `x-sluice.recreate` would do, for a refusal: without figures, which would make it another refusal each time. */
export function wayByRecreation(desired: DesiredPipeline, present: ActualPipeline): string {
  const gone = losses(desired, present).map(({ named }) => named);
  return `set x-sluice.recreate: true, which writes what was accepted and makes the pipeline anew, without ${listed(gone)}`;
}

/** What making it anew takes away, with the figures of this moment. */
export function lossesOf(desired: DesiredPipeline, present: ActualPipeline): string {
  const gone = losses(desired, present).flatMap(({ lost }) => lost ?? []);
  return gone.length === 0 ? "nothing is lost" : `lost: ${gone.join(", ")}`;
}

/** What went with a pipeline that somebody deleted: nobody counted it. */
export function lostInEngine({ config, options }: DesiredPipeline): string {
  const hasDedup = config.transforms.some(({ type }) => type === "dedup");
  const isWebhook = config.sources.some(({ type }) => type === "webhook");
  const gone = [
    "what it held unwritten",
    "its dead letters",
    ...(hasDedup ? ["what dedup remembered"] : []),
    ...(isWebhook && options.access_token === undefined ? ["its access token"] : []),
  ];
  return `and with it ${listed(gone)}`;
}

interface Loss {
  named: string;
  /** With the figure of this moment; absent where there is nothing to lose. */
  lost?: string;
}

function losses(desired: DesiredPipeline, { pipeline_id, config, dead_letters, keys }: ActualPipeline): Loss[] {
  const hasDedup = config.transforms.some(({ type }) => type === "dedup");
  const remembers = "what dedup remembers";
  const isWebhook = config.sources.some(({ type }) => type === "webhook");
  const staysWebhook = desired.config.sources.some(({ type }) => type === "webhook");
  const isBrought = staysWebhook && desired.options.access_token !== undefined;
  const another = staysWebhook ? ` (sluice token rotate ${pipeline_id} prints a new one)` : "";
  return [
    { named: "its dead letters", ...(dead_letters > 0 && { lost: counted(dead_letters, "dead letter") }) },
    ...(hasDedup ? [{ named: remembers, lost: remembers + (keys === undefined ? "" : ` (${keys} keys)`) }] : []),
    ...(isWebhook && !isBrought ? [{ named: "its access token", lost: `its access token${another}` }] : []),
  ];
}
