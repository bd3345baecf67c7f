import { type Observation, SettingsScene } from "./scene.ts";
import { type SettingInfo, type Trial, trialsOf, valuesNamedBy } from "./setting-values.ts";
import { judge, type Verdict } from "./verdict.ts";

/** Which settings are tried, and where the lines go. */
export interface SweepOptions {
  log: (line: string) => void;
  /** Settings whose names match; all of them where it is absent. */
  only?: RegExp;
  /** Values of each setting; all that there are where it is absent. */
  each?: number;
}

/** What came of one trial. */
export interface TrialReport {
  /** `table.NAME` for a setting of the target. */
  name: string;
  value: string;
  verdict: Verdict | { kind: "not set"; text: string };
}

export interface SweepReport {
  version: string;
  trials: TrialReport[];
  /** Settings that are not tried, with the reason. */
  left: { reason: string; names: string[] }[];
  seconds: number;
}

/** Trials until the server is started anew: parts and tokens of earlier ones cost time. */
const untilRestart = 150;

/** Tries every setting of the embedded ClickHouse as a profile of the user would have it, one at a time. */
export async function sweepSettings({ log, only = /^/, each = Infinity }: SweepOptions): Promise<SweepReport> {
  const started = performance.now();
  const sweep = new Sweep(await SettingsScene.start(), log);
  try {
    const { version, profile, ofTable, left } = await sweep.settings(only);
    for (const info of profile) await sweep.tryProfile(info, each);
    for (const info of ofTable) await sweep.tryTable(info, each);
    return { version, trials: sweep.trials, left, seconds: Math.round((performance.now() - started) / 1000) };
  } finally {
    await sweep.stop();
  }
}

class Sweep {
  readonly trials: TrialReport[] = [];
  readonly #scene: SettingsScene;
  readonly #log: (line: string) => void;
  #usual: Observation | undefined;
  #since = 0;

  constructor(scene: SettingsScene, log: (line: string) => void) {
    this.#scene = scene;
    this.#log = log;
  }

  stop(): Promise<void> {
    return this.#scene.stop();
  }

  async settings(only: RegExp): Promise<{
    version: string;
    profile: SettingInfo[];
    ofTable: SettingInfo[];
    left: SweepReport["left"];
  }> {
    const { server } = this.#scene;
    const [about] = await server.query<{ version: string }>("SELECT version() AS version");
    const all = await server.query<SettingInfo>(
      "SELECT name, value, default, type, alias_for, is_obsolete FROM system.settings ORDER BY name",
    );
    const ofTable = await server.query<SettingInfo>(
      "SELECT name, value, default, type, '' AS alias_for, is_obsolete FROM system.merge_tree_settings ORDER BY name",
    );
    const isTried = ({ alias_for, is_obsolete, name }: SettingInfo): boolean =>
      alias_for === "" && !is_obsolete && !Object.hasOwn(untried, name);
    const left = [
      { reason: "an obsolete one does nothing", names: names([...all, ...ofTable].filter((one) => one.is_obsolete)) },
      { reason: "another name of one that is tried", names: names(all.filter((one) => one.alias_for !== "")) },
      ...Object.entries(untried).map(([name, reason]) => ({ reason, names: [name] })),
    ];
    const picked = (found: readonly SettingInfo[]): SettingInfo[] =>
      found.filter((one) => isTried(one) && only.test(one.name));
    return { version: about!.version, profile: picked(all), ofTable: picked(ofTable), left };
  }

  async tryProfile(info: SettingInfo, each: number): Promise<void> {
    for (const trial of trialsOf(info, await this.#namedValues(info)).slice(0, each)) {
      const refusal = await this.#refusalOf(trial);
      const verdict = refusal ?? (await this.#verdictOf(trial.name, () => this.#scene.play(trial.profile)));
      this.#add({ name: trial.name, value: trial.value, verdict });
    }
  }

  async tryTable(info: SettingInfo, each: number): Promise<void> {
    for (const { name, value } of trialsOf(info, []).slice(0, each)) {
      const verdict = await this.#verdictOf(name, () => this.#scene.play({}, `${name} = '${value}'`));
      this.#add({ name: `table.${name}`, value, verdict });
    }
  }

  #add(report: TrialReport): void {
    this.trials.push(report);
    if (report.verdict.kind !== "nothing") this.#log(lineOf(report));
    if (this.trials.length % 100 === 0) this.#log(`${this.trials.length} trials`);
  }

  async #namedValues({ name, type }: SettingInfo): Promise<string[]> {
    if (/^(?:Bool|String|Map|Char|Timezone|URI)$|Int|Float|Double|[sS]econds|Threads/.test(type)) return [];
    return valuesNamedBy(await this.#set({ [name]: "?" }));
  }

  /** Why the server does not take the value at all. */
  async #refusalOf({ profile }: Trial): Promise<{ kind: "not set"; text: string } | undefined> {
    const text = await this.#set(profile);
    return text === "" ? undefined : { kind: "not set", text: text.replaceAll(/\s+/g, " ").slice(0, 120) };
  }

  /** The error of a `SET`; empty without one. */
  async #set(settings: Readonly<Record<string, string>>): Promise<string> {
    try {
      await this.#scene.server.client.command({ query: "SET max_threads = 2", clickhouse_settings: settings });
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  }

  async #verdictOf(name: string, play: () => Promise<Observation>): Promise<Verdict> {
    if (this.#since >= untilRestart) await this.#restart();
    this.#since += 1;
    try {
      this.#usual ??= await this.#scene.play({});
      const seen = await play();
      if (JSON.stringify(seen.answers).includes("took too long")) await this.#restart();
      return judge(name, this.#usual, seen);
    } catch (error) {
      await this.#restart();
      return { kind: "told", text: `the server ended: ${(error as Error).message.slice(0, 200)}` };
    }
  }

  async #restart(): Promise<void> {
    await this.#scene.restart();
    this.#since = 0;
  }
}

function names(found: readonly SettingInfo[]): string[] {
  return found.map(({ name }) => name);
}

/** Settings that cannot be tried here, with the reason. */
const untried: Readonly<Record<string, string>> = {
  ast_fuzzer_runs: "it makes other statements of each one, at random and without an end",
};

export function lineOf({ name, value, verdict }: TrialReport): string {
  const what = verdict.kind === "breach" ? "BREACH" : verdict.kind;
  return `${name} = ${JSON.stringify(value)}: ${what}${verdict.kind === "nothing" ? "" : `: ${verdict.text}`}`;
}
