import type { Rule } from "../view.ts";
import { columnRules } from "./columns.ts";
import { expressionRules } from "./expressions.ts";
import { joinRules } from "./join.ts";
import { notYetRules } from "./not-yet.ts";
import { resourceRules } from "./resources.ts";
import { secretRules } from "./secrets.ts";
import { sinkRules } from "./sink.ts";
import { sourceRules } from "./sources.ts";
import { tagRules } from "./tags.ts";
import { transformRules } from "./transforms.ts";

/** The second layer: what one field says of another, one list for each section of the format. */
export const rules: readonly Rule[] = [
  ...sourceRules,
  ...transformRules,
  ...expressionRules,
  ...joinRules,
  ...sinkRules,
  ...columnRules,
  ...resourceRules,
  ...tagRules,
  ...secretRules,
  ...notYetRules,
];
