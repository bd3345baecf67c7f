import { mkdir, writeFile } from "node:fs/promises";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { schemaNames } from "../../schemas/validators/ajv.ts";
import { codeOf } from "../../schemas/validators/code.ts";

// `npm run build`: makes `dist/`.

/**
 * Packages in CommonJS that are required and not imported: before Node imports one, it reads its files for the names that
 * they export, which takes about as long as to load it.
 */
const required = [
  "@clickhouse/client",
  "commander",
  "diff",
  "express",
  "fs-native-extensions",
  "ignore",
  "lmdb",
  "pino",
  "pino-pretty",
  "prom-client",
  "protobufjs/light.js",
  "simple-git",
];

const requiring: Plugin = {
  name: "requiring",
  setup(bundle) {
    bundle.onResolve({ filter: new RegExp(`^(${required.join("|")})$`) }, ({ path, kind }) =>
      kind === "import-statement" ? { path, namespace: "required", sideEffects: false } : { external: true },
    );
    bundle.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
      contents: `module.exports = require("${path}");`,
    }));
  },
};

const options: BuildOptions = {
  outdir: "dist",
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  conditions: ["built"],
  plugins: [requiring],
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module";\nconst require = __createRequire(import.meta.url);',
  },
  logLevel: "warning",
};

await mkdir("dist", { recursive: true });
for (const name of schemaNames) await writeFile(`dist/${name}.cjs`, codeOf(name));
await build({
  ...options,
  splitting: true,
  entryPoints: {
    sluice: "reconciler/cli/sluice.ts",
    thread: "engine/workers/thread.ts",
    clickhouse: "engine/embedded-clickhouse/server/server.ts",
    otlp: "engine/sources/otlp/decoding/thread.ts",
    quickstart: "examples/quickstart/quickstart.ts",
  },
});
// Threads that hold only what they need, as they are started again and again.
await build({
  ...options,
  entryPoints: { pure: "reconciler/api/pure/thread.ts", files: "reconciler/desired/thread.ts" },
});
