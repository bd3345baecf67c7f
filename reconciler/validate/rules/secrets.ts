import { isSecret } from "../../../schemas/index.ts";
import type { Problem } from "../problem.ts";
import type { Rule, View } from "../view.ts";

/** A password or token in plain text is a warning with its line; so is a reference in a spelling that nobody resolves. */
export const secretRules: readonly Rule[] = [plainText];

/** Stops at the next `$`, so that a text of many open references is read once. */
const reference = /\$\{(?:env:[^}\s$]+|file:[^}$]+)\}/;
/** A password in a URL. */
const credentials = /:\/\/[^\s/?#@:]*:[^\s/?#@]+@/;
const otherSpelling = /^\$(?:\{?([A-Za-z_]\w*)\}?|\(([A-Za-z_]\w*)\))$/;

function* plainText(view: View): Iterable<Problem> {
  for (const member of [...view.members(), ...view.items()]) {
    if (member.text === undefined) yield* plainText(member);
    else if (member.isBlank || reference.test(member.text)) continue;
    else if (isSecret(member.path) || credentials.test(member.text)) yield warning(member, member.text);
  }
}

function warning(view: View, text: string): Problem {
  const [, name = text.slice(2, -1)] = otherSpelling.exec(text) ?? [];
  const suggestion = otherSpelling.test(text) ? `write \${env:${name}}` : undefined;
  return view.problem("PLAIN_TEXT_SECRET", {
    expected: "a reference such as ${env:NAME} or ${file:/path}",
    found: "plain text, which everybody who reads the repository can read",
    suggestion,
  });
}
