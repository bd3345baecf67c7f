/** The inputs of the GitHub Action, as `action.yml` names them. */
export interface Inputs {
  path: string;
  base?: string;
  /** Files of variables: several are an environment each. */
  vars: string[];
  /** What the operator allows, each as `--reference` takes it; none where the default counts. */
  references: string[];
  failOn?: string;
  maxDeletions?: string;
  isCommented: boolean;
  /** Where the SARIF file is written. */
  sarif?: string;
  isUploaded: boolean;
  /** Whether the tests of the pipelines are run. */
  isTested: boolean;
  token?: string;
}

export const inputNames = [
  "path",
  "base",
  "vars",
  "references",
  "fail-on",
  "max-deletions",
  "comment",
  "sarif",
  "upload-sarif",
  "test",
  "working-directory",
  "github-token",
] as const;

type InputName = (typeof inputNames)[number];
type Environment = Readonly<Record<string, string | undefined>>;

/** An input that is not as it has to be. */
export class BadInput extends Error {
  override readonly name = "BadInput";
}

/** Reads the inputs as a runner gives them, in variables of the environment. Throws BadInput. */
export function inputsOf(env: Environment): Inputs {
  const [base, failOn] = [optional(env, "base"), optional(env, "fail-on")];
  const [maxDeletions, sarif, token] = [
    optional(env, "max-deletions"),
    optional(env, "sarif"),
    optional(env, "github-token"),
  ];
  return {
    path: optional(env, "path") ?? ".",
    vars: lines(optional(env, "vars")),
    references: lines(optional(env, "references")),
    isCommented: isSet(env, "comment", true),
    isUploaded: isSet(env, "upload-sarif", false),
    isTested: isSet(env, "test", false),
    ...(base !== undefined && { base }),
    ...(failOn !== undefined && { failOn }),
    ...(maxDeletions !== undefined && { maxDeletions }),
    ...(sarif !== undefined && { sarif }),
    ...(token !== undefined && { token }),
  };
}

/** The folder in which the action works; undefined for that of the job. */
export function workingDirectory(env: Environment): string | undefined {
  return optional(env, "working-directory");
}

/** An input that is left out is an empty text for the runner. */
function optional(env: Environment, name: InputName): string | undefined {
  return env[`INPUT_${name.toUpperCase()}`]?.trim() || undefined;
}

function lines(text = ""): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function isSet(env: Environment, name: InputName, otherwise: boolean): boolean {
  const text = optional(env, name);
  if (text === undefined) return otherwise;
  if (text === "true" || text === "false") return text === "true";
  throw new BadInput(`input ${name}: expected true or false, got ${JSON.stringify(text)}`);
}
