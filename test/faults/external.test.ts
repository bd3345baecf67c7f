import { afterAll, beforeAll, expect, test } from "vitest";
import { brokenBy, missing } from "./external/report.ts";
import { ExternalScene } from "./external/scene.ts";
import { fewVariants } from "./external/variants.ts";

const seed = Number(process.env["FAULTS_SEED"] ?? Date.now() % 2 ** 31);
let scene: ExternalScene;

beforeAll(async () => {
  scene = await ExternalScene.start({ variants: fewVariants, seed });
});
afterAll(() => scene?.clean());

test(
  `Sluice and a ClickHouse server beside it are killed: each event is there once, or was counted (FAULTS_SEED=${seed})`,
  { timeout: 240_000 },
  async () => {
    const [inserted, skipped] = scene.subjects;
    await scene.killSluiceAt("after the insert", inserted!);
    await scene.killServerAt("before its answer", inserted!);
    await scene.killServerWithoutRows(inserted!);
    await scene.killServerBetweenTokenAndRows();
    await scene.killServerAt("before its answer", skipped!, true);
    const reports = await scene.report();
    expect(reports.flatMap(brokenBy)).toEqual([]);
    expect(missing(reports, scene.dropped)).toEqual([]);
  },
);
