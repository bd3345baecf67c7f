import { towards } from "../secrets/permissions.ts";
import { allowedByDefault, type NewSecret } from "../secrets/secret-problems.ts";
import { listed, someOf } from "../plan/render/words.ts";
import type { Note } from "./preview.ts";

/** The sentence of a note. */
export function noteText({ code, facts }: Note): string {
  switch (code) {
    case "FileMoved":
      return `${facts.pipeline_id} moves from ${facts.from} to ${facts.to}, and runs on`;
    case "BaseUnusable":
      return (
        `${facts.file}:${facts.line} cannot be used at the base${namesOf(facts.pipeline_ids)}: ` +
        "what runs of its pipelines is not known here"
      );
    case "NotRead":
      return `${facts.path} is not read: ${facts.reason}`;
    case "UnreadGone":
      return `${facts.path} was not read at the base (${facts.reason}) and is gone: a pipeline that runs from it is deleted, which is not seen here`;
    case "SecretsNotCompared":
      return (
        `${someOf(facts.pipeline_ids)} ${facts.pipeline_ids.length === 1 ? "has a secret" : "have secrets"} in plain text, ` +
        "which the API does not show: whether it changes is not known here"
      );
    case "TestsNotCompared":
      return `the tests of ${someOf(facts.pipeline_ids)} were not compared: ${facts.why}`;
    case "ApprovalNeeded":
      return `${facts.pipeline_id} waits for an approval in Git, unless it has one: ${facts.approval}`;
    case "GoesBack":
      return `${facts.pipeline_id} goes back to what was applied with ${facts.revision}, so it needs no approval`;
    case "AtLeastOnce":
      return `${facts.pipeline_id} is delivered at least once: ${facts.reason}`;
    case "ProfileSettings":
      return `rows of ${facts.pipeline_id} may be changed by the server: ${facts.remark}`;
    case "EverythingSuspended":
      return `everything is suspended since ${facts.since}: nothing is changed before "sluice resume"`;
    case "Pinned":
      return `the pipelines are kept at ${facts.revision} by "sluice rollback": other commits are not followed before that ends`;
    default:
      return facts satisfies never;
  }
}

/** The warning of a secret that is new to a pipeline. */
export function secretText({ reference, servers, refused }: NewSecret): string {
  const what = `${reference}${towards(servers)}`;
  if (refused === undefined) return `it gets the secret ${what}, which it did not get before`;
  const why = refused.isDefault
    ? `which operators do not allow by default (${allowedByDefault})`
    : "which the references of the operator do not allow";
  return `it asks for the secret ${what}, ${why}: it is refused unless ${refused.line} is a line under references`;
}

function namesOf(ids: readonly string[]): string {
  return ids.length === 0 ? "" : ` (${listed(ids.slice(0, 5))})`;
}
