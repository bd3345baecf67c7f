import * as fc from "fast-check";
import { load } from "js-yaml";
import { expect, test } from "vitest";
import { fileText } from "../../../reconciler/repository/file-text.ts";
import { foreignPipelines, repositoryFiles } from "../../../reconciler/repository/index.ts";
import { smallestDocument } from "../../../reconciler/repository/smallest-document.ts";
import {
  documentOf,
  engineOptions,
  normalise,
  type PipelineV3,
  schemaErrors,
  secretTexts,
} from "../../../schemas/index.ts";
import { arbitraryPipeline } from "../schemas/arbitrary-pipeline.ts";
import { pipelineText } from "../../support/pipeline-text.ts";
import { runsOf } from "../../support/cases.ts";

const numRuns = runsOf(30);
const written = (of: Parameters<typeof pipelineText>[0]): PipelineV3 => load(pipelineText(of)) as PipelineV3;
const meaning = (document: PipelineV3): unknown => [normalise(document), engineOptions(document)];

test("a file of fewer fields means the same, and is the smallest already when it is read again", () => {
  fc.assert(
    fc.property(arbitraryPipeline, (document) => {
      const text = fileText(smallestDocument(document));
      const read = load(text) as PipelineV3;
      expect(meaning(read)).toEqual(meaning(document));
      expect(fileText(smallestDocument(read))).toEqual(text);
    }),
    { numRuns },
  );
});

test("what is a default is left out, whatever it is written as", () => {
  const document = written({ id: "orders", name: "Orders", root: ["resources: { sink: { replicas: 1 } }"] });
  expect(Object.keys(smallestDocument(document))).toEqual(["version", "pipeline_id", "sources", "transforms", "sink"]);
  expect(smallestDocument(document).sink).not.toHaveProperty("max_batch_size");
});

test("directives of the reconciler stay", () => {
  const document = written({ id: "orders", sluice: ["suspend: true", "filters_reviewed: false"] });
  expect(smallestDocument(document)["x-sluice"]).toEqual({ suspend: true, filters_reviewed: false });
});

const server = "host: ch\n    port: '9000'\n    database: shop\n    username: writer\n    password: ";
const onServer = (id: string, password: string): PipelineV3 =>
  load(pipelineText({ id }).replace("host: embedded\n    database: default", `${server}${password}`)) as PipelineV3;

test("what one user has at one server is one secret, and another one is another", () => {
  const pipelines = [onServer("orders", "first"), onServer("returns", "first"), onServer("clicks", "second")];
  const { files, secrets } = repositoryFiles(
    pipelines.map((document) => ({ path: `${document.pipeline_id}.yaml`, document })),
  );
  expect([...files.values()].join("\n")).not.toMatch(/first|second/);
  expect(secrets).toEqual([
    {
      name: "SLUICE_SECRET_CLICKHOUSE_WRITER",
      hosts: ["ch"],
      username: "writer",
      fields: [{ pipeline_id: "clicks", path: "sink.connection_params.password" }],
    },
    {
      name: "SLUICE_SECRET_CLICKHOUSE_WRITER_2",
      hosts: ["ch"],
      username: "writer",
      fields: [
        { pipeline_id: "orders", path: "sink.connection_params.password" },
        { pipeline_id: "returns", path: "sink.connection_params.password" },
      ],
    },
  ]);
});

test("references, and the empty password of a user who has none, stay as they are", () => {
  const document = onServer("orders", "${env:SLUICE_SECRET_P}");
  const none = onServer("returns", '""');
  expect(schemaErrors(documentOf(normalise(none)))).toEqual([]);
  const { files, secrets } = repositoryFiles([
    { path: "orders.yaml", document },
    { path: "returns.yaml", document: none },
  ]);
  expect(secrets).toEqual([]);
  expect(files.get("orders.yaml")).toContain("password: ${env:SLUICE_SECRET_P}");
  expect(files.get("returns.yaml")).toContain('password: ""');
});

test("no secret of any pipeline is in its file", () => {
  fc.assert(
    fc.property(arbitraryPipeline, (document) => {
      const { files, secrets } = repositoryFiles([{ path: "one.yaml", document }]);
      const read = load(files.get("one.yaml")!) as PipelineV3;
      const texts = secretTexts(normalise(read)).filter((text) => text !== "");
      expect(texts.filter((text) => !text.startsWith("${"))).toEqual([]);
      expect(secrets.length).toBeLessThanOrEqual(texts.length + 1);
    }),
    { numRuns },
  );
});

test("pipelines of one file are documents of one file, in the order of their ids", () => {
  const pipelines = ["returns", "orders"].map((id) => ({ path: "shop.yaml", document: written({ id }) }));
  const text = repositoryFiles(pipelines).files.get("shop.yaml")!;
  const { pipelines: found, problems } = foreignPipelines({ path: "shop.yaml", bytes: Buffer.from(text) });
  expect(problems).toEqual([]);
  expect(found.map(({ pipeline_id }) => pipeline_id)).toEqual(["orders", "returns"]);
});
