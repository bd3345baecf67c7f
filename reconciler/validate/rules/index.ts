import type { Rule } from "../../language/view.ts";
import { batchRules } from "./batches.ts";
import { columnRules, sinkRules } from "./sink.ts";
import { expressionRules } from "./expressions.ts";
import { formatRules, positionRules, sourceRules } from "./sources.ts";
import { joinRules } from "./join.ts";
import { kafkaRules } from "./kafka.ts";
import { noEffectRules, unusedRules } from "./no-effect.ts";
import { notYetRules, secretRules, tagRules } from "./whole-document.ts";
import { quantityRules, resourceRules } from "./resources.ts";
import { reviewRules, transformRules } from "./transforms.ts";
import { targetRules } from "./target.ts";

/** The second layer: rules between fields, one list for each section of the format. */
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
