import { consumerGroup } from "../../engine/index.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { DesiredPipeline } from "../desired/desired-state.ts";
import type { Change } from "./change.ts";
import { fromCreated } from "./creation.ts";
import { differences, toldOf } from "./differences.ts";
import type { Difference } from "./differences.ts";
import { endOf, writtenFirst } from "./ending.ts";
import { idle } from "./idle.ts";
import { lossesOf } from "./losses.ts";
import { beginning, keptInKafka, readsFromKafka, shareBroker, topicsOf } from "./reading.ts";
import { refusal } from "./refusals.ts";

/**
 * A refused change that is carried out, as `x-sluice.recreate` asks for: the pipeline ends as one whose file is gone does,
 * but for its dead letters, and is then created. What it has accepted is never lost, and all else that goes is told here.
 *
 * The new pipeline is the one that the file describes by itself: what the file leaves out of the immutable fields is
 * their default, whether the creation follows the deletion at once or after a crash.
 */
export function recreation(desired: DesiredPipeline, present: ActualPipeline, refused: Difference): Change {
  const found = differences(present, desired);
  const head = `${refused.path} cannot change after creation, and x-sluice.recreate is true`;
  const step = endOf(present, "recreate");
  if (step.kind === "waits") return { ...idle(desired, "InTransition", `${head}: ${step.text}`), ...toldOf(found) };
  if (step.kind === "hindered") return refusal(desired, step.cause, `${head}: ${step.text}`, found, refused);
  const text = `${writtenFirst(present)}; ${lossesOf(desired, present)}${positions(desired, present)}`;
  return {
    ...idle(desired, "Changed", `${head}: the pipeline is made anew${text}`),
    ...toldOf(found),
    kind: "recreate",
    calls: [...step.calls, "create", ...fromCreated(desired)],
    loses: { dead_letters: present.dead_letters },
  };
}

/** Where it reads afterwards. */
function positions(desired: DesiredPipeline, present: ActualPipeline): string {
  if (!readsFromKafka(desired.config)) return keptInKafka(present);
  const before = topicsOf(present.config);
  const isSame = topicsOf(desired.config).every((source) =>
    before.some((old) => old.topic === source.topic && shareBroker(old, source)),
  );
  if (!isSame) return beginning(desired);
  return `; the consumer group ${consumerGroup(present.pipeline_id)} is kept, and it goes on where that stands`;
}
