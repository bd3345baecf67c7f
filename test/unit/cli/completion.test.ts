import { execFile, execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { commands, groups } from "../../../reconciler/cli/commands.ts";
import { bashScript } from "../../../reconciler/cli/completion/bash.ts";
import { fishScript } from "../../../reconciler/cli/completion/fish.ts";
import { type Words, wordsOf } from "../../../reconciler/cli/completion/words.ts";
import { zshScript } from "../../../reconciler/cli/completion/zsh.ts";
import { settings } from "../../../reconciler/cli/invocation/settings-table.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";

const words = wordsOf(commands, groups);
const scripts: Readonly<Record<string, (words: Words) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

let folder: string;

/** A folder with a few files, the scripts, and a `sluice` that only answers with ids, and says what it was asked. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-completion-"));
  await mkdir(join(folder, "pipelines"));
  await writeFile(join(folder, "pipelines.yaml"), "");
  const ids = `#!/bin/sh\necho "$@" >> asked\nprintf '%s\\n' orders-eu orders-us returns\n`;
  await writeFile(join(folder, "sluice"), ids);
  await chmod(join(folder, "sluice"), 0o755);
  await writeFile(join(folder, "ask.zsh"), askZsh);
  for (const [shell, script] of Object.entries(scripts))
    await writeFile(join(folder, `_sluice.${shell}`), script(words));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** In an interactive zsh: notes in a file what completion adds as matches, and ends after that. */
const askZsh = `PROMPT=
autoload -Uz compinit; compinit -u -D
source ./_sluice.zsh
compadd() {
  local -a found
  [[ " \${@[1,(i)(-|--)]} " == *" -"(O|A|D)" "* ]] && { builtin compadd "$@"; return }
  builtin compadd -A found "$@"
  (( $#found )) && print -rl -- $found >> added
  builtin compadd "$@"
}
leave() { exit }
comppostfuncs=(leave)
bindkey '^I' complete-word
print is-"ready"
`;

/** The commands that ask a shell what it would complete, after the line has been split as the shell splits it. */
const askers: Readonly<Record<string, (line: string) => string>> = {
  bash: (line) => {
    // Readline splits at these characters besides blanks.
    const split = line.replaceAll("=", " = ").split(/ +/);
    return `COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
source ./_sluice.bash
COMP_WORDS=(${split.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${split.length - 1}
_sluice sluice
printf '%s\\n' "\${COMPREPLY[@]+"\${COMPREPLY[@]}"}"`;
  },
  zsh: (line) => `rm -f added
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'source ./ask.zsh'
zpty -r z shown '*is-ready*'
zpty -w -n z '${line}'$'\\t'
while zpty -r z shown; do :; done
[[ -e added ]] && sort -u added; :`,
  fish: (line) => `source ./_sluice.fish; complete -C '${line}'`,
};

/** Why completion in the shell cannot be tested here, undefined where it can. */
function obstacle(shell: string): string | undefined {
  try {
    execFileSync(shell, ["-c", "exit 0"], { stdio: "ignore" });
    return undefined;
  } catch {
    return `needs ${shell}: install the package ${shell}`;
  }
}

async function completed(shell: string, line: string): Promise<string[]> {
  const env = { PATH: `${folder}:${process.env["PATH"]}`, HOME: folder, TERM: "dumb" };
  const text = await new Promise<string>((done, failed) => {
    execFile(shell, ["-c", askers[shell]!(line)], { cwd: folder, env }, (error, stdout, stderr) => {
      if (error !== null || stderr !== "") failed(new Error(`${shell} ${line}: ${stderr}`, { cause: error }));
      else done(stdout);
    });
  });
  return text
    .split("\n")
    .map((one) => one.split("\t", 1)[0]!)
    .filter((one) => one !== "");
}

const cases: [string, string, string[]][] = [
  ["a command by its beginning", "sluice rec", ["reconcile"]],
  ["the commands of a group", "sluice dlq re", ["reprocess"]],
  ["the options of a command", "sluice plan --ba", ["--base"]],
  ["the options of a command of a group", "sluice dlq list --li", ["--limit"]],
  ["the values of an option", "sluice get --output ", ["text", "json", "yaml"]],
  ["the values of an option by their beginning", "sluice plan --fail-on re", ["restart", "refuse"]],
  ["the id of a pipeline", "sluice get orders-", ["orders-eu", "orders-us"]],
  ["the id behind options with values", "sluice history --output json ret", ["returns"]],
  ["the id of a pipeline for a command of a group", "sluice dlq state ret", ["returns"]],
  ["nothing behind the last argument", "sluice get orders-eu x", []],
  ["nothing for a value that may be anything", "sluice suspend --reason ", []],
  ["a shell", "sluice completion f", ["fish"]],
  ["what there is help for", "sluice help exit", ["exit-codes"]],
];

/** Words of each kind; the others are asked for in the same ways. */
const differing = [
  "the options of a command of a group",
  "the values of an option by their beginning",
  "the id behind options with values",
  "nothing for a value that may be anything",
];

describe.each(Object.keys(scripts))("in %s", (shell) => {
  const missing = obstacle(shell);
  beforeEach(({ skip }) => requireOrSkip(missing, skip));

  const isAlike = ([title]: (typeof cases)[number]): boolean => !differing.includes(title);
  const expectWords = async (_: string, line: string, expected: string[]): Promise<void> => {
    expect((await completed(shell, line)).toSorted()).toEqual(expected.toSorted());
  };

  test.each(cases.filter((one) => !isAlike(one)))("%s is completed", expectWords);

  test.each(cases.filter(isAlike))("%s is completed", { tags: ["rest"] }, expectWords);

  test("files are completed", async () => {
    const found = await completed(shell, "sluice validate pipe");
    expect(found.map((path) => path.replace(/\/$/, "")).toSorted()).toEqual(["pipelines", "pipelines.yaml"]);
  });
});

describe("in bash", () => {
  test("a value behind an equals sign is completed", async () => {
    expect(await completed("bash", "sluice get --output=j")).toEqual(["json"]);
  });

  test("every command is offered first, and no hidden one", async () => {
    const found = await completed("bash", "sluice ");
    const first = new Set(commands.map(({ name }) => name.split(" ", 1)[0]!));
    expect(found.filter((word) => !word.startsWith("-")).toSorted()).toEqual([...first, "help"].toSorted());
  });

  test("the daemon of the line is asked for ids", async () => {
    await completed("bash", "sluice --config a.yaml get --data-dir /srv/sluice ord");
    const asked = execFileSync("tail", ["-n", "1", join(folder, "asked")], { encoding: "utf8" });
    expect(asked.trim()).toBe("__pipeline-ids --config a.yaml --data-dir /srv/sluice");
  });

  test("what the daemon answers is not evaluated", async () => {
    const evil = join(folder, "evil");
    await mkdir(evil);
    await writeFile(join(evil, "sluice"), "#!/bin/sh\necho 'orders$(touch evil/done)`touch evil/done`'\n", {
      mode: 0o755,
    });
    const script = askers["bash"]!("sluice get ord");
    execFileSync("bash", ["-c", script], { cwd: folder, env: { PATH: `${evil}:${process.env["PATH"]}` } });
    expect(() => execFileSync("test", ["-e", join(evil, "done")])).toThrow();
  });
});

describe("the words", () => {
  test("of values are words of every shell", () => {
    const all = [...words.values.values()].flatMap((value) => (typeof value === "string" ? [] : value));
    expect(all.length).toBeGreaterThan(20);
    for (const word of all) expect(word).toMatch(/^[a-z0-9-]+$/);
  });

  test("an option has a value in every command, or in none", () => {
    const switches = settings.filter(({ type }) => type === "boolean").map(({ flag }) => flag);
    expect(switches.filter((flag) => words.valued.includes(flag))).toEqual([]);
  });

  test("name every option of every command", () => {
    for (const { flag, commands: takers } of settings)
      for (const name of takers) expect(words.after.get(name)).toContain(flag);
  });
});
