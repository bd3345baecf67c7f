import type { Rule } from "../view.ts";
import { batchRules } from "./batches.ts";
import { columnRules } from "./columns.ts";
import { expressionRules } from "./expressions.ts";
import { formatRules } from "./formats.ts";
import { joinRules } from "./join.ts";
import { kafkaRules } from "./kafka.ts";
import { noEffectRules } from "./no-effect.ts";
import { notYetRules } from "./not-yet.ts";
import { positionRules } from "./positions.ts";
import { quantityRules } from "./quantities.ts";
import { resourceRules } from "./resources.ts";
import { reviewRules } from "./review.ts";
import { secretRules } from "./secrets.ts";
import { sinkRules } from "./sink.ts";
import { sourceRules } from "./sources.ts";
import { tagRules } from "./tags.ts";
import { targetRules } from "./target.ts";
import { transformRules } from "./transforms.ts";
import { unusedRules } from "./unused.ts";

/** The second layer: what one field says of another, one list for each section of the format. */
export const rules: readonly Rule[] = [
  ...sourceRules,
  ...kafkaRules,
  ...positionRules,
  ...formatRules,
  ...transformRules,
  ...expressionRules,
  ...reviewRules,
  ...joinRules,
  ...sinkRules,
  ...targetRules,
  ...batchRules,
  ...columnRules,
  ...resourceRules,
  ...quantityRules,
  ...unusedRules,
  ...noEffectRules,
  ...tagRules,
  ...secretRules,
  ...notYetRules,
];
