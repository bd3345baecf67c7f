import { dirname, join, normalize } from "node:path";

export interface SourceText {
  /** From the top of the project, such as `engine/batch/compiled-pipeline.ts`. */
  path: string;
  text: string;
}

export interface Import {
  from: string;
  /** A path of the project, or the name of a package. */
  to: string;
  isType: boolean;
}

type Rule = (one: Import) => string | undefined;

/** The doors of the engine: to all of it, and to what does no input or output. */
const machine = "engine/index.ts";
const pureDoor = "engine/language.ts";

const families = ["sources", "transforms", "sinks", "streams"];

/** Who may import whom. Each rule says what is wrong with an import, or nothing. */
const importRules: Rule[] = [
  ({ from, to }) =>
    layer(to) !== undefined && layer(from) !== undefined && layer(to)! > layer(from)!
      ? `${top(from)} must not import ${top(to)}`
      : undefined,
  ({ from, to }) =>
    to.startsWith("engine/") && !from.startsWith("engine/") && ![machine, pureDoor].includes(to)
      ? `the engine is imported through ${machine} or ${pureDoor}`
      : undefined,
  ({ from, to }) =>
    to === machine && languageRooms.some(({ room }) => from.startsWith(room))
      ? `whoever checks or converts files imports ${pureDoor} alone`
      : undefined,
  ({ from, to }) => {
    const own = languageRooms.find(({ room }) => from.startsWith(room));
    return own !== undefined && to.startsWith("reconciler/") && !own.mayImport.some((room) => to.startsWith(room))
      ? `${own.room} lies below the rest of the reconciler`
      : undefined;
  },
  ({ from, to }) => {
    const [a, b] = [component(from), component(to)];
    return a !== undefined && b !== undefined && a !== b ? "components never import each other" : undefined;
  },
  ({ from, to }) =>
    /^engine\/sinks\/[^/]+\//.test(to) && !from.startsWith("engine/sinks/") && from !== pureDoor
      ? "sinks are made by engine/sinks/registry.ts"
      : undefined,
  ({ from, to }) =>
    from.startsWith("engine/core/") && to.startsWith("engine/") && !/^engine\/(core|event)\//.test(to)
      ? "the core imports nothing of the engine but events"
      : undefined,
  ({ from, to }) =>
    from.startsWith("engine/event/") && to.startsWith("engine/") && !to.startsWith("engine/event/")
      ? "events import nothing of the engine"
      : undefined,
  ({ from, to }) =>
    /^engine\/(core|event)\//.test(from) && isInputOutput(to) ? "this folder does no input or output" : undefined,
  ({ from, to }) => (isPure(from) && isInputOutput(to) ? "this folder is pure: no input or output" : undefined),
  ({ from, to, isType }) =>
    to === "prom-client" && !isType && !mayCount.some((place) => from.startsWith(place))
      ? "only telemetry touches prom-client"
      : undefined,
];

/** The rooms that know the language of pipelines and nothing of a running engine, each with what it may import. */
const languageRooms: { room: string; mayImport: string[] }[] = [
  { room: "reconciler/language/", mayImport: ["reconciler/language/"] },
  { room: "reconciler/validate/", mayImport: ["reconciler/language/", "reconciler/validate/"] },
  {
    room: "reconciler/migrate/",
    mayImport: ["reconciler/language/", "reconciler/validate/", "reconciler/migrate/"],
  },
];

/** Places that make metrics, or the registry that they are in. */
const mayCount = ["engine/telemetry/", "reconciler/status/", "reconciler/api/", "reconciler/cli/"];

/** What a text must not hold, by place. */
const textRules: { applies: (path: string) => boolean; pattern: RegExp; says: string }[] = [
  {
    applies: isPure,
    pattern: /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/,
    says: "this folder is pure: no clock",
  },
  { applies: isNotComposition, pattern: /\bprocess\.(env|argv)\b/, says: "only reconciler/cli reads argv and env" },
  { applies: isNotComposition, pattern: /\bconsole\.\w+\(|\bprocess\.stdout\b/, says: "only reconciler/cli prints" },
];

/** Every breach of the rules, one line each. */
export function breaches(files: readonly SourceText[]): string[] {
  const imports = files.flatMap(importsOf);
  return [
    ...imports.flatMap((one) =>
      importRules.flatMap((rule) => {
        const problem = rule(one);
        return problem === undefined ? [] : [`${one.from} imports ${one.to}: ${problem}`];
      }),
    ),
    ...files.flatMap(textBreaches),
    ...impureLoads(imports),
    ...circles(imports),
  ];
}

const knownBreaches = new WeakMap<SourceText, string[]>();

function textBreaches(source: SourceText): string[] {
  const { path } = source;
  const known =
    knownBreaches.get(source) ??
    textRules
      .filter(({ applies, pattern }) => applies(path) && pattern.test(withoutComments(source.text)))
      .map(({ says }) => `${path}: ${says}`);
  knownBreaches.set(source, known);
  return known;
}

/** Pairs of folders that import each other, types included, such as `engine <-> engine/state`. */
export function twoWayFolders(files: readonly SourceText[]): string[] {
  const known = new Set(files.map(({ path }) => path));
  const pairs = files
    .flatMap(importsOf)
    .flatMap(({ from, to }) => (known.has(to) ? [[dirname(from), dirname(to)]] : []));
  const ways = new Set(pairs.map(([from, to]) => `${from} -> ${to}`));
  const both = pairs.filter(([from = "", to = ""]) => from < to && ways.has(`${to} -> ${from}`));
  return [...new Set(both.map(([from, to]) => `${from} <-> ${to}`))].toSorted();
}

/** Source files that a folder may hold, those of its sub-folders not counted. */
export const mostFiles = 20;

/** Folders with more files than that. */
export function crowdedFolders(files: readonly SourceText[]): string[] {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts].flatMap(([folder, count]) => (count > mostFiles ? [folder] : [])).toSorted();
}

/** Of the texts that were asked for: each planted breach is looked for among all others. */
const knownImports = new WeakMap<SourceText, Import[]>();

export function importsOf(source: SourceText): Import[] {
  const known = knownImports.get(source) ?? readImports(source);
  knownImports.set(source, known);
  return known;
}

function readImports({ path, text }: SourceText): Import[] {
  const statements = withoutComments(text).matchAll(
    /(?:^|[\s;])(?:import|export)\s+(type\s)?(?:[\w*${},\s]+?\sfrom\s+)?"([^"]+)"|\bimport\("([^"]+)"\)/g,
  );
  return [...statements].map(([, type, named, dynamic]) => {
    const target = (named ?? dynamic)!;
    const to = target.startsWith(".") ? normalize(join(dirname(path), target)) : target;
    return { from: path, to, isType: type !== undefined };
  });
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

function top(path: string): string {
  return path.split("/", 1)[0]!;
}

/** schemas <- engine <- reconciler <- examples; undefined for packages. */
function layer(path: string): number | undefined {
  const index = ["schemas", "engine", "reconciler", "examples"].indexOf(top(path));
  return index === -1 ? undefined : index;
}

/** `sinks/clickhouse` of `engine/sinks/clickhouse/sink.ts`; undefined for what is no component. */
function component(path: string): string | undefined {
  const [engine, family, name, ...rest] = path.split("/");
  return engine === "engine" && families.includes(family ?? "") && rest.length > 0 ? `${family}/${name}` : undefined;
}

function isPure(path: string): boolean {
  return path.startsWith("reconciler/plan/") || path.startsWith("reconciler/migrate/");
}

function isNotComposition(path: string): boolean {
  return (
    !path.startsWith("reconciler/cli/") && !path.startsWith("examples/") && !isChildEntry(path) && !isGenerator(path)
  );
}

/** The embedded ClickHouse is a process of its own: it reads its environment, and its parent hands it on. */
function isChildEntry(path: string): boolean {
  return /^engine\/embedded-clickhouse\/(child|server\/server)\.ts$/.test(path);
}

function isGenerator(path: string): boolean {
  return path === "schemas/generate.ts";
}

const inputOutput =
  /^(node:)?(fs|fs\/promises|net|http|https|http2|child_process|worker_threads|dgram|tls|timers|os|readline)(\/|$)/;

function isInputOutput(target: string): boolean {
  return (
    inputOutput.test(target) ||
    /^(simple-git|chokidar|lmdb|express|@clickhouse\/client|@grpc\/grpc-js|kafkajs|chdb|pino)(\/|$)/.test(target)
  );
}

/** What the pure door loads, directly or not, does no input or output either. */
function impureLoads(imports: readonly Import[]): string[] {
  const loaded = new Set([pureDoor]);
  // A set also yields what is added to it while it is iterated.
  for (const path of loaded) {
    for (const { from, to, isType } of imports)
      if (from === path && !isType && to.startsWith("engine/")) loaded.add(to);
  }
  return imports
    .filter(({ from, to, isType }) => loaded.has(from) && !isType && isInputOutput(to))
    .map(({ from, to }) => `${from} imports ${to}, and ${pureDoor} loads it: there must be no input or output`);
}

/** Circles of imports that are there at run time; imports of types are none. */
function circles(imports: readonly Import[]): string[] {
  const edges = new Map<string, string[]>();
  for (const { from, to, isType } of imports) {
    if (!isType) edges.set(from, [...(edges.get(from) ?? []), to]);
  }
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: string[]): void => {
    const at = trail.indexOf(path);
    if (at !== -1) found.push(`${[...trail.slice(at), path].join(" -> ")}: imports go round in a circle`);
    if (at !== -1 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of [...edges.keys()].toSorted()) visit(path, []);
  return found;
}
