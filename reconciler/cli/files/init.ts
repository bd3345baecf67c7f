import { resolve } from "node:path";
import { schemaTexts } from "./schema.ts";
import { writeNewFiles } from "./new-files.ts";
import { type ExitCode, type Invocation, show } from "../invocation/invocation.ts";

/** Hidden, so that they are not read as pipelines. */
const schemaFile = ".pipeline.schema.json";
const testSchemaFile = ".pipeline-test.schema.json";

const pipeline = `# yaml-language-server: $schema=../${schemaFile}
version: v3
pipeline_id: orders
name: Orders
sources:
  - type: webhook
    source_id: orders
    schema_fields:
      - { name: id, type: string }
      - { name: status, type: string }
      - { name: amount, type: float }
transforms:
  - type: filter
    source_id: orders
    config:
      # Events for which this is true are kept.
      expression: status == "paid" and amount > 0
sink:
  type: clickhouse
  connection_params:
    # The ClickHouse that Sluice carries. For a server, give host, port, database, username and password.
    host: embedded
    database: default
  table: orders
  max_batch_size: 1000
  max_delay_time: 1s
  mapping:
    - { name: id, column_name: id, column_type: String }
    - { name: status, column_name: status, column_type: String }
    - { name: amount, column_name: amount, column_type: Float64 }
x-sluice:
  # Make the table from the mapping if it is not there.
  create_table: true
`;

const test = `# yaml-language-server: $schema=../${testSchemaFile}
# Run by "sluice test pipelines": what becomes of these events.
tests:
  - name: paid orders become rows
    events:
      - event: { id: "1", status: paid, amount: 9.5 }
      - event: { id: "2", status: open, amount: 3 }
    expect:
      rows:
        - { id: "1", amount: 9.5 }
      filtered: 1
`;

const settings = `# Settings of the sluice command; "sluice run --help" names them all.
dir: pipelines
`;

const readme = `# Pipelines

Each file in \`pipelines/\` is a pipeline.

    sluice validate pipelines           check the files
    sluice test pipelines               run the tests beside them
    sluice plan pipelines --base main   say what a change, once it is merged, does to what runs
    sluice --config sluice.yaml run     run them, and follow every change of the files
    sluice get                          list what runs
    sluice token rotate orders          make and print an access token, to send events with:

    curl -H "X-Pipeline-Access-Token: TOKEN" -H "Content-Type: application/json" \\
      -d '{"id":"1","status":"paid","amount":9.5}' http://127.0.0.1:8080/v1/pipelines/orders/topics/input/events

    sluice sql "SELECT * FROM orders"

The first line of a file names its JSON Schema, with which editors complete and check as you type (VS Code with the extension YAML,
Neovim with yaml-language-server, JetBrains' editors). After an upgrade of Sluice, write it again:

    sluice schema > ${schemaFile}
    sluice schema --tests > ${testSchemaFile}
`;

const files: Readonly<Record<string, string>> = {
  "pipelines/orders.yaml": pipeline,
  "pipelines/orders.test.yaml": test,
  "sluice.yaml": settings,
  "README.md": readme,
  ".gitignore": ".sluice/\n",
  [schemaFile]: schemaTexts.pipelines(),
  [testSchemaFile]: schemaTexts.tests(),
};

/** `sluice init [DIR]`: writes a repository of pipelines to start from. Never overwrites a file. */
export async function init(invocation: Invocation, folder = "."): Promise<ExitCode> {
  const written = await writeNewFiles(folder, new Map(Object.entries(files)));
  show(invocation, { written }, () => written.map((file) => `wrote ${file}`).join("\n"));
  const enter = resolve(folder) === process.cwd() ? "" : `cd ${folder} && `;
  invocation.terminal.err(`Go on with: ${enter}sluice --config sluice.yaml run`);
  return 0;
}
