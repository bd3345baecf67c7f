import { isSecret, referencesIn } from "../../../schemas/index.ts";
import { found, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";

/**
 * A password or token in plain text is a warning with its line; so is a reference in a spelling that is not resolved,
 * in any text.
 */
export const secretRules: readonly Rule[] = [secretTexts];

/** A password in a URL. */
const credentials = /:\/\/[^\s/?#@:]*:[^\s/?#@]+@/;
const otherSpelling = /^\$(?:\{?([A-Za-z_]\w*)\}?|\(([A-Za-z_]\w*)\))$/;
/** `$${` is a plain `${`. */
const unresolved = /(?<!\$)\$\{([A-Za-z_]\w*)\}/;
/** Also one without a name, or with a `{` in it. Stops at the next `$`, so that a text of many open ones is read once. */
const misplaced = /(?<!\$)\$\{(?:env|file):[^}$]*\}/;

type TextRule = (view: View, text: string) => Iterable<Problem>;

function secretTexts(document: View): Iterable<Problem> {
  return secretTextsIn(document, new Map());
}

/** `known`: the rules of texts that were read before. An alias may use a long text in thousands of places. */
function* secretTextsIn(view: View, known: Map<string, TextRule>): Iterable<Problem> {
  for (const member of [...view.members(), ...view.items()]) {
    const { text } = member;
    if (text === undefined) yield* secretTextsIn(member, known);
    else if (isSecret(member.path)) yield* secretText(member, text);
    else {
      const rule = known.get(text) ?? shownTextRule(text);
      known.set(text, rule);
      yield* rule(member, text);
    }
  }
}

/** What a text breaks in a field whose value is shown. */
function shownTextRule(text: string): TextRule {
  if (misplaced.test(text)) return misplacedReference;
  if (credentials.test(text)) return plainText;
  return unresolved.test(text) ? unresolvedReference : () => [];
}

/** Each is read when the pipeline starts, and looked at again at each turn. */
const mostReferences = 16;

function* secretText(view: View, text: string): Iterable<Problem> {
  const { length } = referencesIn(text);
  if (length > mostReferences) {
    yield view.problem("VALUE", { expected: `at most ${mostReferences} references to secrets`, found: `${length}` });
  } else yield* plainText(view, text);
}

function* plainText(view: View, text: string): Iterable<Problem> {
  if (view.isBlank || referencesIn(text).length > 0) return;
  const [, name = text.slice(2, -1)] = otherSpelling.exec(text) ?? [];
  const suggestion = otherSpelling.test(text) ? `write \${env:${name}}` : undefined;
  yield view.problem("PLAIN_TEXT_SECRET", {
    expected: "a reference such as ${env:NAME} or ${file:/path}",
    found: "plain text, which every reader of the repository sees",
    suggestion,
  });
}

/** The value of a field that is no secret is shown, and goes wherever the field says. */
function* misplacedReference(view: View, text: string): Iterable<Problem> {
  yield view.problem("MISPLACED_REFERENCE", {
    expected: "a text without references to secrets, since it is shown",
    found: printable(misplaced.exec(text)?.[0] ?? text),
    suggestion: "write ${var:NAME} for what differs between environments, or $${ for a plain ${",
  });
}

function* unresolvedReference(view: View, text: string): Iterable<Problem> {
  const [spelled = "", name] = unresolved.exec(text) ?? [];
  yield view.problem("REFERENCE", {
    expected: "a variable such as ${var:NAME}, or $${ for a plain ${",
    found: printable(spelled),
    suggestion: `did you mean \${var:${name}}?`,
  });
}

/** Parts of the format that are not supported yet. To support one, delete its line. */
const notYet: readonly { path: string; values?: readonly unknown[]; what: string }[] = [
  { path: "sources[].format", values: ["avro", "protobuf"], what: "a format other than json" },
  { path: "sources[].schema_registry", what: "a schema registry" },
];

export const notYetRules: readonly Rule[] = [notSupportedYet];

function* notSupportedYet(document: View): Iterable<Problem> {
  for (const { path, values, what } of notYet) {
    for (const view of viewsAt(document, path)) {
      if (!view.exists || (values !== undefined && !values.includes(view.value))) continue;
      const got = values === undefined ? what : `${what} (${found(view.value, view.path)})`;
      yield view.problem("NOT_SUPPORTED_YET", {
        expected: "what this version of Sluice runs",
        found: `${got}, which is not supported yet`,
      });
    }
  }
}

function viewsAt(document: View, path: string): View[] {
  let views = [document];
  for (const part of path.split(".")) {
    const key = part.replace("[]", "");
    views = views.flatMap((view) => (part.endsWith("[]") ? view.get(key).items() : [view.get(key)]));
  }
  return views;
}

/** Tags have no limit in the format; too many or too long ones cause a warning. */
export const tagRules: readonly Rule[] = [tagLimits];

const mostTags = 50;
const longestTag = 64;

function* tagLimits(document: View): Iterable<Problem> {
  const tags = document.get("metadata", "tags");
  const all = tags.items();
  if (all.length > mostTags)
    yield tags.problem("TAGS", { expected: `at most ${mostTags} tags`, found: `${all.length}` });
  for (const tag of all) {
    if ((tag.text?.length ?? 0) <= longestTag) continue;
    yield tag.problem("TAGS", { expected: `at most ${longestTag} characters`, found: found(tag.value, tag.path) });
  }
}
